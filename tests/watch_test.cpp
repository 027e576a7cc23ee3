// Others on this machine: seen, and avoided.
#include "netpipe/devices/host/watch.hpp"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <ctime>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "netpipe/devices/host/quiet_core.hpp"
#include "npgpu/vocabulary/device.hpp"

namespace watch_test {

using namespace npgpu;
using namespace npgpu::host;
using Cpus = std::vector<unsigned>;

// Others on the processors, played and real.

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

// Which core a thread settles on, on cores that are played; and that a real thread gets back what it had.
namespace quiet_core {

namespace {

// Cpus 10, 12, 14 and 16. A loop takes 10 us on a quiet core; on a new one the first takes 5 us more.
struct Played {
  std::map<unsigned, double> us{{10, 10}, {12, 10}, {14, 10}, {16, 10}};
  Cpus cpus{10, 12, 14, 16};
  std::vector<unsigned> refused;
  unsigned at = 99;  // not pinned
  bool cold = true;
  double anywhere = 10;  // where it is not pinned
  int loops = 0, unpinned = 0;
  Cpus pinned;

  host::CoreAccess access() {
    return {
        .cpus = cpus,
        .pin =
            [this](unsigned cpu) {
              if (std::count(refused.begin(), refused.end(), cpu)) return false;
              cold = at != cpu;
              at = cpu;
              pinned.push_back(cpu);
              return true;
            },
        .unpin = [this] { at = 99, ++unpinned; },
        .loop =
            [this] {
              ++loops;
              return from_microseconds((us.contains(at) ? us.at(at) : anywhere) + (std::exchange(cold, false) ? 5 : 0));
            }};
  }
};

cpu_set_t mask() {
  cpu_set_t set;
  CPU_ZERO(&set);
  REQUIRE(sched_getaffinity(0, sizeof set, &set) == 0);
  return set;
}

}  // namespace

TEST_CASE("the first look is at all cores, and stays while its core is quiet") {
  Played cores;
  cores.us = {{10, 17}, {12, 16}, {14, 10}, {16, 15}};
  host::QuietCore quiet(cores.access());
  CHECK(quiet.text() == "one quiet core of 10,12,14,16 at a time");
  CHECK(cores.at == 99);
  quiet.settle();
  CHECK(cores.at == 14);
  for (const unsigned cpu : cores.cpus) CHECK(std::count(cores.pinned.begin(), cores.pinned.end(), cpu) > 0);
  cores.pinned.clear();
  cores.loops = 0;
  quiet.settle();
  cores.us[14] = 12.4;  // less than 1.25 times 10
  quiet.settle();
  CHECK(cores.pinned.empty());
  CHECK(cores.loops == 2);
}

TEST_CASE("where it turns slow, the thread goes to the next quiet core and goes on from there") {
  Played cores;
  host::QuietCore quiet(cores.access());
  quiet.settle();
  const auto settled_with = [&](std::map<unsigned, double> us) {
    cores.us = std::move(us);
    cores.pinned.clear();
    quiet.settle();
    return cores.at;
  };
  CHECK(settled_with({{10, 10}, {12, 10}, {14, 16}, {16, 16}}) == 10);
  CHECK(settled_with({{10, 12.6}, {12, 16}, {14, 12.4}, {16, 10}}) == 14);  // the first that is quiet, not the quietest
  CHECK(cores.pinned == Cpus{12, 14});
  CHECK(settled_with({{10, 16}, {12, 10}, {14, 16}, {16, 16}}) == 12);  // 16 and 10 come before it
  CHECK(cores.pinned == Cpus{16, 10, 12});
}

TEST_CASE("where all are slow, the least slow; and the least is what was ever seen") {
  Played cores;
  host::QuietCore quiet(cores.access());
  quiet.settle();
  REQUIRE(cores.at == 10);
  cores.us = {{10, 16}, {12, 14}, {14, 13}, {16, 15}};
  quiet.settle();
  CHECK(cores.at == 14);
  cores.us[14] = 12.6;  // still slow, and the least slow: back to where it was
  quiet.settle();
  CHECK(cores.at == 14);
  cores.us[12] = 7.9;  // 10 is slow against that
  quiet.settle();
  CHECK(cores.at == 12);
  cores.us = {{10, 10}, {12, 10}, {14, 9.1}, {16, 10}};
  quiet.settle();
  CHECK(cores.at == 14);
}

TEST_CASE("where all stay slow, a look is at four others, and goes on where the last one ended") {
  Played cores;
  cores.cpus.clear();
  cores.us.clear();
  for (unsigned cpu = 0; cpu < 12; ++cpu) cores.cpus.push_back(cpu), cores.us[cpu] = 10;
  host::QuietCore quiet(cores.access());
  quiet.settle();
  for (auto& [cpu, us] : cores.us) us = 16 + cpu * 0.01;
  const auto tried = [&] {
    cores.pinned.clear();
    quiet.settle();
    CHECK(quiet.is_shared());
    return std::set<unsigned>(cores.pinned.begin(), cores.pinned.end());
  };
  CHECK(tried().size() >= 11);  // all others
  std::set<unsigned> seen;
  for (int look = 0; look < 3; ++look) {
    const auto some = tried();
    CHECK(some.size() <= 5);  // four, and back to the least slow
    seen.insert(some.begin(), some.end());
  }
  CHECK(seen.size() >= 11);
  cores.us[7] = 10;
  for (int look = 0; look < 3 && cores.at != 7; ++look) quiet.settle();
  CHECK(cores.at == 7);
  CHECK_FALSE(quiet.is_shared());
}

TEST_CASE("one core only: there is no other to go to, and it is seen whether it is shared") {
  Played cores;
  cores.cpus = {12};
  {
    host::QuietCore quiet(cores.access());
    CHECK(quiet.text() == "one core only: cpu 12");
    CHECK_FALSE(quiet.settle());
    CHECK_FALSE(quiet.is_shared());
    cores.anywhere = 30;
    CHECK_FALSE(quiet.settle());
    CHECK(quiet.is_shared());
  }
  CHECK(cores.pinned.empty());
  CHECK(cores.unpinned == 0);
}

TEST_CASE("a refusal to pin is reported, and nothing moves; one cpu that is refused later is passed over") {
  Played all;
  all.refused = all.cpus;
  host::QuietCore stays(all.access());
  CHECK(stays.text().find("the system refuses cpu 10: ") != std::string::npos);
  CHECK_FALSE(stays.settle());
  CHECK(all.at == 99);

  Played cores;
  host::QuietCore quiet(cores.access());
  quiet.settle();
  cores.refused = {12};
  cores.us[10] = 16;
  quiet.settle();
  CHECK(cores.at == 14);

  host::CoreAccess unknown = cores.access();
  unknown.cpus.clear();
  CHECK(host::QuietCore(unknown).text().find("does not say") != std::string::npos);
}

TEST_CASE("a thread settles on one of its cpus, and has them all back afterwards") {
  std::thread([] {
    const cpu_set_t before = mask();
    {
      host::QuietCore quiet;
      quiet.settle();
      const cpu_set_t now = mask();
      cpu_set_t both;
      CPU_AND(&both, &before, &now);
      CHECK(CPU_EQUAL(&both, &now));
      if (CPU_COUNT(&before) > 1 && quiet.text().find("one quiet core") == 0) CHECK(CPU_COUNT(&now) == 1);
    }
    const cpu_set_t after = mask();
    CHECK(CPU_EQUAL(&before, &after));
  }).join();
}

}  // namespace quiet_core

}  // namespace watch_test
