#include "tests/made_curves.hpp"

namespace compare_test {

using namespace made_curves;
using namespace npgpu;

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
  const FigureChange& figure = all.figures[0];
  CHECK(figure.change == doctest::Approx(figure.a / figure.b - 1).epsilon(1e-9));  // of rates
  CHECK(std::abs(figure.change) < 0.001);
  CHECK(figure.verdict == Verdict::cannot_tell);  // and makes it unsure
}
}  // namespace compare_test
