#include "netpipe/model/probes/probe_rates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netpipe/model/medians.hpp"
#include "netpipe/model/probes/derivation.hpp"

namespace npgpu::model {

namespace {

constexpr double throttled_below = 0.98;  // of the highest clock
constexpr double same_clock = 0.02;
constexpr double clear_gap = 0.02;  // between two groups of times, of their median

bool usable(double value) { return std::isfinite(value) && value > 0; }

struct Trials {
  ByVisit us;           // of one repeat
  ByVisit cycles, mhz;  // of one repeat, and over its time; of the trials that have them
  std::uint32_t max_blocks_on_unit = 0;
  std::string why_not{};  // why none of them counts
};

Trials trials_of(const ProbeSeries& series, const ProbePoint& point) {
  Trials trials;
  const bool host_clock = any_sample(series, point, [](const auto& s) { return !usable(s.device_us); });
  for (const auto* visit : point.visits)
    for (const ProbeSample& sample : samples_of(series, *visit)) {
      if (sample.intact == 0) trials.why_not = "results were wrong";
      if (point.axes.one_block_per_sm && sample.max_blocks_on_unit > 1) trials.why_not = "two blocks ran on one unit";
      trials.max_blocks_on_unit = std::max(trials.max_blocks_on_unit, sample.max_blocks_on_unit);
    }
  const auto time = [&](const ProbeSample& s) {
    const double us = host_clock ? s.host_us : s.device_us;
    return usable(us) && s.repeats > 0 ? us : not_measured;
  };
  // The cycles of trials that have a time.
  const auto cycles = [&](const ProbeSample& s) {
    return usable(s.cycles) && std::isfinite(time(s)) ? s.cycles : not_measured;
  };
  trials.us = values_of(series, point, [&](const auto& s) { return time(s) / static_cast<double>(s.repeats); });
  trials.cycles = values_of(series, point, [&](const auto& s) { return cycles(s) / static_cast<double>(s.repeats); });
  trials.mhz = values_of(series, point, [&](const auto& s) { return cycles(s) / time(s); });
  if (trials.why_not.empty() && all_of(trials.us).empty()) trials.why_not = "no usable trial";
  if (trials.why_not.empty() && !usable(point.work())) trials.why_not = "its work is not known";
  return trials;
}

// What telemetry read, in the middle of the visits; NaN where it reads nothing.
double clock_of(const ProbePoint& point) {
  std::vector<double> mhz;
  for (const auto* visit : point.counted())
    if (std::isfinite(visit->telemetry.sm_clock_mhz)) mhz.push_back(visit->telemetry.sm_clock_mhz);
  return mhz.empty() ? not_measured : median(mhz);
}

// Whether the cycles of one block are those of the whole kernel: see the header.
bool covers_kernel(const ProbeSeries& series, const ProbePoint& point, const Trials& trials, double mhz) {
  if (is_host(series)) return true;  // a block is a thread, and its cycles are its own
  const Layout& l = series.layout;
  const auto is_near = [&](double clock) { return std::abs(mhz / clock - 1) <= same_clock; };
  if (is_near(l.clock_mhz) || is_near(clock_of(point))) return true;
  if (mhz > l.clock_mhz) return false;  // no unit runs faster: these cycles are of another clock
  std::uint64_t on_unit = trials.max_blocks_on_unit;
  if (on_unit == 0 && point.axes.blocks == 1) on_unit = 1;
  if (on_unit == 0 && l.units > 0) on_unit = (std::uint64_t{point.axes.blocks} + l.units - 1) / l.units;
  const std::uint64_t lanes = std::max(l.lanes, 1u);
  const std::uint64_t threads = (point.axes.threads + lanes - 1) / lanes * lanes;
  const bool fits = on_unit <= l.max_blocks_per_unit && on_unit * threads <= l.max_threads_per_block;
  return on_unit == 1 || (on_unit > 1 && fits);
}

// `work` over the time of a repeat, which counts in units of `unit_s` seconds (or is cycles: 1).
Estimate rate_of(double work, Estimate time, double unit_s) {
  for (double* t : {&time.value, &time.low, &time.high}) *t *= unit_s;
  return quotient({exactly(work)}, {time}, {}, time.method);
}

ProbeResult summarized(const ProbeSeries& series, const ProbePoint& point, bool has_cycles) {
  ProbeResult r = result_of(point);
  r.trials = npgpu::trials_of(series, point);
  const Trials trials = trials_of(series, point);
  r.why = trials.why_not;
  r.is_wrong = any_sample(series, point, [](const ProbeSample& s) { return s.intact == 0; });
  r.is_timed = !all_of(trials.us).empty();
  if (!r.usable()) return r;
  set_times(r, trials.us, series);
  const std::vector<double> all_us = all_of(trials.us);
  r.rate = rate_of(r.work, r.time_us, 1e-6);
  r.clock_mhz = clock_of(point);

  const std::vector<double> all_mhz = all_of(trials.mhz);
  const bool mostly = 2 * all_mhz.size() >= all_us.size();
  if (mostly && has_cycles) {
    const double mhz = median(all_mhz);
    if (covers_kernel(series, point, trials, mhz)) {
      r.cycle_rate = rate_of(r.work, median_over_visits(trials.cycles, ""), 1);  // what drifts is not in cycles
      r.clock_mhz = mhz;
    }
  }

  if (series.is_unsteady(r.rate)) r.doubts.push_back("it is unsteady");
  if (r.clock_mhz < throttled_below * series.layout.clock_mhz)
    r.doubts.push_back(fmt::format("it ran at {:.0f} of {:.0f} MHz{}", r.clock_mhz, series.layout.clock_mhz,
                                   is_host(series) ? ": a lower clock, or something else had its core" : ""));
  if (is_host(series) && r.clock_mhz > (1 + same_clock) * series.layout.clock_mhz)
    r.doubts.push_back(fmt::format("it ran at {:.0f} MHz, above the {:.0f} that were taken for the highest clock",
                                   r.clock_mhz, series.layout.clock_mhz));
  if (is_host(series) && has_cycles && !mostly)
    r.doubts.push_back(fmt::format("the clock of its core changed during {} of {} trials",
                                   all_us.size() - all_mhz.size(), all_us.size()));
  if (!r.disturbed.empty()) r.doubts.push_back("disturbed: " + r.disturbed);
  if (upper_group(all_us)) r.doubts.push_back("its times fall into two groups");
  return r;
}

}  // namespace

std::optional<double> upper_group(std::span<const double> values) {
  if (values.size() < 8) return std::nullopt;
  std::vector<double> v(values.begin(), values.end());
  std::sort(v.begin(), v.end());
  const std::size_t quarter = (v.size() + 3) / 4;
  for (std::size_t i = quarter; i + quarter <= v.size(); ++i) {
    const double gap = v[i] - v[i - 1];
    const std::size_t far_below = i / 8, far_above = (v.size() - i) / 8;  // a few wild values widen no group
    const double widest = std::max(v[i - 1] - v[far_below], v[v.size() - 1 - far_above] - v[i]);
    if (gap > widest && gap > clear_gap * median(v)) return v[i];
  }
  return std::nullopt;
}

bool is_host(const ProbeSeries& series) { return series.question.device.rfind("host", 0) == 0; }

bool has_cores(const ProbeSeries& series) { return is_host(series) || series.layout.max_blocks_per_unit == 1; }

std::vector<ProbeResult> rates_of(const ProbeSeries& series) {
  std::vector<ProbeResult> rates = results(series);
  std::erase_if(rates, [](const ProbeResult& r) { return !r.usable(); });
  return rates;
}

}  // namespace npgpu::model

namespace npgpu {

std::vector<ProbeResult> Probes::results(const ProbeSeries& series) {
  const bool has_cycles = std::ranges::any_of(series.samples, [](const auto& s) { return model::usable(s.cycles); });
  return model::of_each_point(series, [has_cycles](const ProbeSeries& of, const ProbePoint& point) {
    return model::summarized(of, point, has_cycles);
  });
}

}  // namespace npgpu
