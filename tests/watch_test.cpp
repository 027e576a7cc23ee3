// Others on the processors, played and real.
#include "netpipe/devices/host/watch.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <ctime>
#include <thread>

#include "npgpu/clock.hpp"

namespace watch_test {

using namespace npgpu;
using namespace npgpu::host;

namespace {

// A machine whose counters a test sets.
struct Played {
  Processors now{Seconds{100}, Seconds{0}, Seconds{0}, {{1, {}}}};
  std::vector<Process> processes{{7, "sleeper", Seconds{3}}, {8, "cruncher", Seconds{5}}};

  Watch watch() {
    return Watch([this] { return now; }, [this] { return processes; });
  }
  // Time passes, in which others use so many processors.
  void pass(double seconds, double others = 0, double stolen = 0, double waited = 0) {
    now.at += Seconds{seconds};
    now.others += Seconds{seconds * others};
    now.stolen += Seconds{seconds * stolen};
    now.threads[1].ran += Seconds{seconds * (1 - waited)};
    now.threads[1].waited += Seconds{seconds * waited};
    processes[1].time += Seconds{seconds * others};
  }
};

}  // namespace

TEST_CASE("a quiet machine disturbs nothing") {
  Played played;
  Watch watch = played.watch();
  for (int visit = 0; visit < 100; ++visit) {
    watch.begin();
    played.pass(0.01, 0.1);
    const Disturbance found = watch.end();
    CHECK(found.causes == 0);
    CHECK(found.by.empty());
  }
}

TEST_CASE("who computes beside a visit is named") {
  Played played;
  Watch watch = played.watch();
  played.pass(1);
  watch.begin();
  played.pass(0.3, 1.0);
  const Disturbance found = watch.end();
  CHECK(found.causes == static_cast<std::uint32_t>(Cause::host_busy));
  CHECK(found.by == "cruncher (8)");
}

TEST_CASE("short visits are judged by the window that ends with them") {
  Played played;
  Watch watch = played.watch();
  int disturbed = 0;
  for (int visit = 0; visit < 100; ++visit) {
    watch.begin();
    played.pass(0.01, visit >= 30 ? 1.0 : 0.0);
    disturbed += watch.end().causes != 0;
  }
  // A third of the window, 7 visits, passes before others are seen.
  CHECK(disturbed >= 60);
  CHECK(disturbed <= 70);
}

TEST_CASE("before a window has passed nothing is said of others, and what was waited for counts at once") {
  Played played;
  Watch watch = played.watch();
  watch.begin();
  played.pass(0.01, 2.0);
  CHECK(watch.end().causes == 0);
  watch.begin();
  played.pass(0.01, 0, 0, 0.5);
  CHECK(watch.end().causes == static_cast<std::uint32_t>(Cause::host_busy));
}

TEST_CASE("a thread that slept through a visit and waited when it was woken disturbs nothing") {
  Played played;
  Watch watch = played.watch();
  watch.begin();
  played.pass(0.01);
  played.now.threads[2].waited += Seconds{0.002};
  CHECK(watch.end().causes == 0);
}

TEST_CASE("a thread that a CPU quota stops waits too, and nobody else is blamed") {
  Played played;
  Watch watch = played.watch();
  watch.begin();
  played.pass(0.1, 0, 0, 0.5);
  played.now.stopped += Seconds{0.05};
  const Disturbance found = watch.end();
  CHECK(found.causes == static_cast<std::uint32_t>(Cause::host_limited));
  CHECK(found.by.empty());
  // Both at once, and then others alone: what was stopped before does not excuse them.
  watch.begin();
  played.pass(1, 1.0);
  played.now.stopped += Seconds{0.1};
  CHECK(watch.end().causes ==
        (static_cast<std::uint32_t>(Cause::host_limited) | static_cast<std::uint32_t>(Cause::host_busy)));
  watch.begin();
  played.pass(0.01, 0, 0, 0.5);
  CHECK(watch.end().causes == static_cast<std::uint32_t>(Cause::host_busy));
}

TEST_CASE("what a virtual machine's host takes is seen") {
  Played played;
  Watch watch = played.watch();
  watch.begin();
  played.pass(1, 0, 0.5);
  const Disturbance found = watch.end();
  CHECK(found.causes == static_cast<std::uint32_t>(Cause::cpu_steal));
  CHECK(found.by.empty());
}

TEST_CASE("this machine's counters run, and this process is no other") {
  const Processors before = read_processors();
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) {
    }
  });
  const auto ran = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return Seconds{static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec)};
  };
  const Seconds begin = steady_clock().now();
  const Seconds ran_before = ran();
  while (ran() - ran_before < Seconds{0.1}) {  // however long that takes on a busy machine
  }
  const Seconds took = steady_clock().now() - begin;
  stop = true;
  busy.join();
  const Processors after = read_processors();
  CHECK(after.at - before.at >= took);
  REQUIRE(after.threads.count(::getpid()) == 1);
  CHECK(after.threads.at(::getpid()).ran - before.threads.at(::getpid()).ran > Seconds{0.05});
  const auto all = other_processes();
  for (const Process& p : all) CHECK(p.pid != ::getpid());
}

TEST_CASE("a process that is counted as own is no other one") {
  const pid_t child = ::fork();
  if (child == 0)
    for (;;) ::pause();
  REQUIRE(child > 0);
  const auto is_listed = [&] {
    return std::ranges::any_of(other_processes(), [&](const Process& p) { return p.pid == child; });
  };
  CHECK(is_listed());
  CHECK_FALSE(is_counted_as_own(child));
  count_as_own(child);
  CHECK(is_counted_as_own(child));
  CHECK_FALSE(is_listed());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace watch_test
