#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <vector>

#include "npgpu/error.hpp"
#include "npgpu/kinds.hpp"
#include "npgpu/runner.hpp"

namespace npgpu {

namespace {

constexpr int max_voids = 3;  // gates that time out in a row before the point is given up

// Copies are compared after a visit's first run, too, and not only after its last one: what a device spoils while it
// wakes up is written over by all copies that follow. Larger ones, whose comparison takes 10 ms and more, only once.
template <class K> bool compares_first(const Step<K>& step) {
  constexpr std::uint64_t quickly_compared = 64 * MiB;
  if constexpr (std::is_same_v<K, Transfers>) return step.axes.bytes <= quickly_compared;
  else return false;
}

}  // namespace

template <class K>
std::optional<Measured<K>> measure(Runner<K>& runner, Schedule& schedule, const Step<K>& step,
                                   const std::function<bool()>& interrupted, const std::function<void()>& settle) {
  const auto fail = [&](const std::string& why) {
    throw Error(ErrorKind::failed, fmt::format("{}: {} ({})", title(step.question), why, text_of(step.axes)));
  };
  const Seconds begin = steady_clock().now();
  Measured<K> measured;
  measured.visit.axes = step.axes;
  runner.prepare(step);
  if (settle) settle();
  runner.disturbances();  // of what went before
  measured.visit.work = runner.work();
  schedule.begin(runner.bytes(), runner.max_repeats());

  std::vector<typename K::Sample> trial;
  std::uint32_t trials = 0;
  std::size_t last_trial = 0;  // its first sample
  int voids = 0;
  std::optional<std::string> first_wrong;
  std::vector<typename K::Sample> first;  // run of the visit, once it was compared
  for (;;) {
    if (interrupted && interrupted()) return std::nullopt;
    const Schedule::Step next = schedule.next();
    if (next.kind == Schedule::Step::Kind::stop) {
      measured.visit.stop = next.why;
      break;
    }
    trial.clear();
    const Seconds before = runner.clock().now();
    const bool valid = runner.run(next.repeats, trial);
    const Seconds spent = runner.clock().now() - before;
    if (!valid) {
      ++measured.visit.void_trials;
      if (++voids == max_voids)
        fail(fmt::format("the gate timed out {} times in a row: use a timing without a gate", voids));
      continue;
    }
    voids = 0;
    if (first.empty() && compares_first<K>(step)) {
      first_wrong = runner.check(trial);
      first = trial;
    }
    schedule.record(K::timed(step.question, trial), spent);
    if (next.kind != Schedule::Step::Kind::trial) continue;
    last_trial = measured.samples.size();
    for (auto& sample : trial) {
      sample.trial = trials;
      measured.samples.push_back(sample);
    }
    ++trials;
  }
  if (measured.samples.empty()) fail("the schedule asked for no trial");

  measured.visit.samples = static_cast<std::uint32_t>(measured.samples.size());
  if (auto wrong = runner.check(std::span(measured.samples).subspan(last_trial))) measured.mismatch = std::move(*wrong);
  if (first_wrong && measured.mismatch.empty()) {
    measured.mismatch = "in the first run, " + *first_wrong;
    // The samples of the first trial stand for it, where it was none itself.
    for (std::size_t i = 0; i < std::min(first.size(), measured.samples.size()); ++i)
      if (first[i].intact == 0) measured.samples[i].intact = 0;
  }
  measured.visit.telemetry = runner.telemetry();
  measured.visit.disturbed = runner.disturbances();
  measured.visit.wall_us = microseconds(steady_clock().now() - begin);
  return measured;
}

NPGPU_FOR_KINDS(&measure<K>)

}  // namespace npgpu
