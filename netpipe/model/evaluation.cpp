// How good predictions are: the simulator and its rivals against jobs that were measured and never used for costs.
#include <algorithm>
#include <cmath>
#include <map>

#include "netpipe/model/baselines.hpp"
#include "npgpu/error.hpp"

namespace npgpu {

namespace {

using model::Baseline;
using model::Seen;

std::size_t best_of(const std::vector<Estimate>& times) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < times.size(); ++i)
    if (times[i].value < times[best].value) best = i;
  return best;
}

// Of the counts that were measured: the least time; or the neighbour of a wanted count that the model likes better.
std::size_t choice_of(const Baseline& b, const Seen& s) {
  const auto& counts = s.workload->streams;
  const auto time = [&](std::size_t i) { return b.time_us ? b.time_us(s, counts[i]) : 0.0; };
  std::size_t chosen = 0;
  if (!b.streams) {
    for (std::size_t i = 1; i < counts.size(); ++i)
      if (time(i) < time(chosen)) chosen = i;
    return chosen;
  }
  const double wanted = b.streams(s);
  const auto above = std::lower_bound(counts.begin(), counts.end(), wanted) - counts.begin();
  const auto high = std::min(static_cast<std::size_t>(above), counts.size() - 1);
  const std::size_t low = high > 0 && counts[high] > wanted ? high - 1 : high;
  if (low == high || !b.time_us) return wanted - counts[low] < counts[high] - wanted ? low : high;
  return time(low) <= time(high) ? low : high;
}

// Where no interval is known, equal times only.
bool within_noise(const Estimate& chosen, const Estimate& best) {
  const double low = std::isfinite(chosen.low) ? chosen.low : chosen.value;
  const double high = std::isfinite(best.high) ? best.high : best.value;
  return low <= high;
}

ModelScore score(const Baseline& b, const std::vector<Seen>& all, std::vector<WorkloadScore>* workloads) {
  ModelScore result;
  result.model = b.name;
  result.source = b.source;
  result.fitted = b.fitted;
  result.workloads = static_cast<std::uint32_t>(all.size());
  std::vector<double> errors, regrets, measured, residuals;
  double hits = 0;
  for (std::size_t w = 0; w < all.size(); ++w) {
    const Seen& s = all[w];
    if (b.fit) {
      std::vector<const Seen*> rest;
      for (std::size_t i = 0; i < all.size(); ++i)
        if (i != w) rest.push_back(&all[i]);
      b.fit(rest);
    }
    const auto& times = s.workload->time_us;
    for (std::size_t i = 0; i < times.size(); ++i) {
      const double predicted = b.time_us ? b.time_us(s, s.workload->streams[i]) : not_measured;
      if (workloads) (*workloads)[w].predicted_us.push_back(predicted);
      if (s.workload->streams[i] == 1 || !std::isfinite(predicted)) continue;
      errors.push_back(std::abs(predicted / times[i].value - 1));
      measured.push_back(times[i].value);
      residuals.push_back(predicted - times[i].value);
    }
    const std::size_t best = best_of(times), chosen = choice_of(b, s);
    regrets.push_back(times[chosen].value / times[best].value - 1);
    hits += within_noise(times[chosen], times[best]);
    if (workloads) {
      WorkloadScore& one = (*workloads)[w];
      one.best = s.workload->streams[best];
      one.predicted_best = s.workload->streams[chosen];
      one.regret = regrets.back();
    }
  }
  result.error = spread_of(errors);
  result.regret = spread_of(regrets);
  result.hits = hits / static_cast<double>(all.size());
  double mean = 0, total = 0, left = 0;
  for (const double t : measured) mean += t / static_cast<double>(measured.size());
  for (const double t : measured) total += (t - mean) * (t - mean);
  for (const double r : residuals) left += r * r;
  if (total > 0) result.r2 = 1 - left / total;
  if (!residuals.empty()) result.rmse_us = std::sqrt(left / static_cast<double>(residuals.size()));
  return result;
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(0.95 * static_cast<double>(values.size())));
  return {median(values), values[std::max<std::size_t>(rank, 1) - 1], values.back()};
}

std::vector<MeasuredWorkload> workloads_of(const Trace& trace) {
  std::map<JobQuestion, std::map<std::uint32_t, Estimate>> found;
  for (const OverlapSweep& sweep : trace.streams) {
    const OverlapCase& c = sweep.question;
    if (c.gated || c.pool != StreamPool::pooled || c.order == IssueOrder::apart || c.workload == Workload::none)
      continue;
    for (const JobSummary& s : summarize(sweep)) {
      if (s.job.chunks != s.job.streams || !(s.time_us.value > 0)) continue;
      if ((!s.job.bytes_in && !s.job.bytes_out) || !s.job.kernel_bytes) continue;
      JobShape uncut = s.job;
      uncut.chunks = uncut.streams = 1;
      found[{c, uncut}].emplace(s.job.chunks, s.time_us);
    }
  }
  std::vector<MeasuredWorkload> all;
  for (const auto& [asked, times] : found) {
    if (!times.count(1) || times.size() < 4) continue;
    MeasuredWorkload w{asked.question, asked.job, {}, {}};
    for (const auto& [n, t] : times) {
      w.streams.push_back(n);
      w.time_us.push_back(t);
    }
    all.push_back(std::move(w));
  }
  return all;
}

Job job_of(const MeasuredWorkload& w, const MeasuredCosts& measured) {
  Job job{.in_bytes = w.job.bytes_in, .out_bytes = w.job.bytes_out};
  job.blocks = (w.job.kernel_bytes / 4 + w.job.threads - 1) / w.job.threads;
  job.slots = slots_of(measured, w.job.threads);
  // Uncut, all else adds up, so that the rest is the kernel's.
  constexpr double least_us = 0.5;
  job.kernel = from_microseconds(least_us);
  const auto order = w.question.order == IssueOrder::depth_first ? Order::depth_first : Order::breadth_first;
  const double rest = w.time_us.front().value - microseconds(simulate_total(job, 1, measured.costs, order).total);
  job.kernel = from_microseconds(std::max(least_us, least_us + rest));
  return job;
}

Evaluation evaluate(std::span<const MeasuredWorkload> workloads, const MeasuredCosts& measured) {
  if (workloads.empty())
    throw Error(ErrorKind::usage,
                "no workload to hold predictions against: npgpu streams --experiment design measures some, each uncut "
                "and in at least three counts of streams");
  if (!measured.usable)
    throw Error(ErrorKind::usage,
                measured.device + ": " + (measured.missing.empty() ? "no costs" : measured.missing.front()));
  Evaluation result;
  result.device_name = measured.device_name;
  result.simulated = measured.simulated;
  std::vector<Seen> all;
  for (const MeasuredWorkload& w : workloads) {
    Seen s{&w, job_of(w, measured), {}, w.time_us.front().value};
    s.whole = chunk_times(s.job, 1, measured.costs);
    WorkloadScore one;
    one.workload = w;
    one.kernel_us = microseconds(s.job.kernel);
    result.workloads.push_back(std::move(one));
    all.push_back(std::move(s));
  }
  Baseline simulator;
  simulator.name = "simulator";
  simulator.source = "discrete events with measured costs, nothing fitted to jobs";
  simulator.time_us = [&](const Seen& s, std::uint32_t n) {
    const auto order =
        s.workload->question.order == IssueOrder::depth_first ? Order::depth_first : Order::breadth_first;
    return microseconds(simulate_total(s.job, n, measured.costs, order).total);
  };
  result.models.push_back(score(simulator, all, &result.workloads));
  for (const Baseline& b : model::baselines(measured)) result.models.push_back(score(b, all, nullptr));
  return result;
}

}  // namespace npgpu
