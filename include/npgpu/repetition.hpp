// How often the points of a campaign are visited, how many trials a visit has, and when a point has converged.
//
// Example:
//   npgpu::Settings settings;
//   npgpu::Repetition& copies = settings.repetition<npgpu::Transfers>();
//   copies.rounds = 6;
//   copies.adaptive.tolerance = 0.02;
//   copies.adaptive.budget = npgpu::Seconds{0.1};
//   std::cout << copies.schedule()->text() << ", at most " << copies.max_visits() << " visits to a point\n";
#pragma once

#include <cstdint>
#include <memory>

#include "npgpu/drift.hpp"
#include "npgpu/kinds.hpp"
#include "npgpu/schedule.hpp"
#include "npgpu/units.hpp"

namespace npgpu {

// How the points of a kind are repeated.
struct Repetition {
  bool is_classic = false;
  ClassicOptions classic;
  AdaptiveOptions adaptive;
  std::uint32_t rounds = 1;  // in which every point is visited

  // A visit shares the point's budget with the others, and needs fewer trials than a point that is visited once.
  static constexpr std::uint32_t usual_rounds = 6;  // the least from which ranks give an interval

  // Points that take more than `much_more` times their budget get only `min_visits` visits. An example are walks
  // through memory far beyond the caches.
  static constexpr double much_more = 2;
  static constexpr std::uint32_t min_visits = 3;

  // The same with adaptive trials of at least this length, and the time for four of them in each visit.
  Repetition with_trials_from(Seconds min_trial) const;

  // Adaptive points that did not converge in these rounds get as many visits again, within their budget, if more visits
  // narrow their interval.
  std::uint32_t max_visits() const { return is_classic || rounds == 1 ? rounds : 2 * rounds; }

  // The state of a point after some visits.
  struct Standing {
    Stop stop = Stop::not_converged;
    bool visits_narrow_it = true;
  };
  // Whether a point with this standing, which took so long in all, is visited in this round.
  bool wants_visit(std::uint32_t round, const Standing& so_far, Seconds spent) const;
  // The standing of a point after these visits. `last`: how the last one ended. The drift is that of the point's class.
  // A point has converged when its published interval, drift included, is within the tolerance. More visits narrow the
  // scatter from visit to visit, and not what all points of a class share.
  Standing standing(Stop last, const ByVisit& each_us, const DriftByTime&) const;
  std::unique_ptr<Schedule> schedule() const {
    return is_classic ? classic_schedule(classic) : adaptive_schedule(adaptive);
  }
};

template <class K> struct RepetitionOf : Repetition {};
using Repetitions = Kinds::Tuple<RepetitionOf>;

// The defaults of the program.
Repetitions default_repetitions();

}  // namespace npgpu
