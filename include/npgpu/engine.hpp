// The engine: which sizes, how many repeats, when to stop, and the one timed loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npgpu/case.hpp"
#include "npgpu/channel.hpp"
#include "npgpu/sample.hpp"
#include "npgpu/units.hpp"

namespace npgpu {

// ---- sizes -----------------------------------------------------------------------------------------

// Sizes of NetPIPE's sweep (paper 004, section II): centres c = 2^k and 1.5*2^k from start to end, and
// c-p, c, c+p once the step between centres exceeds p+1. `start` is measured even where it is no
// centre; c+p may pass `end`. Ascending, each once. Throws Error(usage) unless 1 <= start <= end.
std::vector<std::uint64_t> sweep_sizes(std::uint64_t start, std::uint64_t end, std::uint64_t perturbation);

// ---- statistics ------------------------------------------------------------------------------------

struct Interval {
  double low = 0;
  double high = 0;
};

// Of a non-empty set, in any order. Even number of values: the mean of the two in the middle.
double median(std::span<const double> values);

// Nonparametric interval of the median from order statistics (binomial; Hoefler & Belli, SC15,
// rule 5). Nothing where there are too few values for the level: 6 are needed for 0.95.
std::optional<Interval> median_interval(std::span<const double> values, double level = 0.95);

// ---- schedules -------------------------------------------------------------------------------------

// A schedule is fed with what trials took and says what to do next. It never sees a clock.
class Schedule {
 public:
  struct Step {
    enum class Kind { warm_up, trial, stop } kind;
    std::uint64_t repeats = 0;  // for warm_up and trial
    Stop why = Stop::trials;    // for stop
  };
  virtual ~Schedule() = default;
  // Starts a point. `most_repeats` caps a trial (the gate's capacity); 0: no cap.
  virtual void begin(std::uint64_t bytes, std::uint64_t most_repeats) = 0;
  virtual Step next() = 0;
  // The last step took this long: `timed` by the case's own timing, `spent` in all on the host clock. A
  // step that was void (a gate timed out) is not recorded; next() then returns the same step again.
  virtual void record(Seconds timed, Seconds spent) = 0;
  // "classic target 0.25 s trials 7": stored with the sweep.
  virtual std::string text() const = 0;
  // A guess of one point's time, for --dry-run and the time left.
  virtual Seconds guess(Seconds one_repeat) const = 0;
};

struct ClassicOptions {
  Seconds target{0.25};              // paper 004's TARGET
  std::uint64_t least_repeats = 3;   // NetPIPE's floor
  int trials = 7;
  std::uint64_t fixed_repeats = 0;   // 0: derived from the last point's time
};
struct AdaptiveOptions {
  double tolerance = 0.01;           // half width of the interval over the median
  double level = 0.95;
  Seconds trial{0.003};              // a trial's length, or one repeat where that is longer
  int least_trials = 9;              // from 9 on, the interval leaves out the least and the greatest
  Seconds budget{0.15};              // a point's, once it has its least trials
};
std::unique_ptr<Schedule> classic_schedule(const ClassicOptions& = {});
std::unique_ptr<Schedule> adaptive_schedule(const AdaptiveOptions& = {});

// ---- measuring -------------------------------------------------------------------------------------

struct MeasuredPoint {
  Point point;
  std::vector<Sample> samples;
  std::string mismatch;  // what was wrong with the payload; empty if it arrived intact
};

// The channels a case needs: one, or two for duplex (the second in the reverse direction).
std::vector<Case> lanes(const Case&);

// Keeps the channels busy with copies of `bytes` for so long on their clock: clocks and links that rest between
// runs are then as awake at the first point as at the last. Nothing is recorded.
void warm_up(const Case&, std::span<Channel* const> channels, std::uint64_t bytes, Seconds duration);

// Measures one point: warm-up, trials as the schedule says, one check of the payload after the last
// (its samples carry the verdict). `channels` are those of lanes(), in order.
// Returns nothing if `interrupted` turned true (asked between trials). Throws Error(failed) if a gate
// timed out again and again, and whatever the channel throws.
std::optional<MeasuredPoint> measure_point(const Case&, std::span<Channel* const> channels, Schedule&,
                                           std::uint64_t bytes, const std::function<bool()>& interrupted);

}  // namespace npgpu
