// export --summary: a row for each point, and lane where there are several. data/TABLES.md is the contract: a column
// that changes its meaning changes there, and its name with it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

#include "netpipe/report/case_name.hpp"
#include "netpipe/report/csv_rows.hpp"

namespace npgpu::csv {

namespace {

constexpr std::array<std::pair<Cause, std::string_view>, 10> cause_words{{{Cause::host_busy, "host-busy"},
                                                                          {Cause::cpu_steal, "host-taken"},
                                                                          {Cause::core_shared, "core-shared"},
                                                                          {Cause::device_busy, "device-busy"},
                                                                          {Cause::link_busy, "link-busy"},
                                                                          {Cause::throttled, "throttled"},
                                                                          {Cause::clock_changed, "clock-changed"},
                                                                          {Cause::memory_freed, "memory-freed"},
                                                                          {Cause::siblings, "siblings"},
                                                                          {Cause::host_limited, "host-limited"}}};

std::string words_of(std::uint32_t causes) {
  std::string words;
  for (const auto& [cause, word] : cause_words)
    if (causes & static_cast<std::uint32_t>(cause)) words += (words.empty() ? "" : ";") + std::string(word);
  return words;
}

template <class K> std::string disturbers_text(const Point<K>& point) {
  const auto all = disturbers_of(point);
  return point.disturbed() ? fmt::format("{}", fmt::join(all, ";")) : "";
}

// NaN where no visit knows it.
template <class K> double median_of(const std::vector<const Visit<K>*>& visits, double Telemetry::*what) {
  std::vector<double> values;
  for (const Visit<K>* visit : visits)
    if (std::isfinite(visit->telemetry.*what)) values.push_back(visit->telemetry.*what);
  return values.empty() ? not_measured : median(values);
}

template <class K> void summary_of(std::ostream& out, const Trace& trace) {
  const auto& all = trace.of<K>();
  for (std::size_t i = 0; i < all.size(); ++i) {
    Row front;
    front.add(trace.root.run_uuid, trace.root.hostname, trace.root.start_time_utc, K::name, i)
        .add(case_name(all[i].question))
        .add_fields(all[i].question)
        .add(all[i].device_uuid, all[i].device_name, all[i].simulated);
    const auto points = points_by_axes(all[i]);
    for (const Result<K>& r : results(all[i])) {
      const Estimate figure = K::figure(all[i].question, r);
      const Point<K>& point = points.at(r.axes);
      const auto counted = point.counted();
      Row(front)
          .add_fields(r.axes)
          .add(r.lane, figure.value, figure.low, figure.high, figure.unit, K::counted(all[i].question, r))
          .add(r.time_us.value, r.time_us.low, r.time_us.high, r.min_us, r.max_us)
          .add(point.visits.size(), counted.size(), r.trials)
          .add(median_of(counted, &Telemetry::sm_clock_mhz), median_of(counted, &Telemetry::memory_clock_mhz),
               median_of(counted, &Telemetry::power_w), median_of(counted, &Telemetry::temperature_c))
          .add(r.stop, words_of(r.causes), disturbers_text(point), r.why)
          .end(out);
    }
  }
}

}  // namespace

template <class K> void summary(std::ostream& out, std::span<const Trace> runs) {
  Row()
      .add("run_uuid", "host", "date", "kind", "series", "case_name")
      .add_names<typename K::Case>()
      .add("device_uuid", "device_name", "simulated")
      .template add_names<typename K::Axes>()
      .add("lane", "value", "low", "high", "unit", "counts", "time_us", "time_low_us", "time_high_us", "min_us",
           "max_us", "visits", "visits_counted", "trials", "sm_clock_mhz", "memory_clock_mhz", "power_w",
           "temperature_c", "stop", "disturbed", "disturbed_by", "unusable")
      .end(out);
  for (const Trace& run : runs) summary_of<K>(out, run);
}

NPGPU_FOR_KINDS(&summary<K>)

}  // namespace npgpu::csv
