// Who leaves when nothing is heard of another rank any more, and who stays.
#include "netpipe/ranks/hang_watchdog.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

namespace hang_watchdog_test {

using namespace npgpu;
using ranks::HangWatchdog;

namespace {

// In place of leaving: what the watchdog said. It goes on looking, as no process ends here.
class Left {
 public:
  void say(bool stopped) {
    const std::lock_guard guard(mutex_);
    said_ = stopped;
    changed_.notify_all();
  }
  bool wait() {
    std::unique_lock guard(mutex_);
    changed_.wait(guard, [&] { return said_.has_value(); });
    return *said_;
  }
  std::optional<bool> said() {
    const std::lock_guard guard(mutex_);
    return said_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<bool> said_;
};

constexpr Seconds never{1e6}, at_once{0}, look{0.001};

// Returns once the watchdog has looked a few times.
void after_looks(const std::atomic<int>& looks) {
  for (const int before = looks; looks < before + 5;) std::this_thread::yield();
}

}  // namespace

TEST_CASE("a trial without a word for longer than the patience is left") {
  Left left;
  HangWatchdog line({.patience = at_once, .between_looks = look}, [&](bool stopped) { left.say(stopped); });
  const HangWatchdog::Trial trial(line);
  CHECK_FALSE(left.wait());
}

TEST_CASE("once a signal asked to stop, a trial is left sooner") {
  Left left;
  HangWatchdog line({.patience = never, .once_stopped = at_once, .between_looks = look, .stopped = [] { return true; }},
                    [&](bool stopped) { left.say(stopped); });
  const HangWatchdog::Trial trial(line);
  CHECK(left.wait());
}

TEST_CASE("nobody leaves outside of a trial: the trace may be half written") {
  Left left;
  std::atomic<int> looks{0};
  HangWatchdog line({.patience = at_once,
                     .between_looks = look,
                     .stopped =
                         [&] {
                           ++looks;
                           return false;
                         }},
                    [&](bool stopped) { left.say(stopped); });
  after_looks(looks);
  CHECK_FALSE(left.said());
}

TEST_CASE("nobody leaves while words come") {
  Left left;
  std::atomic<int> looks{0};
  std::atomic<std::uint64_t> heard{0};
  HangWatchdog line({.patience = at_once,
                     .between_looks = look,
                     .heard =
                         [&] {
                           ++looks;
                           return ++heard;
                         }},
                    [&](bool stopped) { left.say(stopped); });
  const HangWatchdog::Trial trial(line);
  after_looks(looks);
  CHECK_FALSE(left.said());
}

TEST_CASE("who has no company has a watchdog that does nothing") {
  HangWatchdog line;
  const HangWatchdog::Trial trial(line);
  int worked = 0;
  line.meanwhile([&] { ++worked; });
  CHECK(worked == 1);
}

}  // namespace hang_watchdog_test
