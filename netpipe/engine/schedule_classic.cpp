#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "npgpu/schedule.hpp"

namespace npgpu {

namespace {

// Allada et al. 2009, section II: nrepeat = TARGET / ((bsz2/bsz1) * tlast), seven trials, the minimum quoted; at
// least three repeats as in NetPIPE. Before the first point there is no tlast: trials that are not
// recorded double their repeats until they can be timed. Every other point has one unrecorded repeat.
class Classic final : public Schedule {
 public:
  explicit Classic(const ClassicOptions& options) : options_(options) {}

  void begin(std::uint64_t bytes, std::uint64_t max_repeats) override {
    const std::uint64_t most = options_.fixed_repeats ? UINT64_MAX : max_trial_repeats;
    max_ = max_repeats ? std::min(max_repeats, most) : most;
    trials_ = 0;
    warm_ = false;
    repeats_ = 1;
    estimate_ = last_time_ * (last_bytes_ ? static_cast<double>(bytes) / static_cast<double>(last_bytes_) : 0.0);
    bytes_ = bytes;
  }

  Step next() override {
    if (trials_ == options_.trials) return {Step::Kind::stop, 0, Stop::trials};
    if (!warm_) return {Step::Kind::warm_up, repeats_};
    return {Step::Kind::trial, repeats_};
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
  Seconds last_time_{0};
  std::uint64_t last_bytes_ = 0;
  std::uint64_t bytes_ = 0;
  Seconds estimate_{0};
  std::uint64_t max_ = 0;
  std::uint64_t repeats_ = 1;
  int trials_ = 0;
  bool warm_ = false;
};

}  // namespace

std::unique_ptr<Schedule> classic_schedule(const ClassicOptions& options) { return std::make_unique<Classic>(options); }

}  // namespace npgpu
