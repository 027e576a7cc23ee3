// What the device and its links counted: errors of memory, rows and pages taken out of use, replays, errors of PCIe,
// NVLink; and what the driver says of links, fabric and recovery.
#include <algorithm>

#include "netpipe/engine/distributions.hpp"
#include "netpipe/judge/health/findings.hpp"

namespace npgpu::model {

namespace {

// ", 3 of them in this run"; empty where none were, or the trace does not say.
std::string in_this_run(const DeviceRecord& of, std::string_view name) {
  const double rise = of.rise(name);
  return rise > 0 ? fmt::format(", {:g} of them in this run", rise) : "";
}

void judge_ecc(Findings& findings) {
  const DeviceRecord& of = findings.device;
  const double uncorrected = of.counter("ecc_uncorrected_volatile"), ever = of.counter("ecc_uncorrected_aggregate");
  const double corrected = of.counter("ecc_corrected_volatile"), ever_corrected = of.counter("ecc_corrected_aggregate");
  if (std::isnan(uncorrected) && std::isnan(corrected)) {
    const std::string why = of.fact("ecc") != 0   ? of.why_unread("ecc")
                            : of.has_cuda_calls() ? "ECC is off"
                                                  : "OpenCL does not say that the device corrects errors";
    findings.skip("ecc_uncorrected", "uncorrected ECC errors: " + why);
    findings.skip("ecc_corrected", "corrected ECC errors: " + why);
    return;
  }
  const Health health = uncorrected > 0 ? Health::fail : Health::pass;
  std::string text = "no uncorrected ECC errors";
  if (uncorrected > 0)
    text = fmt::format("{:g} uncorrected ECC errors since the driver was loaded{}", uncorrected,
                       in_this_run(of, "ecc_uncorrected_volatile"));
  else if (ever > 0)
    text = fmt::format("{:g} uncorrected ECC errors in the GPU's life, none since the driver was loaded", ever);
  with_value(findings.defect("ecc_uncorrected", health, text), uncorrected, 0, "errors");

  constexpr double many = 100;  // since the driver was loaded: single ones are what ECC is for
  const bool rose = of.rise("ecc_corrected_volatile") > 0;
  HealthFinding& finding = findings.defect(
      "ecc_corrected", rose || corrected > many ? Health::warn : Health::pass,
      corrected > 0 ? fmt::format("{:g} corrected ECC errors since the driver was loaded{}", corrected,
                                  in_this_run(of, "ecc_corrected_volatile"))
      : ever_corrected > 0
          ? fmt::format("{:g} corrected ECC errors in the GPU's life, none since the driver was loaded", ever_corrected)
          : std::string("no corrected ECC errors"));
  with_value(finding, corrected, many, "errors");
}

void judge_rows(Findings& findings) {
  const DeviceRecord& of = findings.device;
  const double failed = of.counter("remapped_rows_failed"), pending = of.counter("remapped_rows_pending"),
               uncorrected = of.counter("remapped_rows_uncorrected"), corrected = of.counter("remapped_rows_corrected");
  const double retired = of.counter("retired_pages"), retiring = of.counter("retired_pages_pending");
  if (std::isnan(uncorrected) && std::isnan(retired))
    return findings.skip("remapped_rows", "remapped rows: " + of.why_unread("rows"));
  if (std::isnan(uncorrected)) {
    constexpr double most_pages = 60;  // of 64 that can be retired (NVIDIA, Dynamic Page Retirement)
    const Health health = retiring > 0 || retired >= most_pages ? Health::fail : Health::pass;
    HealthFinding& pages = findings.defect(
        "retired_pages", health,
        fmt::format("{:g} memory pages retired{}", retired, retiring > 0 ? ", more wait for a reset" : ""));
    with_value(pages, retired, most_pages, "pages");
    return;
  }
  // Rows that were remapped are as good as others.
  const Health health = failed > 0 || pending > 0 ? Health::fail : Health::pass;
  std::string text = uncorrected + corrected > 0
                         ? fmt::format("{:g} memory rows remapped, {:g} of them for uncorrected errors",
                                       uncorrected + corrected, uncorrected)
                         : "no memory row remapped";
  if (failed > 0) text += "; a remapping failed";
  if (pending > 0) text += "; a remapping waits for a reset of the GPU";
  with_value(findings.defect("remapped_rows", health, text), uncorrected, 0, "rows");
}

// From the run's beginning to the end of its last visit; NaN where the trace does not say.
double minutes_of(const DeviceRecord& of) {
  double end_s = not_measured;
  of.each_visit([&](const VisitInfo& visit, bool) { end_s = std::fmax(end_s, visit.at_s + visit.wall_us * 1e-6); });
  return end_s / 60;
}

// NVIDIA's DCGM warns from more than 8 a minute on (dcgmi health), and its diagnostics allow 80 in a test of minutes
// (max_pcie_replays). The standard (PCI Express Base Specification, Electrical Sub-Block) allows one wrong bit in 1e12
// on each lane, of both directions: 61 a minute of Gen5 x16. The more of the two is usual.
double usual_replays_a_minute(const DeviceRecord& of) {
  constexpr double of_dcgm = 8, wrong_bits = 1e-12, directions = 2, seconds = 60;
  const LinkRead link = trained_link(of);
  const double of_link = directions * seconds * wrong_bits * pcie_transfers_per_s(link.generation) * link.lanes;
  return std::fmax(of_dcgm, of_link);
}

// The least number that this rate does not explain: as many come at most once in a thousand runs of that length. At 8 a
// minute 5 in 3.5 s and 19 in a minute.
double many_replays_in(double minutes, double usual_a_minute) {
  constexpr double once_in_a_thousand = 0.001;
  if (!(minutes > 0)) return 1;
  return events_quantile(usual_a_minute * minutes, once_in_a_thousand) + 1;
}

void judge_replays(Findings& findings) {
  const DeviceRecord& of = findings.device;
  const double replays = of.counter("pcie_replays"), rise = of.rise("pcie_replays");
  if (std::isnan(replays)) return findings.skip("pcie_replays", "PCIe replays: " + of.why_unread("replays"));
  constexpr double many = 1000;  // since the driver was loaded, of a run that does not say its own
  const double usual = usual_replays_a_minute(of), many_now = many_replays_in(minutes_of(of), usual);
  const bool is_bad = std::isnan(rise) ? replays > many : rise >= many_now;
  HealthFinding& finding =
      findings.defect("pcie_replays", is_bad ? Health::warn : Health::pass,
                      replays > 0 ? fmt::format("{:g} PCIe packets sent again since the driver was loaded{}", replays,
                                                in_this_run(of, "pcie_replays"))
                                  : "no PCIe packet had to be sent again");
  with_value(finding, std::isnan(rise) ? replays : rise, std::isnan(rise) ? many : many_now - 1, "replays");
  if (rise > 0) finding.basis = fmt::format("what {:.0f} a minute explain in this run", usual);
}

// What the link could not mend by sending again.
void judge_pcie_errors(Findings& findings) {
  const DeviceRecord& of = findings.device;
  const double fatal = of.counter("aer_fatal"), other = of.counter("aer_nonfatal");
  if (std::isnan(fatal) && std::isnan(other))
    return findings.skip("pcie_errors", "uncorrected PCIe errors: not in this trace");
  const double all = std::fmax(0, fatal) + std::fmax(0, other);
  const bool rose = of.rise("aer_fatal") > 0 || of.rise("aer_nonfatal") > 0;
  std::string text = "no uncorrected PCIe error since the system started";
  if (all > 0)
    text = fmt::format("{:g} uncorrected PCIe errors since the system started, {:g} of them fatal{}", all,
                       std::fmax(0, fatal), rose ? "; they rose in this run" : "");
  const Health health = rose ? Health::fail : all > 0 ? Health::warn : Health::pass;
  with_value(findings.defect("pcie_errors", health, text), all, 0, "errors");
}

void judge_nvlink(Findings& findings) {
  const DeviceRecord& of = findings.device;
  const double active = of.counter("nvlinks_active"), inactive = of.counter("nvlinks_inactive");
  if (std::isnan(active)) return findings.skip("nvlink", "NVLink: " + of.why_unread("nvlink"));
  if (active + inactive == 0) return findings.skip("nvlink", "NVLink: this GPU has none");
  double errors = 0;
  bool is_counted = false;
  for (const char* name : {"nvlink_replay_errors", "nvlink_recovery_errors", "nvlink_crc_errors"}) {
    const double rise = of.rise(name);
    is_counted = is_counted || !std::isnan(rise);
    if (rise > 0) errors += rise;
  }
  if (active == 0 && !findings.has_siblings_on_switch) {  // alone, as in a virtual machine with one of them
    findings.skip("nvlink", fmt::format("NVLink: none of {:g} links is in use", inactive));
    return;
  }
  const Health health = inactive > 0 ? Health::fail : errors > 0 ? Health::warn : Health::pass;
  std::string text = fmt::format("{:g} of {:g} NVLinks active", active, active + inactive);
  if (active == 0) text += ", and others of its model in this node reach the NVSwitches";
  else if (!is_counted) text += "; their errors are not reported";
  if (errors > 0) text += fmt::format("; {:g} errors in this run", errors);
  with_value(findings.defect("nvlink", health, text), active, active + inactive, "links");
}

// Links to a Grace processor.
void judge_c2c(Findings& findings) {
  const DeviceRecord& of = findings.device;
  const double active = of.counter("c2c_links_active"), inactive = of.counter("c2c_links_inactive");
  if (std::isnan(active)) {
    // Nearly all GPUs have none: that needs no word.
    if (!of.state("unread_c2c").empty()) findings.skip("c2c", "NVLink-C2C: " + of.why_unread("c2c"));
    return;
  }
  const std::string text = fmt::format("{:g} of {:g} NVLink-C2C links active", active, active + inactive);
  with_value(findings.defect("c2c", inactive > 0 ? Health::fail : Health::pass, text), active, active + inactive,
             "links");
}

// Whether the GPU is registered with the fabric of its NVSwitches.
void judge_fabric(Findings& findings) {
  const DeviceRecord& of = findings.device;
  const std::string state = of.state("fabric_state"), health = of.state("fabric_health");
  if (state.empty()) return findings.skip("fabric", "NVLink fabric: " + of.why_unread("fabric"));
  if (state == "not supported") return findings.skip("fabric", "NVLink fabric: this GPU is in none");
  const double links = of.counter("nvlinks_active"), status = of.counter("fabric_status");
  const bool is_complete = state == "completed" && !(status > 0);
  if (!is_complete && !(links > 0) &&
      !findings.has_siblings_on_switch) {  // a GPU alone in a virtual machine: it has no use for the fabric
    findings.skip("fabric", fmt::format("NVLink fabric: registration {}, and no NVLink is in use", state));
    return;
  }
  std::string text = "NVLink fabric: registration " + state;
  if (status > 0) text += fmt::format(", with NVML error {:g}", status);
  const bool is_well = health.empty() || health == "well";
  if (!is_well) text += "; " + health;
  const bool is_under_way = health.find("in progress") != std::string::npos && health.find(',') == std::string::npos;
  findings.defect("fabric",
                  !is_complete || (!is_well && !is_under_way) ? Health::fail
                  : !is_well                                  ? Health::warn
                                                              : Health::pass,
                  text);
}

// What the driver says would mend the GPU.
void judge_recovery(Findings& findings) {
  const DeviceRecord& of = findings.device;
  const std::string action = of.state("recovery_action");
  if (action.empty()) return findings.skip("recovery_action", "recovery action: " + of.why_unread("recovery"));
  const bool is_none = action == "none", is_of_others = action == "recover the IMEX domain";
  findings.defect("recovery_action",
                  is_none        ? Health::pass
                  : is_of_others ? Health::warn
                                 : Health::fail,
                  is_none ? "the driver asks for no recovery" : "the driver asks for recovery: " + action);
}

}  // namespace

void judge_counters(Findings& findings) {
  judge_ecc(findings);
  judge_rows(findings);
  judge_replays(findings);
  judge_pcie_errors(findings);
  judge_nvlink(findings);
  judge_c2c(findings);
  judge_fabric(findings);
  judge_recovery(findings);
}

}  // namespace npgpu::model
