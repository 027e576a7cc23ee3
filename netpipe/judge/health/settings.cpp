// How the device and its place in the node are set up.
#include <charconv>

#include "netpipe/judge/health/findings.hpp"

namespace npgpu::model {

namespace {

// "0-3,8" -> 0, 1, 2, 3, 8. What is no such list gives nothing.
std::set<unsigned> cpus_of(const std::string& list) {
  std::set<unsigned> all;
  for (const char *at = list.data(), *const end = at + list.size(); at < end;) {
    unsigned first = 0;
    auto [next, error] = std::from_chars(at, end, first);
    if (error != std::errc()) return {};
    unsigned last = first;
    if (next != end && *next == '-') {
      const auto more = std::from_chars(next + 1, end, last);
      if (more.ec != std::errc()) return {};
      next = more.ptr;
    }
    for (unsigned cpu = first; cpu <= last && all.size() < 100000; ++cpu) all.insert(cpu);
    if (next == end) break;
    if (*next != ',') return {};
    at = next + 1;
  }
  return all;
}

void judge_numa(Findings& findings) {
  const DeviceRecord& of = findings.device;
  const double nodes = number_fact(of.host, "numa_nodes");
  if (std::isnan(nodes)) return findings.skip("numa", "NUMA nodes of the host: not in this trace");
  if (nodes <= 1) {
    findings.pass("numa", "the host has one NUMA node");
    return;
  }
  const std::string near_text = of.text("near_cpus"), allowed_text = text_fact(of.host, "allowed_cpus");
  const std::set<unsigned> near = cpus_of(near_text), allowed = cpus_of(allowed_text);
  // A system that does not know the node (firmware, virtual machines) says -1, and that all processors are near.
  const bool are_all = static_cast<double>(near.size()) >= number_fact(of.host, "threads");
  if (near.empty() || allowed.empty() || (are_all && !(of.fact("numa_node") >= 0)))
    return findings.skip(
        "numa", fmt::format("NUMA node: the system does not say which of the host's {:g} is near the GPU", nodes));
  const bool is_near = std::ranges::any_of(allowed, [&](unsigned cpu) { return near.contains(cpu); });
  findings.add("numa", is_near ? Health::pass : Health::fail,
               is_near
                   ? "processors near the GPU may be used"
                   : fmt::format("the processors {} may be used, and {} are near the GPU", allowed_text, near_text));
}

void judge_iommu(Findings& findings) {
  const std::string domain = findings.device.text("iommu_domain");
  if (domain.empty()) return findings.skip("iommu", "IOMMU: not in this trace");
  // By itself it slows down little, and many nodes are set up so: it is named where something is slow.
  const bool translates = domain.starts_with("DMA");
  HealthFinding& finding =
      findings.pass("iommu", translates ? fmt::format("the IOMMU translates the GPU's addresses (domain {})", domain)
                             : domain == "none" ? "no IOMMU between GPU and memory, as far as this system shows"
                                                : fmt::format("the IOMMU lets the GPU's addresses pass ({})", domain));
  with_value(finding, translates, not_measured, "translates");
}

void judge_acs(Findings& findings) {
  const double redirects = findings.device.fact("acs_redirects");
  if (std::isnan(redirects))
    return findings.skip("acs", findings.device.after.empty()
                                    ? "ACS: not in this trace"
                                    : "ACS: the bridges' settings cannot be read without root, or there are none");
  HealthFinding& finding =
      findings.pass("acs", redirects > 0 ? fmt::format("ACS redirects in {:g} of the bridges above the GPU", redirects)
                                         : "ACS redirects nothing above the GPU");
  with_value(finding, redirects, not_measured, "bridges");
}

// A setting that is 0 or 1.
struct Setting {
  const char *metric, *fact;
  Health on, off;
  const char *on_text, *off_text;
};
constexpr Setting switches[] = {
    {"mig", "mig_mode", Health::warn, Health::pass, "MIG is on: limits are the whole GPU's", "MIG is off"},
    {"persistence", "persistence_mode", Health::pass, Health::warn, "the driver stays loaded (persistence mode)",
     "persistence mode is off: the driver may unload between jobs"}};

void judge_host_settings(Findings& findings) {
  const DeviceRecord& of = findings.device;
  const double mps = number_fact(of.host, "mps_daemon");
  if (std::isnan(mps)) findings.skip("mps", "MPS: not in this trace");
  else
    findings.add(
        "mps", mps > 0 ? Health::warn : Health::pass,
        mps > 0 ? "an MPS daemon runs: it shares the GPU, and may limit multiprocessors" : "no MPS daemon runs");
  // Below one processor, the thread that is timed stands still in every period.
  if (const double quota = number_fact(of.host, "cpu_quota"); quota > 0) {
    const std::string group = text_fact(of.host, "cpu_quota_cgroup");
    HealthFinding& finding = findings.add(
        "cpu_quota", quota < 1 ? Health::warn : Health::pass,
        fmt::format("a CPU quota gives this process {:g} of {:g} processors{}", quota, number_fact(of.host, "threads"),
                    group.empty() ? "" : fmt::format(" (cgroup {})", group)));
    with_value(finding, quota, 1, "processors");
  }
  const std::string pages = text_fact(of.host, "transparent_huge_pages");
  if (pages.empty()) findings.skip("huge_pages", "huge pages: not in this trace");
  else findings.pass("huge_pages", fmt::format("transparent huge pages: {}", pages));
}

void judge_confidential_computing(Findings& findings) {
  const DeviceRecord& of = findings.device;
  const double is_on = of.fact("confidential_computing");
  if (std::isnan(is_on))
    return findings.skip("confidential_computing",
                         "confidential computing: " + of.why_unread("confidential_computing"));
  // A choice, and no fault: it is named where copies are slow.
  HealthFinding& finding = findings.pass(
      "confidential_computing",
      is_on > 0 ? "confidential computing is on: copies are encrypted on their way" : "confidential computing is off");
  with_value(finding, is_on, not_measured, "is on");
}

}  // namespace

void judge_settings(Findings& findings) {
  const DeviceRecord& of = findings.device;
  for (const Setting& one : switches) {
    const double is = of.fact(one.fact);
    if (std::isnan(is)) findings.skip(one.metric, fmt::format("{}: not in this trace", one.metric));
    else findings.add(one.metric, is > 0 ? one.on : one.off, is > 0 ? one.on_text : one.off_text);
  }
  judge_numa(findings);
  judge_iommu(findings);
  judge_acs(findings);
  judge_host_settings(findings);
  judge_confidential_computing(findings);
}

}  // namespace npgpu::model
