// Reasons that a device gives for lower clocks, over many readings.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace npgpu {

class FrequentReasons {
 public:
  void add(std::uint64_t reasons) {
    ++readings_;
    for (std::size_t bit = 0; bit < counts_.size(); ++bit) counts_[bit] += reasons >> bit & 1;
  }
  // Those that one reading in four has, or more: what was before is seen for a while. None of no readings.
  std::uint64_t value() const {
    constexpr std::uint64_t often = 4;
    std::uint64_t all = 0;
    for (std::size_t bit = 0; bit < counts_.size(); ++bit)
      if (counts_[bit] * often >= readings_) all |= std::uint64_t{readings_ > 0} << bit;
    return all;
  }

 private:
  std::array<std::uint64_t, 64> counts_{};  // readings that had each
  std::uint64_t readings_ = 0;
};

}  // namespace npgpu
