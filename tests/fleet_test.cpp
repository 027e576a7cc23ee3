#include "npgpu/judge/fleet.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>

#include "netpipe/judge/judge.hpp"
#include "npgpu/judge/fleet.hpp"
#include "tests/made_sweep.hpp"

namespace fleet_test {

using namespace npgpu;

namespace {

// Known to 0.1 %.
FleetFigure figure_of(FigureKind kind, const char* name, double us) {
  return {kind, name, "64 MiB", FigureUnit::us, us, us / 1.001, us * 1.001};
}

FleetFacts no_facts() {
  FleetFacts facts;
  facts.fill(not_measured);
  return facts;
}

// A trace of one GPU, of which a copy within it takes `us`.
FleetRun run_of(int number, double us) {
  FleetRun run;
  run.run_uuid = "run-" + std::to_string(number);
  run.host = "node" + std::to_string(number);
  run.date = "2026-11-20T00:00:00Z";
  run.plan = "check --level 2\n0.1.0 abc";
  run.complete = true;
  FleetGpu& gpu = run.gpus.emplace_back();
  gpu.id = "cuda:0";
  gpu.name = "NVIDIA H200";
  gpu.uuid = "GPU-" + std::to_string(number);
  gpu.driver = "580";
  gpu.link = "PCIe Gen5 x16";
  gpu.facts = no_facts();
  gpu.series.push_back({"transfers", "copy", true});
  gpu.figures.push_back(figure_of(FigureKind::memory, "copy within the GPU", us));
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

TEST_CASE("median, scatter and limit are those of the logarithms") {
  // Logarithms -0.02, -0.01, 0, 0.01, 0.02 around 10 us: the median of the absolute deviations is 0.01.
  std::vector<double> times;
  for (const double log : {-0.02, -0.01, 0.0, 0.01, 0.02}) times.push_back(10 * std::exp(log));
  const Fleet fleet = judge_fleet(fleet_of(times));
  REQUIRE(fleet.groups.size() == 1);
  const FleetGroup& group = fleet.groups[0];
  REQUIRE(group.items.size() == 1);
  const FleetItem& item = group.items[0];
  CHECK(item.median == doctest::Approx(10));
  // Of five, as if 0.85 of them were missing.
  const double sigma = 0.01 * 1.4826 * 5 / 4.15;
  CHECK(item.sigma == doctest::Approx(sigma).epsilon(1e-4));
  const FleetValue& last = group.members[4].values[0];
  CHECK(last.share == doctest::Approx(std::expm1(0.02)));
  CHECK(last.low == doctest::Approx(1.001 * std::exp(-0.002) * std::exp(0.02) - 1).epsilon(1e-3));
  CHECK(last.value == doctest::Approx(10 * std::exp(0.02)));
  // More than 0.4 % is known to be usual, and seen here.
  CHECK(last.z == doctest::Approx(0.02 / sigma).epsilon(1e-3));
  CHECK(fleet.suspects() == 0);
}

TEST_CASE("a suspect is beyond what healthy GPUs differ by, and beyond what its group scatters") {
  CHECK(suspected(judge_fleet(fleet_of({10, 10, 10, 10, 10, 10.6}))) == Uuids{"GPU-5"});
  CHECK(suspected(judge_fleet(fleet_of({10, 10, 10, 10, 10, 10.15}))).empty());
  CHECK(suspected(judge_fleet(fleet_of({10, 10, 10, 10, 10, 10.6}), with_tolerance(0.1))).empty());
  // 30 % more time, in a group whose GPUs scatter by 10 %.
  CHECK(suspected(judge_fleet(fleet_of({8, 9, 10, 11, 12, 13}))).empty());
  // Who is faster is none.
  CHECK(suspected(judge_fleet(fleet_of({10, 10, 10, 10, 10, 5}))).empty());
}

TEST_CASE("the scatter of few, of odd and of even numbers, is on average that of many") {
  for (const std::size_t count : {5, 6, 7, 8, 20, 21}) {
    std::mt19937_64 random(count);
    std::normal_distribution<double> log(0, 0.02);
    double sum = 0;
    constexpr int groups = 20'000;
    for (int i = 0; i < groups; ++i) {
      std::vector<double> logs(count);
      for (double& one : logs) one = log(random);
      sum += model::scatter_of(logs);
    }
    CAPTURE(count);
    CHECK(sum / groups == doctest::Approx(0.02).epsilon(0.03));
  }
}

TEST_CASE("what is known of the scatter counts where a group happens to scatter less") {
  // Ten degrees of freedom at 0.4 %, and 1.48 at none: sqrt(10 * 0.004^2 / 11.48).
  const Fleet equal = judge_fleet(fleet_of({10, 10, 10, 10, 10.15}));
  CHECK(equal.groups[0].members[4].values[0].z == doctest::Approx(std::log(1.015) / 0.0037333).epsilon(1e-3));
  CHECK(suspected(equal).empty());
  // 3 % in a group of two hundred that scatters by 0.1 %.
  std::vector<double> times;
  for (int i = 0; i < 200; ++i) times.push_back(10 * std::exp(0.001 * std::sin(i)));
  times[7] = 10.3;
  CHECK(suspected(judge_fleet(fleet_of(times))) == Uuids{"GPU-7"});
}

TEST_CASE("GPUs below a ceiling at any distance are no suspects, and one beyond a gap is") {
  // Half at the ceiling, the others below it as the slower half of a normal distribution of 2 %.
  const auto below_ceiling = [](std::size_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> below(0, 0.02), noise(0, 0.001);
    std::vector<double> times(count);
    for (double& time : times) time = 10 * std::exp(std::max(0.0, below(random)) + noise(random));
    return times;
  };
  for (const auto& [count, most] :
       {std::pair<std::size_t, int>{16, 8}, {64, 2}}) {  // of 50; 42 and 50 by the median deviation alone
    CAPTURE(count);
    int with_suspects = 0, found = 0;
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
      std::vector<double> times = below_ceiling(count, seed);
      with_suspects += !suspected(judge_fleet(fleet_of(times))).empty();
      for (const std::size_t sick : {1, 2, 3}) times[sick] = 13;  // none hides another
      const Uuids named = suspected(judge_fleet(fleet_of(times)));
      found += std::ranges::includes(named, Uuids{"GPU-1", "GPU-2", "GPU-3"});
    }
    CHECK(with_suspects <= most);
    CHECK(found >= 45);
  }
}

TEST_CASE("slow is what lies beyond the limit with all of its interval; what straddles it is to be looked at") {
  auto runs = fleet_of({10, 10, 10, 10, 10, 11});
  Fleet fleet = judge_fleet(runs);
  CHECK(fleet.groups[0].suspects.at(0).confirmed());
  CHECK(exclude_text(fleet) == "--exclude=node5");
  runs[5].gpus[0].figures[0].low = 10.1;
  fleet = judge_fleet(runs);
  CHECK(suspected(fleet) == Uuids{"GPU-5"});
  CHECK_FALSE(fleet.groups[0].suspects[0].confirmed());
  CHECK(exclude_text(fleet).empty());
  runs[5].gpus[0].figures[0].low = 9.9;  // it may be as the others are
  CHECK(suspected(judge_fleet(runs)).empty());
  // One visit has no interval.
  runs[5].gpus[0].figures[0].low = runs[5].gpus[0].figures[0].high = not_measured;
  fleet = judge_fleet(runs);
  CHECK(suspected(fleet) == Uuids{"GPU-5"});
  CHECK(exclude_text(fleet).empty());
}

TEST_CASE("only links, memory and computing exclude a node") {
  for (const auto& [kind, is_grave] : {std::pair{FigureKind::link, true}, std::pair{FigureKind::compute, true},
                                       std::pair{FigureKind::latency, false}, std::pair{FigureKind::matrix, false}}) {
    auto runs = fleet_of({10, 10, 10, 10, 10, 10});
    for (FleetRun& run : runs) run.gpus[0].figures = {figure_of(kind, "figure", 10)};
    runs[2].gpus[0].figures = {figure_of(kind, "figure", 30)};
    const Fleet fleet = judge_fleet(runs);
    CHECK(suspected(fleet) == Uuids{"GPU-2"});
    CHECK(exclude_text(fleet) == (is_grave ? "--exclude=node2" : ""));
  }
}

TEST_CASE("of a key figure that is a rate less is slower") {
  auto runs = fleet_of({1, 1, 1, 1, 1, 1});
  const auto rate = [](double value) {
    return FleetFigure{FigureKind::link, "host to GPU, pinned", "64 MiB", FigureUnit::bytes_per_s, value,
                       0.999 * value,    1.001 * value};
  };
  for (FleetRun& run : runs) run.gpus[0].figures = {rate(50e9)};
  runs[1].gpus[0].figures = {rate(25e9)};
  runs[2].gpus[0].figures = {rate(100e9)};
  runs[4].gpus[0].figures = {rate(not_measured)};
  const Fleet fleet = judge_fleet(runs);
  CHECK(suspected(fleet) == Uuids{"GPU-1"});
  const FleetFinding& finding = fleet.groups[0].suspects[0].findings.at(0);
  CHECK(finding.what == "host to GPU, pinned");
  CHECK(finding.share == doctest::Approx(1));
  CHECK(finding.low == doctest::Approx(2 / 1.001 - 1));
  CHECK(finding.value == doctest::Approx(25e9));
  CHECK(finding.text == "25.00 GB/s (others: 50.00 GB/s)");
}

TEST_CASE("a figure that was taken at other points is another one") {
  auto runs = fleet_of({1, 1, 1, 1, 1, 1, 3});
  CHECK(suspected(judge_fleet(runs)) == Uuids{"GPU-6"});
  runs[6].gpus[0].figures[0].at = "4 KiB";
  CHECK(suspected(judge_fleet(runs)).empty());
}

TEST_CASE("of ten thousand healthy GPUs none is a suspect, and twenty sick ones among them are found") {
  std::mt19937 random(11);
  // Tails of healthy GPUs are longer than those of the normal distribution: Student's t with thirty degrees of freedom.
  std::student_t_distribution<double> tailed(30);
  const std::pair<FigureKind, double> kinds[] = {{FigureKind::link, 0.002},    {FigureKind::link, 0.002},
                                                 {FigureKind::memory, 0.003},  {FigureKind::memory, 0.003},
                                                 {FigureKind::compute, 0.003}, {FigureKind::compute, 0.003},
                                                 {FigureKind::latency, 0.005}, {FigureKind::small_copy, 0.015},
                                                 {FigureKind::matrix, 0.01},   {FigureKind::call, 0.03}};
  std::vector<FleetRun> runs;
  for (int number = 0; number < 10000; ++number) {
    FleetRun& run = runs.emplace_back(run_of(number, 10));
    run.host = "node" + std::to_string(number / 8);
    run.gpus[0].id = "cuda:" + std::to_string(number % 8);
    run.gpus[0].series.clear();
    run.gpus[0].figures.clear();
    int which = 0;
    for (const auto& [kind, sigma] : kinds) {
      const double us = 10 * std::exp(sigma * std::sqrt(28.0 / 30) * tailed(random));
      run.gpus[0].figures.push_back(figure_of(kind, ("figure " + std::to_string(which++)).c_str(), us));
    }
  }
  CHECK(judge_fleet(runs).suspects() == 0);
  CHECK(judge_fleet(runs).slow_hosts() == 0);
  Uuids planted;
  for (std::size_t i = 0; i < 20; ++i) {
    FleetFigure& figure = runs[500 * i + 7].gpus[0].figures[i % 6];  // links, memory, computing: 5 %
    figure = figure_of(figure.kind, figure.name.c_str(), figure.value * 1.05);
    planted.push_back(runs[500 * i + 7].gpus[0].uuid);
  }
  const Fleet fleet = judge_fleet(runs);
  Uuids found = suspected(fleet);
  std::ranges::sort(found);
  std::ranges::sort(planted);
  CHECK(found == planted);
  CHECK(fleet.confirmed() == 20);
}

TEST_CASE("what fewer than five GPUs of a group have is not judged") {
  auto runs = fleet_of({1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  for (std::size_t i = 0; i < 4; ++i)
    runs[i].gpus[0].figures = {figure_of(FigureKind::latency, "rare", i == 3 ? 9.0 : 1.0)};
  CHECK(suspected(judge_fleet(runs)).empty());
  runs[4].gpus[0].figures = runs[0].gpus[0].figures;
  CHECK(suspected(judge_fleet(runs)) == Uuids{"GPU-3"});
}

TEST_CASE("calls of all GPUs of a host are the host's, those of one GPU are the GPU's") {
  std::vector<FleetRun> runs;
  for (int number = 0; number < 24; ++number) {
    const int host = number / 4;
    runs.push_back(run_of(number, 10));
    runs.back().host = "node" + std::to_string(host);
    runs.back().gpus[0].id = "cuda:" + std::to_string(number % 4);
    // Hosts differ by up to 6 %, and one takes twice the time.
    const double us = (host == 3 ? 20 : 10 + 0.1 * host) * (number == 9 ? 1.6 : 1);
    runs.back().gpus[0].figures.push_back(figure_of(FigureKind::call, "launch until done", us));
  }
  const Fleet fleet = judge_fleet(runs);
  CHECK(suspected(fleet) == Uuids{"GPU-9"});
  REQUIRE(fleet.groups[0].hosts.size() == 1);
  CHECK(fleet.groups[0].hosts[0].host == "node3");
  CHECK(fleet.groups[0].hosts[0].gpus == 4);
  CHECK(fleet.groups[0].hosts[0].findings.at(0).text == "96 % more time than on other hosts");
  CHECK(exclude_text(fleet).empty());
}

TEST_CASE("clones of a virtual machine, and GPUs that moved, are told by their hosts") {
  auto runs = fleet_of({10, 10, 10, 10, 10, 10, 10, 20});
  for (const std::size_t i : {6, 7}) {
    runs[i].gpus[0].uuid = "GPU-same";
    runs.push_back(runs[i]);
    runs.back().run_uuid += "again";
    runs.back().date = "2026-11-21T00:00:00Z";
  }
  Fleet fleet = judge_fleet(runs);
  CHECK(fleet.gpus() == 8);
  REQUIRE(fleet.suspects() == 1);
  CHECK(fleet.groups[0].members[fleet.groups[0].suspects[0].member].host == "node7");
  REQUIRE(fleet.notes.size() == 1);
  CHECK(fleet.notes[0].find("GPU-same is on 2 hosts, node6 and node7 among them: clones") == 0);
  runs.pop_back();
  runs.pop_back();
  runs[7].date = "2026-11-22T00:00:00Z";
  fleet = judge_fleet(runs);
  REQUIRE(fleet.notes.size() == 1);
  CHECK(fleet.notes[0] ==
        "GPU-same moved from node6 to node7 (there since 2026-11-22): each place is judged by itself");
}

TEST_CASE("no line for Slurm names a host whose name several machines have") {
  auto runs = fleet_of({10, 10, 10, 10, 10, 20});
  for (FleetRun& run : runs) run.host = "vm";
  const Fleet fleet = judge_fleet(runs);
  CHECK(suspected(fleet) == Uuids{"GPU-5"});
  CHECK(exclude_text(fleet).empty());
  REQUIRE(fleet.notes.size() == 1);
  CHECK(fleet.notes[0].find("6 GPUs were cuda:0 of vm") == 0);
}

TEST_CASE("the traces of a GPU are one value") {
  auto runs = fleet_of({10, 10, 10, 10, 10});
  for (const double us : {10.0, 20.0, 10.1}) {
    runs.push_back(run_of(9, us));
    runs.back().run_uuid += std::to_string(us);
  }
  const Fleet fleet = judge_fleet(runs);
  CHECK(suspected(fleet).empty());
  CHECK(fleet.gpus() == 6);
  const FleetMember& last = fleet.groups[0].members.back();
  CHECK(last.traces == 3);
  CHECK(last.values[0].value == doctest::Approx(10.1));
}

TEST_CASE("missing is what a trace's own plan had") {
  auto runs = fleet_of({10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10});
  // It is there without a valid time: whatever others have.
  runs[3].gpus[0].series[0].is_measured = false;
  runs[3].gpus[0].series[0].why = "out of memory";
  Fleet fleet = judge_fleet(runs);
  CHECK(suspected(fleet) == Uuids{"GPU-3"});
  const FleetSuspect& suspect = fleet.groups[0].suspects[0];
  CHECK(suspect.findings.at(0).suspicion == Suspicion::missing);
  CHECK(suspect.findings.at(0).text == "no valid figure: out of memory");
  CHECK(suspect.causes.at(0).cause == "missing");
  CHECK_FALSE(suspect.confirmed());
  CHECK(suspected(judge_fleet({runs[3]})) == Uuids{"GPU-3"});  // of a single trace, too
  // It is not there: others with the same plan have it, and of another plan it is not missed.
  runs[3].gpus[0].series.clear();
  runs[3].complete = false;
  fleet = judge_fleet(runs);
  CHECK(suspected(fleet) == Uuids{"GPU-3"});
  CHECK(fleet.groups[0].suspects[0].findings.at(0).text == "no valid figure: its run did not reach its end");
  CHECK(fleet.incomplete == 1);
  runs[3].plan = "transfer --device cuda:0\n0.1.0 abc";
  CHECK(suspected(judge_fleet(runs)).empty());
  runs[3].plan = "check --level 2\n0.2.0 def";  // another build plans otherwise
  CHECK(suspected(judge_fleet(runs)).empty());
  // Two of twelve: that is no exception any more.
  runs[3].plan = runs[4].plan;
  runs[4].gpus[0].series.clear();
  CHECK(suspected(judge_fleet(runs)).empty());
}

TEST_CASE("a small group is not judged, and says so") {
  auto runs = fleet_of({10, 10, 10, 30});
  Fleet fleet = judge_fleet(runs);
  CHECK(suspected(fleet).empty());
  CHECK_FALSE(fleet.groups[0].judged);
  REQUIRE(fleet.groups[0].notes.size() == 1);
  CHECK(fleet.groups[0].notes[0] ==
        "4 GPUs: fewer than 5 are not compared with each other, and each is judged alone, by what its own link, memory "
        "and clocks allow; npgpu compare A.h5 B.h5 compares two, npgpu check --reference GOOD.h5 judges one by a good "
        "run");
  // What is wrong with a GPU by itself is found there, too.
  runs[2].gpus[0].defects = {{"results", "3 of 60 results compared were wrong", "take it out of service"}};
  fleet = judge_fleet(runs);
  CHECK(suspected(fleet) == Uuids{"GPU-2"});
  CHECK(fleet.groups[0].suspects[0].causes.at(0).cause == "results");
  CHECK(exclude_text(fleet) == "--exclude=node2");
}

TEST_CASE("of a mixed fleet each card is compared with its like, or against its own limits") {
  auto runs = fleet_of({10, 10, 10, 10, 10, 30, 31});
  for (const int i : {5, 6}) runs[i].gpus[0].name = "NVIDIA L4";
  const auto verdict = [&] { return verdict_text(judge_fleet(runs)); };
  CHECK(suspected(judge_fleet(runs)).empty());
  CHECK(verdict() == "no suspect among 7 GPUs; 2 not compared");
  runs[6].gpus[0].slow = {{"h2d_rate", "H2D 12 GB/s, at least 24 GB/s", "reseat it"}, {"pcie_link", "x8", "reseat it"}};
  const Fleet fleet = judge_fleet(runs);
  CHECK(suspected(fleet) == Uuids{"GPU-6"});
  CHECK(fleet.confirmed() == 0);
  REQUIRE(fleet.groups[1].suspects[0].causes.size() == 1);  // each remedy once
  CHECK(fleet.groups[1].suspects[0].causes[0].text == "H2D 12 GB/s, at least 24 GB/s: reseat it");
  CHECK(verdict() == "1 suspect of 7 GPUs: 1 to be looked at; 2 not compared");
  // Among others that are the same nobody stands out: a note says what the limits say.
  for (int i = 0; i < 5; ++i) runs[i].gpus[0].slow = {{"h2d_rate", "H2D 12 GB/s, at least 51 GB/s", "reseat it"}};
  const Fleet all = judge_fleet(runs);
  CHECK(suspected(all) == Uuids{"GPU-6"});
  CHECK(all.groups[0].notes.at(0).find("5 of its GPUs that are like the others are slow") == 0);
}

TEST_CASE("GPUs without UUIDs are told by their PCI address, and where there is none it is said") {
  const auto unnamed = [](const std::vector<std::string>& buses) {
    auto runs = fleet_of(std::vector<double>(buses.size(), 10));
    for (std::size_t i = 0; i < runs.size(); ++i) {
      runs[i].host = "vm";
      runs[i].gpus[0].uuid.clear();
      runs[i].gpus[0].bus = buses[i];
    }
    return judge_fleet(runs);
  };
  CHECK(unnamed({"0000:18:00.0", "0000:2a:00.0", "0000:18:00.0"}).gpus() == 2);
  CHECK(unnamed({"0000:18:00.0", "0000:2a:00.0", "0000:18:00.0"}).notes.empty());
  const Fleet none = unnamed({"", "", ""});
  CHECK(none.gpus() == 1);
  REQUIRE(none.notes.size() == 1);
  CHECK(none.notes[0].find("3 traces are of cuda:0 of vm, without a UUID or a PCI address: whether that is one GPU") ==
        0);
  CHECK(unnamed({""}).notes.empty());
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

TEST_CASE("a few GPUs of a lesser link than many others are to be looked at") {
  auto runs = fleet_of(std::vector<double>(12, 10));
  runs[6].gpus[0].link = "PCIe Gen5 x8";
  const Fleet fleet = judge_fleet(runs);
  REQUIRE(fleet.groups.size() == 2);
  CHECK(suspected(fleet) == Uuids{"GPU-6"});
  CHECK(fleet.groups[1].suspects.at(0).findings.at(0).text == "at most PCIe Gen5 x8 (11 others: PCIe Gen5 x16)");
  CHECK(fleet.groups[1].suspects.at(0).causes.at(0).cause == "link");
  CHECK(exclude_text(fleet).empty());
}

TEST_CASE("causes are what differs from the group, with a remedy") {
  auto runs = fleet_of({10, 10, 10, 10, 10, 10, 10, 12, 10});
  for (FleetRun& run : runs) {
    set_fact(run, FleetFact::pcie_lanes, 16);
    set_fact(run, FleetFact::pcie_generation, 5);
    set_fact(run, FleetFact::multiprocessors, 132);
    set_fact(run, FleetFact::sm_clock_mhz, 1980);
    set_fact(run, FleetFact::throttled, 0);
    set_fact(run, FleetFact::temperature_c, 50);
    run.gpus[0].settings = {{"iommu_domain", "identity"}, {"power_limit_w", "700"}};
  }
  set_fact(runs[7], FleetFact::pcie_lanes, 8);
  set_fact(runs[7], FleetFact::sm_clock_mhz, 1410);
  set_fact(runs[7], FleetFact::throttled, 0.5);
  set_fact(runs[7], FleetFact::temperature_c, 90);
  runs[7].gpus[0].throttle = "throttled in 30 of 60 visits: too hot";
  runs[7].gpus[0].settings = {{"iommu_domain", "DMA"}, {"power_limit_w", "500"}};
  set_fact(runs[2], FleetFact::sm_clock_mhz, 1950);    // a step or two of boost
  set_fact(runs[8], FleetFact::multiprocessors, 131);  // a count that differs is one by itself
  const Fleet fleet = judge_fleet(runs);
  CHECK(suspected(fleet) == Uuids{"GPU-7", "GPU-8"});
  const FleetSuspect& slow = fleet.groups[0].suspects[0];
  std::vector<std::string> texts;
  for (const FleetFinding& finding : slow.findings)
    if (finding.suspicion == Suspicion::differs) texts.push_back(finding.what + ": " + finding.text);
  CHECK(texts == std::vector<std::string>{"PCIe lanes: 8 (others: 16)", "SM clock under load: 1410 MHz (others: 1980)",
                                          "clocks held back: in 50 % of its visits (others: 0 %)"});
  std::vector<std::string> causes;
  for (const FleetCause& cause : slow.causes) causes.push_back(cause.cause);
  CHECK(causes == std::vector<std::string>{"link", "hot", "throttled", "clock", "power_limit_w", "iommu_domain"});
  CHECK(slow.causes[0].text ==
        "PCIe Gen5 x8 under load (others: PCIe Gen5 x16): reseat GPU or riser; see LnkSta in lspci -vv");
  CHECK(slow.causes[5].text ==
        "IOMMU domain DMA (others: identity): iommu=pt on the kernel's command line, or off in the BIOS");
  CHECK(fleet.groups[0].suspects[1].findings.at(0).suspicion == Suspicion::differs);
  CHECK(fleet.groups[0].suspects[1].causes.at(0).cause == "multiprocessors");
  CHECK(exclude_text(fleet) == "--exclude=node7,node8");
}

TEST_CASE("clocks and heat of minutes at full power are not compared with those of short runs") {
  for (const bool soaks_are_usual : {false, true}) {
    auto runs = fleet_of({10, 10, 10, 10, 10, 10, 10, 10, 10});
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const bool is_soak = soaks_are_usual ? i > 1 : i <= 1;
      runs[i].gpus[0].is_under_load = is_soak;
      set_fact(runs[i], FleetFact::sm_clock_mhz, is_soak ? 1710 : 1980);
      set_fact(runs[i], FleetFact::throttled, is_soak ? 0.5 : 0);
      set_fact(runs[i], FleetFact::temperature_c, is_soak ? 82 : 46);
    }
    CHECK(suspected(judge_fleet(runs)).empty());
    set_fact(runs[8], FleetFact::sm_clock_mhz, 1200);  // among its like
    CHECK(suspected(judge_fleet(runs)) == Uuids{"GPU-8"});
  }
}

TEST_CASE("one direction only and large copies only are said") {
  auto runs = fleet_of({10, 10, 10, 10, 10, 10});
  for (FleetRun& run : runs)
    run.gpus[0].figures = {figure_of(FigureKind::link, "host to GPU, pinned", 10),
                           figure_of(FigureKind::link, "GPU to host, pinned", 10),
                           figure_of(FigureKind::small_copy, "smallest copy to the GPU", 2)};
  runs[1].gpus[0].figures[0] = figure_of(FigureKind::link, "host to GPU, pinned", 20);
  const Fleet fleet = judge_fleet(runs);
  CHECK(suspected(fleet) == Uuids{"GPU-1"});
  std::vector<std::string> causes;
  for (const FleetCause& cause : fleet.groups[0].suspects[0].causes) causes.push_back(cause.cause);
  CHECK(causes == std::vector<std::string>{"one_direction", "large_only"});
}

TEST_CASE("where half of a group are slow none is confirmed: which of them are right cannot be known") {
  const auto group_of = [](std::size_t fast, std::size_t slow) {
    std::vector<double> times(fast, 10);
    times.insert(times.end(), slow, 12);
    return judge_fleet(fleet_of(times));
  };
  const Fleet few = group_of(5, 4);
  CHECK(few.suspects() == 4);
  CHECK(few.confirmed() == 4);
  const Fleet half = group_of(5, 5);
  CHECK(half.suspects() == 5);
  CHECK(half.confirmed() == 0);
  CHECK(exclude_text(half).empty());
  CHECK(group_of(4, 6).suspects() == 0);  // what most have is usual
}

TEST_CASE("a group of which half or more are slow by their own limits is undecided where all are alike") {
  const auto doubt_in = [](std::size_t slow, const char* metric) {
    auto runs = fleet_of(std::vector<double>(20, 10.0));
    for (std::size_t i = 0; i < slow; ++i) runs[i].gpus[0].slow = {{metric, "4.0 TB/s, at least 4.4 TB/s", ""}};
    return judge_fleet(runs);
  };
  for (const std::size_t slow : {10U, 20U}) {
    const Fleet fleet = doubt_in(slow, "memory_read_rate");
    CHECK(fleet.suspects() == 0);
    CHECK(fleet.in_doubt() == slow);
    CHECK(verdict_text(fleet).find("undecided: " + std::to_string(slow) + " GPUs like the others") !=
          std::string::npos);
  }
  CHECK(doubt_in(9, "memory_read_rate").in_doubt() == 0);
  CHECK(doubt_in(20, "launch_time").in_doubt() == 0);  // the host's, of which only a coarse limit is known
}

TEST_CASE("a part of a GPU is compared with parts") {
  TransferSeries series = sweep_of(Pattern::stream, Timing::gated);
  series.question.target = "cuda:0";
  series.device_name = "NVIDIA H200";
  add_point(series, 1 << 20, {20, 20, 20});
  Trace trace;
  trace.of<Transfers>() = {series};
  for (const std::int64_t mig : {0, 1}) {
    trace.provenance = {{"gpu0", Facts{{"id", std::string("cuda:0")}, {"mig_mode", mig}}}};
    CHECK(fleet_run(trace).gpus.at(0).name == (mig ? "NVIDIA H200, part of it (MIG)" : "NVIDIA H200"));
  }
}

TEST_CASE("slow copies to other GPUs are what check says they are, though the group is compared by other figures") {
  auto runs = fleet_of({10, 10, 10, 10, 10, 10});
  runs[4].gpus[0].slow = {
      {"peer_rate", "copies are slow: 200 GB/s", "reset the GPU", "nvlinks", "its NVLinks are slow"},
      {"d2d_rate", "2 TB/s, at least 2.1 TB/s", ""}};
  const Fleet fleet = judge_fleet(runs);
  REQUIRE(fleet.suspects() == 1);
  const FleetSuspect& suspect = fleet.groups.at(0).suspects.at(0);
  CHECK(suspect.verdict() == CheckVerdict::slow);
  CHECK(suspect.confirmed());
  REQUIRE(suspect.findings.size() == 1);
  CHECK(suspect.findings[0].what == "peer_rate");
  CHECK(suspect.causes.at(0).cause == "nvlinks");
  CHECK(suspect.causes[0].text == "its NVLinks are slow (copies are slow: 200 GB/s): reset the GPU");
}

TEST_CASE("a node that lost a GPU is broken, and none of its others is accused") {
  auto runs = fleet_of({10, 10, 10, 10, 10, 10});
  runs[2].defects = {{"gpus_on_bus", "of 2 NVIDIA GPUs on the PCI bus not all answer", "drain the node"}};
  const Fleet fleet = judge_fleet(runs);
  CHECK(fleet.suspects() == 0);
  REQUIRE(fleet.broken_hosts.size() == 1);
  CHECK(fleet.broken_hosts[0].host == runs[2].host);
  CHECK(fleet.excluded_hosts() == std::vector{runs[2].host});
  std::ostringstream text, json, metrics, page;
  fleet_text(text, fleet, false, {});
  CHECK(text.str().find("BROKEN") != std::string::npos);
  CHECK(text.str().find("do: drain the node") != std::string::npos);
  CHECK(text.str().find("no suspect among 6 GPUs; 1 host broken") != std::string::npos);
  fleet_json(json, fleet);
  CHECK(json.str().find("\"gpus_on_bus\"") != std::string::npos);
  fleet_openmetrics(metrics, fleet);
  CHECK(metrics.str().find("npgpu_fleet_broken_host{host=\"" + runs[2].host + "\",metric=\"gpus_on_bus\"} 1\n") !=
        std::string::npos);
  fleet_html(page, fleet);
  CHECK(page.str().find("not all answer") != std::string::npos);

  Trace trace;
  trace.provenance = {{"census", {{"gpus_on_bus", std::int64_t{2}}, {"gpus_lost", std::string("0000:b3:00.0: lost")}}}};
  REQUIRE(fleet_run(trace).defects.size() == 1);
  CHECK(fleet_run(trace).defects[0].metric == "gpus_on_bus");
}

TEST_CASE("who is compared with nothing is not judged, and not without fault") {
  // Six GPUs that were measured at a size of their own each.
  auto six = fleet_of({10, 10, 10, 10, 10, 20});
  for (std::size_t i = 0; i < six.size(); ++i) six[i].gpus[0].figures[0].at = std::to_string(i) + " MiB";
  const Fleet apart = judge_fleet(six);
  CHECK_FALSE(apart.groups[0].judged);
  CHECK(apart.groups[0].notes.at(0).find("no figure was measured on 5 GPUs or more: each is judged alone") == 0);
}

TEST_CASE("a slow GPU without a cause says so, and a host whose GPUs are all slow is one") {
  auto runs = fleet_of({10, 10, 10, 10, 10, 10, 12});
  CHECK(judge_fleet(runs).groups[0].suspects.at(0).causes.at(0).cause == "memory");
  for (FleetRun& run : runs) run.gpus[0].figures[0].kind = FigureKind::latency;
  CHECK(judge_fleet(runs).groups[0].suspects.at(0).causes.at(0).cause == "unknown");
  runs.push_back(runs[6]);
  runs[7].run_uuid = runs[7].gpus[0].uuid = "GPU-7";
  runs[7].gpus[0].id = "cuda:1";
  const Fleet fleet = judge_fleet(runs);
  REQUIRE(fleet.suspects() == 2);
  for (const FleetSuspect& suspect : fleet.groups[0].suspects) {
    REQUIRE(suspect.causes.size() == 1);
    CHECK(suspect.causes[0].text == "all 2 GPUs of node6 are suspects: look at the host");
  }
}

TEST_CASE("what others disturbed is not judged") {
  auto runs = fleet_of({10, 10, 10, 10, 10, 20});
  CHECK(suspected(judge_fleet(runs)) == Uuids{"GPU-5"});
  runs[5].gpus[0].figures[0].disturbed = true;
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
  runs.back().hash = 4711;  // as in a merged file, or before it was complete
  runs.back().complete = false;
  CHECK(judge_fleet(runs).duplicates == 1);
  CHECK(judge_fleet(runs).incomplete == 0);
  runs.back().gpus[0].uuid = "GPU-of-another-rank";
  CHECK(judge_fleet(runs).duplicates == 0);
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
  REQUIRE(run.gpus[0].series.size() == 1);
  CHECK(run.gpus[0].series[0].title.find("cuda:") == std::string::npos);
  CHECK(run.gpus[0].series[0].is_measured);
}

TEST_CASE("a trace's series without a valid time says so") {
  for (const double us : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    TransferSeries series = sweep_of(Pattern::stream, Timing::gated);
    series.question.source = "host";
    series.question.target = "cuda:0";
    series.device_uuid = "GPU-0";
    for (std::uint64_t bytes = 1 << 20; bytes <= 32 << 20; bytes *= 2) add_point(series, bytes, {us, us, us});
    Trace trace;
    trace.root.hostname = "node1";
    trace.of<Transfers>() = {series};
    const FleetRun run = fleet_run(trace);
    REQUIRE(run.gpus.size() == 1);
    CHECK(run.gpus[0].figures.empty());
    CHECK_FALSE(run.gpus[0].series.at(0).is_measured);
    CHECK_FALSE(run.gpus[0].series.at(0).why.empty());
    const Fleet fleet = judge_fleet({run});
    REQUIRE(fleet.suspects() == 1);
    CHECK(fleet.groups[0].suspects[0].findings.at(0).suspicion == Suspicion::missing);
  }
}

TEST_CASE("runs of one GPU follow one plan, whichever of its node's it was") {
  const auto plan_for = [](const char* plan) {
    TransferSeries series = sweep_of(Pattern::stream, Timing::gated);
    series.question.target = "cuda:1";
    add_point(series, 1 << 20, {20, 20, 20});
    Trace trace;
    trace.root.plan = plan;
    trace.of<Transfers>() = {series};
    const FleetRun run = fleet_run(trace);
    REQUIRE(run.gpus.size() == 1);
    return run.plan;
  };
  CHECK(plan_for("check --device cuda:1 --level 1") == plan_for("check --level 1"));
  CHECK(plan_for("check --level 1 --device cuda:1") == plan_for("check --level 1"));
  CHECK(plan_for("check --device cuda:1 --level 2") != plan_for("check --level 1"));
}

TEST_CASE("key figures of a trace are links each way, with their interval") {
  TransferSeries series = sweep_of(Pattern::stream, Timing::gated);
  series.question.source = "host";
  series.question.target = "cuda:0";
  series.question.memory = Memory::pinned;
  series.device_uuid = "GPU-0";
  for (std::uint32_t round = 0; round < 6; ++round)
    for (std::uint64_t bytes = 1 << 20; bytes <= 32 << 20; bytes *= 2) {
      const double us = static_cast<double>(bytes) / 50e3 * (round < 3 ? 1 : 1.1);  // 50 GB/s
      add_point(series, bytes, {us, us, us}).round = round;
    }
  Trace trace;
  trace.of<Transfers>() = {series};
  const FleetRun run = fleet_run(trace);
  REQUIRE(run.gpus.size() == 1);
  REQUIRE(run.gpus[0].figures.size() == 1);
  const FleetFigure& figure = run.gpus[0].figures[0];
  CHECK(figure.kind == FigureKind::link);
  CHECK(figure.name == "host to GPU, pinned");
  CHECK(figure.at.empty());
  CHECK(figure.value == doctest::Approx(50e9 / 1.05));
  CHECK(figure.high > 50e9 / 1.04);
  CHECK(figure.low < 50e9 / 1.06);
}

}  // namespace fleet_test
