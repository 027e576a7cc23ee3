// A job's time in streams before it was measured, with the interval that follows from the costs'; and what the
// simulator says of measured jobs whose chunks take turns in fewer streams.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/model/jobs/job_points.hpp"
#include "netpipe/model/medians.hpp"
#include "npgpu/model/advice.hpp"
#include "npgpu/model/predict.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

std::vector<SplitInTurn> predict_in_turn(const Trace& trace, const MeasuredCosts& measured) {
  std::vector<SplitInTurn> splits;
  for (const JobSeries& series : trace.of<Jobs>()) {
    const JobCase& c = series.question;
    std::map<JobShape, MeasuredWorkload> whole;  // unsplit
    const auto unsplit = [](JobShape job) {
      job.chunks = job.streams = 1;
      return job;
    };
    const std::vector<JobResult> all = results(series);
    for (const JobResult& s : all)
      if (s.axes.chunks == 1 && s.time_us.value > 0 && s.disturbed.empty())
        whole.try_emplace(unsplit(s.axes), MeasuredWorkload{{{1}, {s.time_us}}, c, unsplit(s.axes)});
    for (const JobResult& s : all) {
      const auto found = whole.find(unsplit(s.axes));
      if (!model::takes_turns(c, s.axes) || found == whole.end() || !(s.time_us.value > 0) || !s.disturbed.empty())
        continue;
      const Job job = job_of(found->second, measured);
      const StreamRun run = simulate_total(job, s.axes.chunks, measured.costs, c.order, s.axes.streams);
      splits.push_back({s.axes.chunks, s.axes.streams, s.time_us.value, microseconds(run.total)});
    }
  }
  return splits;
}

namespace {

constexpr int draws = 40;
constexpr double quantile_95 = 1.96;

// Gives the cost another value than was measured. Counts stay: they are decided, not estimated.
void set(StreamCosts& c, Cost cost, double measured, double value) {
  const double factor = value / measured;
  const auto us = from_microseconds(value);
  const auto of_calls = [&](Seconds& usual, Curve& curve) {
    usual *= factor;
    curve = curve.scaled(factor);
  };
  switch (cost) {
    case Cost::issue_h2d: return of_calls(c.issue.h2d, c.issue_h2d);
    case Cost::issue_kernel: return of_calls(c.issue.kernel, c.issue_kernel);
    case Cost::issue_d2h: return of_calls(c.issue.d2h, c.issue_d2h);
    case Cost::rate_h2d: c.copy_h2d = c.copy_h2d.scaled(1 / factor); return;
    case Cost::rate_d2h: c.copy_d2h = c.copy_d2h.scaled(1 / factor); return;
    case Cost::gap_h2d: c.gap.h2d = us; return;
    case Cost::gap_kernel: c.gap.kernel = us; return;
    case Cost::gap_d2h: c.gap.d2h = us; return;
    case Cost::latency_h2d: c.latency.h2d = us; return;
    case Cost::latency_kernel: c.latency.kernel = us; return;
    case Cost::duplex_extra_gap: c.duplex_extra_gap = us; return;
    case Cost::gap_ahead_of_kernel: c.gap_ahead_of_kernel = us; return;
    case Cost::gap_behind_kernel: c.gap_behind_kernel = us; return;
    case Cost::submit: c.submit = us; return;
    case Cost::duplex_slowdown_h2d: c.duplex_slowdown_h2d = std::max(1.0, value); return;
    case Cost::duplex_slowdown_d2h: c.duplex_slowdown_d2h = std::max(1.0, value); return;
    default: return;  // no job with pooled streams is charged for them, or they are counts
  }
}

// Whole curves of calls and copies.
bool is_scaled(Cost cost) { return cost <= Cost::issue_d2h || cost == Cost::rate_h2d || cost == Cost::rate_d2h; }

// Costs within their intervals: of each the half below its value and the half above are those of normal distributions
// with these bounds. The generator is the standard library's, its distribution is not: the same everywhere.
StreamCosts drawn_costs(const MeasuredCosts& measured, std::mt19937_64& random) {
  StreamCosts c = measured.costs;
  for (const CostParameter& p : measured.parameters) {
    const Estimate& e = p.estimate;
    if (!std::isfinite(e.high - e.low) || (is_scaled(p.cost) && !(e.value > 0))) continue;
    const double z = normal([&] { return (static_cast<double>(random() >> 11) + 1) * 0x1p-53; });
    const double drawn = e.value + z / quantile_95 * (z < 0 ? e.value - e.low : e.high - e.value);
    set(c, p.cost, e.value, std::max(drawn, 0.05 * e.value));
  }
  return c;
}

// What the interval leaves out.
std::string method_of(const MeasuredCosts& measured) {
  std::string without;
  for (const CostParameter& p : measured.parameters)
    if (p.estimate.unit == "us" && p.cost != Cost::gate && !std::isfinite(p.estimate.high - p.estimate.low))
      without += (without.empty() ? "" : ", ") + p.name;
  return "discrete-event simulation; interval from the costs'" +
         (without.empty() ? std::string() : ", which these have not: " + without);
}

Estimate with_interval(double us, const std::vector<double>& drawn, const std::string& method) {
  const auto [low, high] = model::middle_95(drawn);
  return {us, std::min(low, us), std::max(high, us), "us", method};
}

// Names the parts of the job that are not there.
std::string missing_parts(const Job& job) {
  std::vector<const char*> missing;
  if (!job.in_bytes) missing.push_back("bytes to the device");
  if (!(job.kernel.count() > 0)) missing.push_back("a kernel's time");
  if (!job.out_bytes) missing.push_back("bytes from the device");
  return fmt::format("{}", fmt::join(missing, ", "));
}

}  // namespace

Forecast forecast(const Job& job, const MeasuredCosts& measured, Order order, std::span<const std::uint32_t> candidates,
                  Parts parts) {
  if (!measured.usable)
    throw Error(
        ErrorKind::usage,
        measured.device + ": " + (measured.missing.empty() ? "its costs were not measured" : measured.missing.front()));
  if (!job.in_bytes && !job.out_bytes && job.kernel.count() == 0)
    throw Error(ErrorKind::usage, "a job without bytes and without a kernel has nothing to do");
  if (const std::string missing = missing_parts(job); parts == Parts::all && !missing.empty())
    throw Error(ErrorKind::usage, "the job has not all of its parts: it lacks " + missing);
  if (order == Order::independent)
    throw Error(ErrorKind::usage,
                "in the order `independent` no kernel waits for its input: it is one for measurements, not for a job");
  Forecast f;
  f.prediction = choose_streams(job, measured.costs, order, candidates);
  const auto& all = f.prediction.candidates;
  std::vector<std::uint32_t> counts;
  for (const StreamTime& one : all) counts.push_back(one.streams);
  std::vector<std::vector<double>> times(all.size(), std::vector<double>(draws));
  std::vector<std::uint32_t> best(draws);
  std::vector<StreamCosts> drawn;
  std::mt19937_64 random{20'000'927};
  for (int i = 0; i < draws; ++i) drawn.push_back(drawn_costs(measured, random));
  in_parallel(drawn.size(), [&](std::size_t i) {
    const Prediction p = choose_streams(job, drawn[i], order, counts);
    best[i] = p.streams;
    for (std::size_t k = 0; k < times.size(); ++k) times[k][i] = microseconds(p.candidates[k].run.total);
  });
  const std::string method = method_of(measured);
  for (std::size_t k = 0; k < all.size(); ++k) {
    f.candidates_us.push_back(with_interval(microseconds(all[k].run.total), times[k], method));
    if (all[k].streams == f.prediction.streams) f.time_us = f.candidates_us.back();
  }
  const auto [fewest, most] = model::middle_95(best);
  f.fewest = std::min(fewest, f.prediction.streams);
  f.most = std::max(most, f.prediction.streams);
  return f;
}

}  // namespace npgpu
