#include <fmt/format.h>

#include <algorithm>

#include "netpipe/report/foreign.hpp"
#include "npgpu/check.hpp"

namespace npgpu {

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

void write_suite(std::ostream& out, const CheckOf& of, const std::string& id, const std::string& title) {
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

void check_junit(std::ostream& out, const CheckOf& of) {
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"npgpu check\">\n";
  write_suite(out, of, "", "node " + of.root.hostname);
  for (const CheckOf::Gpu& gpu : of.gpus)
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

}  // namespace npgpu
