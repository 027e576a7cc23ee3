#include "netpipe/model/probes/probe_rates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netpipe/model/medians.hpp"
#include "netpipe/model/probes/derivation.hpp"
#include "npgpu/compare.hpp"

namespace npgpu::model {

namespace {

constexpr double throttled_below = 0.98;  // of the highest clock
constexpr double same_clock = 0.02;
constexpr double clear_gap = 0.02;  // between two groups of times, of their median

// NVML's reasons that take clocks away: software power cap, hardware slowdown, software and hardware thermal
// slowdown, power brake. Idle, application clocks and the like are choices.
constexpr std::uint64_t slowing_reasons = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

bool usable(double value) { return std::isfinite(value) && value > 0; }

struct Trials {
  std::vector<double> us;           // of one repeat
  std::vector<double> cycles, mhz;  // of one repeat, and over its time; of the trials that have them
  std::uint32_t max_blocks_on_unit = 0;
  std::string why_not{};  // why none of them counts
};

Trials trials_of(const ProbePoint& point, std::span<const ProbeSample> samples) {
  Trials trials;
  const bool device_clock =
      std::all_of(samples.begin(), samples.end(), [](const auto& s) { return usable(s.device_us); });
  for (const ProbeSample& sample : samples) {
    if (sample.intact == 0) trials.why_not = "results were wrong";
    if (point.axes.one_block_per_sm && sample.max_blocks_on_unit > 1) trials.why_not = "two blocks ran on one unit";
    trials.max_blocks_on_unit = std::max(trials.max_blocks_on_unit, sample.max_blocks_on_unit);
    const double us = device_clock ? sample.device_us : sample.host_us;
    if (!usable(us) || sample.repeats == 0) continue;
    trials.us.push_back(us / static_cast<double>(sample.repeats));
    if (!usable(sample.cycles)) continue;
    trials.cycles.push_back(sample.cycles / static_cast<double>(sample.repeats));
    trials.mhz.push_back(sample.cycles / us);
  }
  if (trials.why_not.empty() && trials.us.empty()) trials.why_not = "no usable trial";
  if (trials.why_not.empty() && !usable(point.work)) trials.why_not = "its work is not known";
  return trials;
}

// Whether the cycles of one block are those of the whole kernel: see the header.
bool covers_kernel(const ProbeSeries& series, const ProbePoint& point, const Trials& trials, double mhz) {
  if (is_host(series)) return true;  // a block is a thread, and its cycles are its own
  const Layout& l = series.layout;
  const auto is_near = [&](double clock) { return std::abs(mhz / clock - 1) <= same_clock; };
  if (is_near(l.clock_mhz) || is_near(point.telemetry.sm_clock_mhz)) return true;
  if (mhz > l.clock_mhz) return false;  // no unit runs faster: these cycles are of another clock
  std::uint64_t on_unit = trials.max_blocks_on_unit;
  if (on_unit == 0 && point.axes.blocks == 1) on_unit = 1;
  if (on_unit == 0 && l.units > 0) on_unit = (std::uint64_t{point.axes.blocks} + l.units - 1) / l.units;
  const std::uint64_t lanes = std::max(l.lanes, 1u);
  const std::uint64_t threads = (point.axes.threads + lanes - 1) / lanes * lanes;
  const bool fits = on_unit <= l.max_blocks_per_unit && on_unit * threads <= l.max_threads_per_block;
  return on_unit == 1 || (on_unit > 1 && fits);
}

// `work` over the median of `each`, which counts in units of `unit_s` seconds (or is cycles: 1).
Estimate rate_of(double work, const std::vector<double>& each, double unit_s) {
  Estimate time;
  const bool bounded = set_median(time, each);
  for (double* t : {&time.value, &time.low, &time.high}) *t *= unit_s;
  return quotient({exactly(work)}, {time}, {},
                  fmt::format("median of {} trials{}", each.size(), bounded ? "" : ", too few for an interval"));
}

}  // namespace

bool two_groups(std::span<const double> values) {
  if (values.size() < 8) return false;
  std::vector<double> v(values.begin(), values.end());
  std::sort(v.begin(), v.end());
  const std::size_t quarter = (v.size() + 3) / 4;
  for (std::size_t i = quarter; i + quarter <= v.size(); ++i) {
    const double gap = v[i] - v[i - 1];
    const std::size_t far_below = i / 8, far_above = (v.size() - i) / 8;  // a few wild values widen no group
    const double widest = std::max(v[i - 1] - v[far_below], v[v.size() - 1 - far_above] - v[i]);
    if (gap > widest && gap > clear_gap * median(v)) return true;
  }
  return false;
}

bool is_host(const ProbeSeries& series) { return series.question.device.rfind("host", 0) == 0; }

std::vector<PointRate> rates_of(const ProbeSeries& series) {
  std::vector<PointRate> rates;
  const bool has_cycles =
      std::any_of(series.samples.begin(), series.samples.end(), [](const auto& s) { return usable(s.cycles); });
  for (const ProbePoint& point : series.points) {
    const Trials trials = trials_of(point, samples_of(series, point));
    if (!trials.why_not.empty()) continue;
    PointRate& r = rates.emplace_back();
    r.shape = point.axes;
    r.rate = rate_of(point.work, trials.us, 1e-6);
    r.clock_mhz = point.telemetry.sm_clock_mhz;

    const bool mostly = 2 * trials.cycles.size() >= trials.us.size();
    if (mostly && has_cycles) {
      const double mhz = median(trials.mhz);
      if (covers_kernel(series, point, trials, mhz)) {
        r.cycle_rate = rate_of(point.work, trials.cycles, 1);
        r.clock_mhz = mhz;
      }
    }

    if (point.stop == Stop::not_converged) r.doubts.push_back("it did not converge");
    if (r.clock_mhz < throttled_below * series.layout.clock_mhz)
      r.doubts.push_back(fmt::format("it ran at {:.0f} of {:.0f} MHz{}", r.clock_mhz, series.layout.clock_mhz,
                                     is_host(series) ? ": a lower clock, or something else had its core" : ""));
    if (is_host(series) && r.clock_mhz > (1 + same_clock) * series.layout.clock_mhz)
      r.doubts.push_back(fmt::format("it ran at {:.0f} MHz, above the {:.0f} that were taken for the highest clock",
                                     r.clock_mhz, series.layout.clock_mhz));
    if (is_host(series) && has_cycles && !mostly)
      r.doubts.push_back(fmt::format("the clock of its core changed during {} of {} trials",
                                     trials.us.size() - trials.cycles.size(), trials.us.size()));
    if (point.telemetry.throttle_reasons & slowing_reasons)
      r.doubts.push_back(
          fmt::format("the device held its clocks back (reasons {:#x})", point.telemetry.throttle_reasons));
    if (two_groups(trials.us)) r.doubts.push_back("its times fall into two groups");
  }
  return rates;
}

}  // namespace npgpu::model

namespace npgpu {

template <> std::vector<PointTime<Probes>> estimates(const ProbeSeries& series) {
  std::vector<PointTime<Probes>> all;
  for (const ProbePoint& point : series.points) {
    const model::Trials trials = model::trials_of(point, samples_of(series, point));
    PointTime<Probes>& p = all.emplace_back();
    p.axes = point.axes;
    p.work = point.work;
    p.why = trials.why_not;
    if (p.usable()) model::set_times(p, trials.us);
  }
  return all;
}

}  // namespace npgpu
