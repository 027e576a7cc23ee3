// Least squares for few columns, by a one-sided Jacobi singular value decomposition: columns are turned in pairs until
// they are orthogonal (Hestenes 1958; Golub and Van Loan, Matrix Computations, section 8.6.3).
#pragma once

#include <cstddef>
#include <vector>

namespace npgpu {

using LongNumbers = std::vector<long double>;

// The x for which a * x is nearest to y; `a` row by row, each as long as x. Columns, which may differ by many powers of
// ten, are scaled to length 1 first. Where they depend on each other, to 1e-15 of the largest, the shortest such x.
LongNumbers scaled_least_squares(std::size_t columns, const LongNumbers& a, const LongNumbers& y);
// The standard error of each of these x, by what is left of y. REQUIRES: more rows than columns.
LongNumbers errors_of_least_squares(std::size_t columns, const LongNumbers& a, const LongNumbers& y,
                                    const LongNumbers& x);

}  // namespace npgpu
