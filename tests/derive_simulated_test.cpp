// What the model derives from simulated devices and from an H200.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <tuple>

#include "made_probe.hpp"
#include "npgpu/model/derive.hpp"
#include "npgpu/vocabulary/trace.hpp"
#include "probed.hpp"

namespace derive_simulated_test {

using namespace npgpu;

// From a simulated device's build to kernels' times, and from those times alone back to its build.

namespace {

// Each device is measured once.
const DeviceParameters& derived(const std::string& device) {
  static std::map<std::string, DeviceParameters> known;
  const auto [found, is_new] = known.try_emplace(device);
  if (is_new) {
    const auto all = derive(probed_trace(device));
    REQUIRE(all.size() == 1);
    CHECK(all[0].device == device);
    CHECK(all[0].simulated);
    found->second = all[0];
  }
  return found->second;
}

struct Built {
  double sm, n, l;
};

void check_paper(const DeviceParameters& d, const Built& is) {
  for (const char* suffix : {"", " by time"}) {
    CHECK(value_of(d, std::string("SM") + suffix) == doctest::Approx(is.sm).epsilon(0.01));
    CHECK(value_of(d, std::string("N_PPipe") + suffix) == doctest::Approx(is.n).epsilon(0.01));
    CHECK(value_of(d, std::string("L_Pipe") + suffix) == doctest::Approx(is.l).epsilon(0.01));
  }
}

void check_agrees(const DeviceParameters& d, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const Parameter* p = find(d, name);
    REQUIRE_MESSAGE(p, name);
    CAPTURE(name);
    CAPTURE(p->estimate.value);
    CAPTURE(p->reference);
    CAPTURE(p->note);
    CHECK(p->verdict == Agreement::agrees);
  }
}

bool misses(const DeviceParameters& d, const std::string& text) {
  return std::any_of(d.missing.begin(), d.missing.end(),
                     [&](const auto& m) { return m.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("GTS 250: 16 SMs, warps of 32, 5 of them fill an SM") {
  const DeviceParameters& d = derived("sim:gts250");
  check_paper(d, {16, 32, 5});
  check_agrees(d, {"P", "SM", "N_PPipe", "L_Pipe", "Sigma", "FMA latency", "lanes*ports", "lanes", "w*"});
  CHECK(value_of(d, "w*") == doctest::Approx(5).epsilon(0.01));
  CHECK(value_of(d, "plateau") == doctest::Approx(5 * 32).epsilon(0.01));
  CHECK(value_of(d, "FMA latency") == doctest::Approx(20).epsilon(0.01));
  CHECK(value_of(d, "lanes*ports") == doctest::Approx(8).epsilon(0.01));
  CHECK(value_of(d, "ports") == doctest::Approx(0.25).epsilon(0.01));  // an instruction takes four cycles to issue
}

TEST_CASE("GTX 260: 27 SMs, 6 warps fill one") {
  const DeviceParameters& d = derived("sim:gtx260");
  check_paper(d, {27, 32, 6});
  check_agrees(d, {"P", "SM", "N_PPipe", "L_Pipe", "Sigma", "FMA latency", "lanes*ports", "lanes", "w*"});
  CHECK(value_of(d, "w*") == doctest::Approx(6).epsilon(0.01));
}

TEST_CASE("GTX 470: the 8 blocks that an SM holds come before the 18 that fill it") {
  const DeviceParameters& d = derived("sim:gtx470");
  check_paper(d, {14, 72, 8});
  check_agrees(d, {"P", "SM", "N_PPipe", "L_Pipe", "Sigma", "FMA latency", "lanes*ports", "lanes"});
  CHECK(find(d, "w*") == nullptr);
  CHECK(misses(d, "w*: the rate still grows at 8 one-thread blocks of a unit"));
  CHECK(misses(d, "Sigma / warp width gives 18.0"));
  CHECK(find(d, "N_PPipe")->reference == doctest::Approx(72).epsilon(0.01));
  CHECK(find(d, "N_PPipe")->reference_source.find("18.0 warps that fill a unit / 8 blocks that it holds") !=
        std::string::npos);
}

TEST_CASE("with that limit lifted GTX 470 shows its warps and its latency: so the limit explains the paper's 2.25") {
  const ChangedSpec lifted("gtx470", [](nlohmann::json& j) { j["hardware"]["blocks"] = 32; });
  const DeviceParameters& d = derived(lifted.id());
  check_paper(d, {14, 32, 18});
  check_agrees(d, {"SM", "N_PPipe", "L_Pipe", "w*"});
  CHECK(value_of(d, "w*") == doctest::Approx(18).epsilon(0.01));
}

TEST_CASE("what Perez and Piccoli print of their GPUs, to its last digit") {
  // B_AO of GTX 260 is not printed; T_delay of GTX 470 is printed as 98.37, and its B_AO over its B_OO is 98.33.
  struct Printed {
    const char* device;
    double p, sm, n, l, n_min_bl, w_bus, t_delay;
  };
  for (const Printed& is : {Printed{"sim:gts250", 436.344289, 16, 32, 5, 5.49, 21, 114.6},
                            {"sim:gtx260", 562.329588, 27, 32, 6, 12.3, 27, 192.5},
                            {"sim:gtx470", 503.849162, 14, 72, 8, 3.69, 11.24, 98.33}}) {
    CAPTURE(is.device);
    const DeviceParameters& d = derived(is.device);
    const auto rounds_to = [&](const char* name, double printed, double unit) {
      CAPTURE(name);
      CHECK(std::abs(value_of(d, name) - printed) <= unit / 2);
    };
    CHECK(value_of(d, "P int24") == doctest::Approx(is.p * 1e9).epsilon(3e-3));  // with 3 us of each launch
    rounds_to("SM int24", is.sm, 1);
    rounds_to("N_PPipe int24", is.n, 1);
    rounds_to("L_Pipe int24", is.l, 1);
    rounds_to("N_MINBl", is.n_min_bl, is.n_min_bl > 10 ? 0.1 : 0.01);
    rounds_to("W_bus", is.w_bus, is.w_bus > 20 ? 1 : 0.01);
    rounds_to("T_delay", is.t_delay, is.t_delay > 100 ? 0.1 : 0.01);
  }
}

TEST_CASE("threads from which rates stay: between what still rises and what does not") {
  // 20 cycles of latency and 8 lanes take 5 warps, 160 threads; Perez and Piccoli print 160.
  const DeviceParameters& gts = derived("sim:gts250");
  CHECK(value_of(gts, "Cp_OA threads") == 160);
  CHECK(find(gts, "Cp_OA threads")->estimate.low == 128);
  CHECK(find(gts, "Cp_OA threads")->estimate.high == 160);
  // 8 blocks of one warp are more than 5 warps.
  CHECK(value_of(gts, "Cp_AA threads") == 32);
  CHECK(value_of(gts, "Cp_AA warps") == 8);
  // A block needs 10.44 GB/s * 337 ns / 8 B = 440 threads; of those tried 256 are too few, and 512, the most, enough.
  CHECK(value_of(gts, "B_OA threads") == 512);
  CHECK(find(gts, "B_OA threads")->estimate.low == 256);
  // 18 warps, 576 threads, of a GTX 470.
  const DeviceParameters& gtx = derived("sim:gtx470");
  CHECK(find(gtx, "Cp_OA threads")->estimate.low == 544);
  CHECK(value_of(gtx, "Cp_OA threads") == 640);
  CHECK(find(gtx, "Cp_AA warps")->estimate.low < 18);
  CHECK(value_of(gtx, "Cp_AA warps") >= 18);
}

TEST_CASE("10 warps of an SM hold 10 one-thread blocks, whatever number of blocks it says, and 16 would fill it") {
  const ChangedSpec spec("h200", [](nlohmann::json& s) {
    s["hardware"]["warps"] = 10;
    s["hardware"]["block_threads"] = 256;
  });
  const DeviceParameters d = derive(probed_trace(spec.id())).at(0);
  check_agrees(d, {"SM", "N_PPipe", "L_Pipe"});
  CHECK(value_of(d, "L_Pipe") == doctest::Approx(10).epsilon(0.01));
  CHECK(misses(d, "w*: the rate still grows at 10 one-thread blocks of a unit"));
}

TEST_CASE("H200: 132 SMs, 4 schedulers a SM, through its noise") {
  const DeviceParameters& d = derived("sim:h200");
  check_paper(d, {132, 32, 16});
  check_agrees(d, {"P", "SM", "N_PPipe", "L_Pipe", "Sigma", "FMA latency", "lanes*ports", "lanes", "w*"});
  CHECK(value_of(d, "w*") == doctest::Approx(16).epsilon(0.01));
  CHECK(value_of(d, "Sigma") == doctest::Approx(512).epsilon(0.01));
  CHECK(value_of(d, "ports") == doctest::Approx(4).epsilon(0.01));
  CHECK(value_of(d, "P reached") == doctest::Approx(100).epsilon(0.01));
  const Estimate& sm = find(d, "SM")->estimate;
  CHECK(sm.low < 132);
  CHECK(sm.high > 132);
  CHECK(sm.high / sm.low < 1.03);
}

TEST_CASE("whatever the noise, the same whole numbers") {
  for (int seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    const ChangedSpec spec("h200", [&](nlohmann::json& j) { j["noise"]["seed"] = seed; });
    const DeviceParameters& d = derived(spec.id());
    CHECK(std::lround(value_of(d, "SM")) == 132);
    CHECK(std::lround(value_of(d, "N_PPipe")) == 32);
    CHECK(std::lround(value_of(d, "L_Pipe")) == 16);
    CHECK(std::lround(value_of(d, "w*")) == 16);
    CHECK(std::lround(value_of(d, "FMA latency")) == 4);
  }
}

TEST_CASE("noise that no schedule can narrow is in the interval, and agreement by luck is none") {
  const ChangedSpec wild("gts250", [](nlohmann::json& j) { j["noise"] = {{"seed", 1}, {"sigma", 0.5}}; });
  const DeviceParameters& d = derived(wild.id());
  for (const char* name : {"SM", "N_PPipe", "L_Pipe"}) {
    CAPTURE(name);
    CHECK(find(d, name)->estimate.high - find(d, name)->estimate.low > 0.02 * find(d, name)->estimate.value);
    CHECK(find(d, name)->verdict != Agreement::agrees);
  }
}

TEST_CASE("bandwidth: the bus by full blocks, the latency by one thread") {
  const DeviceParameters& gts = derived("sim:gts250");
  CHECK(value_of(gts, "B") == doctest::Approx(57.312e9).epsilon(0.01));
  CHECK(value_of(gts, "rmw latency") == doctest::Approx(619 / 1.836).epsilon(0.01));  // cycles over GHz
  const DeviceParameters& h200 = derived("sim:h200");
  CHECK(value_of(h200, "B") == doctest::Approx(4282e9).epsilon(0.01));
  CHECK(value_of(h200, "B reached") == doctest::Approx(100 * 4282 / 4814.0).epsilon(0.01));
  CHECK(find(h200, "B")->verdict == Agreement::undecided);  // 89 % of the limit: no error, and no proof
  CHECK(value_of(h200, "N_MINBl streaming") == doctest::Approx(4282 / (49 * 1.98)).epsilon(0.01));
  // A block of words, one in flight a thread, reaches less of its multiprocessor's share.
  CHECK(value_of(h200, "N_MINBl") > 2 * value_of(h200, "N_MINBl streaming"));
  for (const char* name : {"B copy", "B triad"}) CHECK(value_of(h200, name) == doctest::Approx(4282e9).epsilon(0.01));
  CHECK(value_of(h200, "B read") == doctest::Approx(1.076 * 4282e9).epsilon(0.01));
  CHECK(value_of(h200, "B write") == doctest::Approx(1.097 * 4282e9).epsilon(0.01));
}

// Levels as parameters: what a chase by hand gives, what the device says of itself, and a real chase of a host.
namespace derive_levels {

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

}  // namespace derive_levels

// A real H200, measured once and kept: what is derived of it is what NVIDIA says of it.

TEST_CASE("a real H200: 132 multiprocessors, warps of 32, 16 of them to fill one, an FMA in 4 cycles") {
  const Trace trace = read_trace(std::filesystem::path(NPGPU_SOURCE_DIR) / "data/traces/h200_probes.h5");
  const auto devices = derive(trace);
  REQUIRE(devices.size() == 1);
  const auto value = [&](const std::string& name) {
    for (const Parameter& p : devices[0].parameters)
      if (p.name == name) return p.estimate.value;
    FAIL("no parameter " << name);
    return not_measured;
  };
  CHECK(value("SM") == doctest::Approx(132).epsilon(0.005));
  CHECK(value("SM fp64") == doctest::Approx(132).epsilon(0.005));
  CHECK(value("N_PPipe") == doctest::Approx(32).epsilon(0.02));
  CHECK(value("L_Pipe") == doctest::Approx(16).epsilon(0.03));
  CHECK(value("w*") == doctest::Approx(16).epsilon(0.03));
  CHECK(value("FMA latency") == doctest::Approx(4).epsilon(0.03));
  CHECK(value("FMA latency fp64") == doctest::Approx(8).epsilon(0.03));
  CHECK(value("lanes*ports") == doctest::Approx(128).epsilon(0.02));
  for (const Parameter& p : devices[0].parameters) {
    CAPTURE(p.name);
    CHECK(p.verdict != Agreement::disagrees);
  }
}

}  // namespace derive_simulated_test
