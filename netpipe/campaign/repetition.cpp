#include "npgpu/repetition.hpp"

#include <algorithm>

#include "npgpu/campaign.hpp"

namespace npgpu {

namespace {

// A visit shares the point's budget with the others, and needs fewer trials than a point that is visited once.
constexpr std::uint32_t usual_rounds = 6;  // the least from which ranks give an interval
// Kernels take the same time in each visit within 0.2 % (H200), and there are many shapes.
constexpr std::uint32_t rounds_of_probes = 4;
template <class K> const Repetition usual_repetition{.classic = {}, .adaptive = {}, .rounds = usual_rounds};
// A probe's repeats are steps of one kernel.
template <>
const Repetition usual_repetition<Probes>{
    .classic = {.target = Seconds{0.05}}, .adaptive = {}, .rounds = rounds_of_probes};
// A trial is one job.
template <>
const Repetition usual_repetition<Jobs>{
    .classic = {}, .adaptive = {.trial = Seconds{0}, .budget = Seconds{0.02}}, .rounds = usual_rounds};

// A trial is one run.
template <>
const Repetition usual_repetition<Partitions>{
    .classic = {}, .adaptive = {.trial = Seconds{0}, .budget = Seconds{0.02}}, .rounds = usual_rounds};

// A trial is one window, and the first run of a visit wakes the device up. Powers of one work differ by 1 % from visit
// to visit (H100), whatever the window's length: four short windows say more than three long ones.
constexpr std::uint32_t rounds_of_windows = 4;
template <>
const Repetition usual_repetition<Energies>{
    .classic = {.trials = 1, .fixed_repeats = 1},
    .adaptive = {.tolerance = 0.02, .trial = Seconds{0}, .min_trials = 1, .budget = Seconds{1.5}},
    .rounds = rounds_of_windows};

// A slice is visited once: its number is part of the point.
template <>
const Repetition usual_repetition<Soaks>{
    .is_classic = true, .classic = {.trials = 1, .fixed_repeats = 1}, .adaptive = {}, .rounds = 1};

// Many points, most of them as short as calls.
template <>
const Repetition usual_repetition<Pieces>{.classic = {.target = Seconds{0.01}},
                                          .adaptive = {.trial = Seconds{0.0005}, .budget = Seconds{0.01}},
                                          .rounds = usual_rounds};

// A trial has several of the longest operations, so that one launch and one wait count for little.
template <>
const Repetition usual_repetition<Collectives>{.classic = {.target = Seconds{0.05}},
                                               .adaptive = {.trial = Seconds{0.02}, .budget = Seconds{0.12}},
                                               .rounds = usual_rounds};

// Calls are short, and many are timed.
template <>
const Repetition usual_repetition<Calls>{.classic = {.target = Seconds{0.01}},
                                         .adaptive = {.trial = Seconds{0.0005}, .budget = Seconds{0.015}},
                                         .rounds = usual_rounds};

}  // namespace

Repetitions default_repetitions() {
  Repetitions all;
  for_each_kind([&]<class K>() { static_cast<Repetition&>(std::get<RepetitionOf<K>>(all)) = usual_repetition<K>; });
  return all;
}

bool Repetition::wants_visit(std::uint32_t round, const Standing& so_far, Seconds spent) const {
  if (is_classic || rounds == 1) return round < rounds;
  if (round < std::min(rounds, min_visits)) return true;
  if (round < rounds) return spent < much_more * adaptive.budget;
  return so_far.stop == Stop::not_converged && so_far.visits_narrow_it && spent < adaptive.budget;
}

Repetition Repetition::with_trials_from(Seconds min_trial) const {
  Repetition longer = *this;
  longer.adaptive.trial = std::max(adaptive.trial, min_trial);
  longer.adaptive.budget = std::max(adaptive.budget, 4.0 * rounds * min_trial);
  return longer;
}

Repetition::Standing Repetition::standing(Stop last, const ByVisit& each_us, const DriftByTime& drift) const {
  if (is_classic || rounds == 1) return {last, false};
  // Twice as many visits make an interval of visits alone narrower by 1/sqrt(2), and so that with a drift of a third of
  // its square by at least 18 %. In seven runs of characterize on H200s the further visits to such points made
  // intervals a quarter narrower in the middle, and those to all others 2 %.
  constexpr double of_drift = 2;
  const Estimate alone = median_over_visits(each_us, "us");
  const double share = drift.at(alone.value);
  const bool is_narrow =
      each_us.size() >= std::min(rounds, min_visits) && half_width(with_drift(alone, share)) <= adaptive.tolerance;
  const double scatter = half_width(alone), shared = of_95_percent * share;
  const bool narrows = !(scatter * scatter <= of_drift * shared * shared);
  return {is_narrow ? Stop::converged : Stop::not_converged, narrows};
}

std::uint32_t Settings::max_visits() const {
  std::uint32_t most = 1;
  for_each_kind([&]<class K>() { most = std::max(most, repetition<K>().max_visits()); });
  return most;
}

std::uint32_t Settings::rounds() const {
  std::uint32_t most = 1;
  for_each_kind([&]<class K>() { most = std::max(most, repetition<K>().rounds); });
  return most;
}

}  // namespace npgpu
