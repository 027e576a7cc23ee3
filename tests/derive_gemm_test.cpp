// What is derived from products of matrices and from hosts.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "made_probe.hpp"
#include "npgpu/model/derive.hpp"

namespace derive_gemm_test {

using namespace npgpu;

// What is derived of products of matrices, from sweeps that can be added up by hand.

namespace {

ProbeSeries products(const std::string& device, Space space, DataType type = DataType::fp32) {
  ProbeSeries series = probe_sweep(device);
  series.question = {.probe = "gemm", .device = device, .operation = Operation::fma, .type = type, .space = space};
  series.limit = {2e9, "a limit"};
  series.library = "a library";
  return series;
}

// 2 n^3 operations in so many microseconds, six times.
void add(ProbeSeries& series, std::uint32_t n, double us, std::uint32_t panels = 1, std::uint32_t blocks = 1) {
  Shape s;
  s.m = s.n = s.k = n, s.panels = panels, s.blocks = blocks;
  add_point(series, s, 2.0 * n * n * n, {us, us, us, us, us, us});
}

DeviceParameters derived(std::vector<ProbeSeries> all) {
  Trace trace;
  trace.of<Probes>() = std::move(all);
  return derive(trace).at(0);
}

const Parameter* named(const DeviceParameters& d, const std::string& name) {
  const auto p = std::ranges::find(d.parameters, name, &Parameter::name);
  return p == d.parameters.end() ? nullptr : &*p;
}

bool says(const DeviceParameters& d, const std::string& words) {
  return std::ranges::any_of(d.missing, [&](const std::string& m) { return m.find(words) != std::string::npos; });
}

}  // namespace

TEST_CASE("the best product against the limit, and what copies leave of the largest that both have") {
  ProbeSeries inside = products("cuda:0", Space::global), copied = products("cuda:0", Space::host);
  add(inside, 100, 2000);   // 1 GFLOP/s
  add(inside, 200, 10000);  // 1.6
  add(inside, 400, 70000);  // 1.83, and no copy to hold against it
  add(copied, 100, 4000);
  add(copied, 200, 20000);
  add(copied, 200, 12500, 8);
  add(copied, 200, 16000, 4);
  const DeviceParameters d = derived({inside, copied});
  REQUIRE(named(d, "gemm fp32"));
  CHECK(named(d, "gemm fp32")->estimate.value == doctest::Approx(2 * 64e6 / 0.07));
  CHECK(named(d, "gemm fp32")->meaning.find("a library") != std::string::npos);
  CHECK(named(d, "gemm fp32 reached")->estimate.value == doctest::Approx(100 * 2 * 64e6 / 0.07 / 2e9));
  CHECK(named(d, "gemm fp32 copied in turn")->estimate.value == doctest::Approx(0.5));
  CHECK(named(d, "gemm fp32 copied in panels")->estimate.value == doctest::Approx(0.8));
  CHECK(named(d, "gemm fp32 copied in panels")->estimate.method.find("8 panels") != std::string::npos);
  CHECK_FALSE(named(d, "gemm fp32 cores"));
}

TEST_CASE("types are told apart, and what is missing is said") {
  ProbeSeries inside = products("cuda:0", Space::global, DataType::fp64), copied = products("cuda:0", Space::host);
  add(inside, 100, 2000);
  add(copied, 100, 4000);
  const DeviceParameters d = derived({inside, copied});
  CHECK(named(d, "gemm fp64"));
  CHECK_FALSE(named(d, "gemm fp64 copied in turn"));
  CHECK_FALSE(named(d, "gemm fp32"));
  ProbeSeries other = products("cuda:0", Space::host, DataType::fp64);
  add(other, 200, 4000);
  CHECK(says(derived({inside, other}), "gemm fp64 with copies: needs one square"));
}

TEST_CASE("cores of a host: how many times one core's rate, held below how many there are") {
  ProbeSeries series = products("host", Space::host);  // of 4 cores
  add(series, 100, 8000, 1, 1);
  add(series, 200, 64000, 1, 1);
  add(series, 200, 32000, 1, 2);
  add(series, 200, 16400, 1, 4);
  add(series, 400, 1, 1, 4);  // another size says nothing of cores
  const Parameter* cores = nullptr;
  const DeviceParameters d = derived({series});
  REQUIRE((cores = named(d, "gemm fp32 cores")));
  CHECK(cores->estimate.value == doctest::Approx(64.0 / 16.4));
  CHECK(cores->reference == 4);
  CHECK(cores->verdict == Agreement::agrees);
  ProbeSeries alone = products("host", Space::host);
  add(alone, 100, 8000);
  CHECK(says(derived({alone}), "gemm fp32 cores: needs one product on one core and on more"));
  // Five times one core's rate on four cores cannot be.
  ProbeSeries wrong = products("host", Space::host);
  add(wrong, 200, 64000, 1, 1);
  add(wrong, 200, 12800, 1, 4);
  CHECK(named(derived({wrong}), "gemm fp32 cores")->verdict == Agreement::disagrees);
}

TEST_CASE("efficiency of cores, of the same product only") {
  ProbeSeries series = products("host", Space::host);
  add(series, 200, 64000, 1, 1);
  add(series, 200, 20000, 1, 4);
  Shape read{.blocks = 4, .m = 200, .n = 200, .k = 200};
  read.beta = 1;
  add_point(series, read, 16e6, {1000, 1000, 1000, 1000, 1000, 1000});  // another product: 64 times one core's rate
  const DeviceParameters d = derived({series});
  REQUIRE(named(d, "gemm fp32 efficiency of cores"));
  CHECK(named(d, "gemm fp32 efficiency of cores")->estimate.value == doctest::Approx(80));
  CHECK(named(d, "gemm fp32 cores")->estimate.value == doctest::Approx(3.2));
  CHECK(named(d, "gemm fp32 beta 1")->estimate.value == doctest::Approx(20));
}

TEST_CASE("the host's part, and what transposed products lose") {
  ProbeSeries inside = products("cuda:0", Space::global), copied = products("cuda:0", Space::host);
  add(inside, 200, 10000);
  Shape s{.m = 200, .n = 200, .k = 200};
  s.ops = Ops::tn;
  add_point(inside, s, 16e6, {12500, 12500, 12500, 12500, 12500, 12500});
  add(copied, 200, 20000);
  add(copied, 200, 16000, 4);
  Shape together{.m = 200, .n = 200, .k = 200, .panels = 4};
  together.host_columns = 50;
  add_point(copied, together, 16e6, {12800, 12800, 12800, 12800, 12800, 12800});
  const DeviceParameters d = derived({inside, copied});
  CHECK(named(d, "gemm fp32 ops tn")->estimate.value == doctest::Approx(0.8));
  CHECK(named(d, "gemm fp32 copied in panels")->estimate.value == doctest::Approx(10.0 / 16));  // not with the host
  CHECK(named(d, "gemm fp32 with the host")->estimate.value == doctest::Approx(1.25));
  CHECK(named(d, "gemm fp32 share of the host")->estimate.value == doctest::Approx(25));
  CHECK(named(derived({copied}), "gemm fp32 with the host"));  // nothing in the device's memory is needed for it
}

TEST_CASE("the library beside the instruction, by operands: wgmma where there is one") {
  ProbeSeries library = products("cuda:0", Space::global, DataType::fp16), mma = products("cuda:0", Space::registers),
              wgmma = mma;
  mma.question = {"tensor", "cuda:0", Operation::mma, DataType::fp16, Form::streaming, Space::registers};
  wgmma.question = {"tensor", "cuda:0", Operation::wgmma, DataType::fp16, Form::streaming, Space::shared};
  for (const auto& [operands, us] : {std::pair{Operands::zeros, 1000.0}, {Operands::random, 1250.0}}) {
    Shape s{.m = 200, .n = 200, .k = 200};
    s.ops = Ops::tn, s.operands = operands;
    add_point(library, s, 16e6, {us, us, us, us, us, us});
    Shape tile{.blocks = 4, .threads = 256};
    tile.operands = operands;
    add_point(wgmma, tile, 16e6, {800, 800, 800, 800, 800, 800});
    add_point(mma, tile, 16e6, {1600, 1600, 1600, 1600, 1600, 1600});
  }
  const DeviceParameters d = derived({mma, wgmma, library});
  CHECK(named(d, "gemm fp16 over wgmma, zeros")->estimate.value == doctest::Approx(0.8));
  CHECK(named(d, "gemm fp16 over wgmma, random")->estimate.value == doctest::Approx(0.64));
  CHECK(named(d, "gemm fp16, random")->estimate.value == doctest::Approx(16e6 / 1250e-6));
  CHECK_FALSE(named(d, "gemm fp16 over mma, zeros"));
  CHECK(named(derived({mma, library}), "gemm fp16 over mma, zeros")->estimate.value == doctest::Approx(1.6));
}

// What derive() says of a CPU beside other processes: right, or marked, and never a wrong verdict.
namespace derive_host {

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

}  // namespace derive_host

}  // namespace derive_gemm_test
