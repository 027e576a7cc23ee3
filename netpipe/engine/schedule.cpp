#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "npgpu/measuring/runner.hpp"
#include "npgpu/model/statistics.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

std::vector<std::uint64_t> sweep_sizes(std::uint64_t start, std::uint64_t end, std::uint64_t p) {
  if (start < 1) throw Error(ErrorKind::usage, "--start must be at least 1 byte");
  if (end < start) throw Error(ErrorKind::usage, fmt::format("--end ({}) is smaller than --start ({})", end, start));
  std::set<std::uint64_t> sizes{start};
  const auto add = [&](std::uint64_t centre, std::uint64_t step) {
    if (centre < start || centre > end) return;
    sizes.insert(centre);
    if (p > 0 && step > p + 1) {
      if (centre - p >= start) sizes.insert(centre - p);
      if (centre + p > centre) sizes.insert(centre + p);
    }
  };
  // The step from 2^k to 1.5*2^k and from there to 2^(k+1) is 2^(k-1) both times.
  for (int k = 0; k < 64; ++k) {
    const std::uint64_t power = std::uint64_t{1} << k;
    if (power > end) break;
    const std::uint64_t step = power / 2;
    add(power, step);
    if (step > 0 && power <= end - step) add(power + step, step);
  }
  return {sizes.begin(), sizes.end()};
}

namespace {

// Allada et al. 2009, section II: nrepeat = TARGET / ((bsz2/bsz1) * tlast), seven trials, the minimum quoted; at
// least three repeats as in NetPIPE. Before the first point there is no tlast: trials that are not
// recorded double their repeats until they can be timed, as before a point that is far smaller than the last: rounds go
// through the sizes in any order, and a small copy takes more than its share of a large one's time. Every other point
// has one unrecorded repeat.
class Classic final : public Schedule {
 public:
  explicit Classic(const ClassicOptions& options) : options_(options) {}

  void begin(std::uint64_t bytes, std::uint64_t max_repeats) override {
    const std::uint64_t most = options_.fixed_repeats ? UINT64_MAX : max_trial_repeats;
    max_ = max_repeats ? std::min(max_repeats, most) : most;
    trials_ = 0;
    warm_ = false;
    repeats_ = 1;
    const bool is_alike = last_bytes_ && bytes >= last_bytes_ / 4;
    estimate_ = last_time_ * (is_alike ? static_cast<double>(bytes) / static_cast<double>(last_bytes_) : 0.0);
    bytes_ = bytes;
  }

  Step next() override {
    if (trials_ == options_.trials) return {Step::Kind::stop, 0, Stop::trials};
    return {warm_ ? Step::Kind::trial : Step::Kind::warm_up, repeats_};
  }

  void record(Seconds timed, Seconds) override {
    const Seconds each = timed / static_cast<double>(repeats_);
    if (warm_) {
      ++trials_;
      last_time_ = each;
      last_bytes_ = bytes_;
      return;
    }
    const bool known = options_.fixed_repeats || estimate_ > Seconds{0};
    if (known || timed >= enough_to_time || repeats_ >= max_) {
      warm_ = true;
      if (!known) estimate_ = std::max(each, Seconds{1e-10});
      repeats_ = trial_repeats();
    } else {
      repeats_ = std::min(repeats_ * 2, max_);
    }
  }

  std::string text() const override {
    if (options_.fixed_repeats)
      return fmt::format("classic repeats {} trials {}", options_.fixed_repeats, options_.trials);
    return fmt::format("classic target {} s trials {}", options_.target.count(), options_.trials);
  }

  Seconds guess(Seconds one_repeat) const override {
    const auto least = static_cast<double>(options_.fixed_repeats ? options_.fixed_repeats : options_.min_repeats);
    const Seconds trial = options_.fixed_repeats ? one_repeat * least : std::max(options_.target, one_repeat * least);
    return trial * options_.trials;
  }

 private:
  static constexpr Seconds enough_to_time{0.001};

  std::uint64_t trial_repeats() const {
    if (options_.fixed_repeats) return std::min(options_.fixed_repeats, max_);
    const double wanted = std::min(options_.target / estimate_, 1e12);
    return std::min(std::max(static_cast<std::uint64_t>(wanted), options_.min_repeats), max_);
  }

  const ClassicOptions options_;
  Seconds last_time_{0}, estimate_{0};
  std::uint64_t last_bytes_ = 0, bytes_ = 0, max_ = 0, repeats_ = 1;
  int trials_ = 0;
  bool warm_ = false;
};

// Warm-up quadruples the repeats until a trial is long enough to time, then trials of one length run
// until the nonparametric interval of their median is narrow, or until the visit's share of the budget is spent.
class Adaptive final : public Schedule {
 public:
  explicit Adaptive(const AdaptiveOptions& options) : options_(options) {}

  void begin(std::uint64_t, std::uint64_t max_repeats) override {
    max_ = max_repeats ? std::min(max_repeats, max_trial_repeats) : max_trial_repeats;
    repeats_ = 1;
    warm_ = false;
    spent_ = Seconds{0};
    each_.clear();
  }

  Step next() override {
    if (!warm_) return {Step::Kind::warm_up, repeats_};
    const bool is_spent = spent_ >= options_.budget / options_.visits;
    // Another visit says more than another trial of this one.
    const int least = options_.visits > 1 && is_spent ? 1 : options_.min_trials;
    if (each_.size() >= static_cast<std::size_t>(least)) {
      if (narrow()) return {Step::Kind::stop, 0, Stop::converged};
      if (is_spent) return {Step::Kind::stop, 0, Stop::not_converged};
    }
    return {Step::Kind::trial, repeats_};
  }

  void record(Seconds timed, Seconds spent) override {
    const double each = timed.count() / static_cast<double>(repeats_);
    if (warm_) {
      each_.push_back(each);
      spent_ += spent;
    } else if (timed >= options_.trial / 4 || repeats_ >= max_) {
      warm_ = true;
      const double wanted = each > 0 ? std::min(std::ceil(options_.trial.count() / each), 1e12) : 1e12;
      repeats_ = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(wanted), 1, max_);
    } else {
      repeats_ = std::min(repeats_ * 4, max_);
    }
  }

  std::string text() const override {
    return fmt::format("adaptive tolerance {} level {} trial {} s least {} budget {} s{}", options_.tolerance,
                       options_.level, options_.trial.count(), options_.min_trials, options_.budget.count(),
                       options_.visits > 1 ? fmt::format(" visits {}", options_.visits) : "");
  }

  Seconds guess(Seconds one_repeat) const override {
    // Warm-up costs about a third of a trial and one repeat; most points narrow with little more than the least.
    return std::max(options_.trial, one_repeat) * (options_.min_trials * 1.3) + one_repeat;
  }

 private:
  // One of several visits may have too few trials for an interval: then all of them have to be near each other.
  bool narrow() const {
    auto interval = median_interval(each_, options_.level);
    if (!interval && options_.visits > 1) {
      const auto [least, greatest] = std::ranges::minmax(each_);
      interval = {least, greatest};
    }
    return interval && (interval->high - interval->low) / 2 <= options_.tolerance * median(each_);
  }

  const AdaptiveOptions options_;
  std::uint64_t max_ = 0, repeats_ = 1;
  bool warm_ = false;
  Seconds spent_{0};
  std::vector<double> each_;
};

}  // namespace

std::unique_ptr<Schedule> classic_schedule(const ClassicOptions& options) { return std::make_unique<Classic>(options); }

std::unique_ptr<Schedule> adaptive_schedule(const AdaptiveOptions& options) {
  return std::make_unique<Adaptive>(options);
}

}  // namespace npgpu
