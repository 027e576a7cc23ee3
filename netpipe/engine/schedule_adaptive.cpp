#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "npgpu/schedule.hpp"
#include "npgpu/statistics.hpp"

namespace npgpu {

namespace {

// Warm-up quadruples the repeats until a trial is long enough to time, then trials of one length run
// until the nonparametric interval of their median is narrow, or until the budget is spent.
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
    if (each_.size() >= static_cast<std::size_t>(options_.min_trials)) {
      if (narrow()) return {Step::Kind::stop, 0, Stop::converged};
      if (spent_ >= options_.budget) return {Step::Kind::stop, 0, Stop::not_converged};
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
    return fmt::format("adaptive tolerance {} level {} trial {} s least {} budget {} s", options_.tolerance,
                       options_.level, options_.trial.count(), options_.min_trials, options_.budget.count());
  }

  Seconds guess(Seconds one_repeat) const override {
    // Warm-up costs about a third of a trial and one repeat; most points narrow with little more than the least.
    return std::max(options_.trial, one_repeat) * (options_.min_trials * 1.3) + one_repeat;
  }

 private:
  bool narrow() const {
    const auto interval = median_interval(each_, options_.level);
    return interval && (interval->high - interval->low) / 2 <= options_.tolerance * median(each_);
  }

  const AdaptiveOptions options_;
  std::uint64_t max_ = 0;
  std::uint64_t repeats_ = 1;
  bool warm_ = false;
  Seconds spent_{0};
  std::vector<double> each_;
};

}  // namespace

std::unique_ptr<Schedule> adaptive_schedule(const AdaptiveOptions& options) {
  return std::make_unique<Adaptive>(options);
}

}  // namespace npgpu
