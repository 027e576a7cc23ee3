// Every metric of npgpu check has a row in netpipe/judge/health/metrics.cpp, and where it is bad, a word and a why.
#include "netpipe/judge/health/metrics.hpp"

#include <doctest/doctest.h>

#include <regex>

#include "fact_page.hpp"
#include "netpipe/judge/health/findings.hpp"
#include "npgpu/report/report.hpp"

namespace metrics_test {

using namespace npgpu;

namespace {

const std::filesystem::path health = std::filesystem::path(NPGPU_SOURCE_DIR) / "netpipe/judge/health";

std::set<std::string> all_of(const std::string& text, const char* expression) {
  std::set<std::string> all;
  const std::regex pattern(expression);
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) all.insert(at->str(1));
  return all;
}

}  // namespace

TEST_CASE("each metric that a judge writes has a row") {
  std::set<std::string> written;
  for (const auto& entry : std::filesystem::directory_iterator(health))
    if (entry.path().extension() == ".cpp" && entry.path().filename() != "metrics.cpp")
      written.merge(all_of(contents(entry.path()),
                           R"rx((?:\b(?:add|pass|skip|defect)\(\s*|\.?metric = |\bprefix \+ )"([a-z0-9_]+)")rx"));
  CHECK(written.size() > 40);  // the search itself works
  for (const std::string& name : written) {
    CAPTURE(name);
    CHECK(model::metric_row((name.starts_with("_") ? "h2d" : "") + name + (name.ends_with("_") ? "rate" : "")));
  }
}

TEST_CASE("each metric that is bad has a word and an explanation") {
  for (const model::Metric& row : model::metrics()) {
    std::string metric(row.name);
    if (const std::size_t star = metric.find('*'); star != metric.npos) metric.replace(star, 1, "x_");
    CAPTURE(metric);
    model::DeviceRecord record;
    record.id = "cuda:0";
    if (metric == "device_lost") record.lost = {"copies: it does not answer"};
    const HealthRules rules;
    model::Findings findings(record, rules);
    HealthFinding& bad = findings.add(metric, Health::fail, metric + " is bad");
    bad.value = 1;
    if (metric == "figures" || metric == "errors") bad.if_failed = CheckVerdict::failed_to_run;
    model::explain(findings);
    CheckReport check;
    check.findings = findings.all;
    check.verdict = verdict_of(check.findings);
    CHECK_FALSE(check_reason(check).empty());
    // These only pass, say themselves what is wrong, or are explained where they are made.
    const std::set<std::string> others{"huge_pages", "soak_course", "expected_gpus", "expected_x_", "gpus_on_bus"};
    CHECK(findings.all.front().explanations.empty() == others.contains(metric));
  }
}

TEST_CASE("the metrics that rest on a fact are there") {
  for (const FactRow& row : rows_of_facts())
    for (const std::string& metric : all_of(row.judged_by, R"rx(\b([a-z0-9]+_[a-z0-9_]+)\b)rx")) {
      CAPTURE(row.name);
      CAPTURE(metric);
      CHECK(model::metric_row(metric));
    }
}

}  // namespace metrics_test
