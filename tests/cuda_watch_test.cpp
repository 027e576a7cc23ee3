// Others on a GPU, played.
#include <doctest/doctest.h>

#include "netpipe/devices/cuda/watch.hpp"

namespace cuda_watch_test {

using namespace npgpu;
using namespace npgpu::cuda;

namespace {

constexpr long own_pid = 1, neighbour = 42, server = 7, parent = 8;
constexpr auto device_busy = static_cast<std::uint32_t>(Cause::device_busy);
constexpr auto link_busy = static_cast<std::uint32_t>(Cause::link_busy);

// A GPU whose processes and counters a test sets.
struct Played {
  Seconds now{100};
  std::optional<std::vector<long>> processes{{own_pid}};
  std::optional<std::vector<nvml::Use>> uses{std::vector<nvml::Use>{}};
  bool counts_link = true;
  double others_per_s = 2e6;
  int link_looks = 0, asked_for_uses = 0;
  std::map<long, std::uint64_t> memory{};
  std::uint64_t freed = 0;

  Watch watch() {
    return Watch({.own_pid = own_pid,
                  .now = [this] { return now; },
                  .wait = [this](Seconds time) { now += time; },
                  .processes = [this] { return processes; },
                  .uses =
                      [this] {
                        ++asked_for_uses;
                        return uses;
                      },
                  .link_bytes = [this]() -> std::optional<nvml::LinkBytes> {
                    if (!counts_link) return std::nullopt;
                    ++link_looks;
                    const auto moved =
                        static_cast<std::uint32_t>(static_cast<std::uint64_t>(now.count() * others_per_s));
                    return nvml::LinkBytes{17, moved};
                  },
                  .name = [](long pid) { return pid == neighbour ? "train" : "?"; },
                  .is_ours = [](long pid) { return pid == parent; },
                  .is_server = [](long pid) { return pid == server; },
                  .memory = [this] { return std::optional(memory); },
                  .freed = [this](std::uint64_t bytes) { freed += bytes; }});
  }
  Disturbance visit(Watch& watch, double seconds = 0.01) {
    watch.begin();
    now += Seconds{seconds};
    return watch.end();
  }
};

}  // namespace

TEST_CASE("memory that a neighbour frees is seen, within a visit and before it") {
  constexpr auto memory_freed = static_cast<std::uint32_t>(Cause::memory_freed);
  Played played;
  played.processes = {{own_pid, neighbour}};
  played.memory = {{own_pid, 80 * GiB}, {neighbour, 40 * GiB}};
  Watch watch = played.watch();
  CHECK((played.visit(watch).causes & memory_freed) == 0);
  watch.begin();
  played.memory = {{own_pid, 1 * GiB}, {neighbour, 8 * GiB}};  // what this process frees is no neighbour's
  CHECK((watch.end().causes & memory_freed) != 0);
  CHECK(played.freed == 32 * GiB);
  played.processes = {{own_pid}};  // its end, between two visits: waited for, and no disturbance
  played.memory = {{own_pid, 1 * GiB}};
  CHECK((played.visit(watch).causes & memory_freed) == 0);
  CHECK(played.freed == 40 * GiB);
}

TEST_CASE("a GPU that nobody else uses disturbs nothing, and costs no look at its link") {
  Played played;
  Watch watch = played.watch();
  for (int i = 0; i < 100; ++i) {
    const Disturbance found = played.visit(watch);
    CHECK(found.causes == 0);
    CHECK(found.by.empty());
  }
  CHECK(played.link_looks == 0);
  CHECK(watch.cannot_see().empty());
}

TEST_CASE("the process that started this one is no other, and NVML is not asked what it does") {
  Played played;
  played.processes = {{own_pid, parent}};
  played.uses = {{{parent, 99, 10}}};
  Watch watch = played.watch();
  for (int i = 0; i < 10; ++i) CHECK(played.visit(watch).causes == 0);
  CHECK(played.asked_for_uses == 0);
  CHECK(played.link_looks == 0);
  played.processes = {{own_pid, parent, neighbour}};
  CHECK(played.visit(watch).causes == device_busy);
  CHECK(played.asked_for_uses > 0);
}

TEST_CASE("a server that works for this process alone does not disturb it; where others are there, it may be theirs") {
  Played played;
  played.processes = {{own_pid, server}};
  played.uses = {{{server, 99, 10}}};
  Watch watch = played.watch();
  CHECK(played.visit(watch).causes == 0);
  played.processes = {{own_pid, server, neighbour}};
  CHECK(played.visit(watch).causes == device_busy);
  played.processes = {{own_pid, server}};
  played.uses = {{{server, 99, 10}}};
  played.now += Watch::unknown_time;
  CHECK(played.visit(watch).causes == 0);
  played.processes = {{server}};  // who is there is not seen
  CHECK(played.visit(watch).causes == 0);
  Watch blind = played.watch();
  CHECK(played.visit(blind).causes == device_busy);
}

TEST_CASE("who computes on the GPU is named") {
  Played played;
  played.processes = {{own_pid, neighbour}};
  played.uses = {{{neighbour, 99, 0}}};
  Watch watch = played.watch();
  const Disturbance found = played.visit(watch);
  CHECK(found.causes == device_busy);
  CHECK(found.by == "train (42)");
}

TEST_CASE("a process is held for busy until it is known to be idle") {
  Played played;
  Watch watch = played.watch();
  CHECK(played.visit(watch).causes == 0);
  played.processes = {{own_pid, neighbour}};
  CHECK(played.visit(watch).causes == device_busy);
  played.uses = {{{neighbour, 0, 0}}};
  CHECK(played.visit(watch).causes == 0);
  played.uses = {{{neighbour, 0, 3}}};
  CHECK(played.visit(watch).causes == device_busy);
  played.uses = std::vector<nvml::Use>{};  // no newer count
  CHECK(played.visit(watch).causes == device_busy);
  played.now += 2 * Watch::of_a_count;
  CHECK(played.visit(watch).causes == 0);
}

TEST_CASE("a context that is never counted is idle after a while, and busy where nothing is counted at all") {
  Played played;
  played.processes = {{own_pid, neighbour}};
  Watch watch = played.watch();
  CHECK(played.visit(watch).causes == device_busy);
  played.now += Watch::unknown_time;
  CHECK(played.visit(watch).causes == 0);
  played.uses = std::nullopt;
  CHECK(played.visit(watch).causes == device_busy);
}

TEST_CASE("one that ended while it was counted disturbed the visit") {
  Played played;
  Watch watch = played.watch();
  watch.begin();
  played.processes = {{own_pid, neighbour}};
  played.uses = {{{neighbour, 80, 1}}};
  played.now += Seconds{0.01};
  CHECK(watch.end().causes == device_busy);
  played.processes = {{own_pid}};
  CHECK(played.visit(watch).causes == device_busy);
  played.uses = std::vector<nvml::Use>{};
  played.now += 2 * Watch::of_a_count;
  CHECK(played.visit(watch).causes == 0);
}

TEST_CASE("others' copies are seen on the link, whatever its counter wraps to") {
  Played played;
  played.processes = {{own_pid, neighbour}};
  played.uses = {{{neighbour, 0, 0}}};
  Watch watch = played.watch();
  CHECK(played.visit(watch).causes == 0);
  played.others_per_s = 25e9;
  played.now += Seconds{1};
  const Disturbance found = played.visit(watch, 0.1);
  CHECK(found.causes == link_busy);
  CHECK(found.by == "train (42)");
  for (int i = 0; i < 50; ++i) CHECK(played.visit(watch, 0.01).causes == link_busy);
  CHECK(played.link_looks < 2 * 20);
}

TEST_CASE("where NVML hides processes the link is looked at, and it is said") {
  Played played;
  played.processes = std::vector<long>{};
  Watch watch = played.watch();
  CHECK(played.visit(watch).causes == 0);
  CHECK(watch.cannot_see().find("container") != std::string::npos);
  played.others_per_s = 25e9;
  played.now += Seconds{1};
  const Disturbance found = played.visit(watch);
  CHECK(found.causes == link_busy);
  CHECK(found.by.empty());
}

TEST_CASE("what cannot be seen is said") {
  Played played;
  SUBCASE("no list") {
    played.processes = std::nullopt;
    Watch watch = played.watch();
    CHECK(played.visit(watch).causes == 0);
    CHECK(watch.cannot_see().find("does not list") != std::string::npos);
  }
  SUBCASE("no link counter") {
    played.processes = {{own_pid, neighbour}};
    played.uses = {{{neighbour, 0, 0}}};
    played.counts_link = false;
    Watch watch = played.watch();
    CHECK(played.visit(watch).causes == 0);
    CHECK(watch.cannot_see().find("link") != std::string::npos);
  }
}

}  // namespace cuda_watch_test
