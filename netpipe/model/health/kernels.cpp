// Memory bandwidth and computing power of kernels, against clock * width and clock * lanes.
#include <algorithm>
#include <map>

#include "netpipe/model/health/efficiency.hpp"
#include "netpipe/model/health/findings.hpp"
#include "npgpu/compare.hpp"

namespace npgpu::model {

namespace {

struct BestShape {
  Estimate rate;
  std::string disturbed{}, point{};
  std::vector<double> by_visit{};
};

// The best rate of a series over its shapes in memory of at least so many bytes. Of many that are measured the best is
// asked for, not the middle: most shapes are made to show a corner.
BestShape best_shape(const ProbeSeries& series, double from_bytes) {
  std::map<Shape, ProbePoint> points;
  for (const ProbePoint& point : points_of(series)) points.emplace(point.axes, point);
  BestShape best;
  for (const PointTime<Probes>& point : estimates(series)) {
    if (!point.usable() || static_cast<double>(point.axes.bytes) < from_bytes) continue;
    const auto rate_of = [&](double us) { return point.work / us * 1e6; };
    const Estimate rate{rate_of(point.time_us.value), rate_of(point.time_us.high), rate_of(point.time_us.low), {}, {}};
    if (std::isfinite(rate.value) && !(rate.value <= best.rate.value))
      best = {rate, others_of(points.at(point.axes)), text_of(point.axes),
              rates_by_visit(times_by_visit(series, points.at(point.axes)), rate.value)};
  }
  return best;
}

void judge_memory(Findings& findings, const ProbeSeries& series) {
  const double l2 = findings.of.fact("l2_bytes"), limit = series.limit.per_s;
  const BestShape best = best_shape(series, l2 > 0 ? 4 * l2 : 512e6);
  if (std::isnan(best.rate.value)) return;
  const double share = least_share_of_memory(series.question.operation);
  const std::string operation(name(series.question.operation));
  judge(findings, {.metric = "memory_" + operation + "_rate",
                   .name = fmt::format("memory {}", operation == "rmw" ? "read and written" : operation),
                   .estimate = best.rate,
                   .unit = "B/s",
                   .limit = share * limit,
                   .basis = limit > 0 ? fmt::format("clock * width: {} * {:g}", figure_text(limit, "B/s"), share)
                                      : series.limit.source,
                   .tolerance = 0.03,
                   .disturbed = best.disturbed,
                   .possible = limit,
                   .of_case = title(series.question),
                   .of_point = best.point,
                   .by_visit = best.by_visit});
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
  const BestShape best = best_shape(series, 0);
  if (std::isnan(best.rate.value)) return;
  const double clock = share_of_clock(findings.of, series), limit = series.limit.per_s * clock;
  const std::string type(name(series.question.type)), unit = type.starts_with("int") ? "OP/s" : "FLOP/s";
  judge(findings, {.metric = "compute_" + type + "_rate",
                   .name = "multiply-adds " + type,
                   .estimate = best.rate,
                   .unit = unit,
                   .limit = least_share_of_compute * limit,
                   .basis = limit > 0 ? fmt::format("{} * lanes: {} * {:g}", clock < 1 ? "the run's clock" : "clock",
                                                    figure_text(limit, unit), least_share_of_compute)
                                      : series.limit.source,
                   .tolerance = 0.03,
                   .disturbed = best.disturbed,
                   .possible = series.limit.per_s,
                   .is_needed = series.question.type == DataType::fp32,
                   .of_case = title(series.question),
                   .of_point = best.point,
                   .by_visit = best.by_visit});
}

}  // namespace

void judge_kernels(Findings& findings) {
  std::set<std::string> judged;
  for (const ProbeSeries* series : findings.of.probes) {
    const ProbeCase& c = series->question;
    const bool is_memory = c.probe == "bandwidth" && c.form == Form::streaming && c.space == Space::global;
    const bool is_compute = c.probe == "compute" && c.operation == Operation::fma;
    if (!is_memory && !is_compute) continue;
    if (!judged.insert(fmt::format("{} {} {}", c.probe, name(c.operation), is_compute ? name(c.type) : "")).second)
      continue;
    is_memory ? judge_memory(findings, *series) : judge_compute(findings, *series);
  }
  for (const auto& [probe, metric] : {std::pair{"bandwidth", "memory_rate"}, {"compute", "compute_rate"}})
    if (std::ranges::none_of(judged, [&](const std::string& one) { return one.starts_with(probe); }))
      findings.skip(metric, fmt::format("{}: not measured",
                                        probe == std::string("compute") ? "computing power" : "memory bandwidth"));
}

}  // namespace npgpu::model
