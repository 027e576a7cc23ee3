// How good predictions are: the simulator and other models compared with measured jobs that no cost was derived from.
#include <algorithm>
#include <cmath>
#include <map>

#include "netpipe/model/jobs/baselines.hpp"
#include "netpipe/model/jobs/job_points.hpp"
#include "npgpu/advice.hpp"
#include "npgpu/error.hpp"

namespace npgpu {

namespace {

using model::Baseline;
using model::best_of;
using model::KnownWorkload;

// Of the counts that were measured: the least time; or the neighbour of a wanted count that the model likes better.
// `times`: the model's, a count each; empty where it only chooses.
std::size_t choice_of(const Baseline& b, const KnownWorkload& s, const std::vector<double>& times) {
  const auto& counts = s.workload->streams;
  if (!b.streams) return static_cast<std::size_t>(std::min_element(times.begin(), times.end()) - times.begin());
  const double wanted = b.streams(s);
  const auto above = std::lower_bound(counts.begin(), counts.end(), wanted) - counts.begin();
  const auto high = std::min(static_cast<std::size_t>(above), counts.size() - 1);
  const std::size_t low = high > 0 && counts[high] > wanted ? high - 1 : high;
  if (low == high || times.empty()) return wanted - counts[low] < counts[high] - wanted ? low : high;
  return times[low] <= times[high] ? low : high;
}

// Of the counts whose times are within so much of the least, the fewest streams.
std::size_t fewest_within(const std::vector<std::uint32_t>& counts, const std::vector<double>& times,
                          double slower_by) {
  const double most = (1 + slower_by) * *std::min_element(times.begin(), times.end());
  std::size_t fewest = static_cast<std::size_t>(std::min_element(times.begin(), times.end()) - times.begin());
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (times[i] <= most && counts[i] < counts[fewest]) fewest = i;
  return fewest;
}

// Where no interval is known, equal times only.
bool within_noise(const Estimate& chosen, const Estimate& best) {
  const double low = std::isfinite(chosen.low) ? chosen.low : chosen.value;
  const double high = std::isfinite(best.high) ? best.high : best.value;
  return low <= high;
}

// `others`: how many workloads the model is fitted to, where it is; `learnt`: this one is among those that it saw.
ModelPrediction predict(const Baseline& b, const KnownWorkload& s, std::size_t others, bool learnt) {
  if (b.fit_without) b.fit_without(learnt ? &s : nullptr);
  std::vector<double> model_us;
  // The unsplit time is what all models start from.
  if (b.time_us)
    for (const std::uint32_t n : s.workload->streams) model_us.push_back(n == 1 ? s.unsplit_us : b.time_us(s, n));
  ModelPrediction p;
  p.model = b.name;
  const bool knows = b.time_us && (!b.fit_without || others > 0);
  p.predicted_us = knows ? model_us : std::vector<double>(s.workload->streams.size(), not_measured);
  const auto& times = s.workload->time_us;
  const std::size_t best = best_of(times), chosen = choice_of(b, s, model_us);
  p.predicted_best = s.workload->streams[chosen];
  p.regret = times[chosen].value / times[best].value - 1;
  p.hit = within_noise(times[chosen], times[best]);
  const std::size_t advised =
      model_us.empty() ? chosen : fewest_within(s.workload->streams, model_us, same_time_tolerance);
  p.advised = s.workload->streams[advised];
  p.advised_regret = times[advised].value / times[best].value - 1;
  p.cross_validated = cross_validated_regret(s.workload->us_by_round, chosen);
  p.advised_cross_validated = cross_validated_regret(s.workload->us_by_round, advised);
  return p;
}

// Over the workloads that are scored; each has this model's prediction as its last.
ModelScore score(const Baseline& b, const std::vector<WorkloadScore>& workloads) {
  ModelScore result;
  result.model = b.name;
  result.source = b.source;
  result.fitted = b.fitted;
  result.workloads = static_cast<std::uint32_t>(workloads.size());
  std::vector<double> errors, regrets, advised, measured, residuals;
  std::vector<Estimate> validated, advised_validated;
  double hits = 0;
  for (const WorkloadScore& w : workloads) {
    const ModelPrediction& p = w.models.back();
    const auto& times = w.workload.time_us;
    for (std::size_t i = 0; i < times.size(); ++i) {
      const double predicted = p.predicted_us[i];
      if (w.workload.streams[i] == 1 || !std::isfinite(predicted)) continue;
      measured.push_back(times[i].value);
      residuals.push_back(predicted - times[i].value);
    }
    const std::vector<double> own = errors_of(w, p);
    errors.insert(errors.end(), own.begin(), own.end());
    regrets.push_back(p.regret);
    advised.push_back(p.advised_regret);
    validated.push_back(p.cross_validated);
    advised_validated.push_back(p.advised_cross_validated);
    hits += p.hit;
  }
  result.error = spread_of(errors);
  result.regret = spread_of(regrets);
  result.advised_regret = spread_of(advised);
  result.cross_validated = cross_validated(validated);
  result.advised_cross_validated = cross_validated(advised_validated);
  if (!workloads.empty()) result.hits = hits / static_cast<double>(workloads.size());
  double mean = 0, total = 0, left = 0;
  for (const double t : measured) mean += t / static_cast<double>(measured.size());
  for (const double t : measured) total += (t - mean) * (t - mean);
  for (const double r : residuals) left += r * r;
  if (total > 0) result.r2 = 1 - left / total;
  if (!residuals.empty()) result.rmse_us = std::sqrt(left / static_cast<double>(residuals.size()));
  return result;
}

bool is_whole(const JobCase& c) {
  return c.gating == Gating::open && c.order != Order::independent && c.workload != Workload::none;
}
bool is_whole(const JobShape& job) {
  return job.chunks == job.streams && (job.bytes_in || job.bytes_out) && job.kernel_bytes;
}

// Every whole job with copies and a kernel that was measured unsplit and split, and issued in this way: those that are
// scored, with pooled streams and split in three ways or more, or the others. Times that others disturbed say nothing
// of a model.
std::vector<MeasuredWorkload> split_jobs(const Trace& trace, Issuing issue, bool scored) {
  std::map<JobStep, std::map<std::uint32_t, JobResult>> found;
  for (const JobSeries& series : trace.of<Jobs>()) {
    const JobCase& c = series.question;
    if (c.issue != issue || !is_whole(c)) continue;
    for (const JobResult& s : results(series)) {
      if (!is_whole(s.axes) || !(s.time_us.value > 0) || !s.disturbed.empty()) continue;
      JobShape unsplit = s.axes;
      unsplit.chunks = unsplit.streams = 1;
      found[{c, unsplit}].emplace(s.axes.chunks, s);
    }
  }
  std::vector<MeasuredWorkload> all;
  for (const auto& [step, times] : found) {
    if (!times.count(1) || times.size() < 2) continue;
    MeasuredWorkload w{step.question, step.axes, {}, {}, {}};
    for (const auto& [n, measured] : times) {
      w.streams.push_back(n);
      w.time_us.push_back(measured.time_us);
      w.us_by_round.push_back(measured.us_by_round);
      w.issue_us.push_back(measured.issue_us);
    }
    if ((w.question.pool == StreamPool::pooled && w.streams.size() >= 4) == scored) all.push_back(std::move(w));
  }
  return all;
}

double simulated_us(const KnownWorkload& s, std::uint32_t n, const StreamCosts& costs) {
  return microseconds(simulate_total(s.job, n, costs, s.workload->question.order).total);
}

// The host's time for the calls of split workloads, over what the costs say.
class HostSpeed {
 public:
  void learn(const KnownWorkload& s, StreamCosts costs) {
    costs.call_factors.clear();
    const MeasuredWorkload& w = *s.workload;
    for (std::size_t i = 0; i < w.issue_us.size(); ++i) {
      const Seconds host = simulate_total(s.job, w.streams[i], costs, w.question.order).busy.host;
      if (w.streams[i] > 1 && std::isfinite(w.issue_us[i]) && host.count() > 0)
        ratios_.emplace_back(&s, w.issue_us[i] / microseconds(host));
    }
  }
  Estimate calls() const { return model::median_of(ratios(nullptr), "1", "median over workloads and cuts"); }
  void fit_without(const KnownWorkload* one) {
    const std::vector<double> others = ratios(one);
    calls_ = others.empty() ? 1 : median(others);
  }
  // As of the last fit.
  double fitted() const { return calls_; }

 private:
  std::vector<double> ratios(const KnownWorkload* without) const {
    std::vector<double> all;
    for (const auto& [of, ratio] : ratios_)
      if (of != without) all.push_back(ratio);
    return all;
  }
  std::vector<std::pair<const KnownWorkload*, double>> ratios_;
  double calls_ = 1;
};

}  // namespace

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(0.95 * static_cast<double>(values.size())));
  return {median(values), values[std::max<std::size_t>(rank, 1) - 1], values.back()};
}

std::vector<double> errors_of(const WorkloadScore& w, const ModelPrediction& p) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < p.predicted_us.size(); ++i)
    if (w.workload.streams[i] != 1 && std::isfinite(p.predicted_us[i]))
      errors.push_back(std::abs(p.predicted_us[i] / w.workload.time_us[i].value - 1));
  return errors;
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

Evaluation evaluate(std::span<const MeasuredWorkload> workloads, const MeasuredCosts& measured,
                    std::span<const MeasuredWorkload> others) {
  if (workloads.empty() && others.empty())
    throw Error(
        ErrorKind::usage,
        "no workload to hold predictions against: npgpu streams --experiment design measures some, each unsplit "
        "and in at least three counts of streams");
  if (!measured.usable)
    throw Error(ErrorKind::usage,
                measured.device + ": " + (measured.missing.empty() ? "no costs" : measured.missing.front()));
  Evaluation result;
  result.device_name = measured.device_name;
  result.simulated = measured.simulated;
  std::vector<KnownWorkload> all;
  const auto add = [&](const MeasuredWorkload& w, std::vector<WorkloadScore>& list) {
    KnownWorkload s{&w, job_of(w, measured), {}, w.time_us.front().value};
    s.whole = chunk_times(s.job, 1, measured.costs);
    WorkloadScore one;
    one.workload = w;
    one.kernel_us = microseconds(s.job.kernel);
    one.h2d_us = microseconds(s.whole.h2d);
    one.d2h_us = microseconds(s.whole.d2h);
    one.best = w.streams[best_of(w.time_us)];
    for (const Baseline& b : model::hypotheses()) {
      one.hypotheses.push_back({b.name, {}});
      for (const std::uint32_t n : w.streams) one.hypotheses.back().predicted_us.push_back(b.time_us(s, n));
    }
    list.push_back(std::move(one));
    all.push_back(std::move(s));
  };
  for (const MeasuredWorkload& w : workloads) add(w, result.workloads);
  for (const MeasuredWorkload& w : others) add(w, result.others);
  std::vector<Baseline> models = model::baselines(measured);
  HostSpeed host;
  const Baseline simulators[] = {
      {"simulator", "discrete events with measured costs, nothing fitted to jobs",
       [&](const KnownWorkload& s, std::uint32_t n) { return simulated_us(s, n, costs_of(*s.workload, measured)); }},
      {.name = "simulator, host as it was",
       .source = "the same, with each call taking as many times what the costs say as calls of other jobs did",
       .time_us =
           [&](const KnownWorkload& s, std::uint32_t n) {
             return simulated_us(s, n, with_calls(costs_of(*s.workload, measured), host.fitted()));
           },
       .learn = [&](const KnownWorkload& s) { host.learn(s, measured.costs); },
       .fit_without = [&](const KnownWorkload* one) { host.fit_without(one); },
       .fitted = 1}};
  models.insert(models.begin(), std::begin(simulators), std::end(simulators));
  const std::size_t known = workloads.size();
  for (const Baseline& b : models) {
    for (std::size_t i = 0; i < known && b.learn; ++i) b.learn(all[i]);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool learnt = i < known;
      (learnt ? result.workloads[i] : result.others[i - known])
          .models.push_back(predict(b, all[i], known - learnt, learnt));
    }
    result.models.push_back(score(b, result.workloads));
  }
  result.calls = host.calls();
  std::vector<double> measuring;
  for (const MeasuredWorkload& w : workloads)
    for (const double regret : regrets_of_measuring(w.us_by_round)) measuring.push_back(regret);
  result.measuring = spread_of(measuring);
  return result;
}

}  // namespace npgpu
