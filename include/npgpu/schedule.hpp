// Which sizes are measured, how often each, and when to stop.
//
// Example:
//   for (const std::uint64_t bytes : npgpu::sweep_sizes(1, 64, 3)) std::cout << bytes << '\n';  // NetPIPE's sizes
//   const auto schedule = npgpu::adaptive_schedule({.tolerance = 0.02});
//   schedule->begin(npgpu::KiB, 0);
//   auto step = schedule->next();
//   for (; step.kind != npgpu::Schedule::Step::Kind::stop; step = schedule->next()) {
//     const npgpu::Seconds took = npgpu::Seconds{1e-6} * step.repeats;  // step.repeats repeats are timed here
//     schedule->record(took, took);
//   }
//   std::cout << schedule->text() << ": " << npgpu::name(step.why) << '\n';
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "npgpu/series.hpp"

namespace npgpu {

// Sizes of NetPIPE's sweep (Allada et al. 2009, section II), ascending: centres c = 2^k and 1.5*2^k from start to end,
// and c-p, c, c+p once the step between centres exceeds p+1; c+p may pass `end`. `start` is measured even where it is
// no centre. Throws Error(usage) unless 1 <= start <= end.
std::vector<std::uint64_t> sweep_sizes(std::uint64_t start, std::uint64_t end, std::uint64_t perturbation);

// No trial has more repeats. Operations of 0.1 ns take milliseconds then, and simulated ones that cost nothing end,
// too.
constexpr std::uint64_t max_trial_repeats = std::uint64_t{1} << 26;

// A schedule receives the times of trials, and decides the next step. It never sees a clock.
class Schedule {
 public:
  struct Step {
    enum class Kind { warm_up, trial, stop } kind;
    std::uint64_t repeats = 0;  // for warm_up and trial
    Stop why = Stop::trials;    // for stop
  };
  virtual ~Schedule() = default;
  // Begins a point. `max_repeats` limits a trial (the gate's capacity); 0: no limit but max_trial_repeats.
  virtual void begin(std::uint64_t bytes, std::uint64_t max_repeats) = 0;
  // The next step; the same one until it is recorded. REQUIRES: begin().
  virtual Step next() = 0;
  // The last step took this long: `timed` by the case's own timing, `spent` in all on the host's clock. A void step (a
  // gate timed out) is not recorded; next() then returns it again. REQUIRES: next() returned a warm-up or a trial.
  virtual void record(Seconds timed, Seconds spent) = 0;
  // "classic target 0.25 s trials 7": stored with the series.
  virtual std::string text() const = 0;
  // An estimate of one point's time, for --dry-run and the remaining time.
  virtual Seconds guess(Seconds one_repeat) const = 0;
};

struct ClassicOptions {
  Seconds target{0.25};           // Allada et al.'s TARGET
  std::uint64_t min_repeats = 3;  // NetPIPE's floor
  int trials = 7;
  std::uint64_t fixed_repeats = 0;  // 0: derived from the last point's time
};
struct AdaptiveOptions {
  double tolerance = 0.01;  // half width of the interval over the median
  double level = 0.95;
  Seconds trial{0.001};  // length of a trial, or one repeat where that is longer
  int visits = 1;        // that share the point's budget
  int min_trials = 9;    // of a visit. From 9 on, the interval leaves out the smallest and the largest. Where one of
                         // several visits has spent its share of the budget, one trial is enough.
  Seconds budget{0.03};  // of a point, once its visits have min_trials
};
std::unique_ptr<Schedule> classic_schedule(const ClassicOptions& = {});
std::unique_ptr<Schedule> adaptive_schedule(const AdaptiveOptions& = {});

}  // namespace npgpu
