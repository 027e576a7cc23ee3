// Options that every measuring command has: where the trace goes, how points are repeated, what is printed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "netpipe/cli/options.hpp"
#include "npgpu/kinds.hpp"
#include "npgpu/schedule.hpp"
#include "npgpu/trace.hpp"

namespace npgpu {

class Consensus;

namespace cli {

class SideBySide;

// How the points of a kind are repeated.
struct Repetition {
  bool is_classic = false;
  ClassicOptions classic;
  AdaptiveOptions adaptive;
  std::uint32_t rounds = 1;  // in which every point is visited

  // Points that cost so much more than their budget, such as walks through memory far beyond the caches, get the least
  // visits.
  static constexpr double much_more = 2;
  static constexpr std::uint32_t least_visits = 3;

  // The same with adaptive trials that are no shorter, and the time for four of them in each visit.
  Repetition with_trials_from(Seconds least) const;

  // Adaptive points that did not converge in these rounds get as many visits again, within their budget, where that
  // makes their interval narrower.
  std::uint32_t most_visits() const { return is_classic || rounds == 1 ? rounds : 2 * rounds; }

  // How far a point has come.
  struct Standing {
    Stop stop = Stop::not_converged;
    bool visits_narrow_it = true;
  };
  // Whether a point that has come so far, and took so long in all, is visited in this round.
  bool wants_visit(std::uint32_t round, const Standing& so_far, Seconds spent) const;
  // With these visits, the last of which ended like this, of a class that drifts like this: converged is what has its
  // published interval, drift included, within the tolerance. Visits narrow what scatters from visit to visit, and not
  // what all points of a class share.
  Standing standing(Stop last, const ByVisit& each_us, const DriftByTime&) const;
  std::unique_ptr<Schedule> schedule() const {
    return is_classic ? classic_schedule(classic) : adaptive_schedule(adaptive);
  }
};
template <class K> struct RepetitionOf : Repetition {};

enum class ProgressForm { none, bar, cases, points };

using PointNames = std::set<std::pair<std::string, std::string>>;  // titles of case and axes

// Of a run of several processes.
struct Together {
  Consensus* everyone = nullptr;     // null: there is but one
  std::function<Facts()> facts{};    // of the ranks, for the trace; called by all at its beginning and end
  std::function<Facts()> choices{};  // what they chose by measuring so far, for the trace, and back from one that is
  std::function<void(const Facts&)> recall{};  // continued
  std::function<std::uint64_t()> heard{};      // how many words of others have come so far
  Seconds patience{60};                        // without a word, or a trial: another rank hangs
  std::string output{};                        // the name that each rank's trace has its own from
};

struct MeasureOptions {
  std::string output;  // the trace's path
  std::string plan;    // what was asked for, in one line
  IfExists if_exists = IfExists::refuse;
  ProgressForm progress = ProgressForm::cases;
  bool quiet = false;
  bool json = false;
  bool dry_run = false;
  Seconds patience{0};  // how long others are waited for before the run
  bool require_quiet = false;
  bool side_by_side = false;               // several GPUs at once, each by a process of its own
  std::shared_ptr<SideBySide> prepared{};  // processes that were started already; may be null
  // Of what such a process measured: the points that are doubtful because others were measured meanwhile. Their visits
  // are marked so.
  std::function<PointNames(const Trace&)> doubtful{};
  // Rounds from this one, and before that one: where a trace is continued with more visits to its points, whatever
  // their budget.
  std::uint32_t first_round = 0, end_round = UINT32_MAX;
  bool is_second_look() const { return first_round > 0; }
  bool fresh_contexts = true;  // each round begins in a new context
  std::uint64_t seed = 1;      // of the order in which points are visited
  Kinds::Tuple<RepetitionOf> repetitions;
  Together together;

  template <class K> const Repetition& repetition() const { return std::get<RepetitionOf<K>>(repetitions); }
  std::uint32_t rounds() const;       // the most of any kind
  std::uint32_t most_visits() const;  // to a point of any kind
};

// A command's own options, and these.
std::vector<OptionGroup> with_measure_options(std::vector<OptionGroup> own);
MeasureOptions measure_options(const Options&);
// A name of its own for each run, so that nothing measured is ever in the way of the next.
std::string default_output();

}  // namespace cli

template <>
inline constexpr std::array<std::string_view, 4> names_of<cli::ProgressForm>{"none", "bar", "cases", "points"};

}  // namespace npgpu
