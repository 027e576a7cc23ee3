// Jobs that a trace holds, unsplit and split, as the simulator is asked about them.
#include <algorithm>
#include <cmath>
#include <map>

#include "netpipe/model/jobs/job_points.hpp"
#include "npgpu/drift.hpp"
#include "npgpu/predict.hpp"

namespace npgpu {

namespace {

DriftByTime drift_within_run(const std::vector<Drift>& drifts, TimeClass time_class) {
  const auto found = std::ranges::find(drifts, time_class, &Drift::time_class);
  return found == drifts.end() ? DriftByTime{} : found->drift;
}

bool is_whole(const JobCase& c) {
  return c.gating == Gating::open && c.order != Order::independent && c.workload != Workload::none;
}
bool is_whole(const JobShape& job) {
  return job.chunks == job.streams && (job.bytes_in || job.bytes_out) && job.kernel_bytes;
}

// Every whole job with copies and a kernel that was measured unsplit and split, and issued in this way: those that are
// scored, with pooled streams and split in three ways or more, or the others. Times that others disturbed say nothing
// of a model. Which numbers of streams are equally good is asked within the run: intervals leave out what differs from
// run to run.
std::vector<MeasuredWorkload> split_jobs(const Trace& trace, Issuing issue, bool scored) {
  std::map<JobStep, std::map<std::uint32_t, JobResult>> found;
  const std::vector<Drift> drifts = drifts_of(trace);
  for (const JobSeries& series : trace.of<Jobs>()) {
    const JobCase& c = series.question;
    if (c.issue != issue || !is_whole(c)) continue;
    JobSeries within = series;
    within.drift = drift_within_run(drifts, class_of(c));
    for (const JobResult& s : results(within)) {
      if (!is_whole(s.axes) || !(s.time_us.value > 0) || !s.disturbed.empty()) continue;
      JobShape unsplit = s.axes;
      unsplit.chunks = unsplit.streams = 1;
      found[{c, unsplit}].emplace(s.axes.chunks, s);
    }
  }
  std::vector<MeasuredWorkload> all;
  for (const auto& [step, times] : found) {
    if (!times.count(1) || times.size() < 2) continue;
    MeasuredWorkload w{{}, step.question, step.axes};
    for (const auto& [n, measured] : times) {
      w.add(n, measured);
      w.issue_us.push_back(measured.issue_us);
    }
    if ((w.question.pool == StreamPool::pooled && w.streams.size() >= 4) == scored) all.push_back(std::move(w));
  }
  return all;
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(0.95 * static_cast<double>(values.size())));
  return {median(values), values[std::max<std::size_t>(rank, 1) - 1], values.back()};
}

std::size_t disturbed_times(const Trace& trace) {
  std::size_t all = 0;
  for (const JobSeries& series : trace.of<Jobs>())
    if (is_whole(series.question))
      for (const JobPoint& point : points_of(series)) all += is_whole(point.axes) && point.disturbed();
  return all;
}

std::vector<MeasuredWorkload> workloads_of(const Trace& trace) { return split_jobs(trace, Issuing::streams, true); }

std::vector<MeasuredWorkload> other_workloads_of(const Trace& trace) {
  return split_jobs(trace, Issuing::streams, false);
}

std::vector<MeasuredWorkload> graph_workloads_of(const Trace& trace) { return split_jobs(trace, Issuing::graph, true); }

StreamCosts costs_of(const MeasuredWorkload& w, const MeasuredCosts& measured) {
  StreamCosts costs = measured.costs;
  if (w.question.pool == StreamPool::fresh) costs.stream_create = measured.create;
  return costs;
}

Job job_of(const MeasuredWorkload& w, const MeasuredCosts& measured) {
  Job job{.in_bytes = w.job.bytes_in, .out_bytes = w.job.bytes_out};
  job.blocks = blocks_of(w.job);
  job.last_block = last_block_of(w.job);
  // Unsplit, all else adds up, so that the rest is the kernel's.
  constexpr double min_us = 0.5;
  job.kernel = from_microseconds(min_us);
  const Seconds all_but = simulate_total(job, 1, costs_of(w, measured), w.question.order).total;
  const double rest = w.time_us.front().value - microseconds(all_but);
  double kernel_us = std::max(min_us, min_us + rest);
  // An unsplit job of 30 us takes 7 us more or less, depending on whether an operation comes in time to be spared its
  // latency: so much of that rest may not be the kernel's. Kernels by themselves show theirs within a tenth. What is
  // further off than the latencies of both operations is no such wait: on an H200 8161 blocks of `memory` should take
  // 38 us by their curve, and took 70 us in a job. There the job counts.
  const double spared_us = microseconds(measured.costs.latency.kernel);
  const auto alone = kernel_time(measured, w.question.workload, w.job);
  if (alone && std::abs(microseconds(*alone) - kernel_us) <= 2 * spared_us) {
    const double alone_us = microseconds(*alone);
    const auto weight = [](double us, double half) { return 1 / std::pow(model::half_for_weight(us, half), 2); };
    const double rests = weight(kernel_us, spared_us / 2), alones = weight(alone_us, alone_us / 10);
    kernel_us = (rests * kernel_us + alones * alone_us) / (rests + alones);
  }
  job.kernel = from_microseconds(kernel_us);
  describe_kernel(job, measured, w.job.threads, w.question.workload, w.job.iterations);
  return job;
}

}  // namespace npgpu
