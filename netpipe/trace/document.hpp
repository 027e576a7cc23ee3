// A trace being written, in memory: the HDF5 side of the writer. It knows no files, locks or clocks.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "netpipe/trace/attributes.hpp"
#include "netpipe/trace/headers.hpp"
#include "netpipe/trace/image.hpp"
#include "netpipe/trace/layout.hpp"
#include "netpipe/trace/rows.hpp"
#include "netpipe/trace/tables.hpp"
#include "npgpu/trace.hpp"

namespace npgpu::trace {

// The series of one kind, /<kind>/NNNN. Throws FormatError.
template <class K>
class SeriesWriter {
 public:
  using Axes = typename K::Axes;
  using Sample = typename K::Sample;

  // What a continued trace holds already.
  void load(const std::vector<Series<K>>& all) {
    for (const Series<K>& series : all) {
      State& state = states_.emplace_back(State{without_rows(series)});
      for (const Point<K>& point : series.points) state.axes.insert(point.axes);
    }
  }

  std::size_t begin(hid_t file, const Series<K>& header) {
    for (std::size_t i = 0; i < states_.size(); ++i) {
      State& known = states_[i];
      if (known.begun || !same_question(known.header, header)) continue;
      known.begun = true;
      if (!known.header.error.empty()) set_error(file, i, "");
      return i;
    }
    Handle group = create_group(open_group(file, "/", parent()), group_name(states_.size()));
    put_header(group, header);
    auto points = Table<Point<K>>::create(group, "points");
    auto samples = Table<Sample>::create(group, "samples");
    open_ = Open{states_.size(), std::move(group), std::move(points), std::move(samples)};
    states_.push_back({without_rows(header), {}, true});
    return states_.size() - 1;
  }

  const std::set<Axes>& axes(std::size_t index) const { return state(index).axes; }

  void add(hid_t file, std::size_t index, Point<K> point, std::span<const Sample> samples) {
    Open& now = open(file, index);
    point.first_sample = now.samples.rows();
    point.samples = static_cast<std::uint32_t>(samples.size());
    std::vector<Sample> numbered(samples.begin(), samples.end());
    for (Sample& sample : numbered) sample.point = static_cast<std::uint32_t>(now.points.rows());
    now.samples.append(numbered);
    now.points.append(std::span<const Point<K>>(&point, 1));
    states_[index].axes.insert(point.axes);
  }

  void set_error(hid_t file, std::size_t index, const std::string& why) {
    change(open(file, index).group, "error", why);
    states_[index].header.error = why;
  }

 private:
  struct State {
    Series<K> header;       // without points and samples
    std::set<Axes> axes{};  // of its points
    bool begun = false;     // by this run, not only by the one that is continued
  };
  struct Open {
    std::size_t index;
    Handle group;
    Table<Point<K>> points;
    Table<Sample> samples;
  };

  static std::string parent() { return std::string(K::name); }
  static Series<K> without_rows(Series<K> series) {
    series.points.clear();
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
      auto points = Table<Point<K>>::open(group, where, "points", unbounded);
      auto samples = Table<Sample>::open(group, where, "samples", unbounded);
      open_ = Open{index, std::move(group), std::move(points), std::move(samples)};
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

  template <class K>
  std::size_t begin(const Series<K>& header) {
    std::size_t index = 0;
    change([&] { index = series<K>().begin(file_, header); });
    return index;
  }
  template <class K>
  const std::set<typename K::Axes>& axes(std::size_t index) const {
    return std::get<SeriesWriter<K>>(series_).axes(index);
  }
  template <class K>
  void add(std::size_t index, const Point<K>& point, std::span<const typename K::Sample> samples) {
    // What readers would refuse: the document stays sound without it.
    try {
      check_point(point);
      for (const auto& sample : samples) check_sample(sample);
    } catch (const FormatError& flaw) {
      throw FormatError(std::string("a point that was to be added ") + flaw.what());
    }
    axes<K>(index);
    change([&] { series<K>().add(file_, index, point, samples); });
  }
  template <class K>
  void set_error(std::size_t index, const std::string& why) {
    axes<K>(index);
    change([&] { series<K>().set_error(file_, index, why); });
  }
  void set_complete(bool);

  std::uint64_t bytes() const { return image_size(file_); }
  void take_image(Bytes& to, Packing) const;
  bool sound() const { return sound_; }

 private:
  template <class K>
  SeriesWriter<K>& series() {
    return std::get<SeriesWriter<K>>(series_);
  }
  template <class Change>
  void change(Change body) {
    sound_ = false;
    body();
    sound_ = true;
  }

  Handle file_;
  Kinds::Tuple<SeriesWriter> series_;
  bool sound_ = true;
};

}  // namespace npgpu::trace
