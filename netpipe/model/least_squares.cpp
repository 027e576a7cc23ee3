#include "netpipe/model/least_squares.hpp"

#include <Eigen/Dense>
#include <cmath>

namespace npgpu {

namespace {

LongNumbers least_squares(std::size_t columns, const LongNumbers& a, const LongNumbers& y) {
  using Matrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
  using Vector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;
  const auto rows = static_cast<Eigen::Index>(y.size()), width = static_cast<Eigen::Index>(columns);
  Matrix matrix(rows, width);
  for (Eigen::Index i = 0; i < rows; ++i)
    for (Eigen::Index j = 0; j < width; ++j) matrix(i, j) = a[static_cast<std::size_t>(i * width + j)];
  Eigen::CompleteOrthogonalDecomposition<Matrix> decomposition;
  decomposition.setThreshold(1e-15L);
  const Vector x = decomposition.compute(matrix).solve(Vector(Eigen::Map<const Vector>(y.data(), rows)));
  return {x.begin(), x.end()};
}

}  // namespace

LongNumbers scaled_least_squares(std::size_t columns, LongNumbers a, const LongNumbers& y) {
  LongNumbers scale(columns);
  for (std::size_t i = 0; i < a.size(); ++i) scale[i % columns] += a[i] * a[i];
  for (long double& one : scale) one = one > 0 ? std::sqrt(one) : 1;
  for (std::size_t i = 0; i < a.size(); ++i) a[i] /= scale[i % columns];
  LongNumbers x = least_squares(columns, a, y);
  for (std::size_t j = 0; j < columns; ++j) x[j] /= scale[j];
  return x;
}

}  // namespace npgpu
