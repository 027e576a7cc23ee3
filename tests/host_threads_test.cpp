// What one run of several threads comes to, from numbers; and that a team does call every block once.
#include "probes/host/threads.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <vector>

#include "netpipe/devices/host/cores.hpp"
#include "probes/host/core_clock.hpp"

using namespace npgpu;

TEST_CASE("time is from the earliest begin to the latest end, cycles are the longest block's own") {
  const RunTimes ran = ran_of(
      {{.begin = Seconds{1}, .end = Seconds{4}, .ran = Seconds{3}, .hz = 100, .cpu_before = 0, .cpu_after = 0},
       {.begin = Seconds{2}, .end = Seconds{6}, .ran = Seconds{3.5}, .hz = 200, .cpu_before = 5, .cpu_after = 5}});
  CHECK(ran.host.count() == 5);
  CHECK(ran.cycles == 700);  // of the 4 seconds, another process had half a second
  CHECK(ran.units == 2);
  CHECK(ran.max_blocks_on_unit == 1);
}

TEST_CASE("blocks that shared a cpu, or moved to another's, show") {
  const auto turn = [](int before, int after) {
    return Turn{
        .begin = Seconds{0}, .end = Seconds{1}, .ran = Seconds{1}, .hz = 1, .cpu_before = before, .cpu_after = after};
  };
  CHECK(ran_of({turn(3, 3), turn(3, 3)}).units == 1);
  CHECK(ran_of({turn(3, 3), turn(3, 3)}).max_blocks_on_unit == 2);
  CHECK(ran_of({turn(3, 3), turn(4, 3)}).units == 2);
  CHECK(ran_of({turn(3, 3), turn(4, 3)}).max_blocks_on_unit == 2);
  CHECK(ran_of({turn(3, 3), turn(-1, -1)}).units == 0);
}

TEST_CASE("a clock that changed during a run is no clock") {
  CHECK(steady_hz(1000, 1010) == 1005);
  CHECK(std::isnan(steady_hz(1000, 1030)));
  CHECK(std::isnan(steady_hz(1000, NAN)));
  const RunTimes ran = ran_of({{.begin = Seconds{0}, .end = Seconds{1}, .ran = Seconds{1}, .hz = steady_hz(1, 2)}});
  CHECK(std::isnan(ran.cycles));
  CHECK(ran.host.count() == 1);
}

TEST_CASE("a team calls every block once a round, on its own cpu") {
  const auto cpus = host::core_cpus();
  PinnedThreads team(cpus);
  std::vector<std::atomic<int>> calls(cpus.size());
  for (int round = 0; round < 3; ++round) team.each([&](unsigned block) { ++calls[block]; });
  const RunTimes ran = team.run([&](unsigned block) { ++calls[block]; });
  for (const auto& one : calls) CHECK(one == 4);
  CHECK(ran.units == cpus.size());
  CHECK(ran.max_blocks_on_unit == 1);
  CHECK(team.binding().find("one thread a core: cpus ") == 0);
}
