// The host's kernels, in small: chains, loops, chases, threads.
#include "probes/compute/chains.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <set>
#include <vector>

#include "netpipe/devices/host/facts.hpp"
#include "probes/bandwidth/loops.hpp"
#include "probes/host/threads.hpp"
#include "probes/latency/chase.hpp"

namespace chains_test {

using namespace npgpu;

// The chains of every instruction set that this machine has take exactly the steps they are asked for, and a wrong
// element is seen.

namespace {

struct alignas(64) State {
  std::byte x[chains::max_state_bytes];
};

template <class T> T element(const State& state, std::size_t i) {
  T value{};
  std::memcpy(&value, state.x + i * sizeof(T), sizeof(T));
  return value;
}

constexpr DataType types[] = {DataType::fp32, DataType::fp64, DataType::int32};

}  // namespace

TEST_CASE("every type, instruction set and number of chains here gives exact results") {
  if (isas_here().empty()) {
    MESSAGE("skipped: " << why_no_isa());
    return;
  }
  for (const Isa isa : isas_here())
    for (const DataType type : types) {
      unsigned found = 0;
      for (const unsigned ilp : chains::ilps) {
        const chains::Chains one = chains::find(isa, type, ilp);
        if (!one.loop) continue;
        ++found;
        CAPTURE(name(isa));
        CAPTURE(name(type));
        CAPTURE(ilp);
        State state;
        const std::span<std::byte> used(state.x, ilp * one.lanes * chains::bytes_of(type));
        chains::start(type, used);
        one.loop(state.x, chains::factor(type), chains::addend(type), 3);
        CHECK(chains::check(type, used, 3 * chains::steps_of_repeat).value_or("") == "");
        // One step more or less is another result.
        CHECK(chains::check(type, used, 3 * chains::steps_of_repeat + 1));
        CHECK(chains::check(type, used, 3 * chains::steps_of_repeat - 1));
        used[used.size() / 2] ^= std::byte{1};
        CHECK(chains::check(type, used, 3 * chains::steps_of_repeat));
      }
      CHECK(found >= 8);
    }
}

TEST_CASE("the check's own arithmetic, by hand") {
  State state;
  SUBCASE("counting: element i starts at i + 1") {
    const float two[] = {1 + 5, 2 + 5};
    std::memcpy(state.x, two, sizeof two);
    CHECK_FALSE(chains::check(DataType::fp32, {state.x, sizeof two}, 5));
    CHECK(chains::check(DataType::fp32, {state.x, sizeof two}, 6));
  }
  SUBCASE("a float counts to 2^24 and stays there") {
    const float end[] = {16777216};
    std::memcpy(state.x, end, sizeof end);
    CHECK(chains::check(DataType::fp32, {state.x, sizeof end}, 16777214));
    CHECK_FALSE(chains::check(DataType::fp32, {state.x, sizeof end}, 16777215));
    CHECK_FALSE(chains::check(DataType::fp32, {state.x, sizeof end}, 1u << 30));
  }
  SUBCASE("two steps of the congruential sequence from 1, modulo 2^32") {
    const std::uint32_t once = 1664525u + 1013904223u, twice = once * 1664525u + 1013904223u;
    std::memcpy(state.x, &twice, sizeof twice);
    CHECK_FALSE(chains::check(DataType::int32, {state.x, sizeof twice}, 2));
    CHECK(chains::check(DataType::int32, {state.x, sizeof twice}, 1));
  }
}

TEST_CASE("a float's chain does stop at 2^24, as its check expects") {
  if (isas_here().empty()) return;
  State state;
  chains::start(DataType::fp32, {state.x, sizeof(float)});
  const std::uint64_t repeats = (1u << 24) / chains::steps_of_repeat + 3;
  chains::find(Isa::scalar, DataType::fp32, 1).loop(state.x, 1, 1, repeats);
  CHECK(element<float>(state, 0) == 16777216);
  CHECK_FALSE(chains::check(DataType::fp32, {state.x, sizeof(float)}, repeats * chains::steps_of_repeat));
}

TEST_CASE("what no register holds is not offered") {
  for (const Isa isa : isas_here()) {
    CHECK((chains::find(isa, DataType::fp16, 1).loop == nullptr));
    CHECK((chains::find(isa, DataType::fp32, 0).loop == nullptr));
    CHECK((chains::find(isa, DataType::fp32, 17).loop == nullptr));
    if (isa == Isa::avx2)
      CHECK((chains::find(isa, DataType::fp32, 16).loop == nullptr));  // 16 registers hold a and b too
  }
}

// Walks through arrays: exact for every operation and instruction set here, and one spoiled element is seen.

namespace {

struct Arrays {
  explicit Arrays(std::uint64_t n) : x(n), y(n), z(n) {}
  loops::Slice slice(Operation operation) {
    const unsigned arrays = loops::arrays(operation);
    return {.x = x.data(),
            .y = arrays > 1 ? y.data() : nullptr,
            .z = arrays > 2 ? z.data() : nullptr,
            .elements = x.size()};
  }
  std::vector<double> x, y, z;
};

constexpr Operation operations[] = {Operation::rmw, Operation::read, Operation::write, Operation::copy,
                                    Operation::triad};

}  // namespace

TEST_CASE(
    "every operation of every instruction set here is exact over several passes, and its check sees a spoiled "
    "element") {
  if (isas_here().empty()) MESSAGE("skipped: " << why_no_isa());
  for (const Isa isa : isas_here())
    for (const Operation operation : operations)
      for (const Form form : {Form::streaming, Form::dependent})
        for (const unsigned ilp : loops::ilps) {
          const loops::Loop loop = loops::find(isa, operation, form, ilp);
          if (!loop) {
            CHECK(form == Form::dependent);
            continue;
          }
          CAPTURE(name(isa));
          CAPTURE(name(operation));
          CAPTURE(name(form));
          CAPTURE(ilp);
          Arrays arrays(31 * loops::granularity);
          loops::Slice slice = arrays.slice(operation);
          loops::fill(operation, slice);
          loop(slice, 0, 2);
          loop(slice, 2, 3);
          CHECK(loops::check(operation, slice, 5, 3).value_or("") == "");
          if (operation == Operation::rmw || operation == Operation::write) CHECK(loops::check(operation, slice, 4, 3));
          if (operation == Operation::read) CHECK(loops::check(operation, slice, 5, 2));
          double* result = slice.z ? slice.z : slice.y ? slice.y : slice.x;
          result[slice.elements - 1] += 1;
          CHECK(loops::check(operation, slice, 5, 3));
        }
}

TEST_CASE("before any pass, only what changes nothing is right") {
  for (const Operation operation : operations) {
    Arrays arrays(loops::granularity);
    loops::Slice slice = arrays.slice(operation);
    loops::fill(operation, slice);
    CAPTURE(name(operation));
    CHECK(loops::check(operation, slice, 1, 1));
  }
}

TEST_CASE("one pass by hand: elements begin 1, 2, 3, ...") {
  if (isas_here().empty()) return;
  const auto after = [](Operation operation) {
    Arrays arrays(loops::granularity);
    loops::Slice slice = arrays.slice(operation);
    loops::fill(operation, slice);
    loops::find(Isa::scalar, operation, Form::streaming, 1)(slice, 0, 1);
    return std::pair(arrays, slice.sum);
  };
  CHECK(after(Operation::rmw).first.x[1] == 3);
  CHECK(after(Operation::read).second == 64 * 65 / 2);
  CHECK(after(Operation::write).first.x[63] == 1);
  CHECK(after(Operation::copy).first.y[63] == 64);
  CHECK(after(Operation::triad).first.z[0] == 1 + 3 * 2);
}

TEST_CASE("what a step is counted as") {
  CHECK(loops::touches(Operation::rmw) == 2);
  CHECK(loops::touches(Operation::read) == 1);
  CHECK(loops::touches(Operation::write) == 1);
  CHECK(loops::touches(Operation::copy) == 2);
  CHECK(loops::touches(Operation::triad) == 3);
  CHECK(loops::touches(Operation::fma) == 0);
}

TEST_CASE("an order visits every line once, and stays in a window until it is done") {
  for (const std::uint64_t lines : {1, 7, 64, 1000}) {
    const auto order = chase::random_order(lines, 64, 1);
    CHECK(std::set<std::uint32_t>(order.begin(), order.end()).size() == lines);
    CHECK(order.size() == lines);
    CHECK(*std::max_element(order.begin(), order.end()) == lines - 1);
    unsigned moves = 0;
    for (std::size_t i = 1; i < order.size(); ++i) moves += order[i] / 64 != order[i - 1] / 64;
    CHECK(moves == (lines - 1) / 64);
  }
}

TEST_CASE("an order is random, and the same for the same seed") {
  const auto order = chase::random_order(4096, 2048, 1);
  CHECK(order == chase::random_order(4096, 2048, 1));
  CHECK(order != chase::random_order(4096, 2048, 2));
  unsigned steps_ahead = 0;
  for (std::size_t i = 1; i < order.size(); ++i) steps_ahead += order[i] == order[i - 1] + 1;
  CHECK(steps_ahead < 20);  // about 2 by chance; 4095 if it were not shuffled
}

TEST_CASE("a walk goes once around, and its check knows every place") {
  const std::uint64_t lines = 100;
  std::vector<std::byte> memory(lines * chase::line_bytes);
  const auto order = chase::random_order(lines, 64, 1);
  chase::link(memory.data(), order);
  const void* start = memory.data() + order[0] * chase::line_bytes;
  for (const std::uint64_t loads : {0, 1, 8, 13, 99}) {
    CAPTURE(loads);
    const void* at = chase::walk(start, loads);
    CHECK(at == memory.data() + order[loads] * chase::line_bytes);
    CHECK_FALSE(chase::check(memory.data(), order, loads, at));
    CHECK(chase::check(memory.data(), order, loads + 1, at));
  }
  CHECK(chase::walk(start, lines) == start);
  CHECK_FALSE(chase::check(memory.data(), order, 5 * lines, start));
}

TEST_CASE("a chain that skips one line is seen") {
  const auto order = chase::random_order(16, 64, 1);
  std::vector<std::byte> memory(16 * chase::line_bytes);
  auto skipping = order;
  skipping.erase(skipping.begin() + 5);
  chase::link(memory.data(), skipping);
  const void* at = chase::walk(memory.data() + order[0] * chase::line_bytes, 1024);
  CHECK(chase::check(memory.data(), order, 1024, at));
}

// The sample of a run of several threads, from numbers; and pinned threads call every block once.

TEST_CASE("time is from the earliest begin to the latest end, cycles are the longest block's own") {
  const ProbeSample sample = sample_of(
      {{.begin = Seconds{1}, .end = Seconds{4}, .ran = Seconds{3}, .hz = 100, .cpu_before = 0, .cpu_after = 0},
       {.begin = Seconds{2}, .end = Seconds{6}, .ran = Seconds{3.5}, .hz = 200, .cpu_before = 5, .cpu_after = 5}});
  CHECK(sample.host_us == 5e6);
  CHECK(sample.cycles == 700);  // of the 4 seconds, another process had half a second
  CHECK(sample.units == 2);
  CHECK(sample.max_blocks_on_unit == 1);
}

TEST_CASE("blocks that shared a cpu, or moved to another's, show") {
  const auto turn = [](int before, int after) {
    return Turn{
        .begin = Seconds{0}, .end = Seconds{1}, .ran = Seconds{1}, .hz = 1, .cpu_before = before, .cpu_after = after};
  };
  CHECK(sample_of({turn(3, 3), turn(3, 3)}).units == 1);
  CHECK(sample_of({turn(3, 3), turn(3, 3)}).max_blocks_on_unit == 2);
  CHECK(sample_of({turn(3, 3), turn(4, 3)}).units == 2);
  CHECK(sample_of({turn(3, 3), turn(4, 3)}).max_blocks_on_unit == 2);
  CHECK(sample_of({turn(3, 3), turn(-1, -1)}).units == 0);
}

TEST_CASE("a clock that changed during a run is no clock") {
  CHECK(steady_hz(1000, 1010) == 1005);
  CHECK(std::isnan(steady_hz(1000, 1030)));
  CHECK(std::isnan(steady_hz(1000, NAN)));
  const ProbeSample sample =
      sample_of({{.begin = Seconds{0}, .end = Seconds{1}, .ran = Seconds{1}, .hz = steady_hz(1, 2)}});
  CHECK(std::isnan(sample.cycles));
  CHECK(sample.host_us == 1e6);
}

TEST_CASE("pinned threads call every block once a round, on its own cpu") {
  const auto cpus = host::core_cpus();
  PinnedThreads threads(cpus);
  std::vector<std::atomic<int>> calls(cpus.size());
  for (int round = 0; round < 3; ++round) threads.each([&](unsigned block) { ++calls[block]; });
  const ProbeSample sample = threads.run([&](unsigned block) { ++calls[block]; });
  for (const auto& one : calls) CHECK(one == 4);
  CHECK(sample.units == cpus.size());
  CHECK(sample.max_blocks_on_unit == 1);
  CHECK(threads.binding().find("one thread a core: cpus ") == 0);
}

}  // namespace chains_test
