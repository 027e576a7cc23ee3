// The engine with a channel that counts: what is called, in what order, and what becomes of it.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <string>
#include <vector>

#include "netpipe/engine/transfer_runner.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace measure_test {

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
    return wrong.empty() || ++checks > wrong_until ? std::nullopt : std::optional(wrong);
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
  std::uint64_t checks = 0, wrong_until = UINT64_MAX;
  int voids = 0;
  bool device = false;
  std::string log, gate, wrong;
};

// A runner over channels that count, one a lane of the case.
struct Rig {
  explicit Rig(const TransferCase& question) : step{question, {64}} {
    runner = transfer_runner(
        [&](const TransferCase&, std::uint64_t) {
          auto channel = std::make_unique<Counting>();
          lanes.push_back(channel.get());
          return channel;
        },
        {&step, 1});
  }
  Counting& operator[](std::size_t lane) { return *lanes[lane]; }
  Rig& on_device() {
    for (Counting* channel : lanes) channel->device = true;
    return *this;
  }
  std::optional<Measured<Transfers>> run(int trials = 2, std::uint64_t repeats = 4,
                                         const std::function<bool()>& interrupted = {}) {
    const auto schedule = classic_schedule({.trials = trials, .fixed_repeats = repeats});
    return measure(*runner, *schedule, step, interrupted);
  }

  Step<Transfers> step;
  std::vector<Counting*> lanes;
  std::unique_ptr<Runner<Transfers>> runner;
};

// Which thread to be started next, from 1, is refused by the system; 0: none.
std::atomic<int> refused_thread{0};

}  // namespace

// Stands in front of the system's, for the whole program.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                              void* argument) noexcept {
  if (refused_thread > 0 && --refused_thread == 0) return EAGAIN;
  static const auto real = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return real(thread, attributes, start, argument);
}

TEST_CASE("stream: repeats forward, settled once a trial, checked after the first run and the last") {
  Rig rig({.pattern = Pattern::stream});
  Counting& ch = rig[0];
  const auto m = rig.run();
  REQUIRE(m);
  CHECK(ch.forwards == 1 + 2 * 4);  // one warm-up repeat
  CHECK(ch.backs == 0);
  CHECK(ch.settles == 3);
  CHECK(ch.log == "prepare 64;intact;intact;");
  REQUIRE(m->samples.size() == 2);
  CHECK(m->samples[0].repeats == 4);
  CHECK(m->samples[0].host_us == doctest::Approx(4000));
  CHECK(std::isnan(m->samples[0].device_us));
  CHECK(m->samples[0].intact == -1);
  CHECK(m->samples[1].intact == 1);
  CHECK(m->visit.axes.bytes == 64);
  CHECK(m->visit.work == 64);
  CHECK(m->visit.samples == 2);
}

TEST_CASE("pingpong: there and back, and what came back is checked too") {
  Rig rig({.pattern = Pattern::pingpong});
  const auto m = rig.run();
  CHECK(rig[0].forwards == rig[0].backs);
  CHECK(rig[0].log == "prepare 64;intact both;intact both;");
  CHECK(m->samples[0].host_us == doctest::Approx(8000));
  CHECK(m->visit.work == 128);  // a repeat goes there and back
}

TEST_CASE("gated: hold, start, operations, stop, release; as many as fit behind the gate") {
  Rig rig({.pattern = Pattern::pingpong, .timing = Timing::gated});
  const auto m = rig.on_device().run(1, 100);
  CHECK(rig[0].gate == "hold;start;stop;release;hold;start;stop;release;");
  CHECK(m->samples[0].repeats == 5);  // ten operations, two a round trip
  CHECK(m->samples[0].device_us == doctest::Approx(250000));
}

TEST_CASE("event timing has marks and no gate") {
  Rig rig({.timing = Timing::event});
  rig.on_device().run(1);
  CHECK(rig[0].gate == "start;stop;start;stop;");
}

TEST_CASE("a gate that times out voids the trial, which is counted; three in a row end the point") {
  Rig rig({.timing = Timing::gated});
  rig.on_device()[0].voids = 2;
  const auto m = rig.run(2);
  CHECK(m->samples.size() == 2);
  CHECK(m->visit.void_trials == 2);
  rig[0].voids = 3;
  CHECK_THROWS_WITH_AS(
      rig.run(), doctest::Contains("the gate timed out 3 times in a row: use a timing without a gate (64 B)"), Error);
}

TEST_CASE("a schedule that asks for no trial is an error, not a read before the first sample") {
  struct Nothing final : Schedule {
    void begin(std::uint64_t, std::uint64_t) override {}
    Step next() override { return {Step::Kind::stop, 0, Stop::trials}; }
    void record(Seconds, Seconds) override {}
    std::string text() const override { return "nothing"; }
    Seconds guess(Seconds) const override { return Seconds{0}; }
  } schedule;
  Rig rig({});
  CHECK_THROWS_WITH_AS(measure(*rig.runner, schedule, rig.step, {}),
                       doctest::Contains("the schedule asked for no trial"), Error);
}

TEST_CASE("an error behind a closed gate opens it") {
  Rig rig({.timing = Timing::gated});
  rig.on_device()[0].fail_at = 1;
  CHECK_THROWS_WITH(rig.run(), "planted");
  CHECK(rig[0].gate == "hold;start;release;");
}

TEST_CASE("duplex: two samples a trial, one a direction") {
  Rig rig({.pattern = Pattern::duplex, .timing = Timing::gated});
  const auto m = rig.on_device().run(3);
  REQUIRE(m->samples.size() == 6);
  CHECK(m->samples[4].trial == 2);
  CHECK(m->samples[4].lane == 0);
  CHECK(m->samples[5].lane == 1);
  CHECK(m->samples[4].intact == 1);
  CHECK(m->samples[5].intact == 1);
  CHECK(m->samples[3].intact == -1);
  CHECK(rig[0].forwards == rig[1].forwards);
}

TEST_CASE("duplex of copies that block runs on two threads, and an error on either comes back") {
  Rig rig({.pattern = Pattern::duplex});
  const auto m = rig.run(3);
  CHECK(m->samples.size() == 6);
  CHECK(rig[1].forwards == 1 + 3 * 4);
  rig[1].fail_at = rig[1].forwards + 2;
  CHECK_THROWS_WITH(rig.run(), "planted");
}

TEST_CASE("any number of lanes, from one thread or from one each; those behind a gate share what it holds") {
  TransferCase c{.more_lanes = {Lane{.direction = Direction::d2h}, Lane{}}};
  Rig blocking(c);
  CHECK(blocking.run(2)->samples.size() == 6);
  c.timing = Timing::gated;
  Rig gated(c);
  const auto m = gated.on_device().run(2, 100);
  REQUIRE(m->samples.size() == 6);
  CHECK(m->samples[5].lane == 2);
  CHECK(m->samples[5].repeats == 1);  // ten operations, three lanes, and tails that are as long
  CHECK(gated[2].gate == gated[0].gate);
  CHECK(gated[1].forwards == 3 * (1 + 1));  // a copy behind the last timed one in each trial, and in the warm-up
}

// Of 4 copies each the lanes took 4, 2 and 1 s: at the last timed copy of the slowest one the others have made 4 and 12
// more.
TEST_CASE("tails last until the slowest lane is done, and one copy longer") {
  const std::vector<LaneTime> times{{{}, Seconds{4}}, {{}, Seconds{2}}, {{}, Seconds{1}}};
  CHECK(tails_of(times, 4, 100) == Tails{1, 5, 13});
  CHECK(tails_of(times, 8, 100) == Tails{1, 9, 25});
  CHECK(tails_of(times, 4, 10) == Tails{1, 5, 10});
  CHECK(tails_of({{{}, Seconds{0}}, {{}, Seconds{1}}}, 4, 10) == Tails{1, 1});
}

TEST_CASE("a lane that is only a load copies as long as the others, is checked, and gives no sample") {
  for (const Timing timing : {Timing::host, Timing::gated}) {
    Rig rig({.timing = timing, .more_lanes = {Lane{.measured = false}, Lane{}}});
    const auto m = rig.on_device().run(3);
    REQUIRE(m->samples.size() == 6);
    CHECK(m->samples[0].lane == 0);
    CHECK(m->samples[1].lane == 2);
    CHECK(rig[0].forwards == (timing == Timing::host ? 1 + 3 * 4 : (1 + 1) + 3 * (2 + 1)));  // with tails behind a gate
    CHECK(rig[1].forwards >= 4);  // at least once in every trial
    CHECK(rig[1].gate.empty());
    CHECK(rig[1].log == "prepare 64;intact;intact;");
    rig[1].wrong = "byte 1";
    const auto spoiled = rig.run(1);
    CHECK(spoiled->mismatch == "byte 1");
    CHECK(spoiled->samples[0].intact == 1);
    rig[1].fail_at = rig[1].forwards + 1;
    CHECK_THROWS_WITH(rig.run(), "planted");
  }
}

TEST_CASE("a thread that cannot be started ends the trial: those that wait for it do not wait for ever") {
  Rig rig({.pattern = Pattern::duplex});
  for (const int which : {1, 2}) {
    refused_thread = which;
    CHECK_THROWS_WITH_AS(rig.run(), doctest::Contains("a thread for one of the lanes cannot be started"), Error);
  }
  CHECK(rig.run(3)->samples.size() == 6);
}

TEST_CASE("a runner opened for several cases holds the channels of one at a time") {
  const std::vector<Step<Transfers>> steps{{{}, {8}}, {{.pattern = Pattern::duplex}, {16}}, {{}, {32}}};
  std::vector<std::uint64_t> opened;
  int open = 0;
  struct Watched final : Counting {
    explicit Watched(int& n) : count(++n) {}
    ~Watched() override { --count; }
    int& count;
  };
  const auto runner = transfer_runner(
      [&](const TransferCase&, std::uint64_t max_bytes) {
        opened.push_back(max_bytes);
        return std::make_unique<Watched>(open);
      },
      steps);
  CHECK(open == 1);
  runner->prepare(steps[1]);
  CHECK(open == 2);
  runner->prepare(steps[2]);
  runner->prepare(steps[0]);
  CHECK(open == 1);
  CHECK(opened == std::vector<std::uint64_t>{32, 16, 16, 32});
  CHECK_THROWS_AS(runner->prepare({{.pattern = Pattern::pingpong}, {8}}), Error);
}

TEST_CASE("a wrong payload is kept with its samples and said") {
  Rig rig({});
  rig[0].wrong = "byte 3 of 64 is 0x00, expected 0xa3";
  const auto m = rig.run();
  CHECK(m->mismatch == rig[0].wrong);
  CHECK(m->samples.back().intact == 0);
}

TEST_CASE("what was wrong after the first run only is kept as well") {
  Rig rig({});
  rig[0].wrong = "byte 3 of 64 is 0x00, expected 0xa3";
  rig[0].wrong_until = 1;
  const auto m = rig.run();
  CHECK(m->mismatch == "in the first run, byte 3 of 64 is 0x00, expected 0xa3");
  CHECK(m->samples.front().intact == 0);
  CHECK(m->samples.back().intact == 1);
}

TEST_CASE("an interruption is honoured between trials and gives no half point") {
  Rig rig({});
  int asked = 0;
  CHECK_FALSE(rig.run(5, 4, [&] { return ++asked > 3; }));
  CHECK(rig[0].forwards == 1 + 2 * 4);
}

TEST_CASE("warming up lasts as long as it was asked for, and records nothing") {
  Rig rig({});
  rig.runner->prepare(rig.step);
  rig.runner->warm_up(Seconds{0.1});  // on the channel's own clock, where a copy takes 1 ms
  CHECK(rig[0].forwards >= 100);
  CHECK(rig[0].forwards <= 103);
}

}  // namespace measure_test
