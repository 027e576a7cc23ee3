// What the device and its links counted: errors of memory, rows and pages taken out of use, replays, NVLink, Xids.
#include "netpipe/model/health/findings.hpp"

namespace npgpu::model {

namespace {

// ", 3 of them in this run"; empty where none were, or the trace does not say.
std::string in_this_run(const DeviceRecord& of, std::string_view name) {
  const double rise = of.rise(name);
  return rise > 0 ? fmt::format(", {:g} of them in this run", rise) : "";
}

std::string not_read(const DeviceRecord& of) {
  return of.after.empty() ? "not in this trace" : "not reported by this GPU or its driver";
}

void judge_ecc(Findings& findings) {
  const DeviceRecord& of = findings.of;
  const double uncorrected = of.counter("ecc_uncorrected_volatile"), ever = of.counter("ecc_uncorrected_aggregate");
  const double corrected = of.counter("ecc_corrected_volatile");
  if (std::isnan(uncorrected) && std::isnan(corrected)) {
    const std::string why = of.fact("ecc") == 0 ? "ECC is off" : not_read(of);
    findings.skip("ecc_uncorrected", "uncorrected ECC errors: " + why);
    findings.skip("ecc_corrected", "corrected ECC errors: " + why);
    return;
  }
  const Health health = uncorrected > 0 ? Health::fail : ever > 0 ? Health::warn : Health::pass;
  std::string text = "no uncorrected ECC errors";
  if (uncorrected > 0)
    text = fmt::format("{:g} uncorrected ECC errors since the driver was loaded{}", uncorrected,
                       in_this_run(of, "ecc_uncorrected_volatile"));
  else if (ever > 0)
    text = fmt::format("{:g} uncorrected ECC errors in the GPU's life, none since the driver was loaded", ever);
  with_value(findings.defect("ecc_uncorrected", health, text), uncorrected, 0, "errors");

  constexpr double many = 100;  // since the driver was loaded: single ones are what ECC is for
  const bool rose = of.rise("ecc_corrected_volatile") > 0;
  HealthFinding& finding =
      findings.defect("ecc_corrected", rose || corrected > many ? Health::warn : Health::pass,
                      corrected > 0 ? fmt::format("{:g} corrected ECC errors since the driver was loaded{}", corrected,
                                                  in_this_run(of, "ecc_corrected_volatile"))
                                    : "no corrected ECC errors");
  with_value(finding, corrected, many, "errors");
}

void judge_rows(Findings& findings) {
  const DeviceRecord& of = findings.of;
  const double failed = of.counter("remapped_rows_failed"), pending = of.counter("remapped_rows_pending"),
               uncorrected = of.counter("remapped_rows_uncorrected"), corrected = of.counter("remapped_rows_corrected");
  const double retired = of.counter("retired_pages"), retiring = of.counter("retired_pages_pending");
  if (std::isnan(uncorrected) && std::isnan(retired)) {
    findings.skip("remapped_rows", "remapped rows: " + not_read(of));
    return;
  }
  if (std::isnan(uncorrected)) {
    constexpr double most_pages = 60;  // of 64 that can be retired (NVIDIA, Dynamic Page Retirement)
    const Health health = retiring > 0 || retired >= most_pages ? Health::fail
                          : retired > 0                         ? Health::warn
                                                                : Health::pass;
    HealthFinding& pages = findings.defect(
        "retired_pages", health,
        fmt::format("{:g} memory pages retired{}", retired, retiring > 0 ? ", more wait for a reset" : ""));
    with_value(pages, retired, most_pages, "pages");
    return;
  }
  const Health health = failed > 0 || pending > 0 ? Health::fail : uncorrected > 0 ? Health::warn : Health::pass;
  std::string text = uncorrected + corrected > 0
                         ? fmt::format("{:g} memory rows remapped, {:g} of them for uncorrected errors",
                                       uncorrected + corrected, uncorrected)
                         : "no memory row remapped";
  if (failed > 0) text += "; a remapping failed";
  if (pending > 0) text += "; a remapping waits for a reset of the GPU";
  with_value(findings.defect("remapped_rows", health, text), uncorrected, 0, "rows");
}

void judge_replays(Findings& findings) {
  const DeviceRecord& of = findings.of;
  const double replays = of.counter("pcie_replays"), rise = of.rise("pcie_replays");
  if (std::isnan(replays)) {
    findings.skip("pcie_replays", "PCIe replays: " + not_read(of));
    return;
  }
  constexpr double many = 1000;  // since the driver was loaded
  const bool is_bad = rise > 0 || replays > many;
  HealthFinding& finding =
      findings.defect("pcie_replays", is_bad ? Health::warn : Health::pass,
                      replays > 0 ? fmt::format("{:g} PCIe packets sent again since the driver was loaded{}", replays,
                                                in_this_run(of, "pcie_replays"))
                                  : "no PCIe packet had to be sent again");
  with_value(finding, std::isnan(rise) ? replays : rise, std::isnan(rise) ? many : 0, "replays");
}

void judge_nvlink(Findings& findings) {
  const DeviceRecord& of = findings.of;
  const double active = of.counter("nvlinks_active"), inactive = of.counter("nvlinks_inactive");
  if (std::isnan(active)) {
    findings.skip("nvlink", "NVLink: " + not_read(of));
    return;
  }
  if (active + inactive == 0) {
    findings.skip("nvlink", "NVLink: this GPU has none");
    return;
  }
  double errors = 0;
  bool is_counted = false;
  for (const char* name : {"nvlink_replay_errors", "nvlink_recovery_errors", "nvlink_crc_errors"}) {
    const double rise = of.rise(name);
    is_counted = is_counted || !std::isnan(rise);
    if (rise > 0) errors += rise;
  }
  if (active == 0) {  // a GPU alone, as in a virtual machine with one of them
    findings.skip("nvlink", fmt::format("NVLink: none of {:g} links is in use", inactive));
    return;
  }
  const Health health = inactive > 0 ? Health::fail : errors > 0 ? Health::warn : Health::pass;
  std::string text = fmt::format("{:g} of {:g} NVLinks active", active, active + inactive);
  if (!is_counted) text += "; their errors are not reported";
  if (errors > 0) text += fmt::format("; {:g} errors in this run", errors);
  with_value(findings.defect("nvlink", health, text), active, active + inactive, "links");
}

void judge_xids(Findings& findings) {
  const DeviceRecord& of = findings.of;
  const double now = of.rise("xids"), before = of.fact("xids_logged");
  if (std::isnan(now) && std::isnan(before)) {
    findings.skip("xid",
                  "Xid errors: " + (of.after.empty() ? std::string("not in this trace")
                                                     : "neither NVML's events nor the kernel's log can be read"));
    return;
  }
  std::string text = now > 0 ? fmt::format("{:g} Xid errors during this run", now) : "no Xid error during this run";
  if (const double last = number_fact(of.after, "xid_last"); now > 0 && last > 0)
    text += fmt::format(", the last was Xid {:g}", last);
  if (before > 0) text += fmt::format("; {:g} in the kernel's log before", before);
  HealthFinding& finding = findings.defect("xid",
                                           now > 0      ? Health::fail
                                           : before > 0 ? Health::warn
                                                        : Health::pass,
                                           text);
  with_value(finding, std::isnan(now) ? before : now, 0, "errors");
}

}  // namespace

void judge_counters(Findings& findings) {
  judge_ecc(findings);
  judge_rows(findings);
  judge_replays(findings);
  judge_nvlink(findings);
  judge_xids(findings);
}

}  // namespace npgpu::model
