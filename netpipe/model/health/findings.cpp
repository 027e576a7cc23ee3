#include "netpipe/model/health/findings.hpp"

#include <algorithm>

namespace npgpu::model {

std::string metric_kind(const std::string& metric) {
  for (const char* kind : {"memory_", "compute_"})
    if (metric.starts_with(kind) && metric.ends_with("_rate")) return std::string(kind) + "rate";
  return metric;
}

std::string figure_text(double value, const std::string& unit) {
  struct Scale {
    std::string_view unit;
    double least;
    double by;
    const char* shown;
  };
  static constexpr Scale scales[] = {{"B/s", 1e12, 1e12, "TB/s"},    {"B/s", 0, 1e9, "GB/s"},
                                     {"FLOP/s", 0, 1e12, "TFLOP/s"}, {"OP/s", 0, 1e12, "TOP/s"},
                                     {"us", 1000, 1000, "ms"},       {"us", 0, 1, "us"}};
  if (std::isnan(value)) return "-";
  for (const Scale& scale : scales) {
    if (scale.unit != unit || value < scale.least) continue;
    const double shown = value / scale.by;
    const int digits = shown > 0 ? std::clamp(3 - static_cast<int>(std::floor(std::log10(shown))), 0, 3) : 0;
    return fmt::format("{:.{}f} {}", shown, digits, scale.shown);
  }
  return fmt::format("{:g} {}", value, unit);
}

namespace {

const ReferenceFigure* reference_of(const Findings& findings, const std::string& metric) {
  for (const ReferenceFigure& figure : findings.rules.figures)
    if (figure.metric == metric && figure.value > 0) return &figure;
  return nullptr;
}

}  // namespace

HealthFinding& judge(Findings& findings, const Figure& figure) {
  double floor = figure.floor;
  std::string basis = figure.basis;
  const bool more = figure.better == Better::more;
  const double value = figure.estimate.value;
  if (const ReferenceFigure* const reference = reference_of(findings, figure.metric)) {
    floor = reference->value * (more ? 1 - figure.tolerance : 1 + figure.tolerance);
    basis = fmt::format("reference {}: {} {} {:.0f} %", findings.rules.reference,
                        figure_text(reference->value, figure.unit), more ? '-' : '+', 100 * figure.tolerance);
  }
  const std::string shown = fmt::format("{} {}", figure.name, figure_text(value, figure.unit));
  if (std::isnan(floor)) {
    HealthFinding& skipped = findings.skip(figure.metric, fmt::format("{}: not judged: {}", shown, basis));
    return with_value(skipped, value, not_measured, figure.unit);
  }
  const bool is_met = more ? value >= floor : value <= floor;
  HealthFinding& finding =
      findings.add(figure.metric, is_met ? Health::pass : Health::fail,
                   fmt::format("{}, at {} {}", shown, more ? "least" : "most", figure_text(floor, figure.unit)));
  finding.basis = basis;
  if (!is_met && !figure.disturbed.empty()) {
    constexpr std::string_view before_name = "most of all by ";
    const std::size_t at = figure.disturbed.find(before_name);
    finding.text +=
        at == std::string::npos ? "; disturbed" : ", beside " + figure.disturbed.substr(at + before_name.size());
    finding.if_failed = CheckVerdict::skipped;
    findings.disturbed.push_back({figure.metric, figure.disturbed});
  }
  if (!is_met && figure.estimate.low <= floor && figure.estimate.high >= floor)
    findings.uncertain.emplace_back(figure.metric,
                                    fmt::format("{} .. {}", figure_text(figure.estimate.low, figure.unit),
                                                figure_text(figure.estimate.high, figure.unit)));
  return with_value(finding, value, floor, figure.unit);
}

}  // namespace npgpu::model
