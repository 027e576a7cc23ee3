// The numbers of the overview: which cases stand for a device, and that each is what report and derive show.
#include "npgpu/judge/overview.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "tests/made_probe.hpp"
#include "tests/made_sweep.hpp"

namespace overview_test {

using namespace npgpu;

namespace {

TransferSeries copies(Direction direction, Memory memory = Memory::pinned, bool async = true,
                      Timing timing = Timing::gated, Cache cache = Cache::warm) {
  TransferSeries sweep = sweep_of(Pattern::stream, timing);
  sweep.question = case_on("cudaMemcpy", "cuda:0", direction);
  if (direction != Direction::d2d) sweep.question.memory = memory;
  sweep.question.async = async;
  sweep.question.timing = timing;
  sweep.question.cache = cache;
  return sweep;
}

// 1 KiB in `small_us`, 1 MiB in `large_us`.
TransferSeries two_sizes(TransferSeries sweep, double small_us, double large_us) {
  add_point(sweep, KiB, std::vector<double>(7, small_us));
  add_point(sweep, MiB, std::vector<double>(7, large_us));
  return sweep;
}

TransferSeries on(TransferSeries sweep, const std::string& device) {
  if (sweep.question.source != "host") sweep.question.source = device;
  if (sweep.question.target != "host") sweep.question.target = device;
  sweep.device_uuid = "GPU-" + device;
  return sweep;
}

const CopyCurve& named(const DeviceOverview& device, const std::string& name) {
  for (const CopyCurve& curve : device.copies)
    if (curve.name == name) return curve;
  FAIL(name);
  return device.copies.front();
}

}  // namespace

TEST_CASE("a case is shown at the largest size, not where a cache made it fastest") {
  Trace trace;
  trace.of<Transfers>() = {two_sizes(copies(Direction::d2d), 1, 2000)};  // 1.02 GB/s, then 524 MB/s
  trace.of<Transfers>()[0].limit = {1e9, "by hand"};
  const Overview all = overview_of(trace);
  REQUIRE(all.gpus.size() == 1);
  const CopyCurve& curve = named(all.gpus[0], "D2D, async");
  REQUIRE(curve.largest());
  CHECK(curve.largest()->axes.bytes == MiB);
  CHECK(curve.largest()->percent_of_limit == doctest::Approx(52.4288));
  CHECK(curve.at(KiB)->time_us.value == 1);
  CHECK(curve.at(4 * KiB) == nullptr);
}

TEST_CASE(
    "the usual cases come first, each once; of two clocks the device's, within the device what caches do not hold") {
  Trace trace;
  auto& all = trace.of<Transfers>();
  all.push_back(two_sizes(copies(Direction::d2d), 1, 2));
  all.push_back(two_sizes(copies(Direction::h2d, Memory::write_combined), 1, 2));
  all.push_back(two_sizes(copies(Direction::h2d, Memory::pinned, true, Timing::host), 1, 2));
  all.push_back(two_sizes(copies(Direction::d2d, Memory::device, true, Timing::gated, Cache::cold), 1, 2));
  all.push_back(two_sizes(copies(Direction::h2d), 1, 2));
  all.push_back(two_sizes(copies(Direction::d2h, Memory::pageable, false, Timing::host), 1, 2));
  all.push_back(two_sizes(copies(Direction::h2d), 1, 2));
  all.back().question.module = "cuMemcpy";
  const DeviceOverview device = overview_of(trace).gpus.at(0);
  std::vector<std::string> usual, others;
  for (const CopyCurve& curve : device.copies) (curve.is_usual ? usual : others).push_back(curve.name);
  CHECK(usual == std::vector<std::string>{"H2D pinned, async", "D2H pageable, blocking", "D2D, async, cold"});
  CHECK(others == std::vector<std::string>{"cuMemcpy: H2D pinned, async", "H2D pinned, async, host's clock",
                                           "D2D, async", "H2D write-combined, async"});
}

TEST_CASE("staged messages are told apart by their chunks") {
  Trace trace;
  for (const std::uint64_t chunk : {std::uint64_t{0}, 64 * KiB}) {
    TransferSeries sweep = two_sizes(sweep_of(Pattern::stream), 1, 2);
    sweep.question = case_on("mpi", "cuda:0", Direction::peer);
    sweep.question.source = "cuda:0@0";
    sweep.question.target = "cuda:1@1";
    sweep.question.memory = Memory::device;
    sweep.question.access = Access::staged;
    sweep.question.chunk_bytes = chunk;
    trace.of<Transfers>().push_back(sweep);
  }
  std::set<std::string> names;
  for (const DeviceOverview& device : overview_of(trace).gpus)
    for (const CopyCurve& curve : device.copies) names.insert(curve.name);
  CHECK(names.size() == 2);
  for (const char* ending : {", staged", ", staged by 64 KiB"})
    CHECK(std::ranges::count_if(names, [&](const std::string& name) { return name.ends_with(ending); }) == 1);
}

TEST_CASE("counts are of points, whatever the number of visits and lanes, and of results that were compared") {
  Trace trace;
  TransferSeries sweep = sweep_of(Pattern::duplex);
  for (const double us : {1.0, 1.1, 1.2}) add_duplex(sweep, 1000, {us, us}, {2 * us, 2 * us});
  add_duplex(sweep, 2000, {1, 1}, {2, 2});
  sweep.unsteady_above = 0.05;
  disturb(sweep.visits[3], Cause::device_busy);
  for (TransferSample& s : sweep.samples) s.intact = s.visit == 0 ? 1 : -1;
  sweep.samples.back().intact = 0;
  trace.of<Transfers>() = {sweep};
  const Quality q = overview_of(trace).quality;
  CHECK(q.all.points == 2);
  CHECK(q.all.unsteady == 1);
  CHECK(q.all.disturbed == 1);
  CHECK(q.all.unusable == 1);
  CHECK(q.compared == 5);
  CHECK(q.wrong == 1);
  REQUIRE(q.classes.size() == 1);
  CHECK(q.classes[0].first == TimeClass::host_copies);
}

TEST_CASE("a kernel's figure is its corner All-All, with its marks, and its share at the clock of the run") {
  Trace trace;
  ProbeSeries sweep = probe_sweep();
  sweep.limit = {1e9, "4 units"};
  const std::vector<double> steady(9, 2.0), unsteady{1.8, 1.8, 1.8, 2, 2, 2, 2.2, 2.2, 2.2};
  add_point(sweep, {.blocks = 4, .threads = 32}, 1000, unsteady);  // 500 MFLOP/s
  give_cycles(sweep, 800);                                         // of 1000 MHz
  sweep.unsteady_above = 0.05;
  add_point(sweep, {.blocks = 1, .threads = 32}, 250, steady);
  trace.of<Probes>() = {sweep};
  const DeviceOverview device = overview_of(trace).gpus.at(0);
  REQUIRE(device.compute.size() == 1);
  const Figure& figure = device.compute[0];
  CHECK(figure.name == "fp32");
  CHECK(figure.value.value == corners_of(sweep).all_all.value);
  CHECK(figure.value.value == doctest::Approx(500e6));
  CHECK(figure.percent_of_peak == doctest::Approx(50));
  CHECK(figure.percent_at_clock == doctest::Approx(62.5));
  CHECK(figure.unsteady);
  CHECK(figure.disturbed.empty());
}

TEST_CASE("a GPU stands apart where it is clearly worse than the others of its model") {
  Trace trace;
  for (const auto& [device, us] : {std::pair{"cuda:0", 100.0}, {"cuda:1", 102.0}, {"cuda:2", 210.0}, {"cuda:3", 99.0}})
    trace.of<Transfers>().push_back(on(two_sizes(copies(Direction::h2d), 1, us), device));
  Overview all = overview_of(trace);
  REQUIRE(all.gpus.size() == 4);
  REQUIRE(all.differences.size() == 1);
  CHECK(all.differences[0].device == "cuda:2");
  CHECK(all.differences[0].what == "H2D pinned, async at 1 MiB");
  CHECK(all.differences[0].worse_by == doctest::Approx(1 - 100.0 / 210));
  trace.of<Transfers>()[2].device_name = "another model";
  CHECK(overview_of(trace).differences.empty());
}

TEST_CASE("two GPUs that were called cuda:0 in turn are two, each with its own facts") {
  Trace trace;
  trace.of<Transfers>() = {two_sizes(copies(Direction::h2d), 1, 2), two_sizes(copies(Direction::h2d), 1, 4)};
  trace.of<Transfers>()[0].device_uuid = "GPU-a";
  trace.of<Transfers>()[1].device_uuid = "GPU-b";
  for (const char* which : {"a", "b"})
    trace.provenance.emplace_back("gpu" + std::to_string(trace.provenance.size()),
                                  Facts{{"id", "cuda:0"}, {"uuid", std::string("GPU-") + which}, {"serial", which}});
  const Overview all = overview_of(trace);
  REQUIRE(all.gpus.size() == 2);
  REQUIRE(all.gpus[1].copies.size() == 1);
  CHECK(all.gpus[1].copies[0].largest()->time_us.value == 4);
  const Fact* const serial = find_fact(all.gpus[1].facts, "serial");
  REQUIRE(serial);
  CHECK(std::get<std::string>(*serial) == "b");
}

TEST_CASE("how long the run took: to the end of its last visit, or its visits where beginnings are not known") {
  Trace trace;
  trace.of<Transfers>() = {two_sizes(copies(Direction::h2d), 1, 2)};
  auto& visits = trace.of<Transfers>()[0].visits;
  for (auto& visit : visits) visit.wall_us = 2e6;
  CHECK(overview_of(trace).seconds == 4);
  visits[0].at_s = 30;
  visits[1].at_s = 10;
  CHECK(overview_of(trace).seconds == 32);
  trace.provenance.emplace_back("resume_1", Facts{});
  CHECK(overview_of(trace).seconds == 4);
}

TEST_CASE("what was not measured is said, with what measures it") {
  Trace trace;
  trace.of<Transfers>() = {two_sizes(copies(Direction::h2d), 1, 2)};
  trace.provenance.emplace_back("plan", Facts{{"left_out_1", "by plan: managed memory"}});
  const auto missing = overview_of(trace).missing;
  REQUIRE(missing.size() == 4);
  CHECK(missing[0] == "by plan: managed memory");
  CHECK(missing[1] == "memory and computing power of cuda:0 (npgpu probe all --device cuda:0)");
  CHECK(missing[2] == "calls of cuda:0 (npgpu calls --device cuda:0)");
  CHECK(missing[3] == "streams of cuda:0 (npgpu streams --experiment overheads --device cuda:0)");
}

TEST_CASE("a trace without series gives an overview without devices") {
  const Overview all = overview_of({});
  CHECK(all.gpus.empty());
  CHECK_FALSE(all.host);
  CHECK(all.seconds == 0);
}

}  // namespace overview_test
