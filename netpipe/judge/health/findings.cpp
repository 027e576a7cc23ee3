#include "netpipe/judge/health/findings.hpp"

#include <algorithm>

#include "netpipe/judge/health/metrics.hpp"
#include "netpipe/judge/health/references.hpp"

namespace npgpu::model {

std::string metric_kind(const std::string& metric) {
  for (const char* kind : {"memory_", "compute_", "tensor_"})
    if (metric.starts_with(kind) && metric.ends_with("_rate")) return std::string(kind) + "rate";
  return metric;
}

std::string figure_text(double value, const std::string& unit) {
  struct UnitScale {
    std::string_view unit;
    double least;
    double by;
    const char* shown;
  };
  static constexpr UnitScale scales[] = {{"B/s", 1e12, 1e12, "TB/s"},    {"B/s", 0, 1e9, "GB/s"},
                                         {"FLOP/s", 0, 1e12, "TFLOP/s"}, {"OP/s", 0, 1e12, "TOP/s"},
                                         {"us", 1000, 1000, "ms"},       {"us", 0, 1, "us"}};
  if (!std::isfinite(value)) return "-";
  for (const UnitScale& scale : scales) {
    if (scale.unit != unit || value < scale.least) continue;
    const double shown = value / scale.by;
    if (shown > 1e15) return fmt::format("{:.3g} {}", shown, scale.shown);
    const int digits = shown > 0 ? std::clamp(3 - static_cast<int>(std::floor(std::log10(shown))), 0, 3) : 0;
    return fmt::format("{:.{}f} {}", shown, digits, scale.shown);
  }
  return fmt::format("{:g} {}", value, unit);
}

namespace {

// What decides a figure, and why.
struct Decider {
  double limit = not_measured;
  std::string basis;
  double healthy = not_measured;  // what a healthy GPU reaches, where that is known
};

constexpr const char* by_expect = "expected by --expect";  // a limit that may be as wide as its user likes
// Beyond every device of a limit: such a figure was not measured.
constexpr double most_times_a_limit = 30;

Decider decider_of(const Findings& findings, const JudgedFigure& figure) {
  const bool more = figure.allowed() == Allowed::at_least;
  for (const auto& [metric, limit] : findings.rules.expected)
    if (metric == figure.metric) return {std::stod(limit), by_expect};
  const Referred reference = reference_for(findings, figure.metric);
  // GPUs of the same model with a faster link are no reference for one in a lesser slot; the user's own is.
  const bool is_of_host = figure.metric.starts_with("h2d_rate") || figure.metric.starts_with("d2h_rate");
  const bool is_beyond_slot = is_of_host && reference.is_model && copies_go_over_pcie(findings.device) &&
                              reference.figure->value > best_pcie_rate(findings.device);
  if (reference.figure && !is_beyond_slot) {
    const double tolerance =
        std::isnan(reference.figure->tolerance) ? metric_row(figure.metric)->tolerance : reference.figure->tolerance;
    return {reference.figure->value * (more ? 1 - tolerance : 1 + tolerance),
            fmt::format("{}: {} {} {:.3g} %", reference.of, figure_text(reference.figure->value, figure.unit),
                        more ? '-' : '+', 100 * tolerance),
            reference.figure->value};
  }
  // The width of the memory is that of the whole GPU.
  const bool is_of_memory = figure.metric.starts_with("memory_") || figure.metric == "d2d_rate";
  if (is_of_memory && is_part_of_gpu(findings.device))
    return {not_measured, "MIG is on, and what a part of the GPU should reach is not known"};
  if (figure.is_time() && !findings.device.has_cuda_calls())
    return {not_measured, "what is usual is known of CUDA's calls only"};
  if (figure.seen.estimate.value > most_share_of_a_true_limit * figure.possible)
    return {not_measured, fmt::format("{} is {:.0f} % of it, so it is not true: {}",
                                      figure_text(figure.seen.estimate.value, figure.unit),
                                      100 * figure.seen.estimate.value / figure.possible, figure.basis)};
  return {figure.limit, figure.basis};
}

// "at least 51.48 GB/s"
std::string limit_text(const JudgedFigure& figure, double limit) {
  return fmt::format("{} {}", figure.allowed() == Allowed::at_least ? "at least" : "at most",
                     figure_text(limit, figure.unit));
}

std::string interval_text(const JudgedFigure& figure) {
  const Estimate& e = figure.seen.estimate;
  if (std::isnan(e.low) || std::isnan(e.high)) return " (one value, without an interval)";
  return fmt::format(" ({} .. {})", figure_text(e.low, figure.unit), figure_text(e.high, figure.unit));
}

// That of a healthy GPU, with the scatter of this one. Where it is not known what healthy ones reach, this one is such
// a GPU.
double smallest_slow_down(const JudgedFigure& figure, const Decider& by) {
  const Estimate& e = figure.seen.estimate;
  const double healthy = std::isnan(by.healthy) ? 1 : by.healthy / e.value;
  if (figure.allowed() == Allowed::at_least) return 1 - by.limit / (healthy * (std::isnan(e.high) ? e.value : e.high));
  return by.limit / (healthy * (std::isnan(e.low) ? e.value : e.low)) - 1;
}

// ", while python3 (4711) used it"
std::string disturber_text(const std::string& disturbed) {
  constexpr std::string_view before_name = "most of all by ";
  const std::size_t at = disturbed.find(before_name);
  return at == std::string::npos ? disturbed : disturbed.substr(at + before_name.size()) + " disturbed it";
}

}  // namespace

bool is_part_of_gpu(const DeviceRecord& of) { return of.fact("mig_mode") > 0 || names_part_of_gpu(of.name); }

Referred reference_for(const Findings& findings, std::string_view metric) {
  for (const ReferenceFigure& figure : findings.rules.figures)
    if (figure.metric == metric && is_figure(figure.value)) return {figure, "reference " + findings.rules.reference};
  if (const double healthy = findings.device.fact("healthy_" + std::string(metric));
      findings.device.simulated && healthy > 0)
    return {ReferenceFigure{std::string(metric), healthy, {}}, "a healthy one by its spec"};
  const ModelReference* const model = findings.rules.by_model ? reference_of_model(findings.device.name) : nullptr;
  if (!model || is_part_of_gpu(findings.device)) return {};
  const bool is_same_host =
      findings.device.has_cuda_calls() &&
      (findings.device.simulated || text_fact(findings.device.host, "cpu_model") == model->host_cpu);
  for (const ReferenceFigure& figure : model->figures)
    if (figure.metric == metric && (is_same_host || !figure.depends_on_host))
      return {figure, fmt::format("{} healthy {}s", model->cards, model->model), true};
  return {};
}

bool is_known_of_healthy(const Findings& findings, const std::string& metric) {
  return reference_for(findings, metric).figure ||
         std::ranges::any_of(findings.rules.expected, [&](const auto& one) { return one.first == metric; });
}

HealthFinding& judge(Findings& findings, const JudgedFigure& figure) {
  const Decider by = decider_of(findings, figure);
  if (!figure.seen.disturbed.empty()) findings.beside_others.insert(figure.metric);
  const bool is_more = figure.allowed() == Allowed::at_least;
  const double times = is_more ? figure.seen.estimate.value / by.limit : by.limit / figure.seen.estimate.value;
  const bool is_beyond_all = times > most_times_a_limit && by.basis != by_expect;
  const Ruling ruling = rule(figure.seen.estimate, figure.allowed(), by.limit, figure.seen.by_visit);
  const std::string shown = fmt::format("{} {}", figure.name, figure_text(figure.seen.estimate.value, figure.unit));
  const auto add = [&](Health health, std::string text) -> HealthFinding& {
    HealthFinding& finding = findings.add(figure.metric, health, std::move(text));
    finding.basis = by.basis;
    finding.of_case = figure.seen.of_case;
    finding.of_point = figure.seen.of_point;
    for (const std::string& point : figure.other_points) finding.more_points.emplace_back(figure.seen.of_case, point);
    return with_value(finding, figure.seen.estimate, by.limit, figure.unit);
  };
  if (ruling == Ruling::no_figure) {
    HealthFinding& finding = add(Health::fail, figure.name + ": no valid figure");
    finding.value = not_measured;
    finding.if_failed = CheckVerdict::failed_to_run;
    return finding;
  }
  if (ruling == Ruling::no_limit) {
    HealthFinding& finding = add(
        figure.is_needed && (!figure.is_time() || findings.device.has_cuda_calls()) ? Health::unjudged : Health::skip,
        fmt::format("{}: not judged: {}", shown, by.basis));
    finding.basis.clear();
    return finding;
  }
  const std::string held = fmt::format("{}, {}", shown, limit_text(figure, by.limit));
  if (is_beyond_all) return add(Health::unjudged, held + ": so far beyond it that it cannot be");
  if (ruling == Ruling::ok) {
    const std::size_t within = visits_within(figure.seen.by_visit, figure.allowed(), by.limit);
    HealthFinding& finding =
        add(Health::pass, within == figure.seen.by_visit.size()
                              ? held
                              : fmt::format("{}; in {} of {} visits", held, within, figure.seen.by_visit.size()));
    finding.would_see = smallest_slow_down(figure, by);
    return finding;
  }
  const std::string with_interval = fmt::format("{}{}, {}", shown, interval_text(figure), limit_text(figure, by.limit));
  if (!figure.seen.disturbed.empty()) {
    findings.disturbed.push_back({figure.metric, figure.seen.disturbed});
    return add(Health::unjudged, fmt::format("{}; not judged: {}", held, disturber_text(figure.seen.disturbed)));
  }
  return add(ruling == Ruling::slow ? Health::fail : Health::undecided, with_interval);
}

}  // namespace npgpu::model
