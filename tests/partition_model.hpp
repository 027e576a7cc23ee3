// Veneva & Imamura 2025: their coefficients, of an RTX 2080 Ti. Sizes in unknowns, times in ms. They reproduce the
// paper's tables; predictions for other devices do not use them.
#pragma once

#include "npgpu/model/predict.hpp"

namespace npgpu::models::partition {

constexpr double tau_ms = 0.004448;  // to create a stream

// (4) and (7)
inline constexpr PartitionRegressions paper{.sum_slope = 2.1890017149e-6,
                                            .sum_start = 0.1470644998564126,
                                            .small_size = 2.245645331e-7,
                                            .small_log = 0.6009426920043296,
                                            .small_start = -0.0605183610625299,
                                            .big_size = 3.56594859e-8,
                                            .big_log = 0.0522781620855163,
                                            .big_start = 0.3941472844770443};

}  // namespace npgpu::models::partition
