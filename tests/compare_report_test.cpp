#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "npgpu/report.hpp"

using namespace npgpu;
using nlohmann::json;

namespace {

PointComparison point(const char* title, std::string axes, double a, double b, Verdict verdict) {
  PointComparison p;
  p.kind = Transfers::name;
  p.title = title;
  p.axes = std::move(axes);
  p.a_us = a;
  p.b_us = b;
  p.change = b / a - 1;
  p.verdict = verdict;
  return p;
}

std::vector<PointComparison> some() {
  return {point("one", "1 KiB", 10, 10.1, Verdict::same), point("one", "2 KiB", 20, 25, Verdict::slower),
          point("one", "4 KiB", 30, not_measured, Verdict::only_a), point("two", "1 KiB", 10, 8, Verdict::faster),
          point("two", "2 KiB", 10, 12, Verdict::unclear)};
}

Trace trace_of(const std::string& device, const std::string& uuid = "") {
  Trace trace;
  trace.root.hostname = "node7";
  trace.root.start_time_utc = "2026-11-21T06:19:25Z";
  trace.root.tool_version = "0.1.0";
  trace.root.git_commit = "abc";
  trace.root.complete = true;
  trace.of<Transfers>().emplace_back();
  trace.of<Transfers>()[0].device_name = device;
  trace.of<Transfers>()[0].device_uuid = uuid;
  return trace;
}

const Trace same = trace_of("Test GPU");

ComparisonOf comparison(const std::vector<PointComparison>& points, const Trace& a = same, const Trace& b = same) {
  return {"a.h5", "b.h5", &a, &b, points, 0.05};
}

std::string text(const ComparisonOf& of, bool color = false) {
  std::ostringstream out;
  compare_text(out, of, {.color = color, .width = 100});
  return out.str();
}
std::string text(const std::vector<PointComparison>& points, bool color = false) {
  return text(comparison(points), color);
}

json parsed(const ComparisonOf& of) {
  std::ostringstream out;
  compare_json(out, of);
  return json::parse(out.str());
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("the verdicts are counted, and every point that is not the same is shown") {
  const std::string out = text(some());
  CHECK(has(out, "\nB against A, 5 points: 1 slower, 1 faster, 1 unclear, 1 same, 1 only-a\n"));
  CHECK(has(out, "differ by more than 5 %"));
  CHECK(has(out, "\none\n  1 slower, 1 same, 1 only-a; times +13.0 % in the median, +1.0 % .. +25.0 %\n"));
  CHECK(has(out, "\n  2 KiB  20.00  25.00  +25.0 %  slower\n"));
  CHECK(has(out, "\ntwo\n"));
  CHECK(has(out, "  1 KiB  10.00   8.000  -20.0 %  faster\n"));
  CHECK(has(out, "  2 KiB  10.00  12.00   +20.0 %  unclear\n"));
  CHECK_FALSE(has(out, "10.10"));  // the same needs no row
}

TEST_CASE("a series in which nothing changed is one line") {
  const std::string out = text({point("one", "1 KiB", 10, 10, Verdict::same)});
  CHECK(has(out, "B against A, 1 point: 1 same\n"));
  CHECK_FALSE(has(out, "A us"));
}

TEST_CASE("two series with one title are not mixed up") {
  const std::string out =
      text({point("one", "2 KiB", 1, 1, Verdict::same), point("one", "2 KiB", 1, 1, Verdict::same)});
  CHECK(out.find("\none\n") != out.rfind("\none\n"));
}

TEST_CASE("a slower lane has its number") {
  auto p = point("one", "1 KiB", 10, 20, Verdict::slower);
  p.lane = 1;
  CHECK(has(text({p}), "  1 KiB     1  10.00  20.00  +100.0 %  slower\n"));
}

TEST_CASE("points are counted as reports count them: one of several lanes is one") {
  auto lane = point("one", "1 KiB", 10, 10, Verdict::same);
  lane.lane = 1;
  const std::string out =
      text({point("one", "1 KiB", 10, 10, Verdict::same), lane, point("one", "2 KiB", 10, 10, Verdict::same)});
  CHECK(has(out, "B against A, 2 points (3 times: some have several lanes): 3 same"));
  CHECK(out.find("\none\n") == out.rfind("\none\n"));
}

TEST_CASE("a point of any kind is shown by its axes, and a broken one with the reason") {
  auto job = point("jobs", "2 KiB in, 4 chunks in 4 streams", 10, 20, Verdict::slower);
  job.kind = Jobs::name;
  auto broken = point("jobs", "4 KiB in, 4 chunks in 4 streams", 10, not_measured, Verdict::broken);
  broken.kind = Jobs::name;
  broken.note = "B: results were wrong";
  const std::string out = text({job, broken});
  CHECK(has(out, "2 points: 1 broken, 1 slower\n"));
  CHECK(has(out, "  2 KiB in, 4 chunks in 4 streams  10.00  20.00  +100.0 %  slower\n"));
  CHECK(has(out, "  4 KiB in, 4 chunks in 4 streams  10.00   -            -  broken\n      B: results were wrong\n"));
  const json j = parsed(comparison({job, broken}));
  CHECK(j["points"][0]["kind"] == "jobs");
  CHECK(j["points"][0]["point"] == "2 KiB in, 4 chunks in 4 streams");
  CHECK(j["points"][1]["note"] == "B: results were wrong");
}

TEST_CASE("first it says what A and B are, and warns where their devices differ") {
  const std::string same_text = text(some());
  CHECK(
      same_text.starts_with("  A         a.h5, 2026-11-21T06:19:25Z, on node7, Test GPU, npgpu 0.1.0 (abc)\n"
                            "  B         b.h5, 2026-11-21T06:19:25Z, on node7, Test GPU, npgpu 0.1.0 (abc)\n"));
  CHECK_FALSE(has(same_text, "WARNING"));
  const Trace a100 = trace_of("NVIDIA A100"), h200 = trace_of("NVIDIA H200", "GPU-1"),
              other = trace_of("NVIDIA H200", "GPU-2");
  CHECK(
      has(text(comparison(some(), a100, h200)), "WARNING   the devices differ: NVIDIA A100 in A, NVIDIA H200 in B\n"));
  CHECK(has(text(comparison(some(), h200, other)), "WARNING   the GPUs are others of the same model"));
  const json j = parsed(comparison(some(), a100, h200));
  CHECK(j["a"]["file"] == "a.h5");
  CHECK(j["a"]["run"]["hostname"] == "node7");
  CHECK(j["b"]["devices"][0] == json{{"name", "NVIDIA H200"}, {"uuid", "GPU-1"}});
  CHECK(j["warnings"].size() == 1);
}

TEST_CASE("nothing to compare is said, and colours only where asked for") {
  CHECK(has(text(std::vector<PointComparison>{}), "0 points: nothing to compare"));
  CHECK_FALSE(has(text(some()), "\x1b"));
  CHECK(has(text(some(), true), "\x1b[1;31m"));
}

TEST_CASE("as JSON: counts of all verdicts, and null for what is missing") {
  const json j = parsed(comparison(some()));
  CHECK(j["document"] == "npgpu-compare");
  CHECK(j["version"] == 3);
  CHECK(j["threshold"] == 0.05);
  CHECK(j["counts"] ==
        json{{"same", 1}, {"faster", 1}, {"slower", 1}, {"unclear", 1}, {"broken", 0}, {"only-a", 1}, {"only-b", 0}});
  REQUIRE(j["points"].size() == 5);
  CHECK(j["points"][1] == json{{"kind", "transfers"},
                               {"title", "one"},
                               {"point", "2 KiB"},
                               {"lane", 0},
                               {"a_us", 20},
                               {"b_us", 25},
                               {"change", 0.25},
                               {"verdict", "slower"},
                               {"note", nullptr}});
  CHECK(j["points"][2]["b_us"].is_null());
  CHECK(j["points"][2]["change"].is_null());
}
