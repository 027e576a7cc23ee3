// The probes' kernels on a GPU: results that are checked, blocks where they were asked for, and work that is really
// done. No rates: those are npgpu_bench_probes'.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "netpipe/devices/cuda/inventory.hpp"
#include "npgpu/runner.hpp"
#include "npgpu/statistics.hpp"
#include "npgpu/error.hpp"
#include "npgpu/probe.hpp"

using namespace npgpu;

namespace {

// One of each way a shape can be: every kernel is picked, and blocks of odd sizes.
std::vector<Shape> few_shapes(const ProbeCase& c, const Layout& l) {
  if (c.probe == "compute")
    return {{.blocks = 1, .threads = 1, .ilp = 1},
            {.blocks = 1, .threads = 1024, .ilp = 2},
            {.blocks = l.units, .threads = 1, .ilp = 4, .one_block_per_sm = true},
            {.blocks = l.units, .threads = l.max_threads_per_block, .ilp = 4, .one_block_per_sm = true},
            {.blocks = l.units * 3 + 1, .threads = 96, .ilp = 8}};
  std::vector<Shape> all;
  if (c.probe == "latency") {
    const std::uint32_t access = c.space == Space::global ? 8 : 4;
    const std::uint64_t most = c.space == Space::global ? 8 * MiB : 32 * KiB;
    for (const std::uint64_t bytes : {most, most / 3 / 128 * 128, std::uint64_t{128}})  // the last is one line
      all.push_back({.access_bytes = access, .bytes = bytes, .one_block_per_sm = 1});
    return all;
  }
  for (const std::uint32_t access : {4u, 16u})
    for (const std::uint32_t ilp : {1u, 2u, 4u}) {
      all.push_back({.blocks = 1, .threads = 1, .ilp = ilp, .access_bytes = access, .bytes = 4 * MiB});
      all.push_back({.blocks = l.units, .threads = 96, .ilp = ilp, .access_bytes = access, .bytes = 8 * MiB});
      const auto full = static_cast<std::uint32_t>(8 * MiB / (256 * ilp * access));
      all.push_back({.blocks = full, .threads = 256, .ilp = ilp, .access_bytes = access, .bytes = 8 * MiB});
    }
  return all;
}

template <class Visit>
void each_case(Visit visit) {
  int cases = 0;
  for (const auto& probe : probes()) {
    if (probe->kind() != "cuda") continue;
    for (const ProbeCase& c : probe->cases("cuda:0")) {
      const std::string what = title(c);
      INFO(what);
      visit(*probe, c);
      ++cases;
    }
  }
  CHECK(cases >= 15);  // four types of arithmetic, seven of memory and four chases on the oldest GPU
}

}  // namespace

TEST_CASE("every case's results are right, whatever the shape and the repeats") {
  each_case([](const Probe& probe, const ProbeCase& c) {
    const auto kernel = probe.open(c, 8 * MiB);
    for (const Shape& shape : few_shapes(c, probe.layout(c))) {
      CAPTURE(shape.blocks);
      CAPTURE(shape.threads);
      CAPTURE(shape.ilp);
      CAPTURE(shape.access_bytes);
      kernel->prepare(shape);
      CHECK(kernel->work() > 0);
      for (const std::uint64_t repeats : {1u, 3u, 10u}) {
        const RunTimes ran = kernel->run(repeats);
        CHECK(kernel->intact().value_or("") == "");
        REQUIRE(ran.device);
        CHECK(ran.device->count() > 0);
        CHECK(ran.host >= *ran.device);
      }
    }
  });
}

TEST_CASE("nothing passes for a result before there is one") {
  each_case([](const Probe& probe, const ProbeCase& c) {
    const auto kernel = probe.open(c, 8 * MiB);
    kernel->prepare(few_shapes(c, probe.layout(c)).front());
    CHECK(kernel->intact().value_or("") != "");
  });
}

TEST_CASE("blocks tell where they ran: alone where that was asked for") {
  const Probe& compute = find_probe("compute", "cuda:0");
  const ProbeCase c = compute.cases("cuda:0").front();
  const Layout l = compute.layout(c);
  const auto kernel = compute.open(c, 0);
  const auto schedule = classic_schedule({.trials = 5, .fixed_repeats = 20});
  for (const std::uint32_t threads : {1u, 256u, 1024u}) {
    const auto measured =
        measure_shape(*kernel, *schedule, {.blocks = l.units, .threads = threads, .ilp = 1, .one_block_per_sm = true}, {});
    REQUIRE(measured);
    CHECK(measured->mismatch == "");
    for (const ProbeSample& s : measured->samples) {
      CHECK(s.units == l.units);
      CHECK(s.max_blocks_on_unit == 1);
    }
  }
  // More blocks than units cannot be alone, and this is said.
  const auto crowded = measure_shape(*kernel, *schedule, {.blocks = l.units + 1, .threads = 1, .one_block_per_sm = true}, {});
  REQUIRE(crowded);
  CHECK(crowded->mismatch.find("2 blocks ran on one unit") != std::string::npos);
  kernel->prepare({.blocks = 1, .threads = 1});
  CHECK(kernel->run(1).units == 1);
}

// By cycles, not by time: they are counted, and their ratio is fixed by the kernel.
TEST_CASE("twice the repeats are twice the cycles, and no step is free") {
  each_case([](const Probe& probe, const ProbeCase& c) {
    const auto kernel = probe.open(c, 8 * MiB);
    Shape shape{.blocks = 1, .threads = 1};
    if (c.probe == "bandwidth") shape = {.blocks = 1, .threads = 1, .access_bytes = 4, .bytes = 8 * MiB};
    if (c.probe == "latency") shape = few_shapes(c, probe.layout(c)).front();
    if (c.operation == Operation::write) return;  // a store is not waited for
    kernel->prepare(shape);
    kernel->run(64);
    const double once = kernel->run(512).cycles, twice = kernel->run(1024).cycles;
    CHECK(twice / once > 1.7);
    CHECK(twice / once < 2.3);
    CHECK(once / 512 >= (c.probe == "compute" ? 513 * 2 : 20));  // no multiply-add has a latency under 2 cycles
  });
}

TEST_CASE("what cannot be is refused, in words") {
  const Probe& compute = find_probe("compute", "cuda:0");
  const Probe& bandwidth = find_probe("bandwidth", "cuda:0");
  CHECK(compute.refuses({.probe = "compute", .device = "cuda:99"}).value_or("").find("not there") != std::string::npos);
  CHECK(compute.refuses({.probe = "compute", .device = "cuda:0", .operation = Operation::read}));
  CHECK(bandwidth.refuses({.probe = "bandwidth", .device = "cuda:0", .space = Space::global}));
  CHECK_THROWS_AS(compute.open({.probe = "compute", .device = "cuda:99"}, 0), Error);
  const auto chains = compute.open(compute.cases("cuda:0").front(), 0);
  CHECK_THROWS_AS(chains->prepare({.blocks = 1, .threads = 32, .ilp = 3}), Error);
  CHECK_THROWS_AS(chains->prepare({.blocks = 1, .threads = 1025}), Error);
  CHECK_THROWS_AS(chains->prepare({.blocks = 0, .threads = 1}), Error);
  const Probe& latency = find_probe("latency", "cuda:0");
  CHECK(latency.refuses({.probe = "latency", .device = "cuda:0", .operation = Operation::chase}));
  const auto chase = latency.open(latency.cases("cuda:0").front(), MiB);
  CHECK_THROWS_AS(chase->prepare({.access_bytes = 8, .bytes = 2 * MiB}), Error);
  CHECK_THROWS_AS(chase->prepare({.access_bytes = 4, .bytes = MiB}), Error);
  CHECK_THROWS_AS(chase->prepare({.blocks = 2, .access_bytes = 8, .bytes = MiB}), Error);
  const auto memory = bandwidth.open(bandwidth.cases("cuda:0").front(), MiB);
  CHECK_THROWS_AS(memory->prepare({.blocks = 1, .threads = 32, .access_bytes = 4, .bytes = 2 * MiB}), Error);
  CHECK_THROWS_AS(memory->prepare({.blocks = 1, .threads = 32, .access_bytes = 8, .bytes = MiB}), Error);
  CHECK_THROWS_AS(memory->prepare({.blocks = 99999, .threads = 1024, .access_bytes = 16, .bytes = MiB}), Error);
}

TEST_CASE("the lists of shapes: each once, and the device takes them") {
  each_case([](const Probe& probe, const ProbeCase& c) {
    const std::vector<Shape> shapes = probe.shapes(c);
    CHECK(std::set<Shape>(shapes.begin(), shapes.end()).size() == shapes.size());
    CHECK(shapes.front().blocks == 1);
    CHECK(shapes.front().threads == 1);
    std::uint64_t most = 0;
    for (const Shape& s : shapes) most = std::max(most, s.bytes);
    const auto kernel = probe.open(c, most);
    for (const Shape& s : shapes) CHECK_NOTHROW(kernel->prepare(s));
  });
}

TEST_CASE("peaks and layouts are the device's own") {
  each_case([](const Probe& probe, const ProbeCase& c) {
    const Layout l = probe.layout(c);
    CHECK(l.units > 0);
    CHECK(l.lanes == 32);
    CHECK(l.max_threads_per_unit >= l.max_threads_per_block);
    CHECK(l.clock_mhz > 100);
    const Limit peak = probe.peak(c);
    CHECK(limit.source != "");
    if (c.probe == "bandwidth") CHECK(limit.per_s == cuda::inventory().front().memory.per_s);
  });
}
