#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "npgpu/report.hpp"

using namespace npgpu;
using nlohmann::json;

namespace {

PointComparison point(const char* title, std::uint64_t bytes, double a, double b, Verdict verdict) {
  PointComparison p;
  p.title = title;
  p.bytes = bytes;
  p.a_us = a;
  p.b_us = b;
  p.change = b / a - 1;
  p.verdict = verdict;
  return p;
}

std::vector<PointComparison> some() {
  return {point("one", 1024, 10, 10.1, Verdict::same), point("one", 2048, 20, 25, Verdict::slower),
          point("one", 4096, 30, not_measured, Verdict::only_a), point("two", 1024, 10, 8, Verdict::faster),
          point("two", 2048, 10, 12, Verdict::unclear)};
}

std::string text(const std::vector<PointComparison>& points, bool color = false) {
  std::ostringstream out;
  TextStyle style;
  style.color = color;
  compare_text(out, points, 0.05, style);
  return out.str();
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("the verdicts are counted, and every point that is not the same is shown") {
  const std::string out = text(some());
  CHECK(out.starts_with("B against A, 5 points: 1 slower, 1 faster, 1 unclear, 1 same, 1 only-a\n"));
  CHECK(has(out, "differ by more than 5 %"));
  CHECK(has(out, "\none\n  1 slower, 1 same, 1 only-a; times +13.0 % in the median, +1.0 % .. +25.0 %\n"));
  CHECK(has(out, "\n  2 KiB  20.00  25.00  +25.0 %  slower\n"));
  CHECK(has(out, "\ntwo\n"));
  CHECK(has(out, "  1 KiB  10.00   8.000  -20.0 %  faster\n"));
  CHECK(has(out, "  2 KiB  10.00  12.00   +20.0 %  unclear\n"));
  CHECK_FALSE(has(out, "10.10"));  // the same needs no row
}

TEST_CASE("a sweep in which nothing changed is one line") {
  const std::string out = text({point("one", 1024, 10, 10, Verdict::same)});
  CHECK(has(out, "B against A, 1 point: 1 same\n"));
  CHECK_FALSE(has(out, "A us"));
}

TEST_CASE("two sweeps with one title are not mixed up") {
  const std::string out = text({point("one", 2048, 1, 1, Verdict::same), point("one", 1024, 1, 1, Verdict::same)});
  CHECK(out.find("\none\n") != out.rfind("\none\n"));
}

TEST_CASE("a slower lane is told from the other") {
  auto p = point("one", 1024, 10, 20, Verdict::slower);
  p.lane = 1;
  CHECK(has(text({p}), "  1 KiB     1  10.00  20.00  +100.0 %  slower\n"));
}

TEST_CASE("jobs in streams are told by what they are, and one of fewer bytes begins no other case") {
  const auto job = [](std::uint64_t in, std::uint64_t out, double b, Verdict verdict) {
    auto p = point("jobs", in + out, 10, b, verdict);
    p.axes = JobShape{.bytes_in = in, .bytes_out = out, .chunks = 4, .streams = 4};
    return p;
  };
  const std::vector points{job(1024, 4096, 10, Verdict::same), job(2048, 0, 20, Verdict::slower)};
  const std::string out = text(points);
  CHECK(has(out, "  2 KiB in, 4 chunks in 4 streams  10.00  20.00  +100.0 %  slower\n"));
  CHECK(out.find("\njobs\n") == out.rfind("\njobs\n"));
  // The same case once more, asked twice: from the start again.
  const std::string twice = text({points[0], points[1], points[0]});
  CHECK(twice.find("\njobs\n") != twice.rfind("\njobs\n"));
  std::ostringstream document;
  compare_json(document, points, 0.05);
  const json told = json::parse(document.str())["points"][1]["job"];
  CHECK(told["bytes_in"] == 2048);
  CHECK(told["chunks"] == 4);
}

TEST_CASE("nothing to compare is said, and colours only where asked for") {
  CHECK(has(text({}), "0 points: nothing to compare"));
  CHECK_FALSE(has(text(some()), "\x1b"));
  CHECK(has(text(some(), true), "\x1b[1;31m"));
}

TEST_CASE("as JSON: counts of all verdicts, and null for what is missing") {
  std::ostringstream out;
  compare_json(out, some(), 0.05);
  const json j = json::parse(out.str());
  CHECK(j["document"] == "npgpu-compare");
  CHECK(j["tolerance"] == 0.05);
  CHECK(j["counts"] == json{{"same", 1}, {"faster", 1}, {"slower", 1}, {"unclear", 1}, {"only-a", 1}, {"only-b", 0}});
  REQUIRE(j["points"].size() == 5);
  CHECK(j["points"][1] == json{{"title", "one"},
                               {"bytes", 2048},
                               {"lane", 0},
                               {"shape", nullptr},
                               {"job", nullptr},
                               {"a_us", 20},
                               {"b_us", 25},
                               {"change", 0.25},
                               {"verdict", "slower"}});
  CHECK(j["points"][2]["b_us"].is_null());
  CHECK(j["points"][2]["change"].is_null());
}
