// Levels as parameters: what a chase by hand gives, what the device says of itself, and a real chase of a host.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <tuple>

#include "made_probe.hpp"
#include "npgpu/trace.hpp"
#include "probed.hpp"

namespace derive_levels_test {

using namespace npgpu;

namespace {

// 1 ns up to 32 KiB, 4 ns up to 1 MiB, 20 ns up to 8 MiB, then 100 ns; four points an octave, 1000 loads each.
ProbeSeries chase(std::uint64_t most) {
  ProbeSeries sweep = probe_sweep("host");
  sweep.question = {.probe = "latency",
                    .device = "host",
                    .operation = Operation::chase,
                    .form = Form::dependent,
                    .space = Space::host};
  sweep.layout.near_cache_bytes = 32 * KiB;
  sweep.layout.cache_bytes = 8 * MiB;
  for (int i = 0;; ++i) {
    const auto bytes = static_cast<std::uint64_t>(4096 * std::exp2(i / 4.0));
    if (bytes > most) return sweep;
    const double ns = bytes <= 32 * KiB ? 1 : bytes <= MiB ? 4 : bytes <= 8 * MiB ? 20 : 100;
    add_point(sweep, {.access_bytes = 8, .bytes = bytes}, 1000, std::vector<double>(9, ns));  // us of 1000 loads
    give_cycles(sweep, 1000);
  }
}

DeviceParameters derived(const ProbeSeries& sweep, Facts facts = {}) {
  Trace trace;
  trace.of<Probes>().push_back(sweep);
  if (!facts.empty()) trace.provenance = {{"host", facts}};
  return derive(trace).at(0);
}

bool says(const std::vector<std::string>& all, const std::string& what) {
  return std::any_of(all.begin(), all.end(), [&](const auto& s) { return s.find(what) != std::string::npos; });
}

Facts caches(std::int64_t l3, std::int64_t in_vm) {
  return {{"l1d_bytes", std::int64_t{32 * KiB}},
          {"l2_bytes", std::int64_t{1 * MiB}},
          {"l3_bytes", l3},
          {"in_virtual_machine", in_vm}};
}

}  // namespace

TEST_CASE("three caches and memory: sizes in bytes, latencies in ns and in cycles at 1 GHz") {
  const DeviceParameters d = derived(chase(64 * MiB), caches(8 * MiB, 0));
  for (const auto& [name, bytes, ns] :
       {std::tuple{"L1", 32768.0, 1.0}, {"L2", 1048576.0, 4.0}, {"L3", 8388608.0, 20.0}}) {
    const std::string level = name;
    CAPTURE(level);
    REQUIRE(find(d, level + " size"));
    CHECK(find(d, level + " size")->reference == bytes);
    CHECK(find(d, level + " size")->verdict == Agreement::agrees);
    CHECK(find(d, level + " latency")->estimate.value == doctest::Approx(ns));
    CHECK(find(d, level + " cycles")->estimate.value == doctest::Approx(ns));
  }
  CHECK(find(d, "memory latency")->estimate.value == doctest::Approx(100));
  CHECK_FALSE(says(d.missing, "size"));
}

TEST_CASE("without facts the layout answers, for the levels that it knows") {
  ProbeSeries sweep = chase(64 * MiB);
  sweep.question.device = "cuda:0";
  sweep.question.space = Space::global;
  sweep.layout.cache_bytes = 1 * MiB;
  const DeviceParameters d = derived(sweep);
  CHECK(find(d, "L1 size")->verdict == Agreement::agrees);
  CHECK(find(d, "L2 size")->verdict == Agreement::agrees);
  CHECK(find(d, "L3 size")->verdict == Agreement::no_reference);
  CHECK(find(d, "L3 size")->reference_source == "not reported by the driver");
}

TEST_CASE("a last level smaller than it is said to be: an error of a machine, no error of a virtual one") {
  CHECK(find(derived(chase(128 * MiB), caches(32 * MiB, 0)), "L3 size")->verdict == Agreement::disagrees);
  const DeviceParameters shared = derived(chase(128 * MiB), caches(32 * MiB, 1));
  CHECK(find(shared, "L3 size")->verdict == Agreement::undecided);
  CHECK(find(shared, "L3 size")->note.find("shares its last level") != std::string::npos);
  CHECK(find(shared, "L2 size")->verdict == Agreement::agrees);
}

TEST_CASE("what cannot be told apart or was not reached is said") {
  const DeviceParameters early = derived(chase(4 * MiB), caches(8 * MiB, 0));
  CHECK(find(early, "L3 latency"));
  CHECK_FALSE(find(early, "L3 size"));
  CHECK_FALSE(find(early, "memory latency"));
  CHECK(says(early.missing, "L3 size and memory latency: need sets far beyond"));
  Facts four = caches(8 * MiB, 0);
  const DeviceParameters flat = derived(chase(16 * KiB), four);
  CHECK(says(flat.missing, "no step"));
  CHECK(says(derived(chase(4 * KiB), four).missing, "too few points"));
}

TEST_CASE("a cache of constants has names of its own, and no answer of the device") {
  ProbeSeries sweep = chase(4 * MiB);
  sweep.question.device = "cuda:0";
  sweep.question.space = Space::constant;
  const DeviceParameters d = derived(sweep);
  CHECK(find(d, "constant L1 size")->verdict == Agreement::no_reference);
  CHECK(find(d, "constant L1.5 latency")->estimate.value == doctest::Approx(4));
  CHECK(find(d, "constant L2 latency")->estimate.value == doctest::Approx(20));
}

TEST_CASE("trials that differ near the end of a level are told") {
  ProbeSeries sweep = chase(64 * MiB);
  // The first point past 1 MiB takes 8 us or 12 us: on the way from 4 to 20, and anything but steady.
  for (const Visit<Probes>& p : sweep.visits) {
    if (p.axes.bytes <= MiB || p.axes.bytes > 1300 * KiB) continue;
    for (std::size_t i = 0; i < p.samples; ++i) {
      ProbeSample& s = sweep.samples[p.first_sample + i];
      s.device_us = i % 2 ? 80 : 120;
      s.cycles = 1000 * s.device_us;
    }
  }
  CHECK(find(derived(sweep), "L2 size")->note.find("unstable: 1 of 1 points") != std::string::npos);
}

TEST_CASE("a real host: a core's own levels are as large as it says, the shared one is no verdict") {
  const Trace trace = read_trace(std::filesystem::path(NPGPU_SOURCE_DIR) / "data/traces/host_chase.h5");
  const DeviceParameters d = derive(trace).at(0);
  REQUIRE(find(d, "L2 size"));
  CHECK(find(d, "L1 size")->reference == 32 * KiB);
  CHECK(find(d, "L1 size")->verdict == Agreement::agrees);
  CHECK(find(d, "L2 size")->reference == MiB);
  CHECK(find(d, "L2 size")->verdict == Agreement::agrees);
  CHECK(find(d, "L1 cycles")->estimate.value == doctest::Approx(4).epsilon(0.02));
  CHECK(find(d, "L3 size")->verdict == Agreement::undecided);
}

TEST_CASE("a chase by atomics tells all of L2, loads then only its near part") {
  ProbeSeries loads = chase(64 * MiB), atomics = chase(64 * MiB);
  for (ProbeSeries* sweep : {&loads, &atomics}) {
    sweep->question.device = "cuda:0";
    sweep->question.space = Space::global;
  }
  atomics.question.operation = Operation::rmw;
  for (const Visit<Probes>& p : atomics.visits)  // no level before 8 MiB
    for (std::size_t i = 0; i < p.samples && p.axes.bytes <= MiB; ++i)
      atomics.samples[p.first_sample + i].device_us = atomics.samples[p.first_sample + i].cycles = 200;
  for (ProbeSample& s : atomics.samples) s.cycles = s.device_us * 1000;
  Trace trace;
  trace.of<Probes>() = {loads, atomics};
  const DeviceParameters d = derive(trace).at(0);
  REQUIRE(find(d, "L2 size"));
  CHECK(find(d, "L2 size")->reference == 8 * MiB);
  CHECK(find(d, "L2 size")->verdict == Agreement::agrees);
  CHECK(find(d, "L2 atomic latency")->estimate.value == doctest::Approx(20));
  CHECK(find(d, "L2 near latency")->estimate.value == doctest::Approx(4));
  CHECK(find(d, "L2 near size")->verdict == Agreement::no_reference);
  CHECK(find(d, "L2 far latency")->estimate.value == doctest::Approx(20));
}

TEST_CASE("the far part of an L2 has rows of its own, though memory takes only a quarter longer") {
  ProbeSeries loads = chase(64 * MiB), atomics = chase(64 * MiB);
  const auto slow = [](ProbeSeries& series, double ns, std::uint64_t above, std::uint64_t up_to) {
    for (const Visit<Probes>& p : series.visits)
      for (std::size_t i = 0; i < p.samples && p.axes.bytes > above && p.axes.bytes <= up_to; ++i)
        series.samples[p.first_sample + i].device_us = 10 * ns, series.samples[p.first_sample + i].cycles = 1e4 * ns;
  };
  slow(loads, 142, 32 * KiB, 2 * MiB);
  slow(loads, 258, 2 * MiB, 8 * MiB);
  slow(loads, 330, 8 * MiB, 64 * MiB);
  slow(atomics, 190, 0, 8 * MiB);
  slow(atomics, 330, 8 * MiB, 64 * MiB);
  for (ProbeSeries* series : {&loads, &atomics}) {
    series->question.device = "cuda:0";
    series->question.space = Space::global;
  }
  atomics.question.operation = Operation::rmw;
  Trace trace;
  trace.of<Probes>() = {loads, atomics};
  const DeviceParameters d = derive(trace).at(0);
  REQUIRE(find(d, "L2 far latency"));
  CHECK(find(d, "L2 near latency")->estimate.value == doctest::Approx(142));
  CHECK(find(d, "L2 far latency")->estimate.value == doctest::Approx(258));
  CHECK(find(d, "L2 far size")->estimate.value == doctest::Approx(8.0 * MiB).epsilon(0.15));
  CHECK(find(d, "memory latency")->estimate.value == doctest::Approx(330));
}

TEST_CASE("a real H200: L1 of 256 KiB, L2 of 60 MiB, half of it near") {
  const Trace trace = read_trace(std::filesystem::path(NPGPU_SOURCE_DIR) / "data/traces/h200_probes.h5");
  const DeviceParameters d = derive(trace).at(0);
  CHECK(find(d, "L1 size")->reference == 256 * KiB);
  CHECK(find(d, "L1 size")->verdict == Agreement::agrees);
  REQUIRE(find(d, "L2 size"));
  CHECK(find(d, "L2 size")->reference == 60 * MiB);
  CHECK(find(d, "L2 size")->verdict == Agreement::agrees);
  REQUIRE(find(d, "L2 near size"));
  CHECK(find(d, "L2 near size")->estimate.value == doctest::Approx(30.0 * MiB).epsilon(0.15));
  REQUIRE(find(d, "L2 far size"));
  CHECK(find(d, "L2 far size")->estimate.value == doctest::Approx(60.0 * MiB).epsilon(0.05));
  CHECK(find(d, "L2 far latency")->estimate.value == doctest::Approx(258).epsilon(0.01));
  CHECK(find(d, "L1 cycles")->estimate.value == doctest::Approx(32).epsilon(0.01));
  CHECK(find(d, "shared cycles")->estimate.value == doctest::Approx(23).epsilon(0.01));
  CHECK(find(d, "constant L1 size")->estimate.value == doctest::Approx(2.0 * KiB).epsilon(0.15));
}

}  // namespace derive_levels_test
