// Below each finding that warns or fails: its likely causes, most likely first.
#include <cstdlib>

#include "netpipe/judge/health/metrics.hpp"

namespace npgpu::model {

namespace {

using CauseIn = std::optional<Explanation> (*)(const Findings&);

// Another finding that is bad, or a setting that is on, says why this one is: as its row has it.
template <const char* metric> std::optional<Explanation> other(const Findings& findings) {
  const HealthFinding* const finding = findings.find(metric);
  const std::string_view name = metric;
  const bool is_setting = name == "iommu" || name == "acs" || name == "confidential_computing";
  if (!(is_setting ? finding && finding->value > 0 : findings.is_bad(metric))) return std::nullopt;
  const LastResort& why = *metric_row(metric)->last;
  return Explanation{why.cause, why.what, finding->text, why.remedy};
}
namespace by {
constexpr char encrypting[] = "confidential_computing", numa[] = "numa", replays[] = "pcie_replays", iommu[] = "iommu",
               acs[] = "acs", mig[] = "mig", sms[] = "sms", memory_clock[] = "memory_clock", quota[] = "cpu_quota",
               latency[] = "memory_latency";
}  // namespace by

// Where clocks do not say why loads take long.
std::optional<Explanation> slow_loads(const Findings& findings) {
  const bool is_of_clocks = throttled(findings) || capped_clock(findings) || findings.is_bad(by::memory_clock);
  return is_of_clocks ? std::nullopt : other<by::latency>(findings);
}

// Copies between host and device; kernels; the host's calls.
constexpr CauseIn of_copies[] = {degraded_link,    other<by::encrypting>, other<by::numa>, other<by::replays>,
                                 other<by::iommu>, other<by::acs>,        other<by::mig>};
constexpr CauseIn of_compute[] = {throttled, capped_clock, other<by::sms>, other<by::mig>};
constexpr CauseIn of_memory[] = {throttled,      other<by::memory_clock>, capped_clock, failing_memory,
                                 other<by::sms>, other<by::mig>,          slow_loads};
constexpr CauseIn of_calls[] = {other<by::quota>, other<by::numa>};

// Findings that are causes themselves.
struct Own {
  std::string_view metric;
  CauseIn cause;
};
constexpr Own own_causes_of[] = {
    {"pcie_link", degraded_link},       {"pcie_link", lesser_slot},     {"throttle", throttled},
    {"temperature", too_hot},           {"results", wrong_results},     {"errors", errors},
    {"device_lost", lost_device},       {"device_defect", lost_device}, {"remapped_rows", repaired_memory},
    {"retired_pages", repaired_memory}, {"xid", reported_xids}};

std::span<const CauseIn> causes_of(const Metric* row) {
  switch (row ? row->by : SlowedBy::nothing) {
    case SlowedBy::link: return of_copies;
    case SlowedBy::calls: return of_calls;
    case SlowedBy::memory: return of_memory;
    case SlowedBy::compute: return of_compute;
    case SlowedBy::nothing: break;
  }
  return {};
}

std::string evidence_text(const Findings& findings, const HealthFinding& finding) {
  std::string evidence = finding.text;
  if (finding.metric.ends_with("_time")) {
    if (const std::string governor = text_fact(findings.device.host, "cpu_governor"); !governor.empty())
      evidence += "; governor " + governor;
    if (number_fact(findings.device.host, "in_virtual_machine") > 0) evidence += "; in a virtual machine";
  }
  return evidence;
}

// What a cause leaves of a figure at most, as a share: 0.96 of a clock that is 4 % low. NaN: its size is not known, and
// it may explain all.
double left_by(const Findings& findings, const HealthFinding& figure, const Explanation& cause) {
  const auto share = [&](const char* metric, double of) {
    const HealthFinding* const finding = findings.find(metric);
    return finding && finding->value > 0 && of > 0 ? std::fmin(1, finding->value / of) : not_measured;
  };
  const DeviceRecord& of = findings.device;
  const std::string_view name = cause.cause;
  if (name == "link_lanes") return share("pcie_link", of.fact("max_pcie_lanes"));
  if (name == "link_generation") {  // each has twice the rate of the one before
    const HealthFinding* const link = findings.find("pcie_link");
    return link ? std::exp2(link->value - link->limit) : not_measured;
  }
  if (name == "clock_cap" || name == "sync_boost" || name.starts_with("throttle_"))
    return share("sm_clock", of.fact("max_sm_clock_mhz"));
  if (name == "memory_clock_cap") return share("memory_clock", of.fact("max_memory_clock_mhz"));
  if (name != "sms_missing") return not_measured;
  const HealthFinding* const sms = findings.find("sms");
  // A grid of so many blocks for each multiprocessor waits for those that have one more.
  const double blocks = std::atof(figure.of_point.c_str());
  const bool is_of_a_grid = figure.metric.starts_with("compute_") || figure.metric.starts_with("tensor_");
  if (is_of_a_grid && blocks > 0 && sms && sms->value > 0)
    return std::fmin(1, blocks / sms->limit / std::ceil(blocks / sms->value));
  return share("sms", sms ? sms->limit : not_measured);
}

// What its causes leave over of a rate that is below its limit needs a cause of its own.
void add_what_is_left(const Findings& findings, HealthFinding& finding) {
  const Metric* const row = metric_row(finding.metric);
  if (finding.health != Health::fail || !row || !row->last || finding.unit == "us" || finding.explanations.empty())
    return;
  double left = 1;
  for (const Explanation& cause : finding.explanations) left *= left_by(findings, finding, cause);
  // Limits that are of the run's clock have its part already.
  if (finding.basis.starts_with("the run's clock")) return;
  const double value = std::isnan(finding.high) ? finding.value : finding.high;
  if (!(value < left * finding.limit)) return;
  const double healthy = finding.limit / (1 - row->tolerance);
  const std::string evidence = fmt::format("{}; the other cause explains {:.1f} % of {:.0f} %", finding.text,
                                           100 * (1 - left), 100 * (1 - finding.value / healthy));
  const std::string what = row->last->what;
  const Explanation rest{row->last->cause,
                         what.substr(0, what.find(", and no ")) + ", more than the other cause explains", evidence,
                         row->last->remedy, true};
  // The larger part first.
  const bool is_larger = finding.value / healthy < left * left;
  finding.explanations.insert(is_larger ? finding.explanations.begin() : finding.explanations.end(), rest);
}

bool is_slow(const HealthFinding& finding) {
  return finding.health == Health::fail && finding.if_failed == CheckVerdict::slow && !finding.explanations.empty();
}
// What slows one down slows the other down too.
bool are_alike(const HealthFinding& one, const HealthFinding& other) {
  const auto of_one = causes_of(metric_row(one.metric)), of_other = causes_of(metric_row(other.metric));
  return !of_one.empty() && of_one.data() == of_other.data();
}

void explain_one(const Findings& findings, HealthFinding& finding) {
  const auto add = [&](std::optional<Explanation> why) {
    if (why && std::ranges::find(finding.explanations, why->cause, &Explanation::cause) == finding.explanations.end())
      finding.explanations.push_back(std::move(*why));
  };
  if (finding.if_failed == CheckVerdict::failed_to_run && finding.metric != "errors") {
    add(lost_device(findings));
    if (!finding.explanations.empty()) return;  // nothing else matters then
    add(wrong_results(findings));
    add(errors(findings));
    if (finding.metric == "figures" && finding.explanations.empty())
      add(Explanation{
          "no_figure", "these points gave no valid figure", finding.text,
          "check again; a point that never has a figure is a fault of npgpu or of the driver: report the trace"});
    if (finding.explanations.empty())
      add(Explanation{"not_measured",
                      findings.device.simulated ? "the spec of this simulated GPU leaves it out, or the plan does"
                                                : "it was not in the plan, or was left out of it",
                      finding.text, "look at what --dry-run leaves out, and why"});
    return;
  }
  add(neighbour(findings, finding.metric));
  add(stopped_by_quota(findings, finding.metric));
  if (finding.health == Health::unjudged) return;  // its text says why
  if (finding.metric == "sm_clock") add(throttled(findings)), add(capped_clock(findings));
  for (const Own& own : own_causes_of)
    if (own.metric == finding.metric) add(own.cause(findings));
  const auto causes = causes_of(metric_row(finding.metric));
  // What is compared with GPUs in better slots is slow for that.
  if (causes.data() == std::data(of_copies) && finding.limit > best_pcie_rate(findings.device))
    add(lesser_slot(findings));
  for (const CauseIn cause : causes) add(cause(findings));
  add_what_is_left(findings, finding);
  if (finding.health == Health::undecided) {
    for (const HealthFinding& other : findings.all)
      if (is_slow(other) && are_alike(other, finding)) add(other.explanations.front());
    add(unsteady(finding));
  }
}

// Where nothing else in the trace says why.
void add_last_resort(const Findings& findings, HealthFinding& finding) {
  if (finding.health == Health::unjudged) return;  // its text says why
  const std::string& metric = finding.metric;
  // What slows large copies down slows those of a few MiB.
  constexpr std::string_view of_few_mib = "_1mib";
  if (metric.ends_with(of_few_mib) && finding.explanations.empty()) {
    const HealthFinding* const large = findings.find(metric.substr(0, metric.size() - of_few_mib.size()));
    if (large && is_slow(*large)) finding.explanations.push_back(large->explanations.front());
  }
  const Metric* const row = metric_row(metric);
  if (!finding.explanations.empty() || !row || !row->last) return;
  LastResort last = *row->last;
  std::string remedy = last.remedy;
  const HealthFinding* const in_a_row = findings.find("launch_time");
  if (metric == "launch_done_time" && in_a_row && in_a_row->health == Health::pass) {
    last = {"slow_start",
            "launches in a row are as fast as they should be, so the GPU takes longer to begin or to end a kernel, or "
            "to say so",
            ""};
    remedy = "look at the GPU's clocks and power state (nvidia-smi -q -d CLOCK,PERFORMANCE); reset it and check again";
  }
  const HealthFinding* const link = findings.find("pcie_link");
  const bool is_trained_well = link && (link->health == Health::pass || link->health == Health::warn);
  if ((metric == "h2d_rate" || metric == "d2h_rate") && !is_trained_well) {
    last.what = "bytes are slow, and how the link is trained could not be read";
    remedy = fmt::format("look at LnkSta in lspci -vv; {}", last.remedy);
  }
  finding.explanations.push_back({last.cause, last.what, evidence_text(findings, finding), remedy});
}

// In a virtual machine others may use the host's memory, which nobody can see here: two H100s of one host copied from
// it at 47 to 53 GB/s, those of others at 53 to 55. So a shortfall that nothing explains, and that a busy memory can
// cause, is no verdict on the GPU.
void suspend_verdict_on_host(const Findings& findings, HealthFinding& finding) {
  constexpr double least_share_of_limit = 0.8;
  const bool is_copy = finding.metric.starts_with("h2d_rate") || finding.metric.starts_with("d2h_rate") ||
                       finding.metric.ends_with("_pageable_rate");
  const bool is_in_machine = !findings.device.simulated && number_fact(findings.device.host, "in_virtual_machine") > 0;
  const bool is_near = finding.value >= least_share_of_limit * finding.limit;
  const auto& own = findings.rules.figures;  // of a node that the user knows to be good
  const bool is_by_own = std::ranges::find(own, finding.metric, &ReferenceFigure::metric) != own.end();
  if (finding.health != Health::fail || finding.if_failed != CheckVerdict::slow) return;
  if (!is_copy || !is_in_machine || !is_near || is_by_own) return;
  finding.health = Health::undecided;
  finding.explanations.push_back(
      {"host_memory", "others on the virtual machine's host may use its memory, or the link is slow",
       evidence_text(findings, finding) + "; in a virtual machine",
       "check again later; if it stays so, compare with a virtual machine alone on such a host, and keep that as "
       "--reference"});
}

}  // namespace

void explain(Findings& findings) {
  const auto each = [&](bool undecided, auto&& what) {
    for (HealthFinding& finding : findings.all)
      if (finding.health != Health::pass && finding.health != Health::skip)
        if ((finding.health == Health::undecided) == undecided && finding.explanations.empty()) what(findings, finding);
  };
  each(false, explain_one);
  each(false, suspend_verdict_on_host);
  each(false, add_last_resort);
  each(true, explain_one);  // what is slow may say why another figure is undecided
  each(true, add_last_resort);
}

}  // namespace npgpu::model
