// A trace in memory while it is written: the tables of its series, and the document that holds them.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "netpipe/trace/hdf5.hpp"
#include "netpipe/trace/tables.hpp"
#include "npgpu/trace.hpp"

namespace npgpu::trace {

// The series of one kind, /<kind>/NNNN. Throws FormatError.
template <class K> class SeriesWriter {
 public:
  using Axes = typename K::Axes;
  using Sample = typename K::Sample;

  // What a continued trace holds already.
  void load(const std::vector<Series<K>>& all) {
    for (const Series<K>& series : all) {
      State& state = states_.emplace_back(State{without_rows(series)});
      for (const Visit<K>& visit : series.visits) state.visits.insert({visit.axes, visit.round});
    }
  }

  std::size_t begin(hid_t file, const Series<K>& header) {
    for (std::size_t i = 0; i < states_.size(); ++i) {
      State& known = states_[i];
      if (known.begun || !same_question(known.header, header)) continue;
      known.begun = true;
      if (!known.header.error.empty()) set_error(file, i, {});
      return i;
    }
    Handle group = create_group(open_group(file, "/", parent()), group_name(states_.size()));
    put_header(group, header);
    auto visits = Table<Visit<K>>::create(group, "visits");
    auto samples = Table<Sample>::create(group, "samples");
    open_ = Open{states_.size(), std::move(group), std::move(visits), std::move(samples)};
    states_.push_back({without_rows(header), {}, true});
    return states_.size() - 1;
  }

  using Known = std::pair<Axes, std::uint32_t>;  // a point and a round
  const std::set<Known>& visits(std::size_t index) const { return state(index).visits; }

  void add(hid_t file, std::size_t index, Visit<K> visit, std::span<const Sample> samples) {
    Open& now = open(file, index);
    visit.first_sample = now.samples.rows();
    visit.samples = static_cast<std::uint32_t>(samples.size());
    std::vector<Sample> numbered(samples.begin(), samples.end());
    for (Sample& sample : numbered) sample.visit = static_cast<std::uint32_t>(now.visits.rows());
    now.samples.append(numbered);
    now.visits.append(std::span<const Visit<K>>(&visit, 1));
    states_[index].visits.insert({visit.axes, visit.round});
  }

  void set_error(hid_t file, std::size_t index, const SeriesError& error) {
    const hid_t group = open(file, index).group;
    change(group, "error", error.text);
    change(group, "failure", std::string(name(error.kind)));
    change(group, "failed_device", error.device);
    Series<K>& header = states_[index].header;
    header.error = error.text;
    header.failure = error.kind;
    header.failed_device = error.device;
  }

 private:
  struct State {
    Series<K> header;  // without visits and samples
    std::set<Known> visits{};
    bool begun = false;  // by this run, not only by the one that is continued
  };
  struct Open {
    std::size_t index;
    Handle group;
    Table<Visit<K>> visits;
    Table<Sample> samples;
  };

  static std::string parent() { return std::string(K::name); }
  static Series<K> without_rows(Series<K> series) {
    series.visits.clear();
    series.samples.clear();
    return series;
  }
  static bool same_question(const Series<K>& a, const Series<K>& b) {
    return a.question == b.question && a.schedule == b.schedule && a.device_uuid == b.device_uuid;
  }

  const State& state(std::size_t index) const {
    if (index >= states_.size()) throw FormatError(fmt::format("{} {} was not begun", K::singular, index));
    return states_[index];
  }
  Open& open(hid_t file, std::size_t index) {
    state(index);
    if (!open_ || open_->index != index) {
      constexpr std::uint64_t unbounded = UINT32_MAX;  // the document made this table itself
      const std::string where = "/" + parent() + "/" + group_name(index);
      Handle group = open_group(open_group(file, "/", parent()), "/" + parent(), group_name(index));
      auto visits = Table<Visit<K>>::open(group, where, "visits", unbounded);
      auto samples = Table<Sample>::open(group, where, "samples", unbounded);
      open_ = Open{index, std::move(group), std::move(visits), std::move(samples)};
    }
    return *open_;
  }

  std::vector<State> states_;
  std::optional<Open> open_;  // the last one used: a run goes from one to the next
};

// Throws FormatError. After one, the document may hold half of a change, and sound() is false.
class Document {
 public:
  // A new trace that holds no measurement.
  Document(const TraceRoot&, const Provenance&);
  // Continues `loaded`, whose bytes these are: not complete any more, with the new root and provenance beside the old
  // as resume_1, resume_2, ... Everything is copied into a new file, so that nothing is appended to a damaged one.
  Document(std::span<const std::byte>, const Trace& loaded, const TraceRoot&, const Provenance&);

  template <class K> std::size_t begin(const Series<K>& header) {
    std::size_t index = 0;
    change([&] { index = series<K>().begin(file_, header); });
    return index;
  }
  template <class K> const auto& visits(std::size_t index) const {
    return std::get<SeriesWriter<K>>(series_).visits(index);
  }
  template <class K> void add(std::size_t index, const Visit<K>& visit, std::span<const typename K::Sample> samples) {
    // What readers would refuse: the document stays sound without it.
    try {
      check_row(visit, visit.axes);
      for (const auto& sample : samples) check_row(sample, sample);
    } catch (const FormatError& flaw) {
      throw FormatError(std::string("a visit that was to be added ") + flaw.what());
    }
    visits<K>(index);
    change([&] { series<K>().add(file_, index, visit, samples); });
  }
  template <class K> void set_error(std::size_t index, const SeriesError& error) {
    visits<K>(index);
    change([&] { series<K>().set_error(file_, index, error); });
  }
  void note(const std::string& name, const Facts& facts) {
    change([&] {
      if (has_link(of_run_, name)) done(H5Ldelete(of_run_, name.c_str(), H5P_DEFAULT), "replace '" + name + "'");
      put(create_group(of_run_, name), facts);
    });
  }
  void set_complete(bool complete) {
    change([&] { trace::change(file_, "complete", complete); });
  }

  std::uint64_t bytes() const { return image_size(file_); }
  void take_image(Bytes& to, Packing) const;
  bool sound() const { return sound_; }

 private:
  template <class K> SeriesWriter<K>& series() { return std::get<SeriesWriter<K>>(series_); }
  template <class Change> void change(Change body) {
    sound_ = false;
    body();
    sound_ = true;
  }

  Handle file_;
  Handle of_run_;  // group of this run's provenance
  Kinds::Tuple<SeriesWriter> series_;
  bool sound_ = true;
};

// A file with the same in it, whose groups, tables and texts HDF5 wrote itself.
Bytes written_anew(std::span<const std::byte>);

}  // namespace npgpu::trace
