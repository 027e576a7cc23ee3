// Every copy that is not refused moves what it should, where it should, and nothing beside it.
#include <doctest/doctest.h>

#include "netpipe/modules/cuda/copy_channel.hpp"
#include "npgpu/vocabulary/units.hpp"
#include "tests/gpu/cases.hpp"

namespace copies_test {

using namespace npgpu;
using test::module_called;
using test::possible_cases;

namespace {

// Copies there and back a few times, timed as the case says.
void exercise(Channel& channel, const TransferCase& c, std::uint64_t bytes) {
  channel.prepare(bytes);
  DeviceTimer* const timer = c.timing == Timing::host ? nullptr : channel.timer();
  REQUIRE((c.timing == Timing::host || timer));
  if (c.timing == Timing::gated) timer->hold();
  if (timer) timer->start();
  for (int i = 0; i < 3; ++i) {
    channel.forward();
    if (c.pattern == Pattern::pingpong) channel.back();
  }
  if (timer) timer->stop();
  if (c.timing == Timing::gated) timer->release();
  channel.settle();
  if (timer) {
    const auto elapsed = timer->elapsed();
    REQUIRE(elapsed);
    CHECK(elapsed->count() > 0);
    CHECK(elapsed->count() < 1);
  }
  const auto wrong = channel.intact(c.pattern == Pattern::pingpong);
  if (wrong) FAIL_CHECK(*wrong);
}

constexpr std::uint64_t most = MiB + 5;

}  // namespace

TEST_CASE("there and back, at sizes and offsets that align with nothing") {
  for (const char* module : {"cudaMemcpy", "cuMemcpy"}) {
    const auto all = possible_cases(module, Pattern::pingpong);
    // h2d and d2h: 4 memories * (blocking, async) * (host, event), and 2 memories gated; d2d: 4 and gated; h2h: 2
    // memories
    CHECK(all.size() == 2 * 18 + 5 + 2);
    for (TransferCase c : all)
      for (const auto& [source, target] : {std::pair{0, 0}, {1, 7}, {7, 1}}) {
        c.source_offset = source;
        c.target_offset = target;
        const std::string what = title(c);
        INFO(what);
        const auto channel = module_called(module).open_lane(c, most);
        CHECK(channel->enqueues() == (c.async && c.memory != Memory::pageable && c.memory != Memory::managed));
        for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{4097}, most}) {
          INFO(bytes);
          exercise(*channel, c, bytes);
        }
      }
  }
}

TEST_CASE("one way") {
  for (const char* module : {"cudaMemcpy", "cuMemcpy"})
    for (TransferCase c : possible_cases(module, Pattern::stream)) {
      c.bind = false;
      const std::string what = title(c);
      INFO(what);
      const auto channel = module_called(module).open_lane(c, most);
      CHECK(channel->binding() == "not bound: --no-bind");
      for (const std::uint64_t bytes : {std::uint64_t{8}, most}) exercise(*channel, c, bytes);
      CHECK_THROWS_AS(channel->back(), Error);
      CHECK_THROWS_AS(channel->intact(true), Error);
      CHECK_THROWS_AS(channel->prepare(0), Error);
      CHECK_THROWS_AS(channel->prepare(most + 1), Error);
    }
}

TEST_CASE("on each NUMA node of the host, or why not") {
  for (const char* module : {"cudaMemcpy", "cuMemcpy"})
    for (TransferCase c : possible_cases(module, Pattern::stream)) {
      for (const int node : devices::find(device_of(c)).host_nodes) {
        c.host_node = node;
        const std::string what = title(c);
        INFO(what);
        if (const auto why = module_called(module).refuses_case(c)) {
          CHECK(why->find("--host-node") == 0);
          continue;
        }
        const auto channel = module_called(module).open_lane(c, most);
        CHECK(channel->binding().find("NUMA node " + std::to_string(node)) == 0);
        exercise(*channel, c, most);
      }
      c.host_node = 1000;
      CHECK(module_called(module).refuses_case(c)->find("--host-node 1000") == 0);
    }
}

TEST_CASE("cold: the copies walk through slots, each with a payload of its own") {
  for (const char* module : {"cudaMemcpy", "cuMemcpy"})
    for (TransferCase c : possible_cases(module, Pattern::pingpong)) {
      // Pinning a footprint takes long: each module has half of the cases.
      const bool mine = c.direction == Direction::h2h || c.async == (module == std::string("cuMemcpy"));
      if (!mine || c.memory == Memory::managed || c.timing != Timing::host) continue;
      c.cache = Cache::cold;
      c.source_offset = 1;
      c.target_offset = 7;
      const std::string what = title(c);
      INFO(what);
      const MemoryNeed need = module_called(module).needs_lane(c, 4097);
      CHECK(need.host_bytes + need.device_bytes > 64 * MiB);
      const auto channel = module_called(module).open_lane(c, 4097);
      exercise(*channel, c, 4097);
      CHECK(dynamic_cast<cuda::CopyBuffers&>(*channel).slots() > 100);
      exercise(*channel, c, 8);  // other slots, filled anew
    }
}

TEST_CASE("through the engine: samples with times, payload intact") {
  for (const Timing timing : {Timing::host, Timing::event, Timing::gated}) {
    TransferCase c = case_on("cudaMemcpy", devices::default_device());
    c.pattern = Pattern::pingpong;
    c.async = true;
    c.timing = timing;
    const Measured<Transfers> measured = test::measured(c, 4096, 10);
    CHECK(measured.mismatch.empty());
    REQUIRE(measured.samples.size() == 3);
    CHECK(measured.samples.back().intact == 1);
    for (const TransferSample& sample : measured.samples) {
      CHECK(sample.host_us > 0);
      CHECK((timing == Timing::host || sample.device_us > 0));
    }
  }
}

TEST_CASE("what is free, what is needed, and a size past all memory") {
  const Module& module = module_called("cudaMemcpy");
  const TransferCase c = case_on("cudaMemcpy", devices::default_device());
  const MemoryNeed free = module.available(c);
  CHECK(free.host_bytes > 0);
  CHECK(free.device_bytes > 0);
  CHECK(free.device_bytes <= devices::find(devices::default_device()).memory_bytes);
  const std::uint64_t absurd = std::uint64_t{1} << 50;
  CHECK(module.needs_lane(c, absurd).device_bytes > free.device_bytes);
  // Device memory past all there is: an Error that names it, and the device still works.
  try {
    module.open_lane(case_on("cudaMemcpy", devices::default_device(), Direction::d2d), absurd);
    FAIL("a PiB was allocated");
  } catch (const Error& e) {
    CHECK(std::string(e.what()).find("device memory") != std::string::npos);
    CHECK(e.kind() == ErrorKind::no_memory);
  }
  exercise(*module.open_lane(c, 64), c, 64);
}

TEST_CASE("a device that is not there is refused, and cannot be opened") {
  const Module& module = module_called("cuMemcpy");
  const TransferCase c = case_on("cuMemcpy", "cuda:99");
  CHECK(module.refuses_case(c)->find("cuda:99") != std::string::npos);
  CHECK_THROWS_AS(module.open_lane(c, 64), Error);
  CHECK_THROWS_AS(devices::find("cuda:99"), Error);
}

}  // namespace copies_test
