// A series in a file, /<kind>/NNNN: its header as attributes, its visits and samples as two tables. How it is written,
// how it is read back, and what its rows must be either time. Throws FormatError.
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
#include "npgpu/vocabulary/trace.hpp"

namespace npgpu::trace {

// Codes of enumerators are known ones, and the kind itself finds no flaw in `judged`.
template <class Row, class Judged> void check_row(const Row& row, const Judged& judged) {
  visit_fields(row, [&]<class T>(const FieldInfo& info, const T& value) {
    if constexpr (std::is_enum_v<T>) {
      const auto code = static_cast<std::int32_t>(value);
      if (code < 0 || static_cast<std::size_t>(code) >= names_of<T>.size())
        throw FormatError(fmt::format("has the unknown {} code {}", info.name, code));
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      constexpr std::uint64_t most_bytes = 1ULL << 50;
      if (info.unit == "B" && value > most_bytes)
        throw FormatError(fmt::format("has {} of {}, more than any memory", info.name, value));
    }
  });
  if (const auto flaw = flaw_of(judged)) throw FormatError(*flaw);
}

// Rows are sound one by one, and visits and samples agree on who owns whom.
template <class K> void check_rows(const Series<K>& series, const std::string& where) {
  if constexpr (requires { flaw_of(series.question); })
    if (const auto flaw = flaw_of(series.question)) throw FormatError(fmt::format("{} {}", where, *flaw));
  const auto checked = [&](const char* table, std::size_t row, auto check) {
    try {
      check();
    } catch (const FormatError& flaw) {
      throw FormatError(fmt::format("row {} of {}/{} {}", row, where, table, flaw.what()));
    }
  };
  const std::size_t all = series.samples.size();
  for (std::size_t i = 0; i < series.visits.size(); ++i)
    checked("visits", i, [&] {
      const Visit<K>& visit = series.visits[i];
      check_row(visit, visit.axes);
      if (visit.samples > all || visit.first_sample > all - visit.samples)
        throw FormatError(fmt::format("has samples {} + {}, and there are {}", visit.first_sample, visit.samples, all));
      for (std::uint64_t s = visit.first_sample; s < visit.first_sample + visit.samples; ++s)
        if (series.samples[s].visit != i)
          throw FormatError(
              fmt::format("has sample {}, which says that it is of visit {}", s, series.samples[s].visit));
    });
  for (std::size_t i = 0; i < all; ++i)
    checked("samples", i, [&] {
      const auto& sample = series.samples[i];
      if (sample.visit >= series.visits.size())
        throw FormatError(fmt::format("is of visit {}, and there are {}", sample.visit, series.visits.size()));
      check_row(sample, sample);
    });
}

// Writes the series of one kind, a visit at a time.
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

// The series in this group. With headers only, it has neither visits nor samples. `image_bytes` bounds what its tables
// can hold.
template <class K>
Series<K> read_series(hid_t group, const std::string& where, std::uint64_t image_bytes, Depth depth) {
  Series<K> series;
  get_header(group, where, series);
  // Traces without `failure` say in words that results were wrong.
  if (series.failure == Failure::none && !series.error.empty())
    series.failure = series.error.starts_with("wrong") ? Failure::wrong : Failure::failed;
  if (depth == Depth::headers) return series;
  series.visits = Table<Visit<K>>::open(group, where, "visits", image_bytes).read();
  series.samples = Table<typename K::Sample>::open(group, where, "samples", image_bytes).read();
  check_rows(series, where);
  return series;
}

}  // namespace npgpu::trace
