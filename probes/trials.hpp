// What measuring a shape of a probe and a job in streams have in common: the loop of trials, and what follows the last.
#pragma once

#include <functional>
#include <optional>

#include "npgpu/clock.hpp"
#include "npgpu/runner.hpp"
#include "npgpu/statistics.hpp"
#include "npgpu/error.hpp"

namespace npgpu {

// Runs until the schedule stops, and says why it did; nothing if `interrupted` turned true. `run(repeats)` gives what a
// run took, or nothing where it is void; `keep(ran, repeats)` gets those that are trials. The schedule is fed the
// device's time where there is one, the host's otherwise.
template <class Run, class Keep>
std::optional<Stop> run_trials(Schedule& schedule, const Clock& clock, const std::function<bool()>& interrupted,
                               const Run& run, const Keep& keep) {
  for (;;) {
    if (interrupted && interrupted()) return std::nullopt;
    const Schedule::Step step = schedule.next();
    if (step.kind == Schedule::Step::Kind::stop) return step.why;
    const Seconds before = clock.now();
    const auto ran = run(step.repeats);
    if (!ran) continue;
    schedule.record(ran->device.value_or(ran->host), clock.now() - before);
    if (step.kind == Schedule::Step::Kind::trial) keep(*ran, step.repeats);
  }
}

// Compares the results of the last trial, asks how the device fares, and ends the point that began at `begin`.
template <class Measured, class Runner>
void end_point(Measured& measured, Runner& runner, Seconds begin) {
  if (measured.samples.empty()) throw Error(ErrorKind::failed, "the schedule asked for no trial");
  const auto wrong = runner.intact();
  measured.samples.back().intact = wrong ? 0 : 1;
  if (wrong) measured.mismatch = *wrong;
  measured.point.telemetry = runner.telemetry();
  measured.point.wall_us = microseconds(steady_clock().now() - begin);
}

}  // namespace npgpu
