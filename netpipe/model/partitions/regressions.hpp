// The regressions of Veneva & Imamura 2025, fitted to measured times by ordinary least squares, as they were there.
#pragma once

#include <span>
#include <vector>

#include "npgpu/partition_model.hpp"

namespace npgpu::model {

struct SumPoint {
  double size = 0, sum = 0;
};
struct OverheadPoint {
  double size = 0, n = 1, overhead = 0;
};

struct FittedRegressions {
  PartitionRegressions model;
  RegressionQuality sum, small, big;
};
// A form with fewer distinct sizes or rows than it needs stays NaN: (4) takes two sizes, either form of (7) two sizes
// and two numbers of streams.
FittedRegressions fit(std::span<const SumPoint>, std::span<const OverheadPoint>);

}  // namespace npgpu::model
