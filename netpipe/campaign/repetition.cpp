#include "npgpu/repetition.hpp"

#include <algorithm>

#include "npgpu/campaign.hpp"

namespace npgpu {

Repetition UsualKind::repetition() { return {.classic = {}, .adaptive = {}, .rounds = Repetition::usual_rounds}; }

Repetitions default_repetitions() {
  Repetitions all;
  for_each_kind([&]<class K>() { static_cast<Repetition&>(std::get<RepetitionOf<K>>(all)) = K::repetition(); });
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
