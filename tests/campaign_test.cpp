// From a plan into a trace, over backends made for the purpose, whose times, refusals and failures are given.
#include "tests/made_campaign.hpp"

namespace campaign_test {

using namespace made_campaign;
using namespace npgpu;
using namespace npgpu::cli;

TEST_CASE("steps go from case to case in the plan's order, and trials are numbered through") {
  const ScratchFolder folder;
  Made made;
  const Ran ran =
      run(folder / "t.h5", made, {step(Workload::memory, 1), step(Workload::compute, 4), step(Workload::memory, 2)});
  CHECK(ran.campaign.measured == 3);
  CHECK(ran.trace.root.plan == "made");
  REQUIRE(ran.trace.of<Jobs>().size() == 2);
  const JobSeries& memory = ran.trace.of<Jobs>()[0];
  const JobSeries& compute = ran.trace.of<Jobs>()[1];
  CHECK(memory.question.workload == Workload::memory);
  CHECK(memory.binding == "made");
  CHECK(memory.simulated);
  REQUIRE(memory.visits.size() == 2);
  CHECK(memory.visits[1].axes.chunks == 2);
  REQUIRE(compute.samples.size() == 2);
  CHECK(memory.samples[1].number == 1);
  CHECK(compute.samples[0].number == 2);
  REQUIRE(memory.samples.size() == 4);
  CHECK(memory.samples[2].number == 4);
}

namespace {

// Two cases of six and three cuts.
std::vector<JobStep> several() {
  std::vector<JobStep> steps;
  for (std::uint32_t chunks = 1; chunks <= 6; ++chunks) steps.push_back(step(Workload::memory, chunks));
  for (std::uint32_t chunks = 1; chunks <= 3; ++chunks) steps.push_back(step(Workload::compute, chunks));
  return steps;
}

constexpr int runs_of_visit = 3;  // one to warm up, and two trials

// A point's case and number of chunks, and the round of a visit to it.
using PointAndRound = std::tuple<Workload, std::uint32_t, std::uint32_t>;

// All visits, in order of time.
std::vector<PointAndRound> visits_of(const Trace& trace) {
  std::map<std::uint64_t, PointAndRound> by_number;
  for (const JobSeries& series : trace.of<Jobs>())
    for (const Visit<Jobs>& visit : series.visits)
      by_number[samples_of(series, visit).front().number] = {series.question.workload, visit.axes.chunks, visit.round};
  std::vector<PointAndRound> all;
  for (const auto& [number, visit] : by_number) all.push_back(visit);
  return all;
}

std::multiset<PointAndRound> set_of(const Trace& trace) {
  std::multiset<PointAndRound> all;
  for (const JobSeries& series : trace.of<Jobs>())
    for (const Visit<Jobs>& visit : series.visits)
      all.insert({series.question.workload, visit.axes.chunks, visit.round});
  return all;
}

}  // namespace

TEST_CASE("in three rounds every point is visited once in each, in an order that the seed decides") {
  const ScratchFolder folder;
  Made made;
  const auto ran = [&](const char* name, std::uint64_t seed) {
    return run(folder / name, made, several(), IfExists::refuse, made_device(), 3, seed);
  };
  const Ran first = ran("first.h5", 1);
  CHECK(first.campaign.measured == 9);  // points, not visits
  CHECK(first.trace.root.seed == 1);
  CHECK(made.runs == 9 * 3 * runs_of_visit);
  std::multiset<PointAndRound> expected;
  for (const JobStep& one : several())
    for (std::uint32_t round = 0; round < 3; ++round) expected.insert({one.question.workload, one.axes.chunks, round});
  CHECK(set_of(first.trace) == expected);
  const auto order = visits_of(first.trace);
  REQUIRE(order.size() == 27);
  CHECK(std::ranges::is_sorted(order, {}, [](const PointAndRound& one) { return std::get<2>(one); }));
  // A round has the points of a case in a row, in an order of its own.
  const auto round = [&](std::uint32_t number, Workload workload) {
    std::vector<std::uint32_t> chunks;
    for (const auto& [of, count, in] : order)
      if (of == workload && in == number) chunks.push_back(count);
    return chunks;
  };
  CHECK(round(0, Workload::memory) != round(1, Workload::memory));
  CHECK(round(1, Workload::memory) != round(2, Workload::memory));
  for (std::size_t i = 0; i < 27; i += 9) {
    int changes = 0;
    for (std::size_t k = i + 1; k < i + 9; ++k) changes += std::get<0>(order[k]) != std::get<0>(order[k - 1]);
    CHECK(changes == 1);
  }
  CHECK(visits_of(ran("same.h5", 1).trace) == order);
  const Ran other = ran("other.h5", 2);
  CHECK(set_of(other.trace) == expected);
  CHECK(visits_of(other.trace) != order);
}

TEST_CASE("one round goes as the plan does, whatever the seed") {
  const ScratchFolder folder;
  Made made;
  const Ran ran = run(folder / "t.h5", made, several(), IfExists::refuse, made_device(), 1, 5);
  std::vector<PointAndRound> planned;
  for (const JobStep& one : several()) planned.emplace_back(one.question.workload, one.axes.chunks, 0u);
  CHECK(visits_of(ran.trace) == planned);
}

TEST_CASE("visits tell when they began, and a point's stop is known after its last") {
  const ScratchFolder folder;
  Made made;
  const Ran ran = run(folder / "t.h5", made, several(), IfExists::refuse, made_device(), 3);
  double before = 0;
  std::map<std::uint64_t, double> begun;
  for (const JobSeries& series : ran.trace.of<Jobs>())
    for (const Visit<Jobs>& visit : series.visits) begun[samples_of(series, visit).front().number] = visit.at_s;
  for (const auto& [number, at_s] : begun) {
    CHECK(at_s >= before);
    before = at_s;
  }
  for (const auto& point : points_of(ran.trace.of<Jobs>().at(0))) {
    CHECK(point.visits.size() == 3);
    CHECK(point.stop() == Stop::trials);
    CHECK(point.disturbed() == 0);
  }
}

TEST_CASE("a run that is stopped between and within rounds, and resumed, ends with the same points and rounds") {
  const ScratchFolder folder;
  Made whole;
  const auto expected = set_of(run(folder / "whole.h5", whole, several(), IfExists::refuse, made_device(), 3, 1).trace);
  // A round has nine visits: before any of the third round; within one of the second; at the very first run.
  for (const int stops_at : {18 * runs_of_visit + 1, 11 * runs_of_visit + 2, 1}) {
    CAPTURE(stops_at);
    const auto path = folder / "stopped.h5";
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {  // that it was asked to stop is never forgotten
      catch_signals();
      Made made;
      made.stops_at = stops_at;
      _exit(exit_code_of(run(path, made, several(), IfExists::refuse, made_device(), 3, 1).campaign));
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == exit_code::stopped);
    const Trace stopped = read_trace(path);
    CHECK_FALSE(stopped.root.complete);
    const auto kept = set_of(stopped);
    CHECK(kept.size() == static_cast<std::size_t>((stops_at - 1) / runs_of_visit));
    Made made;
    const Ran resumed = run(path, made, several(), IfExists::resume, made_device(), 3, 2);
    CHECK(resumed.trace.root.complete);
    CHECK(set_of(resumed.trace) == expected);
    CHECK(made.runs == runs_of_visit * static_cast<int>(expected.size() - kept.size()));
    for (std::size_t i = 0; i < stopped.of<Jobs>().size(); ++i) {
      const auto& then = stopped.of<Jobs>()[i].visits;
      const auto& now = resumed.trace.of<Jobs>().at(i).visits;
      REQUIRE(now.size() >= then.size());
      for (std::size_t row = 0; row < then.size(); ++row) {
        CHECK(now[row].axes == then[row].axes);
        CHECK(now[row].round == then[row].round);
      }
    }
    std::filesystem::remove(path);
  }
}

TEST_CASE("a complete run that is resumed visits nothing again") {
  const ScratchFolder folder;
  Made made;
  const auto again = [&](IfExists how) { return run(folder / "t.h5", made, several(), how, made_device(), 3); };
  const Ran first = again(IfExists::refuse);
  const int runs = made.runs;
  const Ran second = again(IfExists::resume);
  CHECK(made.runs == runs);
  CHECK(second.campaign.measured == 0);
  CHECK(second.campaign.kept == 9);
  CHECK(set_of(second.trace) == set_of(first.trace));
}

TEST_CASE("axes that depend on the device are chosen by the runner, which is told what the trace has") {
  const ScratchFolder folder;
  Made made;
  const Ran first = run(folder / "t.h5", made, {step(Workload::compute, 1, 2.0), step(Workload::compute, 2, 2.0)});
  REQUIRE(first.trace.of<Jobs>().size() == 1);
  CHECK(first.trace.of<Jobs>()[0].visits.at(0).axes.iterations == 2000);
  CHECK(first.trace.of<Jobs>()[0].visits.at(1).axes.iterations == 2000);
  CHECK(made.calibrations == 1);

  // A third cut, by a ratio that would now give something else: the trace's iterations stay, and nothing is calibrated.
  const Ran second =
      run(folder / "t.h5", made,
          {step(Workload::compute, 1, 3.0), step(Workload::compute, 2, 3.0), step(Workload::compute, 4, 3.0)},
          IfExists::resume);
  CHECK(second.campaign.kept == 2);
  CHECK(second.campaign.measured == 1);
  CHECK(second.trace.of<Jobs>().at(0).visits.at(2).axes.iterations == 2000);
  CHECK(made.calibrations == 1);
}

TEST_CASE("a series that fails is given up, once, and the rest carries on") {
  const ScratchFolder folder;
  Made made;
  made.fails = Workload::memory;
  const Ran ran =
      run(folder / "t.h5", made, {step(Workload::memory, 1), step(Workload::compute, 4), step(Workload::memory, 2)});
  CHECK(ran.campaign.measured == 1);
  CHECK(exit_code_of(ran.campaign) == exit_code::failed);
  REQUIRE(ran.campaign.failures.size() == 1);
  CHECK(ran.campaign.failures[0].find("1 chunk in 1 stream: it broke") != std::string::npos);
  CHECK(ran.trace.of<Jobs>().at(0).error.find("it broke") != std::string::npos);
  CHECK(ran.trace.of<Jobs>().at(1).error.empty());
}

TEST_CASE("a runner that does not open is an error of every series of its batch") {
  const ScratchFolder folder;
  Made made;
  made.opens = false;
  const Ran ran = run(folder / "t.h5", made, {step(Workload::memory, 1), step(Workload::compute, 4)});
  CHECK(ran.campaign.measured == 0);
  CHECK(ran.campaign.failures.size() == 2);
  CHECK(ran.trace.of<Jobs>().at(1).error == "out of memory");
}

TEST_CASE("a device that was lost, at opening or at a point, is not touched again") {
  const ScratchFolder folder;
  Made at_point{.fails = Workload::memory, .fails_as = ErrorKind::lost};
  const Ran ran = run(folder / "point.h5", at_point, {step(Workload::memory, 1), step(Workload::compute, 4)});
  CHECK(at_point.runs == 0);
  CHECK(ran.campaign.failures.size() == 2);
  CHECK(ran.trace.of<Jobs>().at(1).error == "made:0 was lost before");
  Made at_open{.fails_as = ErrorKind::lost, .opens = false};
  const MadeBackend backend(at_open);
  Plan plan;
  for (const Workload workload : {Workload::memory, Workload::compute})
    add<Jobs>(plan, backend, made_device(), {step(workload, 1)});
  CHECK(run_campaign(plan, options_for(folder / "open.h5")).failures.size() == 2);
  CHECK(at_open.opened == 1);
}

TEST_CASE("a visit at another clock than the point's first one is marked so") {
  const ScratchFolder folder;
  Made made{.clocks_mhz = {1980, 1980, 1410}};
  const Ran ran = run(folder / "t.h5", made, {step(Workload::memory, 1)}, IfExists::refuse, made_device(), 3);
  std::vector<bool> changed;
  for (const Visit<Jobs>& visit : ran.trace.of<Jobs>().at(0).visits)
    changed.push_back(visit.disturbed & static_cast<std::uint32_t>(Cause::clock_changed));
  CHECK(changed == std::vector{false, false, true});
}

TEST_CASE("a link is as wide as it was at its widest while something was copied") {
  const ScratchFolder folder;
  std::vector<std::string> anew;
  const JoinedFamily joined(anew, {{5, 16}, {4, 8}});
  DeviceInfo device = made_device();
  campaign::Conditions conditions({device});
  for (int look = 0; look < 2; ++look) {
    conditions.copied(device, 64 * MiB);
    conditions.copied(device, 64 * MiB);  // too soon for another look
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
  }
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("first"), made_provenance());
    conditions.note(writer);
    writer.finish();
  }
  const Trace trace = read_trace(folder / "t.h5");
  const auto noted = std::ranges::find(trace.provenance, "gpu0_after", &Provenance::value_type::first);
  REQUIRE(noted != trace.provenance.end());
  CHECK(number_fact(noted->second, "pcie_generation_copying") == 5);
  CHECK(number_fact(noted->second, "pcie_lanes_copying") == 16);
}

TEST_CASE("a device is warmed up once for a batch, and a simulated one never") {
  const ScratchFolder folder;
  Made made;
  DeviceInfo real = made_device();
  real.id = "host";  // others are looked for there
  real.simulated = false;
  run(folder / "real.h5", made, {step(Workload::memory, 1), step(Workload::compute, 4)}, IfExists::refuse, real);
  CHECK(made.warm_ups == 1);
  run(folder / "simulated.h5", made, {step(Workload::memory, 1)});
  CHECK(made.warm_ups == 1);
}

TEST_CASE("each round but the first finds its devices begun anew") {
  const ScratchFolder folder;
  std::vector<std::string> anew;
  const JoinedFamily joined(anew);
  Made made;
  const std::vector<JobStep> steps{step(Workload::memory, 1), step(Workload::compute, 4)};
  (void)run(folder / "t.h5", made, steps, IfExists::refuse, made_device(), 3);
  Made library{.allows_context_reset = false};
  (void)run(folder / "u.h5", library, steps, IfExists::refuse, made_device(), 3);
  CHECK(anew == std::vector<std::string>{"made:0", "made:0"});
}
}  // namespace campaign_test
