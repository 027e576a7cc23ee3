#include "netpipe/judge/health/metrics.hpp"
#include "netpipe/judge/matrix/links.hpp"

namespace npgpu::model {

namespace {

using Maybe = std::optional<Explanation>;

// The explanation of a finding that warns or fails, with its text as the evidence.
Maybe if_bad(const Findings& findings, std::string_view metric, std::string cause, std::string what,
             std::string remedy) {
  if (!findings.is_bad(metric)) return std::nullopt;
  return Explanation{std::move(cause), std::move(what), findings.find(metric)->text, std::move(remedy)};
}

std::string by_quota() { return causes_text(static_cast<std::uint32_t>(Cause::host_limited)); }
std::uint64_t reasons_of(const Findings& findings) {
  std::uint64_t reasons = 0;
  findings.device.each_visit([&](const VisitInfo& visit, bool) { reasons |= visit.telemetry.throttle_reasons; });
  return reasons;
}

// Null where no visit was held back, or nobody could read it.
const HealthFinding* seen_throttling(const Findings& findings) {
  const HealthFinding* const throttle = findings.find("throttle");
  return throttle && throttle->health != Health::skip && throttle->value > 0 ? throttle : nullptr;
}

std::string with_text_of(const Findings& findings, const char* metric, std::string evidence) {
  if (const HealthFinding* const finding = findings.find(metric); finding && finding->health != Health::skip)
    evidence += "; " + finding->text;
  return evidence;
}

bool is_clock_lowered(const Findings& findings) {
  const HealthFinding* const clock = findings.find("sm_clock");
  return clock && clock->value < is_its_maximum * findings.device.fact("max_sm_clock_mhz");
}

}  // namespace

Maybe neighbour(const Findings& findings, const std::string& metric) {
  for (const auto& [disturbed, by] : findings.disturbed)
    if (disturbed == metric && by == causes_text(static_cast<std::uint32_t>(Cause::siblings)))
      return Explanation{
          "siblings", "npgpu measured other GPUs of this node at the same time, and not yet this one alone", by,
          "let the check come to its end, which measures such figures again while the other GPUs rest; or "
          "npgpu check --one-by-one"};
    else if (disturbed == metric && by != by_quota())
      return Explanation{"neighbour", "others used the device, its link or the processors at the same time", by,
                         "measure again when they are gone; --require-quiet refuses to measure while others use it"};
  return std::nullopt;
}

Explanation loss(std::string evidence) {
  return {"lost", "the GPU fell off the bus or stopped answering", std::move(evidence),
          "drain the node and power it off and on; look at dmesg (Xid 79, AER), seating, riser and power cables; "
          "replace the GPU if it happens again"};
}

Maybe lost_device(const Findings& findings) {
  const DeviceRecord& of = findings.device;
  if (const auto how = loss_of(of)) {
    std::string read = *how;
    if (const HealthFinding* const xid = findings.find("xid"); xid && xid->health != Health::skip)
      read += "; " + xid->text;
    return loss(read);
  }
  return if_bad(findings, "device_defect", "defect", "the GPU reported an error of its memory or links to CUDA",
                "drain the node and reset the GPU; look at dmesg for its Xid; replace the GPU if it happens again");
}

Maybe stopped_by_quota(const Findings& findings, const std::string& metric) {
  for (const auto& [disturbed, by] : findings.disturbed)
    if (disturbed == metric && by.find(by_quota()) != by.npos) {
      const HealthFinding* const quota = findings.find("cpu_quota");
      return Explanation{"cpu_quota", "a CPU quota stopped this process while it was measured",
                         quota ? quota->text : by, metric_row("cpu_quota")->last->remedy};
    }
  return std::nullopt;
}

Maybe degraded_link(const Findings& findings) {
  const HealthFinding* const link = findings.find("pcie_link");
  if (!link || link->health != Health::fail) return std::nullopt;
  const bool is_narrow = link->unit == "lanes";
  return Explanation{
      is_narrow ? "link_lanes" : "link_generation",
      is_narrow ? "the PCIe link is trained with fewer lanes than GPU and slot have"
                : "the PCIe link is trained to an older generation than GPU and slot have",
      link->text,
      is_narrow ? "reseat the GPU and its riser or cable, clean the contacts, and look at LnkSta in lspci -vv"
                : "look at the slot's speed in the BIOS and at LnkCtl2 in lspci -vv; reseat the GPU and its riser"};
}

Maybe lesser_slot(const Findings& findings) {
  const DeviceRecord& of = findings.device;
  const HealthFinding* const link = findings.find("pcie_link");
  if (!link || link->health != Health::warn || !is_lesser_slot(of)) return std::nullopt;
  const double of_both = of.fact("max_pcie_generation"), of_gpu = of.fact("gpu_max_pcie_generation");
  return Explanation{
      "link_slot",
      of_gpu > of_both ? fmt::format("the slot has PCIe Gen{:g}, and the GPU could have Gen{:g}", of_both, of_gpu)
                       : fmt::format("the slot has {:g} lanes, and the GPU could have {:g}", of.fact("max_pcie_lanes"),
                                     usual_lanes(of)),
      link->text,
      "look at the slot's speed and lanes in the BIOS, or use a better slot; compare nodes with such slots with a good "
      "one of them (--reference)"};
}

Maybe too_hot(const Findings& findings) {
  const HealthFinding* const throttle = seen_throttling(findings);
  if (!throttle || !(reasons_of(findings) & (0x20 | 0x40))) return std::nullopt;
  return Explanation{"throttle_thermal", "the GPU is too hot and lowers its clocks",
                     with_text_of(findings, "temperature", throttle->text),
                     "look at fans, air flow and the inlet temperature; clean or reseat the heat sink"};
}

Maybe throttled(const Findings& findings) {
  if (Maybe hot = too_hot(findings)) return hot;
  const HealthFinding* const throttle = seen_throttling(findings);
  if (!throttle) return std::nullopt;
  const std::uint64_t reasons = reasons_of(findings);
  if (reasons & 0x80)
    return Explanation{"throttle_brake", "the node's power supply brakes the GPU", throttle->text,
                       "look at the power supplies and their cables in the BMC's log"};
  if (reasons & 0x8)
    return Explanation{"throttle_hardware", "the GPU's hardware lowers its clocks: too hot, or too little power",
                       throttle->text, "look at temperature, power cables and the BMC's log"};
  const std::string evidence = with_text_of(findings, "power", throttle->text);
  if (findings.is_short_of_power)
    return Explanation{
        "throttle_power_feed", "the GPU gets far less power than its limit allows",
        with_text_of(findings, "sm_clock", evidence),
        "look at the GPU's power cables, the power supplies, and caps of the board or the BMC (its log and "
        "power policy); replace the board if others in its place draw more"};
  if (throttle->health != Health::pass)
    return Explanation{"throttle_power", "the GPU is held at its power limit", evidence,
                       "raise the limit where the node allows it: nvidia-smi -pl"};
  if (!is_clock_lowered(findings)) return std::nullopt;
  return Explanation{"throttle_power", "the GPU is held at its usual power limit, which lowers its clock",
                     with_text_of(findings, "sm_clock", evidence),
                     "compare it with others of its model under the same load (npgpu fleet, --reference); a hotter GPU "
                     "reaches the limit at a lower clock: look at its cooling"};
}

Maybe capped_clock(const Findings& findings) {
  if (throttled(findings)) return std::nullopt;  // which says why
  const std::uint64_t reasons = reasons_of(findings);
  if ((reasons & 0x10) && is_clock_lowered(findings))
    return Explanation{"sync_boost", "sync boost holds the SM clock at that of the slowest GPU of its group",
                       findings.find("sm_clock")->text + "; NVML's reason is sync boost",
                       "look for what slows the others of its group, or take it out of the group"};
  Maybe capped = if_bad(findings, "sm_clock", "clock_cap", "the SM clock is capped, and no throttle reason says why",
                        "lift locked clocks and application clocks: nvidia-smi -rgc; nvidia-smi -rac");
  if (capped && (reasons & 0x2)) {
    capped->what = "the SM clock is capped by application clocks";
    capped->evidence += "; NVML's reason is the setting of application clocks";
  }
  return capped;
}

// NVIDIA GPU Memory Error Management: a reset activates what is pending; after a failed remapping the GPU is replaced.
Maybe repaired_memory(const Findings& findings) {
  const DeviceRecord& of = findings.device;
  const char* const spent = "no spare cells are left where the GPU's memory has errors";
  const char* const replace = "replace the GPU: no reset repairs this";
  if (of.counter("remapped_rows_failed") > 0)
    return if_bad(findings, "remapped_rows", "remapping_failed", spent, replace);
  const bool waits = of.counter("retired_pages_pending") > 0;
  return if_bad(findings, "retired_pages", "retired_pages",
                waits ? "memory pages with errors wait to be taken out of use" : spent,
                waits ? "drain the node and reboot, so that the pages are retired" : replace);
}

Maybe failing_memory(const Findings& findings) {
  if (Maybe repaired = repaired_memory(findings)) return repaired;
  // Errors of before this run are no reason for what is slow in it.
  const char* const counters[] = {"ecc_uncorrected_volatile", "remapped_rows_uncorrected"};
  for (const char* metric : {"ecc_uncorrected", "remapped_rows"})
    if (std::ranges::any_of(counters, [&](const char* one) { return findings.device.rise(one) > 0; }))
      if (auto bad = if_bad(findings, metric, "memory_errors", "the memory has errors, and their repair takes time",
                            "reset the GPU; replace it if errors go on"))
        return bad;
  return std::nullopt;
}

Maybe wrong_results(const Findings& findings) {
  const HealthFinding* const results = findings.find("results");
  if (results && results->if_failed == CheckVerdict::failed_to_run) return std::nullopt;  // none was compared
  std::size_t wrong = 0, between_gpus = 0;
  for (const TransferSeries* series : findings.device.all<Transfers>())
    for (const TransferSample& sample : series->samples) {
      wrong += sample.intact == 0;
      between_gpus += sample.intact == 0 && series->question.direction == Direction::peer;
    }
  if (wrong > 0 && wrong == between_gpus)
    return if_bad(findings, "results", "peer_path",
                  "only copies between GPUs are wrong: the IOMMU or ACS of the bridges above them keeps their traffic "
                  "from arriving, or a link between them is defective",
                  mend_peer_path({findings.device.text("iommu_domain")}, findings.device.fact("acs_redirects")) +
                      "; npgpu matrix names the pair");
  return if_bad(findings, "results", "corrupt", "results are wrong: memory, link or an engine of the GPU is defective",
                "take the GPU out of service; test its memory with the vendor's diagnostics");
}

Maybe errors(const Findings& findings) {
  const DeviceRecord& of = findings.device;
  if (of.has_failure(Failure::context))
    return if_bad(findings, "errors", "context",
                  "a kernel faulted, and the process's context on the GPU is dead: what came after it failed, too",
                  "run it again; if it comes again, look at dmesg for the Xid, test the GPU's memory, and report it");
  if (of.has_failure(Failure::no_memory))
    return if_bad(findings, "errors", "no_memory", "the GPU or the host has not enough free memory",
                  "look at nvidia-smi and free for who holds it, and measure again when it is free");
  return if_bad(findings, "errors", "errors", "the device or its driver refused or failed",
                "look at the message, and at dmesg");
}

Maybe unsteady(const HealthFinding& finding) {
  if (finding.health != Health::undecided) return std::nullopt;
  if (finding.metric.ends_with("_course") || finding.metric == "throttle")
    return Explanation{"unsteady", "the rates of this soak do not show whether they fell", finding.text,
                       "soak again, for longer, when the GPU is cool and the node is idle"};
  if (std::isnan(finding.low))
    return Explanation{"unsteady", "the figure has one value and no interval, as of a check that was stopped",
                       finding.text, "check again, and let it come to its end"};
  return Explanation{"unsteady", "the figure scatters from visit to visit, and its interval holds the limit",
                     finding.text, "check again when the node is idle, or with more --rounds"};
}

}  // namespace npgpu::model
