// What each rate of a matrix must reach, and whether it does.
#pragma once

#include <string>
#include <vector>

#include "netpipe/model/matrix/links.hpp"
#include "npgpu/matrix_verdict.hpp"

namespace npgpu::model {

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

// Of 18 NVLinks 4.0 copies of 512 MiB between two H200s and two H100s reach 86 to 88 % by copy engines, kernels 74 to
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
