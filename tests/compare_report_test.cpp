#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "npgpu/report/report.hpp"

namespace compare_report_test {

using namespace npgpu;
using nlohmann::json;

namespace {

template <class C> C change(double by, Verdict verdict, Reason reason = Reason::none) {
  C c;
  c.a = 10;
  c.b = 10 * (1 + by);
  c.change = c.own = by;
  c.low = by - 0.001;
  c.high = by + 0.001;
  c.p = 0.01;
  c.tolerance = 0.01;
  c.verdict = verdict;
  c.reason = reason;
  return c;
}

PartComparison part(Third third, double by, Verdict verdict, Reason reason = Reason::none) {
  auto p = change<PartComparison>(by, verdict, reason);
  p.third = third;
  return p;
}
PointComparison point(const char* axes, double by, Verdict verdict, Reason reason = Reason::none) {
  auto p = change<PointComparison>(by, verdict, reason);
  p.axes = axes;
  return p;
}
CaseComparison a_case(const char* title, Verdict verdict, Reason reason = Reason::none) {
  CaseComparison of;
  of.kind = Transfers::name;
  of.title = title;
  of.verdict = verdict;
  of.reason = reason;
  return of;
}

// Three cases: one slower in its large third, one the same, one that A has alone.
Comparison some() {
  Comparison all;
  CaseComparison slow = a_case("one", Verdict::slower);
  slow.name = "H2D pinned, async copies";
  slow.parts = {part(Third::small, 0.0001, Verdict::same), part(Third::middle, -0.004, Verdict::cannot_tell),
                part(Third::large, 0.031, Verdict::slower)};
  slow.parts[2].first = "1 MiB";
  slow.points = {point("1 KiB", 0, Verdict::same), point("2 KiB", 0.25, Verdict::slower)};
  CaseComparison same = a_case("two", Verdict::same);
  same.parts = {part(Third::all, 0.001, Verdict::same)};
  all.cases = {slow, same, a_case("three", Verdict::only_a)};
  auto figure = change<FigureChange>(0.031, Verdict::slower);
  figure.name = "copy, host to device";
  figure.at = "64 MiB .. 192 MiB";
  figure.unit = FigureUnit::bytes_per_s;
  figure.a = 55.4e9;
  figure.b = 53.7e9;
  all.figures = {figure};
  all.tolerances.fill({{0.03, 0.03, 0.01, 0.03}, "default"});
  ClassComparison of_class;
  of_class.shared.push_back(change<SharedChange>(0.012, Verdict::same));
  of_class.shared.push_back(change<SharedChange>(0.002, Verdict::cannot_tell));
  of_class.shared[1].band = 3;
  of_class.least_shown = 0.021;
  of_class.most_shown = 0.18;
  all.classes = {of_class};
  return all;
}

Trace trace_of(const std::string& gpu, const std::string& driver) {
  Trace trace;
  trace.root.hostname = "node7";
  trace.root.start_time_utc = "2026-11-21T06:19:25Z";
  trace.root.tool_version = "0.1.0";
  trace.root.complete = true;
  trace.of<Transfers>().emplace_back();
  trace.of<Transfers>()[0].question = case_on("cudaMemcpy", "cuda:0");
  trace.of<Transfers>()[0].device_name = gpu;
  trace.provenance = {{"gpu0", {{"driver_version", driver}}}};
  return trace;
}
const Trace before = trace_of("H200", "580"), after = trace_of("H200", "590");

ComparisonReport comparison(const Comparison& found) {
  return {{{"a.h5"}, {&before}}, {{"b.h5"}, {&after}}, found, false};
}

std::string text(const ComparisonReport& of, const ComparisonDetail& detail = {}, int width = 100) {
  std::ostringstream out;
  compare_text(out, of, detail, {.width = width});
  return out.str();
}
std::string text(const Comparison& found, const ComparisonDetail& detail = {}) {
  return text(comparison(found), detail);
}
json parsed(const ComparisonReport& of) {
  std::ostringstream out;
  compare_json(out, of);
  return json::parse(out.str());
}
bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("first it says who A and B are: what differs in a table, what is the same in a line") {
  const std::string out = text(some());
  CHECK(out.starts_with("  A         a.h5 of 2026-11-21T06:19:25Z\n  B         b.h5 of 2026-11-21T06:19:25Z\n"));
  CHECK(has(out, "  the same  GPU H200; hostname node7; npgpu 0.1.0\n"));
  CHECK(has(out, "  differs  A    B\n  driver   580  590\n"));
  ComparisonReport same = comparison(some());
  same.b = same.a;
  CHECK(has(text(same), "  differs   nothing but the time of the run\n"));
}

TEST_CASE("what a device tells under two names is said once") {
  Trace simulated = before;
  simulated.provenance[0].second = {{"max_sm_clock_mhz", 1980.0}, {"shader_clock_mhz", 1980.0}};
  ComparisonReport of = comparison(some());
  of.a.runs = of.b.runs = {&simulated};
  CHECK(has(text(of), "GPU H200; highest SM clock 1980 MHz; hostname node7;"));
}

TEST_CASE("then the verdict, key figures, and a line for each case that is not the same") {
  const std::string out = text(some());
  CHECK(has(
      text(comparison(some()), {}, 300),
      "\nB is slower than A in: H2D pinned, async copies from 1 MiB, by 3.1 % (3.0 .. 3.2). 3 cases: 1 slower, 1 same, "
      "1 only in A.\n"));
  CHECK(has(out, "  copy, host to device  64 MiB .. 192 MiB  55.40 GB/s  53.70 GB/s  +3.1 %  +3.0 .. +3.2  slower\n"));
  CHECK(has(out, "  one    0.0    -0.4?  +3.1!  slower\n"));
  CHECK(has(out, "  ! slower ? cannot tell\n"));
  CHECK_FALSE(has(out, "\n  two "));
  CHECK(has(out, "  1 case: same, not shown (--all)\n"));
  CHECK(has(out, "device copies 3.0, 3.0, 1.0 % (default)"));
  CHECK(has(out, "\n  device copies "));
  CHECK(has(out, " +0.2? "));
  CHECK(has(out, " 2.1 .. 18 %\n"));
  CHECK_FALSE(has(out, "KiB"));
}

TEST_CASE("the rest on demand: all cases, and the points that differ") {
  const std::string out = text(some(), {.every_case = true});
  CHECK(has(out, "\n  two "));
  CHECK_FALSE(has(out, "not shown"));
  const std::string points = text(some(), {.points = true});
  CHECK(has(points, "\none\n"));
  CHECK(has(points, "  2 KiB  10.00  12.50  +25 %  +25 .. +25  slower\n"));
  CHECK_FALSE(has(points, "  1 KiB  10.00"));
  CHECK(has(text(some(), {.every_case = true, .points = true}), "  1 KiB  10.00"));
}

TEST_CASE("what rests on single points, or on the clock, says so") {
  Comparison found = some();
  found.cases[0] = a_case("one", Verdict::slower, Reason::clock);
  found.cases[0].parts = {part(Third::all, 0.02, Verdict::slower, Reason::clock)};
  found.figures.clear();
  CHECK(has(text(found), "B is slower than A by its clock, in time and not in cycles, in: "));
  CHECK(has(text(found), "slower (clock)\n"));
  found.cases[0] = a_case("one", Verdict::slower);
  found.cases[0].parts = {part(Third::all, 0.001, Verdict::same)};
  found.cases[0].points = {point("1 block", 0, Verdict::same), point("132 blocks", 0.9, Verdict::slower),
                           point("264 blocks", 0.9, Verdict::slower)};
  CHECK(has(text(found), "  one: slower at 132 blocks and 1 more point\n"));
  CHECK(has(text(found), "slower, in points\n"));
}

TEST_CASE("broken points give their reason") {
  Comparison found = some();
  found.cases[0] = a_case("one", Verdict::broken, Reason::wrong_results);
  found.cases[0].points = {point("1 KiB", 0, Verdict::broken, Reason::wrong_results)};
  found.cases[0].points[0].note = "B: void: the payload arrived wrong";
  const std::string out = text(found);
  CHECK(has(out, "BROKEN: wrong results or no figure in:"));
  CHECK(has(out, "at 1 KiB (B: void: the payload arrived wrong)."));
  CHECK(has(out, "broken (wrong-results)\n"));
  CHECK(has(out, "  B: void: the payload arrived wrong\n"));
}

TEST_CASE("other hardware that was refused has no verdicts") {
  ComparisonReport of = comparison({});
  of.found.other_hardware = "the GPUs differ: H200 in A, A100 in B";
  of.refused = true;
  const std::string out = text(of);
  CHECK(has(out,
            "\nNot compared: the GPUs differ: H200 in A, A100 in B (--other-hardware compares them all the same).\n"));
  CHECK_FALSE(has(out, "cases"));
  const json j = parsed(of);
  CHECK(j["outcome"] == "other-hardware");
  CHECK_FALSE(j.contains("cases"));
  of.refused = false;
  CHECK(has(text(of), "  WARNING   the GPUs differ"));
}

TEST_CASE("two cards are said first, and their differences are called that") {
  Comparison found = some();
  found.other_cards = "GPU-5090cfda in A, GPU-3a19b0f3 in B";
  const std::string out = text(found);
  CHECK(out.starts_with("  TWO CARDS "));
  CHECK(has(out, "GPU-5090cfda in A, GPU-3a19b0f3 in B: what differs may be the cards' own"));
  CHECK(has(out, "\nBetween these two cards, not over time: B's card is slower than A's in: H2D pinned, async"));
  CHECK(parsed(comparison(found))["outcome"] == "between-cards");
  found.judges_cards = true;
  CHECK(has(text(found), "\nB is slower than A in: "));
}

TEST_CASE("where it cannot be told the last word is not that all is the same") {
  Comparison found = some();
  found.figures.clear();
  found.cases[0] = a_case("one", Verdict::cannot_tell);
  found.cases[0].parts = {part(Third::all, 0.001, Verdict::cannot_tell)};
  const std::string out = text(comparison(found), {}, 300);
  CHECK(has(
      out,
      "\nB is not slower than A in the 2 cases that both have undisturbed, as far as these runs can tell. 3 cases: 1 "
      "cannot tell, 1 same, 1 only in A.\n"));
  CHECK(has(out, "  1 case: cannot tell, changed by no more than matters, not shown (--all)\n"));
  CHECK(parsed(comparison(found))["outcome"] == "cannot-tell");
}

TEST_CASE("not slower is said of the cases that both have undisturbed, and of nothing where there is none") {
  const auto said = [](std::vector<CaseComparison> cases) {
    Comparison found = some();
    found.figures.clear();
    found.classes.clear();
    found.cases = std::move(cases);
    return text(comparison(found), {}, 300);
  };
  const CaseComparison same = a_case("one", Verdict::same), disturbed = a_case("two", Verdict::disturbed);
  CHECK(has(said({same, same}), "\nB is not slower than A. 2 cases: 2 same.\n"));
  CHECK(has(said({same, disturbed}),
            "\nB is not slower than A in the 1 case that both have undisturbed. 2 cases: 1 disturbed, 1 same.\n"));
  CHECK(has(
      said({disturbed, a_case("three", Verdict::only_a)}),
      "\nWhether B is slower than A cannot be told: no case is undisturbed in both. 2 cases: 1 disturbed, 1 only in "
      "A.\n"));
  CaseComparison other_sizes = same;
  other_sizes.points = {point("1 KiB", 0, Verdict::same), point("2 KiB", 0, Verdict::only_a),
                        point("3 KiB", 0, Verdict::only_b), point("4 KiB", 0, Verdict::only_b)};
  CHECK(has(
      said({other_sizes}),
      "\nB is not slower than A, as far as these runs can tell. 1 case: 1 same. 1 point of these cases is only in A. 2 "
      "points of these cases are only in B.\n"));
}

TEST_CASE("the sentence names what is slower, the most first: a class as a whole, then what is slower still") {
  Comparison found = some();
  found.classes[0].shared[0] = change<SharedChange>(0.05, Verdict::slower);
  found.classes[0].shared[0].band = 1;
  found.classes[0].shared[0].cases = found.classes[0].shared[0].sharing = 3;
  const std::string out = text(comparison(found), {}, 300);
  CHECK(has(out,
            "B is slower than A in: all device copies, by 5.0 % (4.9 .. 5.1) (10 .. 100 us); H2D pinned, async "
            "copies at 2 KiB, by 25 %"));
  CHECK_FALSE(has(out, "from 1 MiB"));  // it did as all
  found.classes[0].shared[0].sharing = 2;
  CHECK(has(text(found), "B is slower than A in: most device copies, by 5.0 %"));
  found.classes[0].shared[0].band = 0;  // the case takes 10 us: it is not among them
  CHECK(has(text(comparison(found), {}, 300), "(below 10 us); H2D pinned, async copies from 1 MiB, by 3.1 %"));
  CaseComparison many = a_case("one", Verdict::slower);
  found = some();
  for (int i = 0; i < 8; ++i) {
    many.name = "case " + std::to_string(i);
    many.parts = {part(Third::all, 0.2 + 0.01 * i, Verdict::slower)};
    found.cases.push_back(many);
  }
  const std::string some_of = text(found, {.points = true});
  CHECK(has(some_of, "in: case 7, by 27 %"));
  CHECK(has(some_of, "; and 5 more."));
}

TEST_CASE("doubts are said: a run that did not end, two versions, trials for rounds, one run on both sides") {
  ComparisonReport of = comparison(some());
  Trace unfinished = before;
  unfinished.root.complete = false;
  unfinished.root.tool_version = "0.2.0";
  of.a.runs = {&unfinished};
  of.found.cases[0].trials_stand_in = true;
  std::string out = text(of, {}, 200);
  CHECK(has(out, "A is incomplete: the run of a.h5 did not reach its end\n"));
  CHECK(has(out, "two versions of npgpu measured"));
  CHECK(has(out, "1 of 3 cases have one visit to each point on a side: their trials stand in for rounds"));
  Trace named = before;
  named.root.run_uuid = "1";
  of.a.runs = of.b.runs = {&named};
  CHECK(has(text(of), "A and B have a run in common\n"));
}

TEST_CASE("the same as tables for GitHub") {
  std::ostringstream out;
  Comparison found = some();
  found.cases[0].title = "a|b";
  compare_markdown(out, comparison(found), {});
  CHECK(has(out.str(), "- **A**: a.h5 of 2026-11-21T06:19:25Z\n"));
  CHECK(has(out.str(), "\n| differs | A | B |\n| --- | --- | --- |\n| driver | 580 | 590 |\n"));
  CHECK(has(out.str(),
            "\n**B is slower than A in: H2D pinned, async copies from 1 MiB, by 3.1 % (3.0 .. 3.2). 3 cases: 1 slower, "
            "1 same, 1 only in A.**\n"));
  CHECK(has(out.str(), "\n### Key figures\n\n| figure | at |"));
  CHECK(has(out.str(), "| a\\|b | 0.0  | -0.4? | +3.1! | slower |\n"));
}

TEST_CASE("as JSON: all of it, and null for what is not known") {
  const json j = parsed(comparison(some()));
  CHECK(j["document"] == "npgpu-compare");
  CHECK(j["version"] == 5);
  CHECK(j["outcome"] == "slower");
  CHECK(j["other_hardware"].is_null());
  CHECK(j["a"][0]["file"] == "a.h5");
  CHECK(j["a"][0]["run"]["hostname"] == "node7");
  CHECK(j["counts"]["slower"] == 1);
  CHECK(j["counts"]["cannot-tell"] == 0);
  CHECK(j["other_cards"].is_null());
  CHECK(j["classes"][0]["class"] == "device-copies");
  CHECK(j["classes"][0]["least_shown"] == 0.021);
  CHECK(j["classes"][0]["shared"][1]["band"] == 3);
  CHECK(j["tolerances"][0] == json{{"class", "device-copies"},
                                   {"small", 0.03},
                                   {"middle", 0.03},
                                   {"large", 0.01},
                                   {"all", 0.03},
                                   {"source", "default"}});
  CHECK(j["figures"][0]["unit"] == "B/s");
  CHECK(j["cases"][0]["parts"][2]["verdict"] == "slower");
  CHECK(j["cases"][0]["parts"][2]["cycles"].is_null());
  CHECK(j["cases"][0]["points"][1] == json{{"point", "2 KiB"},
                                           {"a", 10},
                                           {"b", 12.5},
                                           {"change", 0.25},
                                           {"own", 0.25},
                                           {"low", 0.249},
                                           {"high", 0.251},
                                           {"cycles", nullptr},
                                           {"p", 0.01},
                                           {"tolerance", 0.01},
                                           {"shown", nullptr},
                                           {"verdict", "slower"},
                                           {"reason", nullptr},
                                           {"note", nullptr}});
}

}  // namespace compare_report_test
