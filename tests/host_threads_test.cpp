// The sample of a run of several threads, from numbers; and pinned threads call every block once.
#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <vector>

#include "netpipe/devices/host/facts.hpp"
#include "probes/host/threads.hpp"

namespace host_threads_test {

using namespace npgpu;

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

}  // namespace host_threads_test
