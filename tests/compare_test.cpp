#include "npgpu/compare.hpp"

#include <doctest/doctest.h>

#include "tests/made_jobs.hpp"
#include "tests/made_probe.hpp"
#include "tests/made_sweep.hpp"

namespace compare_test {

using namespace npgpu;

namespace {

using Us = std::vector<double>;

const Us around_100{99.9, 100, 100.1, 99.95, 100.05, 100};

Us times(Us all, double factor) {
  for (double& us : all) us *= factor;
  return all;
}

// A visit for each time, in rounds 0, 1, ...; one trial each.
void add_rounds(TransferSeries& sweep, std::uint64_t bytes, const Us& us) {
  for (const double one : us) add_point(sweep, bytes, {one});
}
void add_rounds(ProbeSeries& sweep, std::uint32_t blocks, const Us& us, double mhz = not_measured) {
  for (const double one : us)
    add_point(sweep, {.blocks = blocks, .threads = 32}, 100.0 * blocks, {one}).telemetry.sm_clock_mhz = mhz;
}

// Timed by the device, as its tolerance is the smallest.
TransferSeries copies() { return sweep_of(Pattern::stream, Timing::gated); }

template <class S> Trace trace_of(std::initializer_list<S> all) {
  Trace trace;
  std::get<std::vector<S>>(trace.series) = all;
  return trace;
}

// One point in six rounds.
Trace one_point(const Us& us) {
  TransferSeries sweep = copies();
  add_rounds(sweep, 1000, us);
  return trace_of({sweep});
}

// A curve of so many points, each in six rounds, with a factor for each.
template <class FactorOf> Trace curve(std::uint64_t points, FactorOf factor_of) {
  TransferSeries sweep = copies();
  for (std::uint64_t i = 1; i <= points; ++i) add_rounds(sweep, 1000 * i, times(around_100, factor_of(i)));
  return trace_of({sweep});
}
Trace curve(std::uint64_t points) {
  return curve(points, [](std::uint64_t) { return 1; });
}

Comparison held(const Trace& a, const Trace& b, std::optional<double> tolerance = {}) {
  const Trace *of_a = &a, *of_b = &b;
  return compare({&of_a, 1}, {&of_b, 1}, tolerance);
}

CaseComparison only_case(const Trace& a, const Trace& b, std::optional<double> tolerance = {}) {
  const Comparison all = held(a, b, tolerance);
  REQUIRE(all.cases.size() == 1);
  return all.cases[0];
}
Verdict verdict(const Trace& a, const Trace& b, std::optional<double> tolerance = {}) {
  return only_case(a, b, tolerance).verdict;
}

}  // namespace

TEST_CASE("a curve is cut into thirds, and the third that is slower is named") {
  const Trace b = curve(9, [](std::uint64_t i) { return i > 6 ? 1.03 : 1; });
  const Comparison all = held(curve(9), b);
  const CaseComparison& of = all.cases[0];
  CHECK(of.title == "cudaMemcpy cuda:0 h2d pinned stream blocking gated");
  CHECK(of.time_class == TimeClass::device_copies);
  REQUIRE(of.parts.size() == 3);
  CHECK(of.parts[0].third == Third::small);
  CHECK(of.parts[0].first == "1000 B");
  CHECK(of.parts[0].last == "3000 B");
  CHECK(of.parts[0].verdict == Verdict::same);
  CHECK(of.parts[1].verdict == Verdict::same);
  CHECK(of.parts[2].verdict == Verdict::slower);
  CHECK(of.parts[2].change == doctest::Approx(0.03));
  CHECK(of.parts[2].a == doctest::Approx(100));
  CHECK(of.parts[2].b == doctest::Approx(103));
  CHECK(of.verdict == Verdict::slower);
  CHECK(outcome_of(all) == Outcome::slower);
  CHECK(verdict(b, curve(9)) == Verdict::faster);
  CHECK(outcome_of(held(b, curve(9))) == Outcome::not_slower);
}

TEST_CASE("latencies may differ by more than rates") {
  const Comparison all = held(curve(9), curve(9, [](std::uint64_t) { return 1.027; }));
  CHECK(all.cases[0].parts[0].verdict == Verdict::same);
  CHECK(all.cases[0].parts[2].verdict == Verdict::slower);
}

TEST_CASE("less than six points are one part") {
  const CaseComparison of = only_case(curve(5), curve(5));
  REQUIRE(of.parts.size() == 1);
  CHECK(of.parts[0].third == Third::all);
  CHECK(of.parts[0].points == 5);
  CHECK(of.verdict == Verdict::same);
}

TEST_CASE("within the tolerance is the same, however sure the difference is") {
  CHECK(verdict(one_point(around_100), one_point(times(around_100, 1.025))) == Verdict::same);
  CHECK(verdict(one_point(around_100), one_point(times(around_100, 1.029))) == Verdict::cannot_tell);  // it may be 3 %
  CHECK(verdict(one_point(around_100), one_point(times(around_100, 1.032))) == Verdict::slower);
  CHECK(verdict(one_point(around_100), one_point(times(around_100, 1.04)), 0.05) == Verdict::same);
  CHECK(verdict(one_point(around_100), one_point(times(around_100, 1.008)), 0.005) == Verdict::slower);
}

TEST_CASE("of what reaches beyond the tolerance and is not apart it cannot be told") {
  const Us wide{90, 110, 95, 105, 100, 100};
  const CaseComparison of = only_case(one_point(around_100), one_point(wide));
  CHECK(of.verdict == Verdict::cannot_tell);
  CHECK(of.reason == Reason::interval);
  CHECK(of.parts[0].low < -0.03);
  CHECK(of.parts[0].high > 0.03);
  CHECK(outcome_of(held(one_point(around_100), one_point(wide))) == Outcome::cannot_tell);
}

TEST_CASE("the more is compared, the surer a difference has to be") {
  // p is about 0.002: enough alone, and not among a hundred cases.
  const Us a{98, 102, 99, 101, 98, 102}, b = times(a, 1.06);
  CHECK(verdict(one_point(a), one_point(b)) == Verdict::slower);
  Trace many_a, many_b;
  for (int i = 0; i < 100; ++i)
    for (Trace* trace : {&many_a, &many_b}) {
      TransferSeries sweep = copies();
      sweep.question.source_offset = static_cast<std::uint64_t>(i) + 1;
      add_rounds(sweep, 1000, i == 0 && trace == &many_b ? b : a);
      trace->of<Transfers>().push_back(sweep);
    }
  const Comparison all = held(many_a, many_b);
  CHECK(all.cases[0].verdict == Verdict::cannot_tell);
  CHECK(all.cases[0].parts[0].p > 0.01);
}

TEST_CASE("one point of many that leaps is found by itself, with four times the tolerance") {
  const auto with = [](double factor) { return curve(45, [factor](std::uint64_t i) { return i == 40 ? factor : 1; }); };
  const CaseComparison of = only_case(curve(45), with(1.12));
  for (const PartComparison& part : of.parts) CHECK(part.verdict == Verdict::same);
  CHECK(of.points[39].verdict == Verdict::slower);
  CHECK(of.points[39].axes == "40000 B");
  CHECK(of.points[38].verdict == Verdict::same);
  CHECK(of.verdict == Verdict::slower);
  CHECK(verdict(curve(45), with(1.025)) == Verdict::same);
}

TEST_CASE("where times take one of two values, what counts is how often") {
  const double near = 100, far = 130;
  const Us mixed{near, far, far, near, far, near, far, near}, mostly_far{far, far, far, far, far, far};
  const CaseComparison of = only_case(one_point(mixed), one_point(mostly_far));
  CHECK(of.points[0].change > of.points[0].tolerance / 3);
  CHECK(of.verdict == Verdict::cannot_tell);  // 4 of 8 against 6 of 6
  CHECK(of.reason == Reason::two_times);
  CHECK(of.parts[0].p == doctest::Approx(2 * fisher(4, 8, 6, 6)));  // of two tests: the key figure is the other
  const Us rarely_far{near, near, near, near, near, near, near, far};
  CHECK(verdict(one_point(rarely_far), one_point(mostly_far)) == Verdict::slower);  // 1 of 8 against 6 of 6
  const Us all_near{near, near, near, near, near, near};
  CHECK(only_case(one_point(all_near), one_point(mostly_far)).reason == Reason::none);  // a shift
}

TEST_CASE("rounds that only a few points have had do not count") {
  Trace b = curve(9);
  for (int round = 0; round < 4; ++round) add_point(b.of<Transfers>()[0], 1000, {150});
  CHECK(only_case(curve(9), b).parts[0].verdict == Verdict::same);
}

TEST_CASE("a kernel that takes longer, and not in cycles, is slower by its clock") {
  const auto kernel = [](double factor, double mhz) {
    ProbeSeries sweep = probe_sweep();
    for (std::uint32_t blocks = 1; blocks <= 4; ++blocks) add_rounds(sweep, blocks, times(around_100, factor), mhz);
    return trace_of({sweep});
  };
  const CaseComparison clock = only_case(kernel(1, 2000), kernel(1 / 0.98, 1960));
  CHECK(clock.time_class == TimeClass::kernels);
  CHECK(clock.verdict == Verdict::slower);
  CHECK(clock.reason == Reason::clock);
  CHECK(clock.parts[0].cycles == doctest::Approx(0).epsilon(1e-9));
  CHECK(outcome_of(held(kernel(1, 2000), kernel(1 / 0.98, 1960))) == Outcome::clock);
  const CaseComparison both = only_case(kernel(1, 2000), kernel(1.05, 1960));
  CHECK(both.reason == Reason::none);
  CHECK(both.parts[0].cycles == doctest::Approx(1.05 * 0.98 - 1));
  CHECK(only_case(kernel(1, not_measured), kernel(1.05, 1960)).reason == Reason::none);  // a clock is not known
  CHECK(only_case(kernel(1 / 0.98, 1960), kernel(1, 2000)).verdict == Verdict::faster);
  CHECK(only_case(kernel(1 / 0.98, 1960), kernel(1, 2000)).reason == Reason::clock);
}

TEST_CASE("what others disturbed is not judged; a device of B that holds back its clock is") {
  const auto disturbed = [](Cause cause, double factor) {
    Trace trace = one_point(times(around_100, factor));
    for (auto& visit : trace.of<Transfers>()[0].visits) disturb(visit, cause, "python3 (4711)");
    return trace;
  };
  const Trace good = one_point(around_100);
  const CaseComparison busy = only_case(good, disturbed(Cause::host_busy, 1.5));
  CHECK(busy.verdict == Verdict::disturbed);
  CHECK(busy.parts[0].note == "B: others used the host's processors; most of all by python3 (4711)");
  CHECK(verdict(disturbed(Cause::link_busy, 1), good) == Verdict::disturbed);
  CHECK(verdict(good, disturbed(Cause::throttled, 1.5)) == Verdict::slower);
  CHECK(verdict(disturbed(Cause::throttled, 1.5), good) == Verdict::disturbed);
  CHECK(outcome_of(held(good, disturbed(Cause::host_busy, 1.5))) == Outcome::not_judged);
}

TEST_CASE("wrong results are broken and points without a time have no figure, in whichever trace they are") {
  const Trace good = one_point(around_100);
  Trace wrong = good, timeless = good;
  wrong.of<Transfers>()[0].samples[3].intact = 0;
  for (TransferSample& s : timeless.of<Transfers>()[0].samples) s.device_us = NAN;
  CHECK(verdict(good, wrong) == Verdict::broken);
  CHECK(verdict(wrong, good) == Verdict::broken);
  CHECK(verdict({}, wrong) == Verdict::broken);
  CHECK(only_case(good, wrong).reason == Reason::wrong_results);
  CHECK(only_case(good, timeless).reason == Reason::no_time);
  CHECK(only_case(good, wrong).points[0].note == "B: void: the payload arrived wrong");
  CHECK(only_case(timeless, good).points[0].note == "A: no usable trial");
  CHECK(outcome_of(held(good, wrong)) == Outcome::broken);
  CHECK(verdict(good, timeless) == Verdict::no_figure);
  CHECK(verdict(timeless, good) == Verdict::no_figure);
  CHECK(outcome_of(held(timeless, good)) == Outcome::broken);
}

TEST_CASE(
    "what was measured and has no valid figure is named, never same: NaN, 0, negative, infinite, void trials alone") {
  const Trace good = one_point(around_100);
  for (const double us : {double(NAN), 0.0, -100.0, double(INFINITY)}) {
    CAPTURE(us);
    Trace bad = good;
    for (TransferSample& s : bad.of<Transfers>()[0].samples) s.device_us = us;
    CHECK(verdict(good, bad) == Verdict::no_figure);
    CHECK(verdict(bad, good) == Verdict::no_figure);
    CHECK(verdict(bad, bad) == Verdict::no_figure);
  }
  Trace void_alone = good;
  void_alone.of<Transfers>()[0].samples.clear();
  for (auto& visit : void_alone.of<Transfers>()[0].visits) {
    visit.samples = 0;
    visit.void_trials = 5;
  }
  CHECK(verdict(good, void_alone) == Verdict::no_figure);
  CHECK(outcome_of(held(good, void_alone)) == Outcome::broken);
}

TEST_CASE("a series that stopped before a point has no figure there; one that was not asked for it says nothing") {
  Trace all = curve(3), some = curve(2);
  CHECK(only_case(all, some).points[2].verdict == Verdict::only_a);
  some.of<Transfers>()[0].error = "at 3000 B: the device is lost";
  const CaseComparison of = only_case(all, some);
  CHECK(of.points[2].verdict == Verdict::no_figure);
  CHECK(of.points[2].reason == Reason::stopped);
  CHECK(of.points[2].note == "B: at 3000 B: the device is lost");
  CHECK(of.verdict == Verdict::no_figure);
}

namespace {

// So many curves of copies of pageable memory, each of three points of 5 us in six rounds; runs of such differ by 2.5
// %.
template <class FactorOf> Trace pageable(int curves, FactorOf factor_of) {
  Trace trace;
  for (int i = 0; i < curves; ++i) {
    TransferSeries sweep = sweep_of();
    sweep.question.memory = Memory::pageable;
    sweep.question.source_offset = static_cast<std::uint64_t>(i) + 1;
    for (const std::uint64_t bytes : {1, 2, 3}) add_rounds(sweep, bytes, times(around_100, 0.05 * factor_of(i)));
    trace.of<Transfers>().push_back(sweep);
  }
  return trace;
}

}  // namespace

TEST_CASE("what a class has in common, as runs do, is said of the class and is no case's own") {
  const Trace a = pageable(5, [](int) { return 1; });
  const Comparison all = held(a, pageable(5, [](int i) { return i == 4 ? 1.34 : 1.04; }));
  REQUIRE(all.classes.size() == 1);
  CHECK(all.classes[0].time_class == TimeClass::pageable_copies);
  REQUIRE(all.classes[0].shared.size() == 1);
  const SharedChange& shared = all.classes[0].shared[0];
  CHECK(shared.band == 0);
  CHECK(shared.points == 15);
  CHECK(shared.change == doctest::Approx(0.04).epsilon(0.01));
  CHECK(shared.verdict == Verdict::cannot_tell);  // runs differ by 2.5 %
  // All of it may be the case's own, or none: it may be 4 % and more, and it is not called the same.
  const PartComparison& usual = all.cases[0].parts[0];
  CHECK(usual.change == doctest::Approx(0.04).epsilon(0.01));
  CHECK(usual.own == 0);
  CHECK(usual.low < 0);
  CHECK(usual.high > 0.05);
  CHECK(usual.verdict == Verdict::cannot_tell);
  const PartComparison& slow = all.cases[4].parts[0];
  CHECK(slow.change == doctest::Approx(0.34).epsilon(0.01));
  CHECK(slow.own == doctest::Approx(1.34 / 1.04 - 1).epsilon(0.02));
  CHECK(slow.verdict == Verdict::slower);
  CHECK(outcome_of(all) == Outcome::slower);
}

TEST_CASE("what a class has in common beyond what runs differ by is slower, and so is every case") {
  const Trace a = pageable(5, [](int) { return 1; });
  const Comparison all = held(a, pageable(5, [](int) { return 1.5; }));
  CHECK(all.classes[0].shared[0].verdict == Verdict::slower);
  for (const CaseComparison& of : all.cases) CHECK(of.verdict == Verdict::slower);
}

TEST_CASE("the smallest change that would have been found: what matters, or what the spread hides, in nine of ten") {
  const Trace a = pageable(5, [](int) { return 1; });
  const Comparison all = held(a, a);
  // Nothing is seen of the runs but what is known: an error of sqrt(2) * 2.5 %, of which half is a case's own where its
  // class's change is known. Five parts are tested, and no key figure is: p of 0.01 / 5 is 3.09 standard deviations.
  const double error = std::sqrt(2.0) * 0.0125;
  CHECK(all.cases[0].parts[0].shown == doctest::Approx(std::expm1((3.09 + 1.2816) * error)).epsilon(0.02));
  CHECK(all.classes[0].least_shown == doctest::Approx(all.cases[0].parts[0].shown));
  // A change of less than that is never the same.
  for (const double factor : {1.05, 1.06, 1.08, 1.1})
    CHECK(held(a, pageable(5, [&](int i) { return i == 4 ? factor : 1; })).cases[4].verdict != Verdict::same);
}

TEST_CASE(
    "two cards of one model are said to be two, and what differs between them is no change unless it is asked for") {
  const auto on = [](const char* uuid, double factor) {
    Trace trace = one_point(times(around_100, factor));
    trace.of<Transfers>()[0].device_uuid = uuid;
    return trace;
  };
  const Trace a = on("GPU-5090cfda-2eea-b87d-650e-c540de704c13", 1), b = on("GPU-3a19b0f3-5d07-519d-7edd", 1.1);
  Comparison all = held(a, b);
  CHECK(all.other_cards == "GPU-5090cfda in A, GPU-3a19b0f3 in B");
  CHECK(all.cases[0].verdict == Verdict::slower);
  CHECK(outcome_of(all) == Outcome::cards);
  all.judges_cards = true;
  CHECK(outcome_of(all) == Outcome::slower);
  CHECK(outcome_of(held(a, on("GPU-3a19b0f3", 1))) == Outcome::not_slower);
  CHECK(held(a, on("", 1)).other_cards.empty());
  CHECK(held(a, a).other_cards.empty());
}

TEST_CASE("a figure and its change are of the same numbers: one wild round moves neither") {
  const Comparison all = held(one_point(around_100), one_point({99.9, 100, 100.1, 99.95, 100.05, 300}));
  const KeyFigure& figure = all.figures[0];
  CHECK(figure.change == doctest::Approx(figure.a / figure.b - 1).epsilon(1e-9));  // of rates
  CHECK(std::abs(figure.change) < 0.001);
  CHECK(figure.verdict == Verdict::cannot_tell);  // and makes it unsure
}

TEST_CASE("bandwidth of a working set that fits the cache is not called memory's") {
  const auto probed = [](std::uint64_t bytes) {
    ProbeSeries probe = probe_sweep();
    probe.question.probe = "bandwidth";
    probe.question.operation = Operation::triad;
    probe.question.form = Form::streaming;
    probe.question.space = Space::global;
    probe.layout.cache_bytes = 60 * MiB;
    for (const double one : around_100)
      add_point(probe, {.blocks = 4, .threads = 32, .bytes = bytes}, 1e6, {one}).axes.bytes = bytes;
    return trace_of({probe});
  };
  const auto name_of = [&](std::uint64_t bytes) { return held(probed(bytes), probed(bytes)).figures.at(0).name; };
  CHECK(name_of(15 * MiB).find(", in L2") != std::string::npos);
  CHECK(name_of(4096 * MiB).find(", in L2") == std::string::npos);
}

TEST_CASE("points and cases that one side has alone are named as such") {
  TransferSeries a = copies(), b = copies(), only_b = sweep_of(Pattern::pingpong, Timing::gated);
  for (const std::uint64_t bytes : {1000, 2000}) add_rounds(a, bytes, around_100);
  for (const std::uint64_t bytes : {1000, 3000}) add_rounds(b, bytes, around_100);
  add_rounds(only_b, 8, around_100);
  const Comparison all = held(trace_of({a}), trace_of({b, only_b}));
  REQUIRE(all.cases.size() == 2);
  const auto& points = all.cases[0].points;
  REQUIRE(points.size() == 3);
  CHECK(points[0].verdict == Verdict::same);
  CHECK(points[1].verdict == Verdict::only_a);
  CHECK(points[2].verdict == Verdict::only_b);
  CHECK(all.cases[0].verdict == Verdict::same);
  CHECK(all.cases[0].parts[0].points == 1);
  CHECK(all.cases[1].verdict == Verdict::only_b);
  CHECK(all.cases[1].title == "cudaMemcpy cuda:0 h2d pinned pingpong blocking gated");
}

TEST_CASE("where points had one visit its trials stand in for rounds") {
  const auto one_visit = [](const Us& us) {
    TransferSeries sweep = copies();
    add_point(sweep, 1000, us);
    return trace_of({sweep});
  };
  const CaseComparison of = only_case(one_visit(around_100), one_visit(times(around_100, 1.05)));
  CHECK(of.trials_stand_in);
  CHECK(of.verdict == Verdict::slower);
  CHECK_FALSE(only_case(one_point(around_100), one_point(around_100)).trials_stand_in);
  // A single trial gives no interval: near is not the same.
  CHECK(verdict(one_visit({100}), one_visit({100.5})) == Verdict::cannot_tell);
  CHECK(only_case(one_visit({100}), one_visit({150})).reason == Reason::few_values);
}

TEST_CASE("three rounds a side tell nothing, as a context may have given all of one side another time") {
  const Us slow{110, 110.1, 109.9, 110.2};
  const auto first = [](const Us& us, std::size_t count) { return Us(us.begin(), us.begin() + count); };
  const CaseComparison of_three = only_case(one_point(first(around_100, 3)), one_point(first(slow, 3)));
  CHECK(of_three.verdict == Verdict::cannot_tell);
  CHECK(of_three.reason == Reason::few_values);
  CHECK(verdict(one_point(first(around_100, 4)), one_point(slow)) == Verdict::slower);
}

TEST_CASE("with three runs on a side runs are compared, and what they differ by is seen") {
  // Rounds of a run agree; runs differ by 1 %.
  const std::vector<Trace> a{one_point(times(around_100, 0.99)), one_point(around_100),
                             one_point(times(around_100, 1.01))};
  const std::vector<const Trace*> runs{&a[0], &a[1], &a[2]};
  const auto against = [&](double factor, std::optional<double> tolerance = {}) {
    const Trace b = one_point(times(around_100, factor));
    const Trace* of_b = &b;
    return compare(runs, {&of_b, 1}, tolerance);
  };
  CHECK(against(1.012).cases[0].verdict == Verdict::cannot_tell);  // apart of each run, and not of what runs differ by
  CHECK(against(1.2).cases[0].verdict == Verdict::slower);
  CHECK(against(1.012).tolerances[0].source == "default");
  CHECK(against(1.012, 0.2).tolerances[0].source == "--tolerance");
  CHECK(against(1.012, 0.2).cases[0].verdict == Verdict::same);
}

TEST_CASE("lanes are curves of their own") {
  const auto both_ways = [](double factor) {
    TransferSeries sweep = sweep_of(Pattern::duplex);
    for (int round = 0; round < 6; ++round) {
      const double us = around_100[static_cast<std::size_t>(round)];
      add_duplex(sweep, 1000, {us}, {us * factor});
    }
    return trace_of({sweep});
  };
  const Comparison all = held(both_ways(1), both_ways(2));
  REQUIRE(all.cases.size() == 2);
  CHECK(all.cases[0].verdict == Verdict::same);
  CHECK(all.cases[1].lane == 1);
  CHECK(all.cases[1].title.ends_with(", lane 1 d2h"));
  CHECK(all.cases[1].verdict == Verdict::slower);
}

TEST_CASE("devices match by their order within a kind, and bear A's names") {
  const auto on = [](const char* device, double us) {
    TransferSeries sweep = sweep_of();
    sweep.question = case_on("cudaMemcpy", device, device == std::string("host") ? Direction::h2h : Direction::h2d);
    add_rounds(sweep, 1000, times(around_100, us / 100));
    return sweep;
  };
  // B's GPUs have other numbers, and B was not asked about the host.
  const auto cases = held(trace_of({on("host", 5), on("cuda:0", 10), on("cuda:1", 100)}),
                          trace_of({on("cuda:2", 10), on("cuda:5", 200)}))
                         .cases;
  REQUIRE(cases.size() == 3);
  CHECK(cases[0].verdict == Verdict::only_a);
  CHECK(cases[1].verdict == Verdict::same);
  CHECK(cases[1].title.starts_with("cudaMemcpy cuda:0 "));
  CHECK(cases[2].verdict == Verdict::slower);
  CHECK(cases[2].title.starts_with("cudaMemcpy cuda:1 "));
}

TEST_CASE("a question asked twice is matched by schedule and binding first, and by order at last") {
  const auto asked = [](const char* schedule, bool bind, double us) {
    TransferSeries sweep = sweep_of();
    sweep.schedule = schedule;
    sweep.question.bind = bind;
    add_rounds(sweep, 1000, times(around_100, us));
    return sweep;
  };
  const auto cases =
      held(trace_of({asked("classic", true, 10), asked("adaptive", true, 20), asked("classic", false, 30)}),
           trace_of({asked("classic", false, 30), asked("adaptive", true, 20), asked("classic", true, 10)}))
          .cases;
  REQUIRE(cases.size() == 3);
  for (const auto& of : cases) CHECK(of.verdict == Verdict::same);
  // Nothing but order is left: another schedule, and unbound.
  CHECK(verdict(trace_of({asked("classic", true, 10)}), trace_of({asked("adaptive", false, 10)})) == Verdict::same);
}

TEST_CASE("other questions do not match: direction, memory, timing, offsets") {
  const auto cases = [](auto change) {
    TransferSeries a = sweep_of();
    add_rounds(a, 8, around_100);
    TransferSeries b = a;
    change(b.question);
    for (TransferSample& sample : b.samples) sample.device_us = 1;  // whatever its timing, it was measured
    return held(trace_of({a}), trace_of({b})).cases.size();
  };
  CHECK(cases([](TransferCase& c) { c.direction = Direction::d2h; }) == 2);
  CHECK(cases([](TransferCase& c) { c.memory = Memory::pageable; }) == 2);
  CHECK(cases([](TransferCase& c) { c.timing = Timing::event; }) == 2);
  CHECK(cases([](TransferCase& c) { c.source_offset = 1; }) == 2);
  CHECK(cases([](TransferCase&) {}) == 1);
}

TEST_CASE("probes are compared over the work of A's repeat, jobs by the device's time where they were gated") {
  const auto probed = [](const std::string& device, double work, double us) {
    ProbeSeries probe = probe_sweep(device);
    for (const double one : around_100) add_point(probe, {.blocks = 4, .threads = 32}, work, {one * us});
    return trace_of({probe});
  };
  // Twice the work in the time of 2.2: a tenth slower. GPU 1 alone in its trace is the other's GPU 0.
  const CaseComparison of = only_case(probed("cuda:0", 100, 1), probed("cuda:1", 200, 2.2));
  CHECK(of.title == "compute cuda:0 fma fp32");
  CHECK(of.points[0].b == doctest::Approx(110));
  CHECK(of.verdict == Verdict::slower);
  CHECK(verdict(probed("cuda:0", 100, 1), probed("cuda:0", 200, 2)) == Verdict::same);

  const auto gated = [](double factor) {
    JobSeries sweep = jobs_of();
    sweep.question.gating = Gating::gated;
    for (const double one : around_100) add_job(sweep, {.bytes_in = 1000}, {one * factor});
    for (JobSample& s : sweep.samples) s.device_us = s.host_us / 2;
    return trace_of({sweep});
  };
  const CaseComparison jobs = only_case(gated(1), gated(1.1));
  CHECK(jobs.time_class == TimeClass::gated_jobs);
  CHECK(jobs.points[0].b == doctest::Approx(55));
  CHECK(jobs.verdict == Verdict::slower);
}

TEST_CASE("key figures are means over the points that stand for a case, judged like parts") {
  const Trace b = curve(16, [](std::uint64_t i) { return i >= 2 ? 1.05 : 1; });
  const Comparison all = held(curve(16), b);
  REQUIRE(all.figures.size() == 1);
  const KeyFigure& figure = all.figures[0];
  CHECK(figure.name == "copy, host to device");
  CHECK(figure.at == "2000 B .. 16000 B");  // from an eighth of the largest on
  CHECK(figure.unit == FigureUnit::bytes_per_s);
  CHECK(figure.a / figure.b == doctest::Approx(1.05));
  CHECK(figure.change == doctest::Approx(0.05));
  CHECK(figure.verdict == Verdict::slower);
}

TEST_CASE("other hardware: another GPU, or more or less of it; another host only where both measured it") {
  const auto on = [](const char* gpu, std::int64_t sms) {
    TransferSeries sweep = copies();
    sweep.device_name = gpu;
    add_rounds(sweep, 8, around_100);
    Trace trace = trace_of({sweep});
    trace.provenance = {{"gpu0", {{"multiprocessors", sms}}}, {"host", {{"cpu_model", std::string(gpu)}}}};
    return trace;
  };
  const auto why = [](const Trace& a, const Trace& b) {
    const Trace *of_a = &a, *of_b = &b;
    return other_hardware({&of_a, 1}, {&of_b, 1});
  };
  CHECK(why(on("H200", 132), on("H200", 132)).empty());
  CHECK(why(on("H200", 132), on("A100", 108)) == "the GPUs differ: H200 in A, A100 in B");
  CHECK(why(on("H200", 132), on("H200", 131)) == "the GPUs differ: 132 multiprocessors in A, 131 multiprocessors in B");
  const auto host = [](const char* name) {
    TransferSeries sweep = sweep_of();
    sweep.question = case_on("memcpy", "host", Direction::h2h);
    sweep.device_name = name;
    return trace_of({sweep});
  };
  CHECK(why(host("Xeon"), host("EPYC")) == "the hosts' processors differ: Xeon in A, EPYC in B");
  CHECK(why(host("Xeon"), on("H200", 132)).empty());
}

TEST_CASE("empty traces compare to nothing") {
  CHECK(held({}, {}).cases.empty());
  CHECK(outcome_of(held({}, {})) == Outcome::cannot_tell);
}

}  // namespace compare_test
