// A check as programs read it: JSON, JUnit, OpenMetrics.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <vector>

#include "netpipe/report/foreign.hpp"
#include "netpipe/report/json.hpp"
#include "netpipe/report/openmetrics.hpp"
#include "npgpu/report/report.hpp"

namespace npgpu {

NPGPU_FORM(CheckReport::Gpu, &T::id, &T::name, &T::uuid, &T::simulated);
NPGPU_FORM(CheckReport, &T::verdict, &T::exit_code, called<"reason", known<&check_reason>>,
           within<&T::root, &TraceRoot::hostname>, within<&T::root, &TraceRoot::start_time_utc>,
           within<&T::root, &TraceRoot::tool_version>, called<"decided_by", &T::decided>,
           called<"not_judged_because", known<&T::why_not_judged>>, &T::measured_again, &T::wall_s, known<&T::trace>,
           &T::gpus, called<"key_figures", [](const T& check) { return key_figures(check.findings); }>, &T::findings,
           called<"soak", &T::soaks>);

void check_json(std::ostream& out, const CheckReport& of) { write_document(out, "npgpu-check", 1, of, 2); }

namespace {

std::string body_of(const HealthFinding& finding) {
  std::string text;
  if (!finding.basis.empty()) text += "limit: " + html_text(finding.basis) + '\n';
  for (const Explanation& why : finding.explanations)
    text +=
        fmt::format("why: {}\nread: {}\ndo: {}\n", html_text(why.what), html_text(why.evidence), html_text(why.remedy));
  return text;
}

void write_case(std::ostream& out, const std::string& suite, const HealthFinding& finding) {
  out << fmt::format("    <testcase classname=\"npgpu.check.{}\" name=\"{}\"", html_text(suite),
                     html_text(finding.metric));
  const std::string message = html_text(finding.text);
  switch (finding.health) {
    case Health::pass: out << fmt::format("><system-out>{}</system-out></testcase>\n", message); break;
    case Health::warn:
      out << fmt::format("><system-out>WARN: {}\n{}</system-out></testcase>\n", message, body_of(finding));
      break;
    case Health::undecided:
    case Health::unjudged:
    case Health::skip: out << fmt::format("><skipped message=\"{}\"/></testcase>\n", message); break;
    case Health::fail: {
      const char* const element = finding.if_failed == CheckVerdict::failed_to_run ? "error" : "failure";
      out << fmt::format("><{0} message=\"{1}\" type=\"{2}\">{3}</{0}></testcase>\n", element, message,
                         name(finding.if_failed), body_of(finding));
      break;
    }
  }
}

void write_suite(std::ostream& out, const CheckReport& of, const std::string& id, const std::string& title) {
  std::vector<const HealthFinding*> all;
  for (const HealthFinding& finding : of.findings)
    if (finding.device == id) all.push_back(&finding);
  if (all.empty()) return;
  const auto counted = [&](auto is) {
    return std::ranges::count_if(all, [&](const HealthFinding* f) { return is(*f); });
  };
  const auto failed = [](const HealthFinding& f) { return f.health == Health::fail; };
  const auto unable = [](const HealthFinding& f) {
    return f.health == Health::fail && f.if_failed == CheckVerdict::failed_to_run;
  };
  out << fmt::format(
      "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" timestamp=\"{}\" "
      "hostname=\"{}\">\n",
      html_text(title), all.size(), counted(failed) - counted(unable), counted(unable),
      counted([](const HealthFinding& f) {
        return f.health == Health::skip || f.health == Health::undecided || f.health == Health::unjudged;
      }),
      html_text(of.root.start_time_utc), html_text(of.root.hostname));
  for (const HealthFinding* finding : all) write_case(out, id.empty() ? "node" : id, *finding);
  out << "  </testsuite>\n";
}

}  // namespace

void check_junit(std::ostream& out, const CheckReport& of) {
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"npgpu check\">\n";
  write_suite(out, of, "", "node " + of.root.hostname);
  for (const CheckReport::Gpu& gpu : of.gpus)
    write_suite(out, of, gpu.id,
                fmt::format("{}{} {}{}{}", gpu.simulated ? "SIMULATED " : "", gpu.id, gpu.name,
                            gpu.uuid.empty() ? "" : " ", gpu.uuid));
  write_suite(out, of, "host", "host");
  if (!of.why_not_judged.empty())
    out << fmt::format(
        "  <testsuite name=\"npgpu check\" tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"1\">\n"
        "    <testcase classname=\"npgpu.check\" name=\"check\"><skipped message=\"{}\"/></testcase>\n  </testsuite>\n",
        html_text(of.why_not_judged));
  out << "</testsuites>\n";
}

namespace {

using openmetrics::family;
using openmetrics::label;

std::string uuid_of(const CheckReport& of, const std::string& id) {
  for (const CheckReport::Gpu& gpu : of.gpus)
    if (gpu.id == id) return gpu.uuid;
  return {};
}

// {host="...",device="...",gpu="GPU-...",metric="..."}
std::string labels(const CheckReport& of, const HealthFinding& finding, const std::string& more = {}) {
  return fmt::format("{{host=\"{}\",device=\"{}\",gpu=\"{}\",metric=\"{}\"{}}}", label(of.root.hostname),
                     label(finding.device), label(uuid_of(of, finding.device)), label(finding.metric), more);
}

void numbers(std::ostream& out, const CheckReport& of, const std::vector<const HealthFinding*>& findings,
             const char* name, const char* help, double HealthFinding::*which) {
  family(out, name, help);
  for (const HealthFinding* finding : findings)
    if (std::isfinite(finding->*which))
      out << fmt::format("{}{} {}\n", name, labels(of, *finding, fmt::format(",unit=\"{}\"", label(finding->unit))),
                         finding->*which);
}

}  // namespace

void check_openmetrics(std::ostream& out, const CheckReport& of) {
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
