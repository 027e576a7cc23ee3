#include <fmt/format.h>

#include <cmath>
#include <ctime>
#include <vector>

#include "netpipe/report/openmetrics.hpp"
#include "npgpu/check.hpp"

namespace npgpu {

namespace {

using openmetrics::family;
using openmetrics::label;

std::string uuid_of(const CheckOf& of, const std::string& id) {
  for (const CheckOf::Gpu& gpu : of.gpus)
    if (gpu.id == id) return gpu.uuid;
  return {};
}

// {host="...",device="...",gpu="GPU-...",metric="..."}
std::string labels(const CheckOf& of, const HealthFinding& finding, const std::string& more = {}) {
  return fmt::format("{{host=\"{}\",device=\"{}\",gpu=\"{}\",metric=\"{}\"{}}}", label(of.root.hostname),
                     label(finding.device), label(uuid_of(of, finding.device)), label(finding.metric), more);
}

void numbers(std::ostream& out, const CheckOf& of, const std::vector<const HealthFinding*>& findings, const char* name,
             const char* help, double HealthFinding::*which) {
  family(out, name, help);
  for (const HealthFinding* finding : findings)
    if (std::isfinite(finding->*which))
      out << fmt::format("{}{} {}\n", name, labels(of, *finding, fmt::format(",unit=\"{}\"", label(finding->unit))),
                         finding->*which);
}

}  // namespace

void check_openmetrics(std::ostream& out, const CheckOf& of) {
  // A sample of the same labels twice makes the whole file invalid.
  const std::vector<const HealthFinding*> findings = worst_of_each_metric(of.findings);
  const std::string host = fmt::format("{{host=\"{}\"}}", label(of.root.hostname));
  family(out, "npgpu_check_verdict", "1 for the verdict of the last check, 0 for the others.");
  for (const std::string_view word : names_of<CheckVerdict>)
    out << fmt::format("npgpu_check_verdict{{host=\"{}\",verdict=\"{}\"}} {}\n", label(of.root.hostname), word,
                       word == name(of.verdict) ? 1 : 0);
  family(out, "npgpu_check_exit_code", "Exit code of the last check.");
  out << fmt::format("npgpu_check_exit_code{} {}\n", host, of.exit_code);
  family(out, "npgpu_check_time_seconds", "When the last check ended, in seconds since 1970.");
  out << fmt::format("npgpu_check_time_seconds{} {}\n", host, static_cast<long long>(std::time(nullptr)));
  family(out, "npgpu_check_health",
         "Of each metric: 0 passes, 1 warns, 2 fails, 3 not there, 4 undecided, 5 not judged.");
  for (const HealthFinding* finding : findings)
    out << fmt::format("npgpu_check_health{} {}\n", labels(of, *finding), static_cast<int>(finding->health));
  numbers(out, of, findings, "npgpu_check_value", "What was measured or read.", &HealthFinding::value);
  numbers(out, of, findings, "npgpu_check_limit", "What decided.", &HealthFinding::limit);
  family(out, "npgpu_check_cause", "1 for the most likely cause of each metric that warns or fails.");
  for (const HealthFinding* finding : findings)
    if (!finding->explanations.empty())
      out << fmt::format(
          "npgpu_check_cause{} 1\n",
          labels(of, *finding, fmt::format(",cause=\"{}\"", label(finding->explanations.front().cause))));
  out << "# EOF\n";
}

}  // namespace npgpu
