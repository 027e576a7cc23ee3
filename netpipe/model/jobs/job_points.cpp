#include "netpipe/model/jobs/job_points.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <random>

#include "netpipe/model/medians.hpp"
#include "npgpu/model/advice.hpp"
#include "npgpu/model/predict.hpp"

namespace npgpu::model {

namespace {

constexpr int resamples = 1000;
constexpr std::size_t min_values = 6;  // as many as an interval from order statistics takes

void say_too_few(Estimate& e, std::size_t values) {
  e.method += "; no interval, " + std::to_string(values) + (values == 1 ? " value is" : " values are") + " too few";
}

std::vector<JobPoints::Deciles> deciles_of_calls(const JobSeries& series) {
  constexpr std::uint32_t several_chunks = 4;
  constexpr std::size_t enough_trials = 10;
  std::vector<JobPoints::Deciles> all;
  if (series.question.gating != Gating::open) return all;
  for (const JobPoint& point : points_of(series)) {
    if (point.axes.chunks < several_chunks || point.disturbed()) continue;
    std::vector<double> us = all_of(values_of(series, point, [](const JobSample& s) { return s.issue_us; }));
    std::erase_if(us, [](double t) { return !(t > 0); });
    if (us.size() < enough_trials) continue;
    std::ranges::sort(us);
    JobPoints::Deciles& deciles = all.emplace_back();
    const double usual = median(us);
    for (std::size_t i = 0; i < deciles.size(); ++i) deciles[i] = quantile(us, 0.1 * double(i + 1)) / usual;
  }
  return all;
}

}  // namespace

void JobPoints::add(const JobSeries& series) {
  if (series.question.issue == Issuing::graph) return;  // one call: it shows no call's, copy's or kernel's time
  for (JobResult& one : results(series))
    if (std::isfinite(one.time_us.value)) all_.push_back({series.question, std::move(one)});
  std::ranges::copy(deciles_of_calls(series), std::back_inserter(calls_over_usual_));
}

std::vector<JobResult> JobPoints::find(const Wanted& wanted, bool last_stream_free) const {
  std::vector<JobResult> found;
  for (const Entry& entry : all_)
    if ((entry.question.gating == Gating::last_stream_free) == last_stream_free &&
        wanted(entry.question, entry.summary.axes))
      found.push_back(entry.summary);
  return found;
}

std::vector<XY> JobPoints::over_chunks(const Wanted& wanted, double JobResult::*y) const {
  std::vector<XY> found;
  for (const JobResult& s : find(wanted)) found.push_back({double(s.axes.chunks), y ? s.*y : s.time_us.value});
  return found;
}

std::optional<Estimate> JobPoints::time(Workload workload, Order order, bool gated, const JobShape& job) const {
  const Gating wanted = gated ? Gating::gated : Gating::open;
  const auto found = find([&](const JobCase& c, const JobShape& j) {
    return c.workload == workload && c.order == order && c.gating == wanted && c.pool == StreamPool::pooled && j == job;
  });
  if (found.empty()) return std::nullopt;
  std::vector<Estimate> times;
  for (const JobResult& one : found) times.push_back(one.time_us);
  return middle_of(times);
}

double theil_sen_slope(std::span<const XY> points) {
  std::vector<double> slopes;
  for (std::size_t i = 0; i < points.size(); ++i)
    for (std::size_t j = i + 1; j < points.size(); ++j)
      if (points[i].x != points[j].x) slopes.push_back((points[j].y - points[i].y) / (points[j].x - points[i].x));
  return slopes.empty() ? not_measured : median(slopes);
}

Estimate theil_sen(std::span<const XY> points, const std::string& unit, const std::string& method) {
  Estimate e{theil_sen_slope(points), not_measured, not_measured, unit, method};
  if (!std::isfinite(e.value)) return e;
  if (points.size() < min_values) return say_too_few(e, points.size()), e;
  std::mt19937_64 random(20'120'915);
  std::vector<double> slopes;
  std::vector<XY> drawn(points.size());
  for (int i = 0; i < resamples; ++i) {
    for (XY& point : drawn) point = points[random() % points.size()];
    if (const double slope = theil_sen_slope(drawn); std::isfinite(slope)) slopes.push_back(slope);
  }
  const auto [low, high] = middle_95(std::move(slopes));
  e.low = std::min(e.value, low);
  e.high = std::max(e.value, high);
  return e;
}

Estimate median_of(std::span<const double> values, const std::string& unit, const std::string& method) {
  Estimate e{.unit = unit, .method = method};
  if (values.empty() || !set_median(e, values)) say_too_few(e, values.size());
  return e;
}

double half_for_weight(double value, double half) {
  return std::max(std::isfinite(half) ? half : 0.01 * value, 1e-3 * value);
}

double where_reaches(double wanted, double low, double high, const std::function<double(double)>& f) {
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (f(middle) < wanted ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace npgpu::model

namespace npgpu {

namespace {

JobResult job_summary(const JobSeries& series, const JobPoint& point) {
  JobResult r = model::checked_result_of(series, point, "results were wrong");
  r.work = not_measured;
  if (r.is_wrong) return r;
  const auto column_of = [&](double JobSample::*column) {
    return values_of(series, point,
                     [column](const JobSample& sample) { return sample.*column >= 0 ? sample.*column : not_measured; });
  };
  const ByVisit us = column_of(series.question.gating == Gating::gated ? &JobSample::device_us : &JobSample::host_us);
  r.trials = static_cast<std::uint32_t>(model::all_of(us).size());
  model::set_times(r, us, series);
  r.us_by_round = model::by_round(point, us);
  if (r.trials == 0) {
    r.why = r.time_us.method;
    return r;
  }
  r.issue_us = median_over_visits(column_of(&JobSample::issue_us), "us").value;
  r.create_us = median_over_visits(column_of(&JobSample::create_us), "us").value;
  r.destroy_us = median_over_visits(column_of(&JobSample::destroy_us), "us").value;
  return r;
}

}  // namespace

std::vector<JobResult> Jobs::results(const JobSeries& series) {
  std::vector<JobResult> all = model::of_each_point(series, job_summary);
  for (JobResult& one : all) {
    JobShape unsplit = one.axes;
    unsplit.chunks = unsplit.streams = 1;
    const auto base = std::ranges::lower_bound(all, unsplit, {}, &JobResult::axes);
    if (base != all.end() && base->axes == unsplit && one.time_us.value > 0)
      one.speed_up = base->time_us.value / one.time_us.value;
  }
  return all;
}

// Jobs that a trace holds, unsplit and split, as the simulator is asked about them.

namespace {

DriftByTime drift_within_run(const std::vector<Drift>& drifts, TimeClass time_class) {
  const auto found = std::ranges::find(drifts, time_class, &Drift::time_class);
  return found == drifts.end() ? DriftByTime{} : found->drift;
}

bool is_whole(const JobCase& c) {
  return c.gating == Gating::open && c.order != Order::independent && c.workload != Workload::none;
}
bool has_all_parts(const JobShape& job) { return (job.bytes_in || job.bytes_out) && job.kernel_bytes; }

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
      if (!has_all_parts(s.axes) || s.axes.chunks != s.axes.streams || !(s.time_us.value > 0) || !s.disturbed.empty())
        continue;
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

bool model::takes_turns(const JobCase& c, const JobShape& job) {
  return is_whole(c) && has_all_parts(job) && c.order == Order::depth_first && c.pool == StreamPool::pooled &&
         c.issue == Issuing::streams && job.chunks > job.streams;
}

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(0.95 * static_cast<double>(values.size())));
  return {median(values), values[std::max<std::size_t>(rank, 1) - 1], values.back()};
}

std::vector<LeftOutTimes> left_out_times(const Trace& trace, std::span<const GraphComparison> graphs) {
  std::map<LeftOut, std::size_t> times;
  struct Cuts {
    std::size_t unsplit = 0, split = 0, in_turn = 0, of_one_chunk = 0;  // the last in several streams
  };
  std::map<JobStep, Cuts> jobs;
  for (const JobSeries& series : trace.of<Jobs>()) {
    const JobCase& c = series.question;
    for (const JobResult& s : results(series)) {
      JobShape unsplit = s.axes;
      unsplit.chunks = unsplit.streams = 1;
      Cuts& cuts = jobs[{c, unsplit}];
      if (!is_whole(c) || !has_all_parts(s.axes)) ++times[LeftOut::part];
      else if (!s.disturbed.empty()) ++times[LeftOut::disturbed];
      else if (!(s.time_us.value > 0)) ++times[LeftOut::wrong];
      else if (c.issue == Issuing::graph) ++times[LeftOut::graph];
      else if (s.axes.chunks == s.axes.streams) ++(s.axes.chunks == 1 ? cuts.unsplit : cuts.split);
      else if (model::takes_turns(c, s.axes)) ++cuts.in_turn;
      else ++(s.axes.chunks == 1 ? cuts.of_one_chunk : times[LeftOut::other_streams]);
    }
  }
  for (const auto& [job, cuts] : jobs) {
    const bool turns = cuts.in_turn && (cuts.unsplit || cuts.of_one_chunk);
    if (!cuts.unsplit) times[LeftOut::no_unsplit] += cuts.split;
    if (!turns) times[LeftOut::no_unsplit] += cuts.in_turn, times[LeftOut::other_streams] += cuts.of_one_chunk;
    if (!cuts.split && !turns) times[LeftOut::not_split] += cuts.unsplit;
  }
  for (const GraphComparison& one : graphs) times[LeftOut::graph] -= one.graph.streams.size();
  std::vector<LeftOutTimes> all;
  for (const auto& [why, count] : times)
    if (count) all.push_back({why, count});
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
