#include "npgpu/schedule.hpp"

#include <doctest/doctest.h>

namespace schedule_test {

using namespace npgpu;
using Kind = Schedule::Step::Kind;

namespace {

// Drives a schedule with an operation of constant length until it stops; returns the trials' repeats, or those that
// warmed up.
std::vector<std::uint64_t> drive(Schedule& s, std::uint64_t bytes, Seconds operation, std::uint64_t cap = 0,
                                 Kind wanted = Kind::trial) {
  std::vector<std::uint64_t> repeats;
  s.begin(bytes, cap);
  for (;;) {
    const auto step = s.next();
    if (step.kind == Kind::stop) return repeats;
    if (step.kind == wanted) repeats.push_back(step.repeats);
    const Seconds t = operation * static_cast<double>(step.repeats);
    s.record(t, t);
  }
}

}  // namespace

TEST_CASE("classic: repeats follow the last point's time, scaled by the sizes (Allada et al. 2009)") {
  const auto s = classic_schedule();
  // First point: 10 us an operation found by warming up: 0.25 s / 10 us = 25000.
  auto trials = drive(*s, 1000, Seconds{10e-6});
  REQUIRE(trials.size() == 7);
  CHECK(trials[0] >= 24999);
  CHECK(trials[0] <= 25000);
  // Twice the bytes: 0.25 / (2 * 10 us) = 12500, whatever it then takes.
  trials = drive(*s, 2000, Seconds{30e-6});
  CHECK(trials[0] >= 12499);
  CHECK(trials[0] <= 12500);
  // And half the bytes of that: 0.25 / (30 us / 2) = 16666.
  trials = drive(*s, 1000, Seconds{30e-6});
  CHECK(trials[0] >= 16665);
  CHECK(trials[0] <= 16667);
}

TEST_CASE("classic: after a larger size a point is timed anew, because a small copy takes more than its share") {
  const auto s = classic_schedule({.target = Seconds{0.01}, .trials = 1});
  drive(*s, 1'000'000, Seconds{1e-4});
  // A share of 1e-10 s would make it 1e8 repeats of 1e-7 s.
  CHECK(drive(*s, 1, Seconds{1e-7}).back() <= 100'001);
}

TEST_CASE("classic: never fewer than three repeats, never more than fit behind a gate") {
  const auto s = classic_schedule();
  CHECK(drive(*s, 1, Seconds{1.0}).front() == 3);
  const auto t = classic_schedule();
  CHECK(drive(*t, 1, Seconds{1e-6}, 128).front() == 128);
  const auto fixed = classic_schedule({.trials = 2, .fixed_repeats = 5});
  CHECK(drive(*fixed, 1, Seconds{1e-6}) == std::vector<std::uint64_t>{5, 5});
}

TEST_CASE("adaptive: equal trials stop at the least number, each of the wanted length") {
  const auto s = adaptive_schedule();
  const auto trials = drive(*s, 1, Seconds{10e-6});
  CHECK(trials.size() == 9);
  CHECK(trials.front() == 100);  // 1 ms / 10 us
  CHECK(s->next().why == Stop::converged);
  // Warm-up ends at the first run of at least a quarter of a trial: 64 * 10 us.
  CHECK(drive(*s, 1, Seconds{10e-6}, 0, Kind::warm_up) == std::vector<std::uint64_t>{1, 4, 16, 64});
  // One repeat where the operation is longer than a trial.
  CHECK(drive(*s, 1, Seconds{0.5}).front() == 1);
}

TEST_CASE("adaptive: scattered trials go on until the budget is spent, and it says so") {
  const auto s = adaptive_schedule({.trial = Seconds{0.001}, .budget = Seconds{0.05}});
  s->begin(1, 0);
  int trials = 0;
  double spent = 0;
  for (;;) {
    const auto step = s->next();
    if (step.kind == Kind::stop) {
      CHECK(step.why == Stop::not_converged);
      break;
    }
    const bool trial = step.kind == Kind::trial;
    const double t = trial && trials % 2 ? 0.002 : 0.001;  // medians 0.001 or 0.002: never within 1 %
    s->record(Seconds{t}, Seconds{t});
    trials += trial;
    if (trial) spent += t;
  }
  CHECK(spent >= 0.05);
  CHECK(spent < 0.0521);
}

TEST_CASE("adaptive: one outlier among nine does not widen the interval") {
  const auto s = adaptive_schedule({.trial = Seconds{0.001}});
  s->begin(1, 0);
  int trials = 0;
  while (s->next().kind != Kind::stop) {
    const bool trial = s->next().kind == Kind::trial;
    s->record(Seconds{trial && trials == 4 ? 0.5 : 0.001}, Seconds{0.001});
    trials += trial;
  }
  CHECK(trials == 9);
  CHECK(s->next().why == Stop::converged);
}

TEST_CASE("a void trial is not recorded and comes again") {
  const auto s = adaptive_schedule();
  s->begin(1, 0);
  const auto first = s->next();
  CHECK(s->next().repeats == first.repeats);
  CHECK(s->next().kind == first.kind);
}

TEST_CASE("adaptive: a clock that stands still does not divide by zero") {
  const auto s = adaptive_schedule();
  CHECK(drive(*s, 1, Seconds{0}, 64).front() == 64);
}

TEST_CASE("operations that cost nothing come to an end, under either schedule") {
  const auto classic = classic_schedule();
  for (const double seconds : {0.0, 1e-15})
    for (const std::uint64_t repeats : drive(*classic, 1, Seconds{seconds})) CHECK(repeats <= max_trial_repeats);
  const auto adaptive = adaptive_schedule();
  for (const std::uint64_t repeats : drive(*adaptive, 1, Seconds{0})) CHECK(repeats <= max_trial_repeats);
  const auto asked = classic_schedule({.trials = 1, .fixed_repeats = 2 * max_trial_repeats});
  CHECK(drive(*asked, 1, Seconds{1e-9}).front() == 2 * max_trial_repeats);  // what the user asks for is kept
}

}  // namespace schedule_test
