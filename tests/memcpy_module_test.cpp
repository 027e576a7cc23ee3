// The host's module, driven as the engine drives it.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "netpipe/devices/host/topology.hpp"
#include "netpipe/engine/transfer_runner.hpp"
#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace memcpy_module_test {

using namespace npgpu;

namespace {

TransferCase host_case(Pattern pattern = Pattern::stream, Cache cache = Cache::warm) {
  TransferCase c = case_on("memcpy", "host", Direction::h2h);
  c.pattern = pattern;
  c.cache = cache;
  return c;
}

const Module& module() {
  const Module* found = find_module("memcpy");
  REQUIRE(found);
  return *found;
}

std::string refusal(const TransferCase& c) { return module().refuses_case(c).value_or(""); }

}  // namespace

TEST_CASE("every pattern, size and offset arrives intact, warm and cold") {
  // Each cold size lays out a walk of several times the last-level cache, which may be hundreds of MiB: few of them.
  const std::vector<std::pair<int, int>> all_offsets{{0, 0}, {1, 0}, {0, 7}, {4097, 63}}, few_offsets{{4097, 63}};
  const std::vector<std::uint64_t> all_sizes{1, 8, 300, 4096, 70000, 5}, few_sizes{300, 70000, 5};
  for (const Cache cache : {Cache::warm, Cache::cold})
    for (const Pattern pattern : {Pattern::stream, Pattern::pingpong})
      for (const auto& [from, to] : cache == Cache::warm ? all_offsets : few_offsets) {
        TransferCase c = host_case(pattern, cache);
        c.source_offset = static_cast<std::uint64_t>(from);
        c.target_offset = static_cast<std::uint64_t>(to);
        INFO(title(c));
        const auto channel = module().open_lane(c, 70000);
        const bool round_trip = pattern == Pattern::pingpong;
        for (const std::uint64_t bytes : cache == Cache::warm ? all_sizes : few_sizes) {
          channel->prepare(bytes);
          for (int i = 0; i < 3; ++i) {
            channel->forward();
            if (round_trip) channel->back();
          }
          channel->settle();
          const auto wrong = channel->intact(round_trip);
          CHECK_MESSAGE(!wrong, wrong.value_or(""));
        }
      }
}

TEST_CASE("what was not copied is found: nothing, or not back, or not again after the next prepare") {
  const auto channel = module().open_lane(host_case(Pattern::pingpong), 4096);
  channel->prepare(100);
  CHECK(channel->intact(false)->find("byte 0 of 100 is 0x") == 0);
  CHECK(channel->intact(false)->find(": never written") != std::string::npos);
  channel->forward();
  CHECK_FALSE(channel->intact(false));
  CHECK(channel->intact(true)->find("on the way back, byte 0 of 100 is 0x") == 0);
  channel->back();
  CHECK_FALSE(channel->intact(true));
  channel->prepare(100);
  CHECK(channel->intact(false));
}

TEST_CASE("a cold walk visits slot after slot, all of them, and starts again") {
  const auto channel = module().open_lane(host_case(Pattern::stream, Cache::cold), MiB);
  const std::uint64_t span = module().needs_lane(host_case(Pattern::stream, Cache::cold), MiB).host_bytes / 2;
  const std::uint64_t slots = span / (MiB + 4096);  // a slot of 1 MiB has a page more for its guards
  channel->prepare(MiB);
  for (std::uint64_t i = 0; i < 2 * slots; ++i) {
    channel->forward();
    // Each check reads all slots visited so far; what went wrong between two of them is still wrong at the last.
    const bool turning = i + 3 > slots && i < slots + 3;
    if (i < 3 || turning || i + 3 > 2 * slots) REQUIRE_FALSE(channel->intact(false));
  }
}

TEST_CASE("needs are what is taken, and never wrap") {
  // A page of lead, then the payload and 64 guard bytes, in whole pages: 2 pages for 1 byte.
  CHECK(module().needs_lane(host_case(), 1).host_bytes == 2 * 8192);
  CHECK(module().needs_lane(host_case(Pattern::pingpong), 1).host_bytes == 3 * 8192);
  CHECK(module().needs_lane(host_case(), 1).device_bytes == 0);
  CHECK(module().needs_lane(host_case(), UINT64_MAX).host_bytes == UINT64_MAX);
  CHECK(module().needs_lane(host_case(Pattern::stream, Cache::cold), UINT64_MAX).host_bytes == UINT64_MAX);
  CHECK(module().needs_lane(host_case(Pattern::stream, Cache::cold), 1).host_bytes > 64 * MiB);
  CHECK(module().available(host_case()).host_bytes > 0);
}

TEST_CASE("a size that was not asked for is an error, not a crash") {
  const auto channel = module().open_lane(host_case(), 100);
  CHECK_THROWS_AS(channel->prepare(0), Error);
  CHECK_THROWS_AS(channel->prepare(101), Error);
  CHECK_NOTHROW(channel->prepare(100));
  CHECK_THROWS_AS(module().open_lane(host_case(), std::uint64_t{1} << 60), Error);
}

TEST_CASE("what memcpy cannot do it says in one sentence, with what would work") {
  struct Row {
    void (*change)(TransferCase&);
    const char* option;
    const char* instead;
  };
  const Row rows[] = {
      {[](TransferCase& c) { c.direction = Direction::h2d; }, "--direction h2d", "--direction h2h"},
      {[](TransferCase& c) { c.direction = Direction::d2h; }, "--direction d2h", "--direction h2h"},
      {[](TransferCase& c) { c.direction = Direction::d2d; }, "--direction d2d", "--direction h2h"},
      {[](TransferCase& c) { c.direction = Direction::peer; }, "--direction peer", "--direction h2h"},
      {[](TransferCase& c) { c.memory = Memory::pinned; }, "--memory pinned", "--memory pageable"},
      {[](TransferCase& c) { c.memory = Memory::managed; }, "--memory managed", "--memory pageable"},
      {[](TransferCase& c) { c.memory = Memory::device; }, "--memory device", "--memory pageable"},
      {[](TransferCase& c) { c.async = true; }, "--async", "leave"},
      {[](TransferCase& c) { c.timing = Timing::event; }, "--timing event", "--timing host"},
      {[](TransferCase& c) { c.timing = Timing::gated; }, "--timing gated", "--timing host"},
  };
  for (const Row& row : rows) {
    TransferCase c = host_case();
    CHECK(refusal(c).empty());
    row.change(c);
    const std::string why = refusal(c);
    CAPTURE(why);
    CHECK(why.find(row.option) == 0);
    CHECK(why.find(row.instead) != std::string::npos);
    CHECK(why.find('\n') == std::string::npos);
    CHECK_THROWS_WITH_AS(module().open_lane(c, 8), why.c_str(), Error);
  }
}

TEST_CASE("both directions at once: two threads, each with buffers of its own") {
  for (const Cache cache : {Cache::warm, Cache::cold}) {
    const TransferCase c = host_case(Pattern::duplex, cache);
    const std::vector<Step<Transfers>> steps{{c, {4096}}};
    CHECK_FALSE(module().refuses(steps[0]));
    CHECK(module().needs(steps).host_bytes == 2 * module().needs_lane(c, 4096).host_bytes);
    const auto runner = module().open(steps);
    const auto schedule = classic_schedule({.trials = 3, .fixed_repeats = 200});
    const auto measured = measure(*runner, *schedule, steps[0], {});
    REQUIRE(measured);
    CHECK(measured->mismatch == "");
    CHECK(measured->samples.size() == 6);
    for (const TransferSample& sample : measured->samples) CHECK(sample.host_us > 0);
  }
}

TEST_CASE("binding is said, and not bound where that was asked for") {
  CHECK_FALSE(module().open_lane(host_case(), 8)->binding().empty());
  TransferCase c = host_case();
  c.bind = false;
  CHECK(module().open_lane(c, 8)->binding() == "not bound: --no-bind");
}

TEST_CASE("buffers and thread are on the NUMA node that was asked for, or the case is refused") {
  TransferCase c = host_case();
  const std::vector<int> nodes = host::numa_nodes();
  if (nodes.size() == 1) {  // with more, the system may refuse a memory policy
    c.host_node = nodes[0];
    CHECK_FALSE(module().refuses_case(c));
    CHECK(module().open_lane(c, 8)->binding().find("NUMA node " + std::to_string(nodes[0])) == 0);
  }
  c.host_node = 1000;
  CHECK(module().refuses_case(c)->find("--host-node 1000: this machine has") == 0);
  CHECK_THROWS_AS(module().open_lane(c, 8), Error);
}

TEST_CASE("the timed operation is a memcpy and a call: no clock, lock or allocation slips into it") {
  const TransferCase c = host_case();
  const auto channel = module().open_lane(c, 4096);
  channel->prepare(8);
  std::vector<std::byte> from(8), to(8);
  volatile std::size_t bytes = 8;
  const std::size_t length = bytes;
  constexpr std::uint64_t repeats = 20000;
  double min_channel_ns = 1e9, min_bare_ns = 1e9;
  Channel* one = channel.get();
  for (int trial = 0; trial < 25; ++trial) {
    min_channel_ns =
        std::min(min_channel_ns, run_trial(c, {&one, 1}, {}, repeats)->front().host.count() * 1e9 / repeats);
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < repeats; ++i) {
      std::memcpy(to.data(), from.data(), length);
      asm volatile("" ::: "memory");
    }
    const std::chrono::duration<double> bare = std::chrono::steady_clock::now() - begin;
    min_bare_ns = std::min(min_bare_ns, bare.count() * 1e9 / repeats);
  }
  MESSAGE("8 B: channel ", min_channel_ns, " ns, bare loop ", min_bare_ns, " ns");
  // 0.3 ns apart on a quiet machine; a clock read would be 20. Twice: sanitizers watch every load.
  CHECK(min_channel_ns < 2 * min_bare_ns + 10);
}

}  // namespace memcpy_module_test
