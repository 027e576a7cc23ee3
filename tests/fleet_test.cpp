#include "npgpu/fleet.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <sstream>

#include "tests/made_sweep.hpp"

namespace fleet_test {

using namespace npgpu;

namespace {

// A curve of as many sizes as there are times.
FleetCurve curve_of(const std::vector<double>& us, double spread = 0.01) {
  auto question = std::make_shared<FleetQuestion>();
  question->kind = "transfers";
  question->title = "copy";
  for (std::size_t i = 0; i < us.size(); ++i) {
    question->axes.push_back(std::to_string(i + 1) + " MiB");
    question->sizes.push_back(static_cast<double>(i + 1));
  }
  FleetCurve curve;
  curve.question = question;
  curve.us = us;
  curve.spread.assign(us.size(), spread);
  return curve;
}

FleetFacts no_facts() {
  FleetFacts facts;
  facts.fill(not_measured);
  return facts;
}

// A trace of one GPU: three points that take `us`, 2 us and 3 us.
FleetRun run_of(int number, double us, double spread = 0.01) {
  FleetRun run;
  run.run_uuid = "run-" + std::to_string(number);
  run.host = "node" + std::to_string(number);
  run.date = "2026-11-20T00:00:00Z";
  run.complete = true;
  FleetGpu& gpu = run.gpus.emplace_back();
  gpu.id = "cuda:0";
  gpu.name = "NVIDIA H200";
  gpu.uuid = "GPU-" + std::to_string(number);
  gpu.driver = "580";
  gpu.link = "PCIe Gen5 x16";
  gpu.facts = no_facts();
  gpu.curves.push_back(curve_of({us, 2 * us, 3 * us, 4 * us, 5 * us}, spread));
  return run;
}

std::vector<FleetRun> fleet_of(const std::vector<double>& times) {
  std::vector<FleetRun> runs;
  for (const double us : times) runs.push_back(run_of(static_cast<int>(runs.size()), us));
  return runs;
}

std::vector<std::string> suspected(const Fleet& fleet) {
  std::vector<std::string> all;
  for (const FleetGroup& group : fleet.groups)
    for (const FleetSuspect& suspect : group.suspects) all.push_back(group.members[suspect.member].uuid);
  return all;
}
using Uuids = std::vector<std::string>;

void set_fact(FleetRun& run, FleetFact fact, double value) {
  run.gpus[0].facts[static_cast<std::size_t>(fact)] = value;
}

FleetRules with_tolerance(double share) {
  FleetRules rules;
  rules.tolerance = share;
  return rules;
}

}  // namespace

TEST_CASE("median, scatter and z are those of the logarithms") {
  // Logarithms -0.02, -0.01, 0, 0.01, 0.02 around 10 us: the median of the absolute deviations is 0.01.
  std::vector<double> times;
  for (const double log : {-0.02, -0.01, 0.0, 0.01, 0.02}) times.push_back(10 * std::exp(log));
  const Fleet fleet = judge_fleet(fleet_of(times), with_tolerance(0.03));
  REQUIRE(fleet.groups.size() == 1);
  const FleetGroup& group = fleet.groups[0];
  REQUIRE(group.items.size() == 2);
  const FleetItem& item = group.items[0];
  CHECK(item.of == FleetMeasure::curve);
  CHECK(item.at == "1 MiB .. 5 MiB");
  CHECK(item.median == doctest::Approx(10 * std::pow(120, 0.2)));  // geometric mean over the points
  CHECK(item.sigma == doctest::Approx(0.01 * 1.4826).epsilon(1e-4));
  const FleetValue& last = group.members[4].values[0];
  CHECK(last.share == doctest::Approx(std::expm1(0.02)));
  CHECK(last.z == doctest::Approx(2 / 1.4826).epsilon(1e-4));
  CHECK(last.value == doctest::Approx(item.median * std::exp(0.02)));
  CHECK(fleet.suspects() == 0);
}

TEST_CASE("a suspect is beyond the tolerance and beyond what the group scatters") {
  CHECK(suspected(judge_fleet(fleet_of({10, 10, 10, 10, 10, 10.6}), with_tolerance(0.05))) == Uuids{"GPU-5"});
  CHECK(suspected(judge_fleet(fleet_of({10, 10, 10, 10, 10, 10.4}), with_tolerance(0.05))).empty());
  // 30 % more time, in a group whose GPUs scatter by 10 %.
  CHECK(suspected(judge_fleet(fleet_of({8, 9, 10, 11, 12, 13}), with_tolerance(0.05))).empty());
  // Who is faster is none.
  CHECK(suspected(judge_fleet(fleet_of({10, 10, 10, 10, 10, 5}), with_tolerance(0.05))).empty());
}

TEST_CASE("one point of many makes no suspect, a third of the curve does") {
  auto runs = fleet_of({1, 1, 1, 1, 1, 1});
  for (FleetRun& run : runs) run.gpus[0].curves = {curve_of(std::vector<double>(30, 10.0))};
  runs[2].gpus[0].curves[0].us[17] = 1000;
  CHECK(suspected(judge_fleet(runs)).empty());
  for (std::size_t i = 20; i < 30; ++i) runs[3].gpus[0].curves[0].us[i] = 20;
  const Fleet fleet = judge_fleet(runs);
  CHECK(suspected(fleet) == Uuids{"GPU-3"});
  const FleetFinding& finding = fleet.groups[0].suspects[0].findings.at(0);
  CHECK(finding.suspicion == Suspicion::slow);
  CHECK(finding.at == "21 MiB .. 30 MiB");
  CHECK(finding.share == doctest::Approx(1));
  CHECK(finding.value == doctest::Approx(20));
  CHECK(finding.others == doctest::Approx(10));
}

TEST_CASE("of a key figure that is a rate less is slower") {
  auto runs = fleet_of({1, 1, 1, 1, 1, 1});
  for (FleetRun& run : runs)
    run.gpus[0].figures = {{"copy, host to device", "64 MiB", FigureUnit::bytes_per_s, TimeClass::device_copies,
                            Third::large, 50e9, false}};
  runs[1].gpus[0].figures[0].value = 25e9;
  runs[2].gpus[0].figures[0].value = 100e9;
  runs[4].gpus[0].figures[0].value = not_measured;
  const Fleet fleet = judge_fleet(runs);
  CHECK(suspected(fleet) == Uuids{"GPU-1"});
  const FleetFinding& finding = fleet.groups[0].suspects[0].findings.at(0);
  CHECK(finding.what == "copy, host to device");
  CHECK(finding.share == doctest::Approx(1));
  CHECK(finding.value == doctest::Approx(25e9));
  CHECK(finding.text == "25.00 GB/s, and others have 50.00 GB/s");
}

TEST_CASE("a figure that was taken from other points is another one") {
  auto runs = fleet_of({1, 1, 1, 1, 1, 1, 1});
  for (FleetRun& run : runs)
    run.gpus[0].figures = {{"bandwidth", "best shape", FigureUnit::bytes_per_s, TimeClass::kernels, Third::all, 50e9}};
  runs[6].gpus[0].figures[0].value = 25e9;
  CHECK(suspected(judge_fleet(runs)) == Uuids{"GPU-6"});
  runs[6].gpus[0].curves[0] = curve_of({1, 2, 3});
  CHECK(suspected(judge_fleet(runs)).empty());
}

TEST_CASE("what fewer than five GPUs of a group have is not judged") {
  auto runs = fleet_of({1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  for (std::size_t i = 0; i < 4; ++i)
    runs[i].gpus[0].figures = {{"rare", "", FigureUnit::us, TimeClass::calls, Third::all, i == 3 ? 9.0 : 1.0}};
  CHECK(suspected(judge_fleet(runs)).empty());
  runs[4].gpus[0].figures = runs[0].gpus[0].figures;
  CHECK(suspected(judge_fleet(runs)) == Uuids{"GPU-3"});
}

TEST_CASE("the traces of a GPU are one value, wherever it was") {
  auto runs = fleet_of({10, 10, 10, 10, 10});
  for (const double us : {10.0, 20.0, 10.1}) {
    runs.push_back(run_of(9, us));
    runs.back().run_uuid += std::to_string(us);
    runs.back().host = us == 10.0 ? "nodeB" : "nodeA";
    runs.back().date = us == 10.0 ? "2026-11-22T00:00:00Z" : "2026-11-19T00:00:00Z";
  }
  const Fleet fleet = judge_fleet(runs);
  CHECK(suspected(fleet).empty());
  CHECK(fleet.gpus() == 6);
  const FleetMember& moved = fleet.groups[0].members.back();
  CHECK(moved.traces == 3);
  CHECK(moved.host == "nodeB");
  CHECK(moved.values[0].value == doctest::Approx(10.1 * std::pow(120, 0.2)));
}

TEST_CASE("what all others have is missing, what some have is not") {
  auto runs = fleet_of({10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10});
  runs[3].gpus[0].curves[0].us.assign(5, not_measured);
  runs[3].gpus[0].curves[0].why = "out of memory";
  runs[4].gpus[0].curves.clear();
  CHECK(suspected(judge_fleet(runs)).empty());  // two of twelve
  runs[4] = run_of(4, 10);
  Fleet fleet = judge_fleet(runs);
  CHECK(suspected(fleet) == Uuids{"GPU-3"});
  CHECK(fleet.groups[0].suspects[0].findings.at(0).suspicion == Suspicion::missing);
  CHECK(fleet.groups[0].suspects[0].findings.at(0).text == "no figure, and 11 of 12 GPUs have one: out of memory");
  CHECK(fleet.groups[0].suspects[0].causes.at(0).cause == "missing");
  runs[3].gpus[0].curves.clear();
  runs[3].complete = false;
  fleet = judge_fleet(runs);
  CHECK(fleet.groups[0].suspects.at(0).findings.at(0).text ==
        "no figure, and 11 of 12 GPUs have one: its run did not reach its end");
  CHECK(fleet.incomplete == 1);
}

TEST_CASE("a small group is not judged, and says so") {
  auto runs = fleet_of({10, 10, 10, 30});
  Fleet fleet = judge_fleet(runs);
  CHECK(suspected(fleet).empty());
  CHECK_FALSE(fleet.groups[0].judged);
  REQUIRE(fleet.groups[0].notes.size() == 1);
  CHECK(fleet.groups[0].notes[0] == "4 GPUs: a group of fewer than 5 cannot be judged by its own medians");
  // What is wrong with a GPU by itself is found there, too.
  runs[2].gpus[0].defects = {{"results", "3 of 60 results compared were wrong", "take it out of service"}};
  fleet = judge_fleet(runs);
  CHECK(suspected(fleet) == Uuids{"GPU-2"});
  CHECK(fleet.groups[0].suspects[0].causes.at(0).cause == "results");
}

TEST_CASE("groups are of one model, driver and link, and a small one says what is special of it") {
  auto runs = fleet_of({10, 10, 10, 10, 10, 10, 20});
  runs[6].gpus[0].link = "PCIe Gen5 x8";
  const Fleet fleet = judge_fleet(runs);
  REQUIRE(fleet.groups.size() == 2);
  CHECK(fleet.groups[0].members.size() == 6);
  CHECK(suspected(fleet).empty());
  REQUIRE(fleet.groups[1].notes.size() == 2);
  CHECK(fleet.groups[1].notes[1] ==
        "6 GPUs of the same model differ from it (link: PCIe Gen5 x8 here, PCIe Gen5 x16 there)");
}

TEST_CASE("causes are what differs from the group") {
  auto runs = fleet_of({10, 10, 10, 10, 10, 10, 10, 12, 10});
  for (FleetRun& run : runs) {
    set_fact(run, FleetFact::pcie_lanes, 16);
    set_fact(run, FleetFact::pcie_generation, 5);
    set_fact(run, FleetFact::multiprocessors, 132);
    set_fact(run, FleetFact::sm_clock_mhz, 1980);
    set_fact(run, FleetFact::throttled, 0);
    set_fact(run, FleetFact::temperature_c, 50);
  }
  set_fact(runs[7], FleetFact::pcie_lanes, 8);
  set_fact(runs[7], FleetFact::sm_clock_mhz, 1700);
  set_fact(runs[7], FleetFact::throttled, 0.5);
  set_fact(runs[7], FleetFact::temperature_c, 90);
  runs[7].gpus[0].throttle = "throttled in 30 of 60 visits: too hot";
  set_fact(runs[2], FleetFact::sm_clock_mhz, 1900);    // no slower: no suspect
  set_fact(runs[8], FleetFact::multiprocessors, 130);  // a count that differs is one by itself
  const Fleet fleet = judge_fleet(runs);
  CHECK(suspected(fleet) == Uuids{"GPU-7", "GPU-8"});
  const auto& causes = fleet.groups[0].suspects[0].causes;
  REQUIRE(causes.size() == 3);
  CHECK(causes[0].text == "its link is PCIe Gen5 x8, and others have PCIe Gen5 x16");
  CHECK(causes[1].text == "throttled in 30 of 60 visits: too hot; 90 C, and others have 50 C");
  CHECK(causes[2].text == "SM clock 1700 MHz, and others have 1980 MHz");
  CHECK(fleet.groups[0].suspects[1].findings.at(0).suspicion == Suspicion::differs);
  CHECK(fleet.groups[0].suspects[1].causes.at(0).cause == "multiprocessors");
  CHECK(exclude_text(fleet) == "--exclude=node7,node8");
}

TEST_CASE("a slow GPU without a cause says so, and a host whose GPUs are all slow is one") {
  auto runs = fleet_of({10, 10, 10, 10, 10, 10, 12});
  CHECK(judge_fleet(runs).groups[0].suspects.at(0).causes.at(0).cause == "unknown");
  runs.push_back(run_of(7, 12));
  runs[7].host = runs[6].host;
  const Fleet fleet = judge_fleet(runs);
  REQUIRE(fleet.suspects() == 2);
  for (const FleetSuspect& suspect : fleet.groups[0].suspects) {
    REQUIRE(suspect.causes.size() == 1);
    CHECK(suspect.causes[0].text == "all 2 GPUs of node6 are suspects: look at the host");
  }
}

TEST_CASE("who scatters twice as much as others, and by more than the tolerance, is noisy") {
  auto runs = fleet_of({10, 10, 10, 10, 10, 10});
  runs[1] = run_of(1, 10, 0.2);
  Fleet fleet = judge_fleet(runs);
  CHECK(suspected(fleet) == Uuids{"GPU-1"});
  CHECK(fleet.groups[0].suspects[0].findings.at(0).suspicion == Suspicion::noisy);
  CHECK(fleet.groups[0].suspects[0].findings.at(0).text == "its own times scatter by 20 %, others' by 1 %");
  CHECK(fleet.groups[0].suspects[0].causes.at(0).cause == "noise");
  runs[1] = run_of(1, 10, 0.018);  // less than twice
  CHECK(suspected(judge_fleet(runs, with_tolerance(0.01))).empty());
  for (std::size_t i = 0; i < 6; ++i) runs[i] = run_of(static_cast<int>(i), 10, i == 1 ? 0.01 : 0.001);
  CHECK(suspected(judge_fleet(runs)).empty());  // ten times as much, and little
}

TEST_CASE("what others disturbed is not judged") {
  auto runs = fleet_of({10, 10, 10, 10, 10, 20});
  runs[5].gpus[0].curves[0].disturbed = 2;
  CHECK(suspected(judge_fleet(runs)) == Uuids{"GPU-5"});
  runs[5].gpus[0].curves[0].disturbed = 3;  // of five points
  const Fleet fleet = judge_fleet(runs);
  CHECK(suspected(fleet).empty());
  CHECK(fleet.groups[0].members[5].values[0].disturbed);
}

TEST_CASE("the order of traces and copies of them change nothing") {
  auto runs = fleet_of({10, 11, 10, 12, 10, 10, 15});
  const auto text_of_fleet = [](const std::vector<FleetRun>& some) {
    std::ostringstream out;
    fleet_json(out, judge_fleet(some));
    return out.str();
  };
  const std::string before = text_of_fleet(runs);
  std::ranges::reverse(runs);
  CHECK(text_of_fleet(runs) == before);
  runs.push_back(runs[3]);
  const Fleet fleet = judge_fleet(runs);
  CHECK(fleet.duplicates == 1);
  CHECK(fleet.groups[0].members[3].traces == 1);
}

TEST_CASE("a later fleet is held against the medians of an earlier one") {
  const FleetBaseline before = baseline_of(judge_fleet(fleet_of({10, 10.1, 9.9, 10, 10})));
  REQUIRE(before.groups.size() == 1);
  FleetRules rules;
  rules.reference = &before;
  auto runs = fleet_of({12, 12, 12, 12, 12});
  Fleet fleet = judge_fleet(runs, rules);
  CHECK(fleet.suspects() == 0);
  REQUIRE(fleet.groups[0].drifts.size() == 1);
  CHECK(fleet.groups[0].drifts[0].change == doctest::Approx(0.2));
  CHECK(fleet.groups[0].drifts[0].before == doctest::Approx(fleet.groups[0].drifts[0].now / 1.2));
  CHECK(fleet.has_slower_group());
  CHECK_FALSE(judge_fleet(fleet_of({10, 10, 10, 10, 10}), rules).has_slower_group());
  CHECK_FALSE(judge_fleet(fleet_of({8, 8, 8, 8, 8}), rules).has_slower_group());

  // A group that is too small is judged by it; another driver is said.
  runs = fleet_of({10, 13});
  for (FleetRun& run : runs) run.gpus[0].driver = "590";
  fleet = judge_fleet(runs, rules);
  CHECK(fleet.groups[0].judged_by_reference);
  CHECK(suspected(fleet) == Uuids{"GPU-1"});
  REQUIRE(fleet.groups[0].notes.size() == 2);
  CHECK(fleet.groups[0].notes[1] == "the reference of 2026-11-20T00:00:00Z is of driver 580, PCIe Gen5 x16");
  CHECK(baseline_of(fleet).groups.empty());
}

TEST_CASE("a trace's devices lose their names, and hosts are left out") {
  TransferSeries of_gpu = sweep_of(Pattern::stream, Timing::gated), of_host = of_gpu, together = of_gpu;
  of_gpu.question.source = "host";
  of_gpu.question.target = "cuda:5";
  of_gpu.device_uuid = "GPU-5";
  of_host.question.source = of_host.question.target = "host";
  together.question = of_gpu.question;
  together.device_uuid = "GPU-5";
  together.question.more_lanes = {{Direction::h2d, "host", "cuda:6", Executor::copy_engine, true}};
  for (TransferSeries* series : {&of_gpu, &of_host, &together})
    for (std::uint64_t bytes = 1000; bytes <= 32'000; bytes *= 2)
      add_point(*series, bytes, {static_cast<double>(bytes) / 100});
  Trace trace;
  trace.root.hostname = "node1";
  trace.of<Transfers>() = {of_gpu, of_host, together};
  const FleetRun run = fleet_run(trace);
  REQUIRE(run.gpus.size() == 1);
  CHECK(run.gpus[0].id == "cuda:5");
  REQUIRE(run.gpus[0].curves.size() == 1);
  const FleetCurve& curve = run.gpus[0].curves[0];
  CHECK(curve.question->title.find("cuda:") == std::string::npos);
  CHECK(curve.question->sizes == std::vector<double>{1000, 2000, 4000, 8000, 16000, 32000});
  CHECK(curve.us[2] == doctest::Approx(40));
}

}  // namespace fleet_test
