// The health of a node: its findings, and what they come to.
#include "netpipe/judge/collectives/health.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>

#include "netpipe/judge/health/metrics.hpp"
#include "netpipe/judge/health/references.hpp"
#include "netpipe/judge/matrix/findings.hpp"
#include "npgpu/report/report.hpp"

namespace npgpu::model {

std::optional<HealthFinding> judge_census(const Trace& trace) {
  const Facts census = facts_of(trace.provenance, "census");
  const double gpus = number_fact(census, "gpus_on_bus");
  if (std::isnan(gpus)) return std::nullopt;
  const std::string lost = text_fact(census, "gpus_lost"), hidden = text_fact(census, "gpus_hidden"),
                    unknown = text_fact(census, "gpus_unknown");
  HealthFinding finding;
  finding.metric = "gpus_on_bus";
  finding.if_failed = CheckVerdict::broken;
  if (!lost.empty()) {
    finding.health = Health::fail;
    finding.text =
        fmt::format("of {:g} NVIDIA GPU{} on the PCI bus not all answer: {}", gpus, gpus == 1 ? "" : "s", lost);
    finding.explanations.push_back({"lost", "the GPU fell off the bus, or could not be started", lost,
                                    "drain the node and power it off and on; look at dmesg (Xid 79, AER), seating, "
                                    "riser and power cables; replace the GPU if it happens again"});
    return finding;
  }
  // What this process may not see is no fault: nothing is said against it, and that it was not seen is said.
  finding.health = Health::pass;
  finding.text = fmt::format("{:g} NVIDIA GPU{} on the PCI bus", gpus, gpus == 1 ? "" : "s");
  if (hidden.empty() && unknown.empty()) finding.text += gpus == 1 ? ", which answers" : ", which all answer";
  if (!hidden.empty()) finding.text += "; not for this process: " + hidden;
  if (!unknown.empty()) finding.text += "; not known whether they work: " + unknown;
  return finding;
}

}  // namespace npgpu::model

namespace npgpu {

std::vector<CheckReport::Gpu> gpus_of(const Trace& trace) {
  std::vector<CheckReport::Gpu> all;
  const auto add = [&](const CheckReport::Gpu& gpu) {
    const bool is_known =
        std::ranges::any_of(all, [&](const CheckReport::Gpu& one) { return one.id == gpu.id && one.uuid == gpu.uuid; });
    if (gpu.id != "host" && !is_known) all.push_back(gpu);
  };
  for_each_kind([&]<class K>() {
    for (const Series<K>& series : trace.of<K>())
      add({device_of(series.question), series.device_name, series.device_uuid, series.simulated});
  });
  for (const model::DeviceRecord& record : model::records_of(trace))
    add({record.id, record.name, record.uuid, record.simulated});
  return all;
}

namespace {

// A metric that has no figure, or no finding of that kind, fails.
void require(model::Findings& findings, const std::string& metric) {
  const model::Metric* const row = model::metric_row(metric);
  std::string why = fmt::format("{}: not measured", row && !row->required.empty() ? row->required : metric);
  for (const HealthFinding& one : findings.all) {
    if (one.metric != metric && model::metric_kind(one.metric) != metric) continue;
    if (one.health != Health::skip || std::isfinite(one.value)) return;
    why = one.text;
  }
  std::erase_if(findings.all, [&](const HealthFinding& one) { return one.metric == metric; });
  findings.add(metric, Health::fail, why).if_failed = CheckVerdict::failed_to_run;
}

std::vector<HealthFinding> findings_of(const model::DeviceRecord& record,
                                       const std::vector<model::DeviceRecord>& all_records, const HealthRules& rules,
                                       const std::vector<SoakDevice>& soaked) {
  model::Findings findings(record, rules);
  findings.has_siblings_on_switch = std::ranges::any_of(all_records, [&](const model::DeviceRecord& one) {
    return one.id != record.id && one.name == record.name && one.counter("nvlinks_active") > 0 &&
           one.text("nvlinks_to").starts_with("switch");
  });
  findings.throttled_since = model::throttled_since_text(soaked, record.id);
  model::judge_runs(findings);
  if (!record.is_host()) {
    model::judge_expected(findings);
    model::judge_gpu(findings, soaked);
    model::judge_settings(findings);
    for (const std::string& metric : rules.required) require(findings, metric);
    for (const auto& [metric, limit] : rules.expected)
      if (model::is_figure_name(metric)) require(findings, metric);
  }
  model::explain(findings);
  return std::move(findings.all);
}

HealthFinding of_the_node(const Trace& trace, const std::vector<model::DeviceRecord>& records,
                          const std::string& wanted) {
  const auto gpus =
      std::ranges::count_if(records, [](const auto& record) { return !record.is_host() && !model::loss_of(record); });
  const auto lost =
      std::ranges::count_if(records, [](const auto& record) { return model::loss_of(record).has_value(); });
  HealthFinding finding;
  finding.metric = "expected_gpus";
  model::with_value(finding, static_cast<double>(gpus), std::stod(wanted), "GPUs");
  finding.health = finding.value == finding.limit ? Health::pass : Health::fail;
  finding.text = fmt::format("{} GPU{}{}{}", gpus, gpus == 1 ? "" : "s",
                             finding.health == Health::pass ? ", as expected" : ", expected " + wanted,
                             lost ? fmt::format("; {} more lost", lost) : "");
  finding.basis = "expected by --expect";
  finding.if_failed = CheckVerdict::broken;
  if (finding.health == Health::fail && lost > 0) finding.explanations.push_back(model::loss(finding.text));
  else if (finding.health == Health::fail)
    finding.explanations.push_back(
        {"gpus_missing", "a GPU did not come up, or is hidden from this process",
         fmt::format("{} of {} have measurements in the trace of {}", gpus, wanted, trace.root.hostname),
         "look at nvidia-smi -L, lspci, CUDA_VISIBLE_DEVICES, and dmesg"});
  return finding;
}

constexpr std::array worst_healths_first{Health::fail, Health::undecided, Health::unjudged,
                                         Health::warn, Health::pass,      Health::skip};

}  // namespace

std::vector<HealthFinding> health_of(const Trace& trace, const HealthRules& rules) {
  const std::vector<model::DeviceRecord> records = model::records_of(trace);
  std::vector<HealthFinding> all;
  for (const auto& [key, wanted] : rules.expected)
    if (key == "gpus") all.push_back(of_the_node(trace, records, wanted));
  std::ranges::move(model::health_of_node(trace), std::back_inserter(all));
  std::ranges::move(model::health_of_devices(trace, rules), std::back_inserter(all));
  return all;
}

void model::judge_gpu(Findings& findings, const std::vector<SoakDevice>& soaked) {
  judge_link(findings);
  judge_clocks(findings);
  judge_copies(findings);
  judge_kernels(findings);
  judge_calls(findings);
  judge_soak(findings, soaked);
  judge_counters(findings);
  judge_xids(findings);
}

std::vector<HealthFinding> model::health_of_node(const Trace& trace) {
  std::vector<HealthFinding> all;
  if (auto census = judge_census(trace)) all.push_back(std::move(*census));
  const std::vector<NodeFinding> between_gpus = findings_between_gpus(trace);
  std::ranges::copy(between_gpus, std::back_inserter(all));
  std::ranges::move(findings_of_collectives(trace, between_gpus), std::back_inserter(all));
  return all;
}

std::vector<HealthFinding> model::health_of_devices(const Trace& trace, const HealthRules& rules) {
  std::vector<HealthFinding> all;
  if (!trace.doubts.empty()) {
    HealthFinding& finding = all.emplace_back();
    finding.metric = "values";
    finding.health = Health::unjudged;
    finding.text = doubts_text(trace);
  }
  const std::vector<SoakDevice> soaked = soak_devices(trace);
  const std::vector<DeviceRecord> records = records_of(trace);
  for (const DeviceRecord& record : records)
    std::ranges::move(findings_of(record, records, rules, soaked), std::back_inserter(all));
  std::ranges::move(soak_neighbours(soaked), std::back_inserter(all));
  return all;
}

std::string reference_text(std::string_view gpu_name) {
  const model::ModelReference* const reference = model::reference_of_model(gpu_name);
  if (!reference) return {};
  return fmt::format("{} run{} of {} healthy {}{}", reference->runs, reference->runs == 1 ? "" : "s", reference->cards,
                     reference->model, reference->cards == 1 ? "" : "s");
}

std::vector<const HealthFinding*> worst_of_each_metric(const std::vector<HealthFinding>& findings) {
  const auto rank = [](const HealthFinding& one) { return std::ranges::find(worst_healths_first, one.health); };
  std::vector<const HealthFinding*> all;
  for (const HealthFinding& finding : findings) {
    const auto known = std::ranges::find_if(
        all, [&](const HealthFinding* one) { return one->device == finding.device && one->metric == finding.metric; });
    if (known == all.end()) all.push_back(&finding);
    else if (rank(finding) < rank(**known)) *known = &finding;
  }
  return all;
}

Health worst_of(const std::vector<HealthFinding>& findings) {
  for (const Health health : worst_healths_first)
    if (std::ranges::find(findings, health, &HealthFinding::health) != findings.end()) return health;
  return Health::skip;
}

CheckVerdict verdict_of(const std::vector<HealthFinding>& findings) {
  for (const CheckVerdict verdict : {CheckVerdict::broken, CheckVerdict::slow, CheckVerdict::failed_to_run})
    for (const HealthFinding& finding : findings)
      if (finding.health == Health::fail && finding.if_failed == verdict) return verdict;
  switch (worst_of(findings)) {
    case Health::undecided: return CheckVerdict::undecided;
    case Health::unjudged:
    case Health::skip: return CheckVerdict::not_judged;
    case Health::fail:
    case Health::warn:
    case Health::pass: break;
  }
  return CheckVerdict::ok;
}

std::vector<KeyFigure> key_figures(const std::vector<HealthFinding>& findings) {
  std::vector<KeyFigure> all;
  std::set<std::pair<std::string, std::string>> known;
  for (const HealthFinding& finding : findings) {
    const bool is_figure = finding.unit == "B/s" || finding.unit == "us" || finding.unit.ends_with("OP/s");
    // A GPU's only where it is slow.
    const bool is_beside_others = finding.metric.starts_with("peer_") || finding.metric.starts_with("soak_");
    if (!is_figure || !(finding.value > 0) || finding.device.empty() || finding.device == "host" || is_beside_others)
      continue;
    if (known.emplace(finding.device, finding.metric).second)
      all.push_back({finding.device, finding.metric, finding.value, finding.low, finding.high, finding.unit});
  }
  return all;
}

std::vector<ReferenceFigure> figures_of(const std::vector<HealthFinding>& findings) {
  std::vector<ReferenceFigure> all;
  std::map<std::string, std::vector<double>> values;
  for (const KeyFigure& figure : key_figures(findings)) {
    if (values[figure.metric].empty()) all.push_back({figure.metric, not_measured, figure.unit});
    values[figure.metric].push_back(figure.value);
  }
  for (ReferenceFigure& figure : all) figure.value = median(values[figure.metric]);
  return all;
}

}  // namespace npgpu
