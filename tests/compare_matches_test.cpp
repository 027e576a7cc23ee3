// Which points, lanes, cases and devices of two traces are compared with which.
#include "tests/made_curves.hpp"

namespace compare_matches_test {

using namespace made_curves;
using namespace npgpu;

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
  const FigureChange& figure = all.figures[0];
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

}  // namespace compare_matches_test
