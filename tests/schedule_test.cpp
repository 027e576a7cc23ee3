// Sizes, limits and schedules: how often each point is measured, and how much is possible.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/transfer.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace schedule_test {

using namespace npgpu;
using Kind = Schedule::Step::Kind;
using Sizes = std::vector<std::uint64_t>;

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

TEST_CASE("NetPIPE's own sweep, by its published sequence") {
  const Sizes sizes = sweep_sizes(1, 10000000, 3);
  CHECK(sizes.size() == 124);
  CHECK(Sizes(sizes.begin(), sizes.begin() + 20) ==
        Sizes{1, 2, 3, 4, 6, 8, 12, 13, 16, 19, 21, 24, 27, 29, 32, 35, 45, 48, 51, 61});
  CHECK(sizes.back() == 8388611);
}

TEST_CASE("the paper's range ends at 192 MiB, perturbed like the rest") {
  const Sizes sizes = sweep_sizes(1, 192 * MiB, 3);
  CHECK(sizes[sizes.size() - 2] == 192 * MiB);
  CHECK(sizes.back() == 192 * MiB + 3);
}

TEST_CASE("without perturbation only the centres remain") {
  CHECK(sweep_sizes(1, 32, 0) == Sizes{1, 2, 3, 4, 6, 8, 12, 16, 24, 32});
}

TEST_CASE("one size alone, and a start that is no centre") {
  CHECK(sweep_sizes(1000, 1000, 3) == Sizes{1000});
  CHECK(sweep_sizes(1000, 1536, 0) == Sizes{1000, 1024, 1536});
}

TEST_CASE("a perturbation as large as the step is no perturbation") {
  // Step 8 around 16 and 24: perturbed by 6 (8 > 7), not by 7.
  CHECK(sweep_sizes(16, 24, 6) == Sizes{16, 18, 22, 24, 30});
  CHECK(sweep_sizes(16, 24, 7) == Sizes{16, 24});
}

TEST_CASE("the largest sizes do not overflow") {
  const std::uint64_t top = std::uint64_t{1} << 63;
  CHECK(sweep_sizes(top, UINT64_MAX, 0) == Sizes{top, top + top / 2});
}

TEST_CASE("bad ranges are refused with the option's name") {
  CHECK_THROWS_WITH_AS(sweep_sizes(0, 10, 3), "--start must be at least 1 byte", Error);
  CHECK_THROWS_WITH_AS(sweep_sizes(10, 9, 3), "--end (9) is smaller than --start (10)", Error);
}

namespace {
DeviceInfo gpu() {
  DeviceInfo info;
  info.link = {63e9, "PCIe Gen5 x16"};
  info.memory = {4800e9, "HBM3e"};
  return info;
}
TransferCase going(Direction d, Pattern p = Pattern::stream) {
  TransferCase c;
  c.direction = d;
  c.pattern = p;
  return c;
}
}  // namespace

TEST_CASE("the link limits what crosses it, in each direction") {
  for (const Direction d : {Direction::h2d, Direction::d2h})
    for (const Pattern p : {Pattern::stream, Pattern::pingpong, Pattern::duplex}) {
      const Limit limit = limit_of(going(d, p), gpu());
      CHECK(limit.per_s == 63e9);
      CHECK(limit.source == "PCIe Gen5 x16");
    }
}

TEST_CASE("a copy within a memory reads and writes, so half of its rate is the limit") {
  DeviceInfo host = gpu();
  host.id = "host";
  for (const Limit& limit : {limit_of(going(Direction::d2d), gpu()), limit_of(going(Direction::h2h), host)}) {
    CHECK(limit.per_s == 2400e9);
    CHECK(limit.source == "half of HBM3e, because a copy reads and writes every byte");
  }
}

TEST_CASE("a device's memory does not limit copies within the host's") {
  CHECK(limit_of(going(Direction::h2h), gpu()).source == "unknown: the rate of the host's memory is not known");
}

TEST_CASE("what the device does not give is unknown, and the reason is said") {
  for (const Direction d : {Direction::h2d, Direction::d2d, Direction::h2h, Direction::peer}) {
    const Limit limit = limit_of(going(d), DeviceInfo{});
    CHECK(std::isnan(limit.per_s));
    CHECK(limit.source.starts_with("unknown: "));
  }
  DeviceInfo zero;
  zero.link.per_s = 0;
  CHECK(std::isnan(limit_of(going(Direction::h2d), zero).per_s));
}

TEST_CASE("a device's own reason for not knowing is passed on") {
  DeviceInfo host;
  host.id = "host";
  host.memory.source = "unknown: cannot be read without root";
  host.link.source = "none: the host has no link to itself";
  CHECK(limit_of(going(Direction::h2h), host).source == "unknown: cannot be read without root");
  CHECK(limit_of(going(Direction::h2d), host).source == "none: the host has no link to itself");
}

TEST_CASE("the link says nothing about copies between two devices") {
  CHECK(std::isnan(limit_of(going(Direction::peer), gpu()).per_s));
}

}  // namespace schedule_test
