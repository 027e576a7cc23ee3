// Roofs, ridges and points of traces written by hand, kernels compared with them, and profiles as Nsight Compute writes
// them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "npgpu/model/derive.hpp"
#include "npgpu/vocabulary/units.hpp"
#include "tests/made_probe.hpp"

namespace roofline_test {

using namespace npgpu;

namespace {

constexpr double gb = 1e9;

// A series of one point at this rate, from seven trials that differ by up to one in a hundred.
ProbeSeries at_rate(const ProbeCase& c, Shape shape, double per_s, double mhz = 1000) {
  ProbeSeries sweep = probe_sweep();
  sweep.question = c;
  sweep.question.device = "cuda:0";
  constexpr double us = 1000;
  add_point(sweep, shape, per_s * us * 1e-6, {us, 1.01 * us, 0.99 * us, us, us, 1.005 * us, 0.995 * us});
  give_cycles(sweep, mhz);
  return sweep;
}

ProbeSeries reads(double per_s) {
  return at_rate({.probe = "bandwidth", .operation = Operation::read, .space = Space::global},
                 {.blocks = 8, .threads = 256, .ilp = 4, .access_bytes = 16, .bytes = 64 * MiB}, per_s);
}
ProbeSeries arithmetic(DataType type, double per_s) {
  return at_rate({.probe = "compute", .type = type}, {.blocks = 8, .threads = 256, .ilp = 4}, per_s);
}
// Memory of 100 GB/s and 1600 GFLOP/s: the ridge is at 16.
Trace with_roofs() {
  Trace trace;
  trace.of<Probes>() = {reads(100 * gb), arithmetic(DataType::fp32, 1600 * gb)};
  return trace;
}

Roofline only(const Trace& trace) {
  const auto all = rooflines_of(trace);
  REQUIRE(all.size() == 1);
  return all.front();
}

UserKernel mine(double operations, double bytes, double ms, const std::string& type = "fp32") {
  return {"mine", {{type, operations}, {"memory", bytes}}, Seconds{ms * 1e-3}};
}

constexpr const char* wide =
    "==PROF== Connected to process 7\n"
    "\"ID\",\"Process ID\",\"Kernel "
    "Name\",\"gpu__time_duration.sum\",\"dram__bytes_read.sum\",\"dram__bytes_write.sum\","
    "\"lts__t_bytes.sum\",\"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum\","
    "\"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum\",\"sm__ops_path_tensor_src_bf16_dst_fp32.sum\"\n"
    "\"\",\"\",\"\",\"us\",\"Mbyte\",\"Kbyte\",\"byte\",\"inst\",\"inst\",\"\"\n"
    "\"0\",\"7\",\"small(float*, int)\",\"10\",\"1.5\",\"500\",\"4,000,000\",\"1,000,000\",\"500,000\",\"0\"\n"
    "\"1\",\"7\",\"large\",\"1,000\",\"3\",\"0\",\"0\",\"0\",\"0\",\"8,192\"\n"
    "\"2\",\"7\",\"small(float*, int)\",\"30\",\"0.5\",\"500\",\"4,000,000\",\"1,000,000\",\"500,000\",\"0\"\n";

std::string refusal(const std::string& csv) {
  try {
    kernels_of_profile(csv, "p.csv");
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::usage);
    return e.what();
  }
  return {};
}

}  // namespace

TEST_CASE("roofs are the best rates of the trace, and a ridge is the quotient of two") {
  const Roofline device = only(with_roofs());
  REQUIRE(device.roofs.size() == 2);
  CHECK(device.roofs[0].name == "memory");
  CHECK(device.roofs[0].rate.value == doctest::Approx(100 * gb));
  CHECK(device.roofs[1].name == "fp32");
  REQUIRE(device.ridges.size() == 1);
  const Estimate& ridge = device.ridges[0].intensity;
  CHECK(ridge.value == doctest::Approx(16));
  // Both at their bounds at once: wider than either.
  const Estimate &memory = device.roofs[0].rate, &fp32 = device.roofs[1].rate;
  CHECK(ridge.low == doctest::Approx(fp32.low / memory.high));
  CHECK(ridge.high == doctest::Approx(fp32.high / memory.low));
  CHECK(device.missing.empty());
}

TEST_CASE("a roof that is missing is named; a trace without any has no roofline") {
  Trace trace = with_roofs();
  trace.of<Probes>().erase(trace.of<Probes>().begin());
  REQUIRE(only(trace).missing.size() == 1);
  CHECK(only(trace).missing[0].find("probe bandwidth --operation read") != std::string::npos);
  trace.of<Probes>() = {};
  CHECK(rooflines_of(trace).empty());
}

// Of an older version; what is counted there is not known here.
TEST_CASE("points of a probe that this build does not have are no roof") {
  Trace trace = with_roofs();
  trace.of<Probes>().push_back(
      at_rate({.probe = "roofline", .operation = Operation::mma, .type = DataType::fp16, .space = Space::l2},
              {.blocks = 16, .threads = 256, .bytes = 64 * MiB, .intensity = 1024}, 9e12));
  CHECK(only(trace).roofs.size() == 2);
}

// L2 of 400 GB/s in sets of up to half of its 64 MiB; a small set is read faster, as lines leave L2 once for two
// blocks.
TEST_CASE("L2 has the roof of its largest set up to half of it, and a ridge with each arithmetic") {
  Trace trace = with_roofs();
  const ProbeCase l2{.probe = "onchip", .operation = Operation::read, .space = Space::l2};
  const auto set = [](std::uint64_t bytes) {
    return Shape{.blocks = 8, .threads = 512, .ilp = 4, .access_bytes = 16, .bytes = bytes};
  };
  ProbeSeries sets = at_rate(l2, set(4 * MiB), 500 * gb);
  sets.layout.cache_bytes = 64 * MiB;
  for (const auto& [bytes, per_s] : {std::pair{24 * MiB, 400 * gb}, {60 * MiB, 450 * gb}})
    add_point(sets, set(bytes), per_s * 1e-3, {1000, 1010, 990, 1000, 1000, 1005, 995});
  give_cycles(sets, 1000);
  trace.of<Probes>().push_back(sets);
  const Roofline device = only(trace);
  CHECK(device.roof("L2")->rate.value == doctest::Approx(400 * gb));  // of 24 MiB
  std::map<std::string, double> ridges;
  for (const Ridge& ridge : device.ridges) ridges[ridge.memory] = ridge.intensity.value;
  CHECK(ridges.size() == 2);
  CHECK(ridges["L2"] == doctest::Approx(4));
  CHECK(ridges["memory"] == doctest::Approx(16));
}

TEST_CASE("two GPUs that were called cuda:0 in turn are two devices") {
  Trace trace = with_roofs();
  ProbeSeries other = reads(50 * gb);
  other.device_uuid = "GPU-other";
  trace.of<Probes>().push_back(other);
  const auto all = rooflines_of(trace);
  REQUIRE(all.size() == 2);
  CHECK(all[0].roof("memory")->rate.value == doctest::Approx(100 * gb));
  CHECK(all[1].roof("memory")->rate.value == doctest::Approx(50 * gb));
}

TEST_CASE("a kernel is bound by what takes longest at its roof") {
  const Roofline device = only(with_roofs());
  // 80 GB take 0.8 s, 160 GFLOP take 0.1 s.
  const PlacedKernel memory = placed(device, mine(160 * gb, 80 * gb, 1000));
  CHECK(memory.intensity == doctest::Approx(2));
  CHECK(memory.rate == doctest::Approx(160 * gb));
  CHECK(memory.bound == "memory");
  CHECK(memory.share == doctest::Approx(0.8));
  CHECK(memory.least_us == doctest::Approx(0.8e6));
  REQUIRE(memory.uses.size() == 2);
  CHECK(memory.uses[1].roof == "fp32");
  CHECK(memory.uses[1].share == doctest::Approx(0.1));
  const PlacedKernel fp32 = placed(device, mine(1600 * gb, 8 * gb, 2000));
  CHECK(fp32.bound == "fp32");
  CHECK(fp32.share == doctest::Approx(0.5));
  CHECK_FALSE(fp32.is_beyond());
  CHECK(placed(device, mine(1, 200 * gb, 1000)).is_beyond());
  CHECK(memory.is_bound_by_memory);
  CHECK_FALSE(fp32.is_bound_by_memory);
  CHECK(fp32.unit == "FLOP/s");
}

TEST_CASE("work without a roof is named, and nothing is said of a kernel that has no other") {
  const Roofline device = only(with_roofs());
  const PlacedKernel half = placed(device, mine(160 * gb, 80 * gb, 1000, "tensor fp16"));
  CHECK(half.unknown == std::vector<std::string>{"tensor fp16"});
  CHECK(half.bound == "memory");
  const PlacedKernel none = placed(device, {"none", {{"fp64", 1e9}}, Seconds{1}});
  CHECK(none.bound.empty());
  CHECK(std::isnan(none.share));
}

TEST_CASE("of tensor cores the faster instruction is the roof") {
  Trace trace = with_roofs();
  const auto products = [](Operation operation, double per_s) {
    return at_rate({.probe = "tensor", .operation = operation, .type = DataType::fp16}, {.blocks = 4, .threads = 256},
                   per_s);
  };
  trace.of<Probes>().push_back(products(Operation::mma, 4e12));
  trace.of<Probes>().push_back(products(Operation::wgmma, 6e12));
  const Roofline device = only(trace);
  CHECK(device.roof("tensor fp16")->name == "tensor fp16 wgmma");
  CHECK(device.roof("tensor fp16 mma")->rate.value == doctest::Approx(4e12));
  CHECK(device.roof("tensor") != nullptr);
  CHECK(device.roof("fp16") == nullptr);
}

TEST_CASE("where mma alone was measured on a GPU that has wgmma, the documented rate is the roof, or none is") {
  ProbeSeries mma = at_rate({.probe = "tensor", .operation = Operation::mma, .type = DataType::fp16},
                            {.blocks = 4, .threads = 256}, 4e12);
  mma.limit = {6e12, "documented"};
  Trace trace = with_roofs();
  trace.of<Probes>().push_back(mma);
  trace.provenance = {{"device0", {{"id", std::string("cuda:0")}, {"compute_capability", std::string("8.0")}}}};
  CHECK(only(trace).roof("tensor fp16")->name == "tensor fp16 mma");
  trace.provenance[0].second[1].second = std::string("9.0");
  CHECK(only(trace).roof("tensor fp16")->name == "tensor fp16 peak");
  const PlacedKernel product = placed(only(trace), mine(5.4e12, gb, 1000, "tensor fp16"));
  CHECK(product.share == doctest::Approx(0.9));
  CHECK_FALSE(product.is_beyond());
  trace.of<Probes>().back().limit = {};
  CHECK_FALSE(only(trace).roof("tensor fp16"));
  CHECK(only(trace).missing.back().find("tensor fp16, of which mma reaches a part") != std::string::npos);
  ProbeSeries groups = at_rate({.probe = "wgmma", .operation = Operation::wgmma, .type = DataType::fp16},
                               {.blocks = 4, .threads = 256, .n = 256, .operands = Operands::random}, 5e12);
  add_point(groups, {.blocks = 4, .threads = 256, .n = 256, .operands = Operands::zeros}, 9e9, {1000, 1000, 1000});
  trace.of<Probes>().push_back(groups);
  CHECK(only(trace).roof("tensor fp16")->rate.value == doctest::Approx(5e12));  // zeros are faster, and no roof
}

TEST_CASE("a profile with a record for each launch: units, thousands, launches of one name together") {
  const auto kernels = kernels_of_profile(wide, "p.csv");
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].name == "large");  // the longest first
  CHECK(kernels[0].time.count() == doctest::Approx(1e-3));
  CHECK(kernels[0].operations() == doctest::Approx(8192));
  const UserKernel& small = kernels[1];
  CHECK(small.launches == 2);
  CHECK(small.time.count() == doctest::Approx(40e-6));
  CHECK(small.bytes() == doctest::Approx(3e6));
  CHECK(small.operations() == doctest::Approx(2 * (2e6 + 0.5e6)));
  const auto l2 = std::ranges::find(small.work, "L2", &KernelWork::roof);
  REQUIRE(l2 != small.work.end());
  CHECK(l2->amount == doctest::Approx(8e6));
}

TEST_CASE("a profile with a record for each metric says the same") {
  const std::string head = "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n";
  const auto kernels =
      kernels_of_profile(head +
                             "\"0\",\"k\",\"gpu__time_duration.sum\",\"nsecond\",\"2,000\"\n"
                             "\"0\",\"k\",\"dram__bytes.sum\",\"Gbyte\",\"0.001\"\n"
                             "\"0\",\"k\",\"dram__bytes_read.sum\",\"byte\",\"7\"\n"
                             "\"0\",\"k\",\"launch__registers_per_thread\",\"register/thread\",\"32\"\n"
                             "\"0\",\"k\",\"smsp__sass_thread_inst_executed_op_dfma_pred_on.sum\",\"inst\",\"10\"\n"
                             "\"0\",\"k\",\"smsp__sass_thread_inst_executed_op_hfma_pred_on.sum\",\"inst\",\"10\"\n",
                         "p.csv");
  REQUIRE(kernels.size() == 1);
  CHECK(kernels[0].time.count() == doctest::Approx(2e-6));
  CHECK(kernels[0].bytes() == doctest::Approx(1e6));  // of all, and not its part again
  CHECK(kernels[0].operations() == doctest::Approx(2 * 10 + 4 * 10));
}

TEST_CASE("what a profile lacks is said in one sentence") {
  CHECK(refusal("") == "p.csv: has no column \"Kernel Name\": write it by ncu --csv, or ncu --csv --page raw");
  CHECK(refusal("a,b\n1,2\n").find("Kernel Name") != std::string::npos);
  CHECK(refusal("\"ID\",\"Kernel Name\"\n\"0\",\"k\"\n") == "p.csv: has no column gpu__time_duration.sum");
  CHECK(refusal("\"ID\",\"Kernel Name\",\"Metric Name\"\n").find("Metric Value") != std::string::npos);
  const std::string head = "\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\",\"dram__bytes.sum\"\n";
  CHECK(refusal(head) == "p.csv: has no kernel with the metrics that a roofline takes");
  CHECK(refusal(head + "\"0\",\"k\",\"1\",\"2\"\n").find("k has no counter of operations") != std::string::npos);
  CHECK(refusal(head + "\"0\",\"k\",\"\",\"2\"\n") == "p.csv: k has no gpu__time_duration.sum");
  CHECK(refusal(head + "\"0\",\"k\",\"1\",\"\"\n").find("k has no dram__bytes.sum") != std::string::npos);
  CHECK(refusal(head + "\"\",\"\",\"us\",\"furlong\"\n\"0\",\"k\",\"1\",\"2\"\n").find("'2 furlong'") !=
        std::string::npos);
  CHECK(refusal(head + "\"0\",\"k\",\"-1\",\"2\"\n").find("no number") != std::string::npos);
}

}  // namespace roofline_test
