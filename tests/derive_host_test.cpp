// What derive() says of a CPU beside other processes: right, or marked, and never a wrong verdict.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "made_probe.hpp"

namespace derive_host_test {

using namespace npgpu;

namespace {

const std::vector<double> steady(9, 2.0);

// 4 cores of 1000 MHz, whose registers have 8 lanes; an FMA takes 4 cycles and two start in each: 64 chains fill a
// core.
ProbeSeries cpu_sweep() {
  ProbeSeries sweep = probe_sweep("host");
  sweep.layout.lanes = 8;
  sweep.layout.max_blocks_per_unit = 1;
  sweep.limit = {4 * 8 * 2 * 2.0 * 1e9, "cores * lanes * ports * 2 * clock"};
  const auto add = [&](const Shape& shape, double fmas_of_a_cycle) {
    add_point(sweep, shape, 2 * fmas_of_a_cycle * 2000, steady);  // 2 us at 1000 MHz
    give_cycles(sweep, 1000);
  };
  add({.blocks = 1, .threads = 1, .ilp = 1}, 0.25);
  add({.blocks = 1, .threads = 8, .ilp = 1}, 2);
  add({.blocks = 1, .threads = 8, .ilp = 8}, 16);
  add({.blocks = 4, .threads = 1, .ilp = 1}, 1);
  add({.blocks = 4, .threads = 8, .ilp = 8}, 64);
  return sweep;
}

// The point's trials take so many times as long, while its threads run as many cycles as before.
void share_core(ProbeSeries& sweep, std::size_t point, double longer) {
  for (ProbeSample& sample : sweep.samples) {
    if (sample.visit != point) continue;
    sample.host_us *= longer;
    sample.device_us *= longer;
  }
}

DeviceParameters derived(const ProbeSeries& sweep) {
  Trace trace;
  trace.of<Probes>().push_back(sweep);
  return derive(trace).at(0);
}

const Parameter& find(const DeviceParameters& d, const std::string& name) {
  const auto found =
      std::find_if(d.parameters.begin(), d.parameters.end(), [&](const auto& p) { return p.name == name; });
  REQUIRE_MESSAGE(found != d.parameters.end(), name);
  return *found;
}

void check_core(const DeviceParameters& d) {
  CHECK(find(d, "FMA latency").estimate.value == doctest::Approx(4));
  CHECK(find(d, "Sigma").estimate.value == doctest::Approx(64));
  CHECK(find(d, "lanes").estimate.value == doctest::Approx(8));
  CHECK(find(d, "lanes*ports").estimate.value == doctest::Approx(16));
  CHECK(find(d, "ports").estimate.value == doctest::Approx(2));
}

bool notes(const Parameter& p, const std::string& text) { return p.note.find(text) != std::string::npos; }

}  // namespace

TEST_CASE("a quiet CPU by hand: nothing is doubted") {
  const DeviceParameters d = derived(cpu_sweep());
  check_core(d);
  CHECK(find(d, "SM").estimate.value == doctest::Approx(4));
  for (const char* name : {"SM", "lanes", "lanes*ports", "P"}) {
    CHECK(find(d, name).verdict == Agreement::agrees);
    CHECK(find(d, name).note == "");
  }
}

TEST_CASE("half of a core gone to another process shows in time, not in cycles") {
  ProbeSeries sweep = cpu_sweep();
  share_core(sweep, 0, 2);  // One-One
  share_core(sweep, 4, 2);  // All-All: the slowest core decides
  const DeviceParameters d = derived(sweep);
  check_core(d);
  CHECK(find(d, "FMA latency").note ==
        "One-One: it ran at 500 of 1000 MHz: a lower clock, or something else had its core");
  CHECK(find(d, "SM").estimate.value == doctest::Approx(2));
  CHECK(find(d, "SM").verdict == Agreement::undecided);
  CHECK(notes(find(d, "SM"), "All-All: it ran at 500 of 1000 MHz"));
}

TEST_CASE("where the fastest shape was disturbed, a slower one stands for the corner and does not disagree") {
  ProbeSeries sweep = cpu_sweep();
  share_core(sweep, 4, 16);
  add_point(sweep, {.blocks = 4, .threads = 8, .ilp = 1}, 2 * 8.0 * 2000, steady);  // 8 FMAs a cycle, left alone
  give_cycles(sweep, 1000);
  const DeviceParameters d = derived(sweep);
  CHECK(find(d, "SM").estimate.value == doctest::Approx(0.5));
  CHECK(find(d, "SM").verdict == Agreement::undecided);
  CHECK(notes(find(d, "SM"), "All-All: a shape that may be faster (ilp 8) was disturbed: it ran at 62 of 1000 MHz"));
  sweep = cpu_sweep();
  add_point(sweep, {.blocks = 4, .threads = 8, .ilp = 1}, 2 * 8.0 * 2000, steady);
  give_cycles(sweep, 500);  // a disturbed shape that is slower anyhow is nobody's doubt
  CHECK(find(derived(sweep), "SM").note == "");
}

TEST_CASE("a highest clock found too low: cycles still count, and it is said") {
  ProbeSeries sweep = cpu_sweep();
  sweep.layout.clock_mhz = 900;
  sweep.limit.per_s *= 0.9;
  const DeviceParameters d = derived(sweep);
  check_core(d);
  CHECK(find(d, "lanes*ports").verdict == Agreement::agrees);
  CHECK(notes(find(d, "FMA latency"), "it ran at 1000 MHz, above the 900 that were taken for the highest clock"));
  CHECK(find(d, "P").verdict == Agreement::agrees);  // its limit is that at the clock of the run
}

TEST_CASE("trials whose clock changed have no cycles: those of the others count, unless they are few") {
  const auto without = [](std::size_t trials) {
    ProbeSeries sweep = cpu_sweep();
    sweep.layout.clock_mhz = 950;  // time alone would give 3.8 cycles
    for (std::size_t i = 0; i < trials; ++i) sweep.samples[i].cycles = not_measured;  // One-One's
    return derived(sweep);
  };
  CHECK(find(without(4), "FMA latency").estimate.value == doctest::Approx(4));
  const DeviceParameters few = without(5);
  CHECK(find(few, "FMA latency").estimate.value == doctest::Approx(3.8));
  CHECK(notes(find(few, "FMA latency"), "the clock of its core changed during 5 of 9 trials"));
  CHECK(notes(find(few, "FMA latency"), "its clock was not recorded"));
  CHECK(find(few, "lanes*ports").verdict != Agreement::disagrees);
}

TEST_CASE("integers: one and a register full take different instructions, which do not tell the lanes") {
  ProbeSeries sweep = cpu_sweep();
  sweep.question.type = DataType::int32;
  sweep.limit = {not_measured, "unknown: not documented"};
  const DeviceParameters d = derived(sweep);
  CHECK(find(d, "lanes*ports int32").estimate.value == doctest::Approx(16));
  CHECK(find(d, "lanes*ports int32").verdict == Agreement::no_reference);
  CHECK(find(d, "lanes*ports int32").reference_source == "unknown: not documented");
  CHECK(std::none_of(d.parameters.begin(), d.parameters.end(),
                     [](const auto& p) { return p.name == "lanes int32" || p.name == "ports int32"; }));
  CHECK(std::any_of(d.missing.begin(), d.missing.end(),
                    [](const auto& m) { return m.starts_with("lanes int32, ports int32: "); }));
}

}  // namespace derive_host_test
