// Least squares by Eigen, whose decompositions take longer to compile than all that use them: in one file only.
#pragma once

#include <cstddef>
#include <vector>

namespace npgpu {

using LongNumbers = std::vector<long double>;

// The x for which a * x is nearest to y; `a` row by row, each as long as x. Where columns depend on each other, to
// 1e-15 of the largest, the shortest such x.
LongNumbers least_squares(std::size_t columns, const LongNumbers& a, const LongNumbers& y);
// The same for columns that differ by many powers of ten: of columns of length 1 first.
LongNumbers scaled_least_squares(std::size_t columns, LongNumbers a, const LongNumbers& y);

}  // namespace npgpu
