// Sizes of chunks between ranks, and ranks that hang.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "netpipe/ranks/pipeline.hpp"
#include "netpipe/ranks/world.hpp"

namespace chunk_search_test {

using namespace npgpu;
using ranks::ChunkSearch;
using ranks::HangWatchdog;

// The search of a chunk is fed with times that can be checked by hand.

namespace {

struct Searched {
  std::vector<std::uint64_t> asked{};
  std::uint64_t best = 0;
  std::vector<ChunkChoice::Tried> tried{};
};

Searched searched(ChunkSearch search, const std::function<double(std::uint64_t, std::size_t)>& us_of_trial,
                  Seconds trial = Seconds{0}) {
  Searched all;
  while (const auto chunk = search.next()) {
    REQUIRE(all.asked.size() < 1000);
    search.record(from_microseconds(us_of_trial(*chunk, all.asked.size())), trial);
    all.asked.push_back(*chunk);
  }
  all.best = search.best();
  all.tried = search.tried();
  return all;
}

}  // namespace

TEST_CASE("the predicted chunk and its neighbours take turns, and it stays where they save nothing") {
  const Searched s = searched({64 * KiB, MiB, 8 * MiB}, [](auto chunk, auto) { return chunk == 64 * KiB ? 10 : 9.95; });
  CHECK(s.best == 64 * KiB);  // 0.5 % are none
  REQUIRE(s.asked.size() == 15);
  CHECK(s.asked[0] == 64 * KiB);
  CHECK(s.asked[1] == 32 * KiB);
  CHECK(s.asked[2] == 128 * KiB);
  CHECK(s.asked[3] == 64 * KiB);
  REQUIRE(s.tried.size() == 3);
  CHECK(s.tried[0].chunk == 32 * KiB);
  CHECK(microseconds(s.tried[0].least) == doctest::Approx(9.95));
}

TEST_CASE("it goes on towards the better side while that gets better, and no further than it may") {
  // Larger is better up to 512 KiB: steps to 128 (with the first three), 256, 512, and 1024 that is worse.
  const auto us = [](std::uint64_t chunk, std::size_t) {
    const double steps = std::abs(std::log2(static_cast<double>(chunk) / (512.0 * KiB)));
    return 100 + 10 * steps;
  };
  const Searched s = searched({64 * KiB, 16 * MiB, 8 * MiB}, us);
  CHECK(s.best == 512 * KiB);
  CHECK(s.asked.size() == 15 + 3 * 10);
  CHECK(std::ranges::max(s.asked) == MiB);
  // Smaller is better without end: four steps from 32 KiB on are 2 KiB, but no chunk is less than a grain.
  const Searched down =
      searched({64 * KiB, 16 * MiB, 8 * MiB}, [](auto chunk, auto) { return static_cast<double>(chunk); });
  CHECK(down.best == 4 * KiB);
  CHECK(std::ranges::min(down.asked) == 4 * KiB);
  const Searched far = searched({MiB, 64 * MiB, 8 * MiB}, [](auto chunk, auto) { return static_cast<double>(chunk); });
  CHECK(far.best == 32 * KiB);
  CHECK(far.asked.size() == ChunkSearch::most_trials);
  // Nothing beyond the message, or what a slot holds.
  const Searched up =
      searched({3 * MiB, 64 * MiB, 8 * MiB}, [](auto chunk, auto) { return 1e9 / static_cast<double>(chunk); });
  CHECK(up.best == 8 * MiB);
  CHECK(searched({6000, 10000, 8 * MiB}, [](auto chunk, auto) { return 1e9 / static_cast<double>(chunk); }).best ==
        10000);
}

TEST_CASE("the least of the trials counts: a disturbed one decides nothing") {
  const Searched s = searched({64 * KiB, MiB, 8 * MiB}, [](auto chunk, std::size_t i) {
    return (chunk == 128 * KiB ? 8.0 : 10.0) + (i < 9 && chunk == 128 * KiB ? 1000 : 0);
  });
  CHECK(s.best == 128 * KiB);
}

TEST_CASE("nothing is tried where there is nothing to choose from") {
  CHECK(searched({8, 8, 8 * MiB}, [](auto, auto) { return 1.0; }).asked.empty());
  CHECK(searched({4096, 4096, 8 * MiB}, [](auto, auto) { return 1.0; }).asked.empty());
  CHECK(searched({5000, 5000, 8 * MiB}, [](auto, auto) { return 1.0; }).asked.size() == 10);  // 5000 and 4096
}

TEST_CASE("a slow message gets one trial of each chunk") {
  const Searched s = searched(
      {64 * KiB, MiB, 8 * MiB}, [](auto chunk, auto) { return chunk == 32 * KiB ? 3e6 : 4e6; }, Seconds{4});
  CHECK(s.asked.size() == 3);
  CHECK(s.best == 32 * KiB);
}

// Who leaves when nothing is heard of another rank any more, and who stays.

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

}  // namespace chunk_search_test
