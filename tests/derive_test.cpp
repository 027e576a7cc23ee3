// Verdicts, and what derive() says of sweeps written down by hand: lacking, disturbed, or of a CPU.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "made_probe.hpp"
#include "netpipe/model/probes/derivation.hpp"

namespace derive_test {

using namespace npgpu;
using namespace npgpu::model;

namespace {

const std::vector<double> steady(9, 2.0);

Parameter valued(double value, double part = 0.001) {
  Parameter p;
  p.estimate = {value, value * (1 - part), value * (1 + part), {}, {}};
  return p;
}

// 4 units, each of 32 FMAs a cycle; an FMA takes 4 cycles, so 4 warps fill a unit.
ProbeSeries gpu_sweep(const std::string& device = "cuda:0") {
  ProbeSeries sweep = probe_sweep(device);
  sweep.limit = {2.0 * 32 * 4 * 1e9, "2 * lanes * units * clock"};
  const auto add = [&](const Shape& shape, double per_cycle) {
    add_point(sweep, shape, 2 * per_cycle * 2000, steady);  // 2 us at 1000 MHz
    give_cycles(sweep, 1000);
  };
  add({.blocks = 1, .threads = 1, .ilp = 1}, 0.25);
  add({.blocks = 1, .threads = 32, .ilp = 1}, 8);
  add({.blocks = 1, .threads = 128, .ilp = 1}, 32);
  add({.blocks = 4, .threads = 128, .ilp = 1}, 128);
  for (std::uint32_t k = 1; k <= 8; ++k) add({.blocks = 4 * k, .threads = 1, .ilp = 1}, std::min(k, 4u));
  return sweep;
}

DeviceParameters derived(const ProbeSeries& sweep) {
  Trace trace;
  trace.of<Probes>().push_back(sweep);
  const auto all = derive(trace);
  REQUIRE(all.size() == 1);
  return all[0];
}

const Parameter& find(const DeviceParameters& d, const std::string& name) {
  const auto found =
      std::find_if(d.parameters.begin(), d.parameters.end(), [&](const auto& p) { return p.name == name; });
  REQUIRE_MESSAGE(found != d.parameters.end(), name);
  return *found;
}

}  // namespace

TEST_CASE("bounds of a quotient: every factor at its worst") {
  const Estimate a{10, 9, 11, {}, {}}, b{5, 4, 6, {}, {}};
  const Estimate q = quotient({a}, {b}, "units", "a / b");
  CHECK(q.value == doctest::Approx(2));
  CHECK(q.low == doctest::Approx(9.0 / 6));
  CHECK(q.high == doctest::Approx(11.0 / 4));
  CHECK(q.method == "a / b");
  CHECK(std::isnan(quotient({a}, {Estimate{}}, "", "").value));
}

TEST_CASE("agrees within the tolerance, disagrees beyond it, and the tolerance is said") {
  const auto held = [](Parameter p, double reference) {
    hold_against(p, reference, "units", 0.01);
    return p;
  };
  CHECK(held(valued(132.3), 132).verdict == Agreement::agrees);
  CHECK(held(valued(130.5), 132).verdict == Agreement::disagrees);
  CHECK(held(valued(132.3), 132).reference_source == "units; agrees within 1 %");
  CHECK(held(valued(132), not_measured).verdict == Agreement::no_reference);
  CHECK(held(valued(132), not_measured).reference_source == "units");
  CHECK(held(valued(132), 0).verdict == Agreement::no_reference);
  CHECK(held(Parameter{}, 132).verdict == Agreement::undecided);
  CHECK(held(Parameter{}, 132).note == "it could not be derived");
  Parameter disturbed = valued(132.3);
  disturbed.note = "it ran slowly";
  CHECK(held(disturbed, 132).verdict == Agreement::agrees);
  disturbed.estimate = valued(66).estimate;
  CHECK(held(disturbed, 132).verdict == Agreement::undecided);
  CHECK(held(disturbed, 132).note == "it ran slowly; so it cannot be said to disagree");
  const Parameter wide = held(valued(132, 0.2), 132);
  CHECK(wide.verdict == Agreement::undecided);
  CHECK(wide.note == "its interval is 20 % either way: too wide to check");
}

TEST_CASE("a value disagrees only where its whole interval is outside the tolerance") {
  const auto held = [](double value, double low, double high, double reference) {
    Parameter p;
    p.estimate = {value, low, high, {}, {}};
    hold_against(p, reference, "units", 0.01);
    return p;
  };
  CHECK(held(2.029, 1.972, 2.048, 2).verdict == Agreement::undecided);
  CHECK(held(2.029, 1.972, 2.048, 2).note == "its interval reaches the reference, so it is not decided");
  CHECK(held(2.029, 2.025, 2.048, 2).verdict == Agreement::disagrees);
  CHECK(held(2.01, 1.97, 2.09, 2).verdict == Agreement::agrees);
  CHECK(held(2.029, not_measured, not_measured, 2).verdict == Agreement::undecided);
  CHECK(held(2.029, not_measured, not_measured, 2).note == "it has no interval, so it is not decided");
  const auto below = [](double value, double low, double high) {
    Parameter p;
    p.estimate = {value, low, high, {}, {}};
    hold_below(p, 100, "limit");
    return p;
  };
  CHECK(below(102, 100, 104).verdict == Agreement::undecided);
  CHECK(below(102, 101.5, 104).verdict == Agreement::disagrees);
}

TEST_CASE("a rate below its limit is no error, one above it is") {
  const auto held = [](double value) {
    Parameter p = valued(value);
    hold_below(p, 100, "limit");
    return p;
  };
  CHECK(held(97).verdict == Agreement::agrees);
  CHECK(held(80).verdict == Agreement::undecided);
  CHECK(held(80).note == "80.0 % of its limit");
  CHECK(held(102).verdict == Agreement::disagrees);
}

TEST_CASE("a GPU by hand: 4 units, 32 lanes, 4 warps") {
  const DeviceParameters d = derived(gpu_sweep());
  CHECK(find(d, "SM").estimate.value == doctest::Approx(4));
  CHECK(find(d, "N_PPipe").estimate.value == doctest::Approx(32));
  CHECK(find(d, "L_Pipe").estimate.value == doctest::Approx(4));
  CHECK(find(d, "SM by time").estimate.value == doctest::Approx(4));
  CHECK(find(d, "w*").estimate.value == doctest::Approx(4));
  CHECK(
      std::none_of(d.parameters.begin(), d.parameters.end(), [](const auto& p) { return p.name == "U"; }));  // it is SM
  CHECK(find(d, "Sigma").estimate.value == doctest::Approx(128));
  CHECK(find(d, "FMA latency").estimate.value == doctest::Approx(4));
  CHECK(find(d, "lanes").estimate.value == doctest::Approx(32));
  CHECK(find(d, "lanes*ports").estimate.value == doctest::Approx(32));
  CHECK(find(d, "ports").estimate.value == doctest::Approx(1));
  CHECK(find(d, "P reached").estimate.value == doctest::Approx(100));
  for (const char* name : {"SM", "N_PPipe", "lanes*ports", "w*", "P"})
    CHECK(find(d, name).verdict == Agreement::agrees);
  CHECK(find(d, "FMA latency").verdict == Agreement::no_reference);  // this device does not say
  CHECK(find(d, "FMA latency").reference_source == "not reported by the driver");
  CHECK(find(d, "L_Pipe").reference == doctest::Approx(4));  // 32 FMAs a cycle * 4 cycles / 32
  CHECK(find(d, "L_Pipe").reference_source.find("FMA latency (measured)") != std::string::npos);
  REQUIRE(d.missing.size() == 2);
  CHECK(d.missing[0].find("need probe bandwidth") != std::string::npos);
  CHECK(d.missing[1].find("need probe latency") != std::string::npos);
}

TEST_CASE("where some units run no block, SM's interval reaches the number of those that do") {
  // Two blocks on one of three units: the kernel takes twice as long as on four.
  ProbeSeries sweep = gpu_sweep();
  for (auto& visit : sweep.visits)
    if (visit.axes.blocks == 4 && visit.axes.threads == 128) visit.work /= 2;
  const Parameter wrong = find(derived(sweep), "SM");
  CHECK(wrong.estimate.high == doctest::Approx(2));
  for (ProbeSample& sample : sweep.samples) sample.units = 3;
  const Parameter sm = find(derived(sweep), "SM");
  CHECK(sm.estimate.value == doctest::Approx(2));
  CHECK(sm.estimate.high == 3);
  CHECK(sm.verdict == Agreement::disagrees);
  CHECK(sm.estimate.method.ends_with("; 3 units ran blocks, which do not divide evenly among these"));
}

TEST_CASE("corners that were not measured are named, in every parameter that needs them") {
  ProbeSeries sweep = gpu_sweep();
  sweep.visits.resize(1);
  const DeviceParameters d = derived(sweep);
  CHECK(find(d, "FMA latency").estimate.value == doctest::Approx(4));
  CHECK(find(d, "SM").note == "All-All: no such point was measured; One-All: no such point was measured");
  CHECK(find(d, "Sigma").note == "One-All: no such point was measured");
  for (const char* name : {"SM", "lanes*ports"}) CHECK(find(d, name).verdict == Agreement::undecided);
  CHECK(find(d, "Sigma").verdict == Agreement::no_reference);
}

TEST_CASE("the device's facts in the trace are its own answers") {
  Trace trace;
  trace.of<Probes>().push_back(gpu_sweep());
  trace.provenance = {{"gpu0", {{"id", std::string("cuda:1")}, {"fma_latency_cycles", std::int64_t{9}}}},
                      {"gpu1", {{"id", std::string("cuda:0")}, {"fma_latency_cycles", std::int64_t{4}}}}};
  const DeviceParameters d = derive(trace).at(0);
  CHECK(find(d, "FMA latency").reference == 4);
  CHECK(find(d, "FMA latency").verdict == Agreement::agrees);
  CHECK(find(d, "Sigma").reference == doctest::Approx(128));
  trace.of<Probes>()[0].question.type = DataType::fp64;
  CHECK(std::isnan(find(derive(trace).at(0), "FMA latency fp64").reference));  // that answer is for fp32
}

TEST_CASE("a wrong answer of the device disagrees") {
  ProbeSeries sweep = gpu_sweep();
  sweep.layout.units = 3;  // 4, 8, ... blocks still cover all of them
  for (ProbeSample& s : sweep.samples) s.max_blocks_on_unit = 1;
  CHECK(find(derived(sweep), "SM").verdict == Agreement::disagrees);
  CHECK(find(derived(sweep), "P").verdict == Agreement::agrees);  // its limit did not change
  sweep = gpu_sweep();
  sweep.limit.per_s /= 2;
  CHECK(find(derived(sweep), "P").verdict == Agreement::disagrees);
  CHECK(find(derived(sweep), "P").note.find("above its limit") != std::string::npos);
}

TEST_CASE(
    "All-All at a lower clock: seconds and cycles differ, the limit is that of the clock, and all of it is said") {
  ProbeSeries sweep = gpu_sweep();
  const Visit<Probes>& aa = sweep.visits[3];
  for (std::size_t i = 0; i < aa.samples; ++i) {
    ProbeSample& s = sweep.samples[aa.first_sample + i];
    s.device_us /= 0.8;  // the same cycles, at 800 MHz
  }
  const DeviceParameters d = derived(sweep);
  CHECK(find(d, "SM by time").estimate.value == doctest::Approx(4 * 0.8));
  CHECK(find(d, "SM by time").verdict == Agreement::undecided);
  CHECK(find(d, "SM by time").note == "All-All: it ran at 800 of 1000 MHz; so it cannot be said to disagree");
  CHECK(find(d, "SM").estimate.value == doctest::Approx(4));
  CHECK(find(d, "SM").verdict == Agreement::agrees);
  CHECK(find(d, "P").reference == doctest::Approx(0.8 * 2 * 32 * 4 * 1e9));
  CHECK(find(d, "P reached").estimate.value == doctest::Approx(100));
}

TEST_CASE("without cycles the latency comes from the clock, and says which") {
  ProbeSeries sweep = gpu_sweep();
  for (ProbeSample& s : sweep.samples) s.cycles = not_measured;
  DeviceParameters d = derived(sweep);
  CHECK(find(d, "FMA latency").estimate.value == doctest::Approx(4));
  CHECK(find(d, "FMA latency").estimate.method.find("that of the run was not recorded") != std::string::npos);
  CHECK(find(d, "FMA latency").note == "One-One: its clock was not recorded, the highest stands in");
  CHECK(find(d, "lanes*ports").note == find(d, "FMA latency").note);
  for (Visit<Probes>& p : sweep.visits) p.telemetry.sm_clock_mhz = 500;
  d = derived(sweep);
  CHECK(find(d, "FMA latency").estimate.value == doctest::Approx(2));
  CHECK(find(d, "FMA latency").estimate.method == "2 f / Cp_OO, f being the clock of the run");
  CHECK(find(d, "FMA latency").note == "One-One: it ran at 500 of 1000 MHz");
}

TEST_CASE("a CPU, itself or by OpenCL: N_PPipe and L_Pipe have no answer there, U and Sigma do") {
  for (const std::string device : {"host", "opencl:0"}) {
    CAPTURE(device);
    ProbeSeries sweep = probe_sweep(device);
    sweep.layout.lanes = 8;
    sweep.layout.max_blocks_per_unit = 1;
    const auto add = [&](const Shape& shape, double work) { add_point(sweep, shape, work, steady); };
    add({.blocks = 1, .threads = 1, .ilp = 1}, 1);
    add({.blocks = 1, .threads = 8, .ilp = 1}, 8);
    add({.blocks = 1, .threads = 8, .ilp = 8}, 64);
    add({.blocks = 4, .threads = 1, .ilp = 1}, 4);
    add({.blocks = 4, .threads = 8, .ilp = 8}, 256);
    const DeviceParameters d = derived(sweep);
    CHECK(find(d, "SM").estimate.value == doctest::Approx(4));
    CHECK(find(d, "SM").verdict == Agreement::agrees);
    CHECK(find(d, "Sigma").estimate.value == doctest::Approx(64));
    CHECK(find(d, "lanes").estimate.value == doctest::Approx(8));
    CHECK(find(d, "lanes").verdict == Agreement::agrees);
    CHECK(find(d, "L_Pipe").estimate.value == doctest::Approx(1));
    CHECK(find(d, "L_Pipe").verdict == Agreement::no_reference);
    CHECK(find(d, "N_PPipe").verdict == Agreement::no_reference);
    CHECK(std::none_of(d.parameters.begin(), d.parameters.end(), [](const auto& p) { return p.name == "w*"; }));
  }
}

TEST_CASE("a CPU by OpenCL has the host's levels") {
  ProbeSeries sweep = probe_sweep("opencl:0");
  sweep.question = {"latency", "opencl:0", Operation::chase, DataType::fp64, Form::dependent, Space::global};
  sweep.layout.max_blocks_per_unit = 1;
  for (std::uint64_t bytes = 4 * KiB; bytes <= MiB; bytes *= 2)
    add_point(sweep, {.access_bytes = 8, .bytes = bytes}, bytes <= 32 * KiB ? 2000 : 500, steady);
  Trace trace;
  trace.of<Probes>().push_back(sweep);
  trace.provenance = {{"gpu0", {{"id", std::string("opencl:0")}, {"same_as", std::string("host")}}},
                      {"host", {{"l1d_bytes", std::int64_t{48 * KiB}}, {"l3_bytes", std::int64_t{64 * KiB}}}}};
  DeviceParameters d = derive(trace).at(0);
  CHECK(find(d, "L1 size").reference == 48 * KiB);
  CHECK(find(d, "L1 size").reference_source.starts_with("the core's first level"));
  trace.provenance.push_back({"gpu0_after", {{"id", std::string("opencl:0")}}});  // counters, which say nothing of it
  CHECK(find(derive(trace).at(0), "L1 size").reference == 48 * KiB);
  trace.provenance.pop_back();
  trace.provenance[0].second.pop_back();  // of another machine, as far as it says
  d = derive(trace).at(0);
  CHECK(find(d, "L1 size").verdict == Agreement::no_reference);
}

TEST_CASE("a unit's rate is told by time where nobody counts cycles, and says so") {
  ProbeSeries sweep = probe_sweep("opencl:0");
  sweep.question = {"onchip", "opencl:0", Operation::read, DataType::fp32, Form::streaming, Space::shared};
  add_point(sweep, {.blocks = 4, .threads = 32, .ilp = 8, .access_bytes = 4, .bytes = 16 * KiB}, 4 * 128 * 2000,
            steady);
  const Parameter by_time = find(derived(sweep), "shared bandwidth");
  CHECK(by_time.estimate.value == doctest::Approx(128));  // 2 us at 1000 MHz
  CHECK(by_time.note == "no cycles were recorded: its time at the highest clock");
  sweep.visits.front().telemetry.sm_clock_mhz = 500;
  const Parameter slower = find(derived(sweep), "shared bandwidth");
  CHECK(slower.estimate.value == doctest::Approx(256));
  CHECK(slower.note.starts_with("no cycles were recorded: its time at the clock of the run"));
  give_cycles(sweep, 1000);
  CHECK(find(derived(sweep), "shared bandwidth").note.find("no cycles") == std::string::npos);
}

TEST_CASE("a cycle's part of a limit: of a unit's own memory always the same, of L2 more at a lower clock") {
  for (const auto& [space, name, reference] :
       {std::tuple{Space::shared, "shared bandwidth", 128.0}, std::tuple{Space::l2, "L2 bandwidth", 256.0}}) {
    ProbeSeries sweep = probe_sweep();
    sweep.question = {"onchip", sweep.question.device, Operation::read, DataType::fp32, Form::streaming, space};
    sweep.limit = {4 * 128 * 1e9, "made"};  // at the highest clock, 1000 MHz
    add_point(sweep, {.blocks = 4, .threads = 32, .ilp = 8, .access_bytes = 4, .bytes = 16 * KiB}, 4 * 128 * 1000,
              steady);
    give_cycles(sweep, 500);
    sweep.visits.front().telemetry.sm_clock_mhz = 500;
    const Parameter p = find(derived(sweep), name);
    CAPTURE(name);
    CHECK(p.reference == doctest::Approx(reference));
  }
}

TEST_CASE("each device by itself, in order; other types by name; what is missing is said") {
  Trace trace;
  CHECK(derive(trace).empty());
  trace.of<Probes>() = {gpu_sweep("cuda:1"), gpu_sweep("cuda:0"), gpu_sweep("cuda:1")};
  trace.of<Probes>()[2].question.type = DataType::fp64;
  trace.of<Probes>()[1].error = "stopped by a signal";
  const auto all = derive(trace);
  REQUIRE(all.size() == 2);
  CHECK(all[0].device == "cuda:1");
  CHECK(find(all[0], "SM fp64").estimate.value == doctest::Approx(4));
  CHECK(all[1].device == "cuda:0");
  CHECK(all[1].missing[0] == "compute cuda:0 fma fp32 stopped early: stopped by a signal");
}

TEST_CASE("a case measured twice: told once, and where the two differ that is said") {
  Trace trace;
  trace.of<Probes>() = {gpu_sweep(), gpu_sweep()};
  const auto once = derived(gpu_sweep());
  DeviceParameters d = derive(trace).at(0);
  CHECK(d.parameters.size() == once.parameters.size());
  CHECK(find(d, "SM").verdict == Agreement::agrees);
  CHECK(find(d, "SM").note == "");
  for (std::size_t i = 0; i < 9; ++i)  // All-All takes half as long again
    trace.of<Probes>()[1].samples[trace.of<Probes>()[1].visits[3].first_sample + i].device_us *= 1.5;
  d = derive(trace).at(0);
  CHECK(find(d, "SM by time").estimate.value == doctest::Approx(4));
  CHECK(find(d, "SM by time").verdict == Agreement::undecided);
  CHECK(find(d, "SM by time").note == "measured again it was 2.667");
  CHECK(find(d, "FMA latency").note == "");
}

TEST_CASE("a host's bandwidth is in double precision, and what shared memory gives is no device's memory") {
  const auto bandwidth = [](const std::string& device, DataType type, Operation operation, Space space, double gb_s) {
    ProbeSeries series = probe_sweep(device);
    series.question = {"bandwidth", device, operation, type, Form::streaming, space};
    series.limit = {1e9, "clock * width"};
    add_point(series, {.blocks = 4, .threads = 8, .access_bytes = 8, .bytes = 64 * MiB}, gb_s * 2000, steady);
    return series;
  };
  Trace trace;
  for (const Operation operation : {Operation::rmw, Operation::read})
    trace.of<Probes>().push_back(bandwidth("host", DataType::fp64, operation, Space::host, 0.97));
  DeviceParameters d = derive(trace).at(0);
  CHECK(find(d, "B").estimate.value == doctest::Approx(0.97e9));
  CHECK(find(d, "B read").estimate.value == doctest::Approx(0.97e9));
  CHECK(std::none_of(d.missing.begin(), d.missing.end(), [](const auto& m) { return m.starts_with("B, "); }));

  trace.of<Probes>() = {bandwidth("cuda:0", DataType::fp32, Operation::rmw, Space::shared, 50),
                        bandwidth("cuda:0", DataType::fp64, Operation::rmw, Space::global, 0.9),
                        bandwidth("cuda:0", DataType::fp32, Operation::rmw, Space::global, 0.98)};
  CHECK(find(derive(trace).at(0), "B").estimate.value == doctest::Approx(0.98e9));
}

TEST_CASE(
    "threads from which a rate stays: the first that reaches 97 %, between the last below it and the first surely "
    "not") {
  ProbeSeries sweep = probe_sweep();
  const auto add = [&](std::uint32_t blocks, std::uint32_t threads, const std::vector<double>& us) {
    add_point(sweep, {.blocks = blocks, .threads = threads, .ilp = 1}, 1000, us);
  };
  const auto same = [](double us) { return std::vector<double>(9, us); };
  // Rates are 1000 over these: 1.0, 50, 97.6 with a median from 95 to 99, 100. One block rises to the end.
  for (const std::uint32_t blocks : {32, 1}) add(blocks, 1, same(1000));
  add(32, 32, same(20));
  add(32, 64, {10.05, 10.1, 10.15, 10.2, 10.25, 10.3, 10.35, 10.4, 10.45});
  add(32, 128, same(10));
  for (const std::uint32_t threads : {32u, 64u, 128u}) add(1, threads, same(1280.0 / threads));
  Trace trace;
  trace.of<Probes>().push_back(sweep);
  const DeviceParameters d = derive(trace).at(0);
  const Estimate all = find(d, "Cp_AA threads").estimate, one = find(d, "Cp_OA threads").estimate;
  CHECK(std::tuple(all.value, all.low, all.high) == std::tuple(64, 32, 128));
  CHECK(std::tuple(one.value, one.low, one.high) == std::tuple(128, 64, 128));
  CHECK(std::ranges::none_of(d.parameters, [](const Parameter& p) { return p.name == "Cp_AA warps"; }));
  // 8 blocks on each of 4 units; a unit holds 512 threads, so 4 blocks of 128.
  trace.of<Probes>().front().layout.max_threads_per_unit = 512;
  const Estimate warps = find(derive(trace).at(0), "Cp_AA warps").estimate;
  CHECK(std::tuple(warps.value, warps.low, warps.high) == std::tuple(16, 8, 16));
}

TEST_CASE("memory: All-One and One-One by the dependent form, the bus by the faster") {
  const auto sweep_of = [](Form form, double oa, double aa, double ao, double oo) {
    ProbeSeries sweep = probe_sweep();
    sweep.question.probe = "bandwidth";
    sweep.question.operation = Operation::rmw;
    sweep.question.form = form;
    sweep.question.space = Space::global;
    sweep.limit = {1e9, "clock * width"};
    const auto add = [&](std::uint32_t blocks, std::uint32_t threads, double gb_s) {
      add_point(sweep, {.blocks = blocks, .threads = threads, .ilp = 1, .access_bytes = 4, .bytes = 64 * MiB},
                gb_s * 2000, steady);
    };
    add(1, 1, oo);
    add(1, 512, oa);
    add(32, 1, ao);
    add(32, 512, aa);
    return sweep;
  };
  Trace trace;
  trace.of<Probes>() = {sweep_of(Form::streaming, 0.2, 0.98, 0.3, 0.08),
                        sweep_of(Form::dependent, 0.1, 0.9, 0.16, 0.01)};
  const DeviceParameters d = derive(trace).at(0);
  CHECK(find(d, "B").estimate.value == doctest::Approx(0.98e9));
  CHECK(find(d, "B").verdict == Agreement::agrees);
  // Of either form by itself: W_bus * T_delay is B_AA / B_OO.
  CHECK(find(d, "N_MINBl").estimate.value == doctest::Approx(0.9 / 0.1));
  CHECK(find(d, "W_bus").estimate.value == doctest::Approx(0.9 / 0.16));
  CHECK(find(d, "T_delay").estimate.value == doctest::Approx(0.16 / 0.01));
  CHECK(find(d, "N_MINBl streaming").estimate.value == doctest::Approx(0.98 / 0.2));
  CHECK(find(d, "W_bus streaming").estimate.value == doctest::Approx(0.98 / 0.3));
  CHECK(find(d, "T_delay streaming").estimate.value == doctest::Approx(0.3 / 0.08));
  CHECK(find(d, "T_delay").reference == 32);                             // 4 units of 8 blocks
  CHECK(find(d, "rmw latency").estimate.value == doctest::Approx(800));  // 8 B at 10 MB/s
  trace.of<Probes>().pop_back();
  const DeviceParameters streaming = derive(trace).at(0);
  CHECK(std::ranges::none_of(streaming.parameters, [](const Parameter& p) { return p.name == "T_delay"; }));
  CHECK(find(streaming, "T_delay streaming").estimate.value == doctest::Approx(0.3 / 0.08));
  CHECK(std::any_of(streaming.missing.begin(), streaming.missing.end(),
                    [](const auto& m) { return m.find("dependent form") != std::string::npos; }));
}

}  // namespace derive_test
