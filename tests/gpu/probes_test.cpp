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

#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/devices/cuda/probe_bench.hpp"
#include "npgpu/error.hpp"
#include "npgpu/probe_description.hpp"
#include "npgpu/runner.hpp"
#include "npgpu/statistics.hpp"

namespace probes_test {

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
  if (c.probe == "reduction") {  // every rung, over an array whose end is in the middle of a block and of a row
    constexpr std::uint64_t bytes = 4 * MiB + 48;
    for (Shape shape : find_probe(c.probe, c.device).shapes(c)) {
      const std::uint64_t of_block = std::uint64_t{shape.threads} * shape.ilp * shape.access_bytes;
      if (shape.rung < 7) shape.blocks = static_cast<std::uint32_t>((bytes + of_block - 1) / of_block);
      shape.bytes = bytes;
      all.push_back(shape);
    }
    return all;
  }
  if (c.probe == "tensor") {  // every number of chains, groups of warps, blocks in several waves
    if (c.operation == Operation::wgmma)
      return {{.blocks = 1, .threads = 128}, {.blocks = l.units * 2 + 1, .threads = 256}};
    for (const std::uint32_t ilp : {1u, 2u, 4u, 8u})
      if (ilp == 1 || c.type != DataType::fp64)
        all.push_back(
            {.blocks = ilp == 1 ? 1 : l.units * ilp + 1, .threads = ilp == 8 ? 1024 : 96 * ilp - 64, .ilp = ilp});
    return all;
  }
  if (c.probe == "product") {  // every tile, of matrices of 512 rows
    for (Shape shape : find_probe(c.probe, c.device).shapes(c)) {
      shape.blocks = 512 * 512 / shape.threads;
      shape.bytes = 512 * 512 * 4;
      all.push_back(shape);
    }
    return all;
  }
  if (c.probe == "staging") {  // every rung, of tiles that do not divide among the blocks
    for (Shape shape : find_probe(c.probe, c.device).shapes(c))
      for (const std::uint32_t blocks : {1u, 3u}) {
        shape.blocks = blocks;
        shape.bytes = 20 * 4096;
        all.push_back(shape);
      }
    return all;
  }
  if (c.probe == "gemm") {  // even, odd and ragged; in the host's memory also in panels that do not divide the columns
    for (const auto& [m, n, k] : {std::tuple{64u, 64u, 64u}, {1u, 1u, 1u}, {130u, 77u, 201u}, {64u, 333u, 5u}})
      for (const std::uint32_t panels : {1u, 2u, 7u}) {
        Shape shape;
        std::tie(shape.m, shape.n, shape.k, shape.panels) = std::tuple(m, n, k, panels);
        if (panels == 1 || (c.space == Space::host && panels <= n)) all.push_back(shape);
      }
    return all;
  }
  if (c.probe == "roofline") {  // every intensity, by one warp, by some blocks, and by more than a device holds at once
    for (Shape shape : find_probe(c.probe, c.device).shapes(c)) {
      const std::uint32_t most = shape.blocks;
      for (const auto& [blocks, threads, bytes] :
           {std::tuple{1u, 32u, 96 * KiB}, {3u, 256u, 4 * MiB}, {4 * most + 1, 96u, MiB}}) {
        std::tie(shape.blocks, shape.threads, shape.bytes) = std::tuple(blocks, threads, bytes);
        all.push_back(shape);
      }
    }
    return all;
  }
  if (c.probe == "cluster") {  // every number in flight, near and far blocks, more clusters than one
    const bool chases = c.operation == Operation::chase;
    for (const auto& [cluster, on] : {std::pair{2u, 1u}, {1u, 0u}, {4u, 3u}, {8u, 4u}})
      for (const std::uint32_t ilp : {1u, 4u})
        if (!chases || ilp == 1)
          all.push_back({.blocks = chases ? cluster : 2 * cluster,
                         .threads = chases ? 1u : 96u,
                         .ilp = ilp,
                         .access_bytes = chases ? 8u : 16u,
                         .bytes = 18 * KiB,
                         .one_block_per_sm = 1,
                         .stride = on,
                         .cluster = cluster});
    return all;
  }
  if (c.probe == "banks") {
    for (Shape shape : find_probe(c.probe, c.device).shapes(c)) {
      shape.blocks = 3;
      all.push_back(shape);
    }
    return all;
  }
  if (c.probe == "code") {  // the shortest line, the longest, and one that a repeat goes round by half
    for (const std::uint64_t kib : {1, 256, 96})
      all.push_back({.blocks = kib == 96 ? 3u : 1u, .threads = 64, .ilp = 4, .bytes = kib * KiB});
    return all;
  }
  if (c.probe == "pages") {  // one page, and sets that are no power of two
    for (const std::uint64_t set : {2 * MiB, 6 * MiB, 8 * MiB})
      all.push_back({.access_bytes = 8, .bytes = set, .one_block_per_sm = 1});
    return all;
  }
  if (c.probe == "instructions") {
    for (const std::uint32_t ilp : {1u, 2u, 4u}) all.push_back({.blocks = ilp, .threads = 96, .ilp = ilp});
    return all;
  }
  if (c.probe == "wgmma") {  // every width, by a group, and by more blocks of two than a device runs at once
    for (const Shape& shape : find_probe(c.probe, c.device).shapes(c))
      if (shape.blocks == 1) {
        all.push_back(shape);
        all.push_back({.blocks = l.units + 1, .threads = 256, .n = shape.n});
      }
    return all;
  }
  if (c.probe == "tma") {  // every rung but the last; boxes of less than a warp's words and of more; sets that groups
                           // do not divide
    const auto add = [&](std::uint32_t blocks, std::uint32_t threads, std::uint32_t ilp, std::uint32_t access,
                         std::uint32_t rung) {
      const Shape shape{.blocks = blocks,
                        .threads = threads,
                        .ilp = ilp,
                        .access_bytes = access,
                        .bytes = 96 * KiB,
                        .one_block_per_sm = 1,
                        .rung = rung};
      if (!find_probe(c.probe, c.device).refuses({c, shape})) all.push_back(shape);
    };
    for (const std::uint32_t rung : {1u, 2u, 3u})
      for (const std::uint32_t access : {16u, 128u, 1024u, 4096u})
        if (c.operation == Operation::chase) add(1, 1, 1, access, rung);
        else
          for (const std::uint32_t ilp : {1u, 4u})
            add(access < 1024 ? 3 : 1, access < 1024 ? 96 : 64, ilp, access, rung);
    return all;
  }
  if (description_of(c).axes.has_pattern()) {  // every pattern, by one block and by some
    for (Shape shape : find_probe(c.probe, c.device).shapes(c)) {
      if (shape.bytes > 8 * MiB) continue;
      for (const std::uint32_t blocks : {1u, 3u}) {
        shape.blocks = blocks;
        all.push_back(shape);
      }
    }
    // Warps that take turns: a grid that fills the device, too.
    if (c.probe == "onchip" && c.space == Space::l2) {
      all.push_back(find_probe(c.probe, c.device).shapes(c).front());
      all.back().bytes = 2 * MiB;
    }
    return all;
  }
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

// Each probe is a subcase, so that a checker can look at one at a time.
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
        INFO(what);
        visit(find_probe(name, "cuda:0"), c);
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
      for (const std::uint64_t repeats : {1u, 3u, 10u}) {
        const ProbeSample sample = run(*runner, repeats);
        CHECK(runner->check({}).value_or("") == "");
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
    if (c.probe == "latency" || c.probe == "tensor" || c.probe == "instructions" || c.probe == "pages" ||
        c.probe == "code" || description_of(c).axes.has_pattern())
      shape = few_shapes(c, probe.context(c).layout).front();
    // A store is not waited for, and a grid that is not resident leaves no cycles.
    if ((c.operation == Operation::write && c.probe == "bandwidth") || c.probe == "reduction" || c.probe == "product" ||
        c.probe == "gemm")
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

// By cycles, where operations bound a kernel: the work that is counted is done.
TEST_CASE("twice the operations on a byte are twice the cycles") {
  const Probe& roofline = find_probe("roofline", "cuda:0");
  for (const ProbeCase& c : roofline.cases("cuda:0")) {
    const std::string what = title(c);
    CAPTURE(what);
    const auto shapes = roofline.shapes(c);
    const auto runner = open(roofline, c, shapes.front().bytes);
    const auto cycles = [&](const Shape& shape) {
      runner->prepare({c, shape});
      double least = run(*runner, 4).cycles;
      for (int i = 0; i < 4; ++i) least = std::min(least, run(*runner, 4).cycles);
      return least;
    };
    const double ratio = cycles(shapes.back()) / cycles(shapes[shapes.size() - 2]);
    CHECK(ratio > 1.7);
    CHECK(ratio < 2.3);
  }
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
    if (!is_pattern && c.probe != "tensor") CHECK(shapes.front().threads == 1);
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
    CHECK(context.library.rfind("cuBLAS 1", 0) == 0);
    CHECK(context.library.find("default math") != std::string::npos);
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
