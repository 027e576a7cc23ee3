// The engine with a channel that counts: what is called, in what order, and what becomes of it.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <string>

#include "npgpu/runner.hpp"
#include "npgpu/statistics.hpp"
#include "npgpu/error.hpp"

using namespace npgpu;

namespace {

class Hands final : public Clock {
 public:
  Seconds now() const override { return Seconds{time.load()}; }
  std::atomic<double> time{0};
};

// Every operation takes 1 ms on its own manual clock.
class Counting : public Channel, public DeviceTimer {
 public:
  void prepare(std::uint64_t b) override { log += "prepare " + std::to_string(b) + ";"; }
  void forward() override {
    ++forwards;
    advance();
  }
  void back() override {
    ++backs;
    advance();
  }
  void settle() override { ++settles; }
  std::optional<std::string> intact(bool went_back) override {
    log += went_back ? "intact both;" : "intact;";
    return wrong.empty() ? std::nullopt : std::optional(wrong);
  }
  const Clock& clock() const override { return hands; }
  DeviceTimer* timer() override { return device ? this : nullptr; }
  bool enqueues() const override { return device; }
  std::string binding() const override { return "nothing"; }

  void hold() override { gate += "hold;"; }
  void start() override { gate += "start;"; }
  void stop() override { gate += "stop;"; }
  void release() override { gate += "release;"; }
  std::optional<Seconds> elapsed() override {
    if (voids > 0 && voids-- > 0) return std::nullopt;
    return Seconds{0.25};
  }
  std::uint64_t gate_capacity() const override { return 10; }

  void advance() {
    hands.time = hands.time + 0.001;
    if (fail_at && forwards == fail_at) throw Error(ErrorKind::failed, "planted");
  }

  Hands hands;
  std::uint64_t forwards = 0, backs = 0, settles = 0, fail_at = 0;
  int voids = 0;
  bool device = false;
  std::string log, gate, wrong;
};

std::optional<Measured<Transfers>> run(const TransferCase& c, std::initializer_list<Channel*> channels, int trials = 2,
                                 std::uint64_t repeats = 4) {
  const auto schedule = classic_schedule({.trials = trials, .fixed_repeats = repeats});
  return measure_point(c, {channels.begin(), channels.size()}, *schedule, 64, [] { return false; });
}

}  // namespace

TEST_CASE("stream: repeats forward, settled once a trial, checked once a point") {
  Counting ch;
  const auto m = run({.pattern = Pattern::stream}, {&ch});
  REQUIRE(m);
  CHECK(ch.forwards == 1 + 2 * 4);  // one warm-up repeat
  CHECK(ch.backs == 0);
  CHECK(ch.settles == 3);
  CHECK(ch.log == "prepare 64;intact;");
  REQUIRE(m->samples.size() == 2);
  CHECK(m->samples[0].repeats == 4);
  CHECK(m->samples[0].host_us == doctest::Approx(4000));
  CHECK(std::isnan(m->samples[0].device_us));
  CHECK(m->samples[0].intact == -1);
  CHECK(m->samples[1].intact == 1);
  CHECK(m->point.bytes == 64);
}

TEST_CASE("pingpong: there and back, and what came back is checked too") {
  Counting ch;
  const auto m = run({.pattern = Pattern::pingpong}, {&ch});
  CHECK(ch.forwards == ch.backs);
  CHECK(ch.log == "prepare 64;intact both;");
  CHECK(m->samples[0].host_us == doctest::Approx(8000));
}

TEST_CASE("gated: hold, start, operations, stop, release; as many as fit behind the gate") {
  Counting ch;
  ch.device = true;
  const auto m = run({.pattern = Pattern::pingpong, .timing = Timing::gated}, {&ch}, 1, 100);
  CHECK(ch.gate == "hold;start;stop;release;hold;start;stop;release;");
  CHECK(m->samples[0].repeats == 5);  // ten operations, two a round trip
  CHECK(m->samples[0].device_us == doctest::Approx(250000));
}

TEST_CASE("event timing has marks and no gate") {
  Counting ch;
  ch.device = true;
  run({.timing = Timing::event}, {&ch}, 1);
  CHECK(ch.gate == "start;stop;start;stop;");
}

TEST_CASE("a gate that times out voids the trial; three in a row end the point") {
  Counting ch;
  ch.device = true;
  ch.voids = 2;
  const auto m = run({.timing = Timing::gated}, {&ch}, 2);
  CHECK(m->samples.size() == 2);
  ch.voids = 3;
  CHECK_THROWS_WITH_AS(run({.timing = Timing::gated}, {&ch}),
                       doctest::Contains("the gate timed out 3 times in a row at 64 bytes"), Error);
}

TEST_CASE("an error behind a closed gate opens it") {
  Counting ch;
  ch.device = true;
  ch.fail_at = 1;
  CHECK_THROWS_WITH(run({.timing = Timing::gated}, {&ch}), "planted");
  CHECK(ch.gate == "hold;start;release;");
}

TEST_CASE("duplex: two samples a trial, one a direction") {
  Counting a, b;
  a.device = b.device = true;
  const auto m = run({.pattern = Pattern::duplex, .timing = Timing::gated}, {&a, &b}, 3);
  REQUIRE(m->samples.size() == 6);
  CHECK(m->samples[4].trial == 2);
  CHECK(m->samples[4].lane == 0);
  CHECK(m->samples[5].lane == 1);
  CHECK(m->samples[4].intact == 1);
  CHECK(m->samples[5].intact == 1);
  CHECK(m->samples[3].intact == -1);
  CHECK(a.forwards == b.forwards);
}

TEST_CASE("duplex of copies that block runs on two threads, and an error on either comes back") {
  Counting a, b;
  const auto m = run({.pattern = Pattern::duplex}, {&a, &b}, 3);
  CHECK(m->samples.size() == 6);
  CHECK(b.forwards == 1 + 3 * 4);
  b.fail_at = b.forwards + 2;
  CHECK_THROWS_WITH(run({.pattern = Pattern::duplex}, {&a, &b}), "planted");
}

TEST_CASE("a wrong payload is kept with its samples and said") {
  Counting ch;
  ch.wrong = "byte 3 of 64 is 0x00, expected 0xa3";
  const auto m = run({}, {&ch});
  CHECK(m->mismatch == ch.wrong);
  CHECK(m->samples.back().intact == 0);
}

TEST_CASE("an interruption is honoured between trials and gives no half point") {
  Counting ch;
  const auto schedule = classic_schedule({.trials = 5, .fixed_repeats = 4});
  int asked = 0;
  std::array<Channel*, 1> channels{&ch};
  CHECK_FALSE(measure_point({}, channels, *schedule, 64, [&] { return ++asked > 3; }));
  CHECK(ch.forwards == 1 + 2 * 4);
}

TEST_CASE("the lanes of a case") {
  CHECK(lanes({.pattern = Pattern::stream}).size() == 1);
  const auto two = lanes({.pattern = Pattern::duplex, .direction = Direction::d2h});
  REQUIRE(two.size() == 2);
  CHECK(two[0].direction == Direction::d2h);
  CHECK(two[1].direction == Direction::h2d);
}
