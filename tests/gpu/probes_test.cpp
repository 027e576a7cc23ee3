// The probes' kernels on a GPU: results that are checked, blocks where they were asked for, and work that is really
// done. No rates: those are npgpu_bench_probes'.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "few_shapes.hpp"
#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/devices/cuda/probe_bench.hpp"
#include "npgpu/measuring/runner.hpp"
#include "npgpu/model/statistics.hpp"
#include "npgpu/vocabulary/questions.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace probes_test {

using namespace npgpu;

namespace {

// For shapes of that case up to so many bytes.
std::unique_ptr<Runner<Probes>> open(const Probe& probe, const ProbeCase& question, std::uint64_t max_bytes) {
  const ProbeStep step{question, {.bytes = max_bytes}};
  return probe.open({&step, 1});
}

ProbeSample run(Runner<Probes>& runner, std::uint64_t repeats) {
  std::vector<ProbeSample> samples;
  CHECK(runner.run(repeats, samples));
  return samples.at(0);
}

// Each probe is a subcase, and each of its cases one of that, so that a checker can look at one at a time.
template <class Visit> void each_case(Visit visit) {
  std::map<std::string, std::vector<ProbeCase>> cases;
  std::size_t count = 0;
  for (const auto& probe : probes()) {
    if (probe->device_kind() != "cuda") continue;
    for (const ProbeCase& c : probe->cases("cuda:0")) cases[c.probe].push_back(c), ++count;
  }
  // Four types of arithmetic, seven of memory and four chases on the oldest GPU; four spaces on the chip, two of
  // accesses, four of atomics, a branch, a sum, a product and tiles. Tensor cores come with capability 8.0,
  // four of gemm where there is a cuBLAS.
  CHECK(count >= 29);
  for (const auto& [name, questions] : cases) {
    SUBCASE(name.c_str()) {
      for (const ProbeCase& c : questions) {
        const std::string what = title(c);
        SUBCASE(what.c_str()) {
          INFO(what);
          visit(find_probe(name, "cuda:0"), c);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("every case's results are right, whatever the shape and the repeats") {
  each_case([](const Probe& probe, const ProbeCase& c) {
    const auto runner = open(probe, c, 8 * MiB);
    for (const Shape& shape : few_shapes(c, probe.context(c).layout)) {
      CAPTURE(shape.blocks);
      CAPTURE(shape.threads);
      CAPTURE(shape.ilp);
      CAPTURE(shape.access_bytes);
      runner->prepare({c, shape});
      CHECK(runner->work() > 0);
      for (const std::uint64_t repeats : {1u, 2u, 5u}) {
        const ProbeSample sample = run(*runner, repeats);
        CHECK(runner->check({}).value_or("") == "");
        CHECK(sample.host_us > 0);
        if (c.operation == Operation::host_read) continue;  // the device takes no part
        CHECK(sample.device_us > 0);
        CHECK(sample.host_us >= sample.device_us);
      }
    }
  });
}

// By itself: compute-sanitizer does not follow arrivals at the barriers of another block, and calls it a race.
TEST_CASE(
    "a copy to all blocks of a cluster arrives in each of them, and none is overwritten before all have read it") {
  for (const auto& probe : probes()) {
    if (probe->device_kind() != "cuda" || probe->name() != "tma") continue;
    for (const ProbeCase& c : probe->cases("cuda:0")) {
      if (c.operation != Operation::read) continue;
      const auto runner = open(*probe, c, MiB);
      for (const std::uint32_t cluster : {2u, 4u, 8u})
        for (const std::uint32_t access : {128u, 2048u})
          for (const std::uint32_t ilp : {1u, 2u}) {
            runner->prepare({c,
                             {.blocks = 2 * cluster,
                              .threads = 64,
                              .ilp = ilp,
                              .access_bytes = access,
                              .bytes = 96 * KiB,
                              .one_block_per_sm = 1,
                              .rung = 4,
                              .cluster = cluster}});
            for (const std::uint64_t repeats : {1u, 3u, 10u}) {
              run(*runner, repeats);
              CHECK(runner->check({}).value_or("") == "");
            }
          }
    }
  }
}

TEST_CASE("results are right whatever the operands are, and no work is less for them") {
  std::size_t count = 0;
  each_case([&](const Probe& probe, const ProbeCase& c) {
    const auto runner = open(probe, c, 8 * MiB);
    for (Shape shape : few_shapes(c, probe.context(c).layout))
      for (const Operands operands : {Operands::zeros, Operands::pattern, Operands::random, Operands::usual}) {
        shape.operands = operands;
        if (probe.refuses({c, shape})) continue;
        const std::string what = text_of(shape);
        CAPTURE(what);
        runner->prepare({c, shape});
        const double work = runner->work();
        run(*runner, 3);
        CHECK(runner->check({}).value_or("") == "");
        shape.operands = Operands::usual;
        runner->prepare({c, shape});
        CHECK(work == doctest::Approx(runner->work()).epsilon(0.05));
        ++count;
      }
  });
  CHECK(count > 0);
}

TEST_CASE("nothing passes for a result before there is one") {
  each_case([](const Probe& probe, const ProbeCase& c) {
    const auto runner = open(probe, c, 8 * MiB);
    runner->prepare({c, few_shapes(c, probe.context(c).layout).front()});
    CHECK(runner->check({}).value_or("") != "");
  });
}

TEST_CASE("blocks record where they ran: one per multiprocessor where that was asked for") {
  const Probe& compute = find_probe("compute", "cuda:0");
  const ProbeCase c = compute.cases("cuda:0").front();
  const Layout l = compute.context(c).layout;
  const auto runner = open(compute, c, 0);
  const auto schedule = classic_schedule({.trials = 5, .fixed_repeats = 20});
  for (const std::uint32_t threads : {1u, 256u, 1024u}) {
    const auto measured = measure<Probes>(
        *runner, *schedule, {c, {.blocks = l.units, .threads = threads, .ilp = 1, .one_block_per_sm = true}}, {});
    REQUIRE(measured);
    CHECK(measured->mismatch == "");
    for (const ProbeSample& s : measured->samples) {
      CHECK(s.units == l.units);
      CHECK(s.max_blocks_on_unit == 1);
    }
  }
  // More blocks than units cannot be alone, and this is said.
  const auto crowded =
      measure<Probes>(*runner, *schedule, {c, {.blocks = l.units + 1, .threads = 1, .one_block_per_sm = true}}, {});
  REQUIRE(crowded);
  CHECK(crowded->mismatch.find("2 blocks ran on one unit") != std::string::npos);
  runner->prepare({c, {.blocks = 1, .threads = 1}});
  CHECK(run(*runner, 1).units == 1);
}

// By cycles, not by time: they are counted, and their ratio is fixed by the kernel.
TEST_CASE("twice the repeats are twice the cycles, and no step is free") {
  each_case([](const Probe& probe, const ProbeCase& c) {
    const auto runner = open(probe, c, 8 * MiB);
    Shape shape{.blocks = 1, .threads = 1};
    if (c.probe == "bandwidth") shape = {.blocks = 1, .threads = 1, .access_bytes = 4, .bytes = 8 * MiB};
    if (c.probe == "latency" || c.probe == "tensor" || c.probe == "instructions" ||
        description_of(c).axes.has_pattern())
      shape = few_shapes(c, probe.context(c).layout).front();
    // A store is not waited for, and a grid that is not resident leaves no cycles.
    if ((c.operation == Operation::write && c.probe == "bandwidth") || c.probe == "reduction" || c.probe == "product" ||
        c.probe == "gemm" || c.probe == "migration")
      return;
    runner->prepare({c, shape});
    run(*runner, 64);
    // The least of several: a run may begin with caches that another one left, or beside a clock that changes.
    const auto cycles = [&](std::uint64_t repeats) {
      double least = run(*runner, repeats).cycles;
      for (int i = 0; i < 4; ++i) least = std::min(least, run(*runner, repeats).cycles);
      return least;
    };
    const double once = cycles(512), twice = cycles(1024);
    CHECK(twice / once > 1.7);
    CHECK(twice / once < 2.3);
    // No multiply-add has a latency under 2 cycles; a step of a pattern is 4 accesses of each of 8 warps at least.
    CHECK(once / 512 >= (c.probe == "compute" ? 513 * 2 : 20));
  });
}

TEST_CASE("a host that is late with a launch adds nothing to the device's time: what is launched waits behind a gate") {
  cuda::ProbeBench bench(0);
  cuda::Buffer word(Memory::device, 4);
  const auto late = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    cuda::check(cudaMemsetAsync(word.data(), 0, 4, bench.stream()), "clearing a word");
  };
  CHECK(bench.time_launches(0, late).device_us > 25e3);  // without the gate it is in
  const ProbeSample behind = bench.time_launches(1, late);
  REQUIRE_FALSE(bench.timed_out());
  CHECK(behind.device_us < 5e3);
  CHECK(behind.host_us < 25e3);
  CHECK(bench.time_launches(10'000, late).device_us > 25e3);  // more than the gate takes go without it
}

TEST_CASE("a gate that times out makes the run void, and the next go without one") {
  cuda::ProbeBench bench(0);
  const auto slow = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1500)); };
  bench.time_launches(1, slow);
  CHECK(bench.timed_out());
  CHECK(bench.time_launches(1, slow).device_us > 1e6);
  CHECK_FALSE(bench.timed_out());
}

TEST_CASE("what cannot be is refused, in words") {
  const Probe& compute = find_probe("compute", "cuda:0");
  const Probe& bandwidth = find_probe("bandwidth", "cuda:0");
  const ProbeCase missing{.probe = "compute", .device = "cuda:99"};
  CHECK(compute.refuses_case(missing).value_or("").find("not there") != std::string::npos);
  CHECK(compute.refuses_case({.probe = "compute", .device = "cuda:0", .operation = Operation::read}));
  CHECK(bandwidth.refuses_case({.probe = "bandwidth", .device = "cuda:0", .space = Space::global}));
  CHECK_THROWS_AS(open(compute, missing, 0), Error);
  const auto refused = [](const Probe& probe, const std::vector<Shape>& shapes) {
    const ProbeCase c = probe.cases("cuda:0").front();
    const auto runner = open(probe, c, MiB);
    for (const Shape& shape : shapes) CHECK_THROWS_AS(runner->prepare({c, shape}), Error);
  };
  refused(compute,
          {{.blocks = 1, .threads = 32, .ilp = 3}, {.blocks = 1, .threads = 1025}, {.blocks = 0, .threads = 1}});
  const Probe& latency = find_probe("latency", "cuda:0");
  CHECK(latency.refuses_case({.probe = "latency", .device = "cuda:0", .operation = Operation::chase}));
  refused(latency, {{.access_bytes = 8, .bytes = 2 * MiB},
                    {.access_bytes = 4, .bytes = MiB},
                    {.blocks = 2, .access_bytes = 8, .bytes = MiB}});
  refused(bandwidth, {{.blocks = 1, .threads = 32, .access_bytes = 4, .bytes = 2 * MiB},
                      {.blocks = 1, .threads = 32, .access_bytes = 8, .bytes = MiB},
                      {.blocks = 99999, .threads = 1024, .access_bytes = 16, .bytes = MiB}});
}

TEST_CASE("the lists of shapes: each once, and the device takes them") {
  each_case([](const Probe& probe, const ProbeCase& c) {
    const std::vector<Shape> shapes = probe.shapes(c);
    CHECK(std::set<Shape>(shapes.begin(), shapes.end()).size() == shapes.size());
    const bool is_pattern = description_of(c).axes.has_pattern();
    if (!is_pattern) CHECK(shapes.front().blocks == 1);
    // One thread, but for what a warp does together or a probe runs in whole warps.
    const auto fewest = std::ranges::min(shapes, {}, &Shape::threads).threads;
    if (!is_pattern) CHECK(shapes.front().threads == fewest);
    if (c.probe == "compute" || c.probe == "bandwidth" || c.probe == "latency") CHECK((is_pattern || fewest == 1));
    for (const Shape& s : probe.default_shapes(c)) CHECK(std::find(shapes.begin(), shapes.end(), s) != shapes.end());
    std::uint64_t most = 0;
    for (const Shape& s : shapes) most = std::max(most, s.bytes);
    const auto runner = open(probe, c, most);
    for (const Shape& s : shapes)
      if (s.panels) CHECK_NOTHROW(runner->prepare({c, s}));
  });
}

TEST_CASE("one runner serves all cases of a probe, in any order") {
  for (const auto& probe : probes()) {
    if (probe->device_kind() != "cuda") continue;
    std::vector<ProbeStep> steps;
    for (const ProbeCase& c : probe->cases("cuda:0"))
      for (const Shape& shape : few_shapes(c, probe->context(c).layout)) steps.push_back({c, shape});
    const auto runner = probe->open(steps);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const ProbeStep& step = steps[i * 7 % steps.size()];
      const std::string what = title(step.question) + ": " + text_of(step.axes);
      CAPTURE(what);
      runner->prepare(step);
      run(*runner, 2);
      CHECK(runner->check({}).value_or("") == "");
    }
  }
}

TEST_CASE("a product whose panels are advised: some, and right; and none is prepared before") {
  const Probe& gemm = find_probe("gemm", "cuda:0");
  for (const ProbeCase& c : gemm.cases("cuda:0")) {
    if (c.space != Space::host) continue;
    Shape shape;
    shape.m = shape.k = 700, shape.n = 1900, shape.panels = 0;
    const ProbeStep step{c, shape};
    const auto runner = gemm.open({&step, 1});
    CHECK_THROWS_AS(runner->prepare(step), Error);
    const ProbeStep settled = runner->settled(step, {});
    CHECK(settled.axes.panels >= 1);
    CHECK(settled.axes.panels <= 64);
    runner->prepare(settled);
    run(*runner, 3);
    CHECK(runner->check({}).value_or("") == "");
  }
}

TEST_CASE("a product says which cuBLAS made it, and how exactly; its blocks are the library's") {
  const Probe& gemm = find_probe("gemm", "cuda:0");
  for (const ProbeCase& c : gemm.cases("cuda:0")) {
    const ProbeContext context = gemm.context(c);
    const bool is_fma = c.type == DataType::fp32 || c.type == DataType::fp64;
    CHECK(context.library.starts_with(is_fma ? "cuBLAS 1" : "cuBLASLt 1"));
    CHECK(context.library.find(is_fma ? "default math" : "its first proposal") != std::string::npos);
    Shape shape = gemm.shapes(c).front();
    CHECK_FALSE(gemm.refuses({c, shape}));
    shape.blocks = 2;
    CHECK(gemm.refuses({c, shape}).has_value());
  }
}

TEST_CASE("limits and layouts are the device's own") {
  each_case([](const Probe& probe, const ProbeCase& c) {
    const Layout l = probe.context(c).layout;
    CHECK(l.units > 0);
    CHECK(l.lanes == 32);
    CHECK(l.max_threads_per_unit >= l.max_threads_per_block);
    CHECK(l.clock_mhz > 100);
    const Limit limit = probe.context(c).limit;
    CHECK(limit.source != "");
    if (c.probe == "bandwidth") CHECK(limit.per_s == cuda::inventory().front().memory.per_s);
  });
}

}  // namespace probes_test
