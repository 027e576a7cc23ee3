// Guesses of how long a plan takes, for --dry-run and the time left.
#pragma once

#include "npgpu/measuring/campaign.hpp"

namespace npgpu::campaign {

// How the points of a batch are repeated.
template <class K> Repetition repetition_of(const Batch<K>& batch, const Settings& settings) {
  return settings.repetition<K>().with_trials_from(batch.min_trial);
}

// The wall time of one step, and of what comes before a batch's first. For K out of Kinds.
template <class K> Seconds guess(const Batch<K>&, const Step<K>&, const Repetition&);
template <class K> Seconds guess_set_up(const Batch<K>&);

}  // namespace npgpu::campaign
