// Words for rates of several copies at once.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <string>
#include <vector>

#include "npgpu/matrix.hpp"

namespace npgpu::model {

inline std::string in_gb_s(double bytes_per_s) { return fmt::format("{:.3g} GB/s", bytes_per_s * 1e-9); }

// "24.7 to 25 GB/s"
struct RateRange {
  double low = not_measured, high = not_measured;
  void take(double value) {
    if (!(value >= low)) low = value;
    if (!(value <= high)) high = value;
  }
  std::string text() const {
    const std::string one = in_gb_s(low), other = in_gb_s(high);
    return one == other ? one : fmt::format("{:.3g} to {}", low * 1e-9, other);
  }
};

// "writes and reads, by copy engines and by kernels, one way and both ways at once"
class Askings {
 public:
  void take(const RateMatrix& matrix, const MatrixCell& cell) {
    const bool between = cell.source != "host" && cell.target != "host" && cell.source != cell.target;
    if (between) kinds_.insert(matrix.access == Access::read ? "reads" : "writes");
    movers_.insert(matrix.executor == Executor::sm_kernel ? "by a kernel" : "by copy engines");
    ways_.insert(matrix.both_ways ? "both ways at once" : "one way");
  }
  std::string text() const {
    std::vector<std::string> parts;
    for (const auto* words : {&kinds_, &movers_, &ways_})
      if (!words->empty()) parts.push_back(fmt::format("{}", fmt::join(*words, " and ")));
    return fmt::format("{}", fmt::join(parts, ", "));
  }

 private:
  std::set<std::string, std::greater<>> kinds_, movers_, ways_;  // writes and one way first
};

}  // namespace npgpu::model
