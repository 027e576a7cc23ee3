// Kernels: what their calls cost the host; memory bandwidth and computing power, against clock * width and clock *
// lanes.
#include <algorithm>
#include <map>

#include "netpipe/judge/health/findings.hpp"
#include "npgpu/vocabulary/questions.hpp"

namespace npgpu::model {

namespace {

// What a call of the smallest shape costs: no arguments, one block.
Evidence call_cost(const DeviceRecord& of, CallQuestion question) {
  for (const CallSeries* series : of.all<Calls>())
    if (question_of(series->question) == question)
      if (const auto all = results(*series); !all.empty())
        return evidence_of(*series, all.front(),
                           question == CallQuestion::launch_in_a_row ? all.front().host_us : all.front().done_us,
                           false);
  return {};
}

}  // namespace

void judge_calls(Findings& findings) {
  const Evidence row = call_cost(findings.device, CallQuestion::launch_in_a_row);
  const Evidence done = call_cost(findings.device, CallQuestion::launch);
  if (row.of_case.empty()) findings.skip("launch_time", "launch of a kernel: not measured");
  else
    judge(findings, {.metric = "launch_time",
                     .name = "launch of a kernel, in a row,",
                     .seen = row,
                     .unit = "us",
                     .limit = most_launch_us,
                     .basis = "1.6 times the 3.3 to 3.8 us of an H200's host"});
  if (!done.of_case.empty() && findings.device.has_cuda_calls())
    judge(findings, {.metric = "launch_done_time",
                     .name = "launch of a kernel until it is done",
                     .seen = done,
                     .unit = "us",
                     .limit = most_launch_done_us,
                     .basis = "1.6 times the 8.3 to 9.0 us of an H200's host"});
}

namespace {

// The best rate of a series over its shapes in memory of at least so many bytes. Of many that are measured the best is
// asked for, not the middle: most shapes are made to show a corner.
Evidence best_rate(const ProbeSeries& series, double from_bytes) {
  const std::vector<ProbeResult> all = results(series);
  const ProbeResult* best = nullptr;
  for (const ProbeResult& one : all)
    if (one.usable() && static_cast<double>(one.axes.bytes) >= from_bytes && std::isfinite(one.rate.value) &&
        !(best && one.rate.value <= best->rate.value))
      best = &one;
  return best ? rate_of(series, *best) : Evidence{};
}

void judge_memory(Findings& findings, const ProbeSeries& series) {
  const double l2 = findings.device.fact("l2_bytes"), limit = series.limit.per_s;
  // Without a limit no rate is judged, so that a cache's rate cannot pass for memory's.
  constexpr double beyond_any_cache = 512e6;
  const Evidence best = best_rate(series, l2 > 0 ? 4 * l2 : limit > 0 ? beyond_any_cache : 0);
  if (std::isnan(best.estimate.value)) return;
  const double share =
      has_one_memory(findings.device) ? least_share_of_one_memory : least_share_of_memory(series.question.operation);
  const std::string operation(name(series.question.operation));
  judge(findings, {.metric = "memory_" + operation + "_rate",
                   .name = fmt::format("memory {}", operation == "rmw" ? "read and written" : operation),
                   .seen = best,
                   .unit = "B/s",
                   .limit = share * limit,
                   .basis = limit > 0 ? fmt::format("{:.3g} % of {}, which clock and width give", 100 * share,
                                                    figure_text(limit, "B/s"))
                                      : series.limit.source,
                   .possible = limit});
}

constexpr const char* not_known_of_healthy = "what healthy GPUs reach is not known; --reference a good node's trace";

// Reads of the largest set that L2 surely holds.
void judge_cache(Findings& findings, const ProbeSeries& series) {
  const double l2 = findings.device.fact("l2_bytes");
  const std::vector<ProbeResult> all = results(series);
  const ProbeResult* of = nullptr;
  for (const ProbeResult& one : all)
    if (one.usable() && static_cast<double>(one.axes.bytes) <= most_of_cache * l2 &&
        !(of && one.axes.bytes <= of->axes.bytes))
      of = &one;
  if (!of) return;
  judge(findings, {.metric = "l2_rate",
                   .name = fmt::format("read of {} in L2", size_text(of->axes.bytes)),
                   .seen = rate_of(series, *of),
                   .unit = "B/s",
                   .basis = not_known_of_healthy,
                   .is_needed = false});
}

// A load of a chase through the smallest set that L2 hardly helps.
void judge_latency(Findings& findings, const ProbeSeries& series) {
  const double l2 = findings.device.fact("l2_bytes");
  const std::vector<ProbeResult> all = results(series);
  const ProbeResult* of = nullptr;
  for (const ProbeResult& one : all)
    if (one.usable() && l2 > 0 && static_cast<double>(one.axes.bytes) >= beyond_l2 * l2 &&
        !(of && one.axes.bytes >= of->axes.bytes))
      of = &one;
  if (!of) return;
  Estimate load = of->time_us;
  for (double Estimate::*const end : {&Estimate::value, &Estimate::low, &Estimate::high}) load.*end /= of->work;
  judge(findings, {.metric = "memory_latency",
                   .name = "load from memory",
                   .seen = evidence_of(series, *of, load, false),
                   .unit = "us",
                   .basis = not_known_of_healthy,
                   .is_needed = false});
}

// The clock that the series ran at, over the one that its limit is for; 1 where either is not known. A lower clock has
// a finding of its own: it is no fault of the multiprocessors.
double share_of_clock(const DeviceRecord& of, const ProbeSeries& series) {
  double nominal = of.fact("sm_clock_khz") * 1e-3;
  if (std::isnan(nominal)) nominal = of.fact("max_sm_clock_mhz");
  std::vector<double> mhz;
  for (const Visit<Probes>& visit : series.visits)
    if (visit.telemetry.sm_clock_mhz > 0) mhz.push_back(visit.telemetry.sm_clock_mhz);
  if (mhz.empty() || !(nominal > 0)) return 1;
  return std::min(1.0, median(mhz) / nominal);
}

void judge_compute(Findings& findings, const ProbeSeries& series) {
  const Evidence best = best_rate(series, 0);
  if (std::isnan(best.estimate.value)) return;
  const double clock = share_of_clock(findings.device, series), limit = series.limit.per_s * clock;
  const std::string type(name(series.question.type)), unit = type.starts_with("int") ? "OP/s" : "FLOP/s";
  judge(findings,
        {.metric = "compute_" + type + "_rate",
         .name = "multiply-adds " + type,
         .seen = best,
         .unit = unit,
         .limit = least_share_of_compute * limit,
         .basis = limit > 0 ? fmt::format("{:.3g} % of {}, which {} and lanes give", 100 * least_share_of_compute,
                                          figure_text(limit, unit), clock < 1 ? "the run's clock" : "clock")
                            : series.limit.source,
         .possible = series.limit.per_s,
         .is_needed = series.question.type == DataType::fp32});
}

// The best of several series with the same instruction and type: where the operands are, and what they hold, differs.
void judge_tensor(Findings& findings, const std::vector<const ProbeSeries*>& all, bool is_hopper) {
  const ProbeSeries* of = nullptr;
  Evidence best;
  for (const ProbeSeries* series : all) {
    Evidence one = best_rate(*series, 0);
    if (one.estimate.value > 0 && !(one.estimate.value <= best.estimate.value)) best = std::move(one), of = series;
  }
  if (!of) return;
  const ProbeCase& c = of->question;
  const std::string operation(name(c.operation)), type(name(c.type)),
      unit = is_whole_number(c.type) ? "OP/s" : "FLOP/s";
  const bool is_known = c.operation == Operation::wgmma || (c.type == DataType::fp64 && is_hopper);
  const double limit = of->limit.per_s * share_of_clock(findings.device, *of);
  judge(findings, {.metric = fmt::format("tensor_{}_{}_rate", operation, type),
                   .name = fmt::format("tensor {} {}", operation, type),
                   .seen = best,
                   .unit = unit,
                   .limit = is_known ? least_share_of_tensor * limit : not_measured,
                   .basis = is_known && limit > 0 ? fmt::format("{:.3g} % of {}, the peak at the run's clock",
                                                                100 * least_share_of_tensor, figure_text(limit, unit))
                                                  : not_known_of_healthy,
                   .possible = of->limit.per_s,
                   .is_needed = false});
}

}  // namespace

void judge_kernels(Findings& findings) {
  std::set<std::tuple<ProbeQuestion, Operation, DataType>> judged;
  for (const ProbeSeries* series : findings.device.all<Probes>()) {
    const ProbeCase& c = series->question;
    const auto question = question_of(c);
    const bool is_compute = question == ProbeQuestion::computing_power;
    const auto judge_it = is_compute                                    ? judge_compute
                          : question == ProbeQuestion::memory_bandwidth ? judge_memory
                          : question == ProbeQuestion::cache_bandwidth  ? judge_cache
                          : question == ProbeQuestion::memory_latency   ? judge_latency
                                                                        : nullptr;
    if (!judge_it || !judged.insert({*question, c.operation, is_compute ? c.type : DataType::fp32}).second) continue;
    judge_it(findings, *series);
  }
  std::map<std::pair<Operation, DataType>, std::vector<const ProbeSeries*>> tensor;
  for (const ProbeSeries* series : findings.device.all<Probes>())
    if (question_of(series->question) == ProbeQuestion::tensor_power)
      tensor[{series->question.operation, series->question.type}].push_back(series);
  // Where a warp group has an instruction, that of a warp reaches two thirds of it: it says nothing more. Elsewhere it
  // is not known what share of the peak healthy GPUs reach.
  const bool is_hopper =
      std::ranges::any_of(tensor, [](const auto& one) { return one.first.first == Operation::wgmma; });
  for (const auto& [what, series] : tensor)
    if (!is_hopper || what.first == Operation::wgmma || what.second == DataType::fp64)
      judge_tensor(findings, series, is_hopper);
  for (const auto& [question, metric, what] :
       {std::tuple{ProbeQuestion::memory_bandwidth, "memory_rate", "memory bandwidth"},
        {ProbeQuestion::computing_power, "compute_rate", "computing power"}})
    if (std::ranges::none_of(judged, [&](const auto& one) { return std::get<ProbeQuestion>(one) == question; }))
      findings.skip(metric, fmt::format("{}: not measured", what));
}

}  // namespace npgpu::model
