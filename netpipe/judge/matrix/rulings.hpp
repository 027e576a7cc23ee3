// What each rate of a matrix must reach, and whether it does; and words for rates of several copies.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "netpipe/judge/matrix/links.hpp"

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

// A rate, what it is compared with, and where that comes from.
struct CellRuling {
  const MatrixCell* cell = nullptr;
  const RateMatrix* matrix = nullptr;
  CellVerdict* verdict = nullptr;  // with the limit
  std::string kind{};              // the same for all that can be compared with each other
  double reached = not_measured;   // by what it is compared with; NaN where nothing is
  std::string by{};                // "pairs on the same kind of link reach", "18 NVLinks 4.0 carry"
  double share = not_measured;     // of it that is right
};

// Copies of 512 MiB between two H200s and two H100s reach 86 to 88 % of 18 NVLinks 4.0 by copy engines, kernels 74 to
// 84 %. Floors: 6 % and more below.
inline constexpr double least_share_of_nvlinks = 0.80, least_share_of_nvlinks_by_kernel = 0.68;

// Three of four are no faster. Half of a kind may be slow, as the GPUs below one of two switches are.
double upper_quartile(std::vector<double>);

// Sets limit and verdict of every cell that is a rate. The limit is the highest of: what pairs on the same kind of link
// reach (or the other direction, or the only other pair or GPU of the kind), less outlier_share; what NVLinks of that
// generation carry. Copies through the host and within a GPU have none.
// They live as long as the matrices and the verdicts.
std::vector<CellRuling> rule_on(const NodeMatrix&, const Links&, std::vector<std::vector<CellVerdict>>&);

// What a copy of the ring is compared with: what those that are joined alike reach, as in a matrix, three and more, so
// that one can stand out; or what NVLinks of that number and generation carry, where that demands more.
struct RingLimit {
  double reached = not_measured, share = not_measured;
  std::string by{};
  double per_s() const { return reached * share; }
};
// `alike`: the rates of all copies of the ring that are joined as this one is.
RingLimit ring_limit(const MatrixCell&, const std::vector<double>& alike, const Links&);
// By what a link that is slow would be noticed; empty where no ring of copies was measured.
std::string links_judged_by(const std::vector<MatrixCell>& ring, const Links&);

}  // namespace npgpu::model
