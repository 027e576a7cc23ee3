#include "netpipe/model/least_squares.hpp"

#include <Eigen/Dense>
#include <cmath>

namespace npgpu {

namespace {

using Matrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
using Vector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;

Matrix matrix_of(std::size_t columns, const LongNumbers& a) {
  const auto width = static_cast<Eigen::Index>(columns);
  Matrix matrix(static_cast<Eigen::Index>(a.size()) / width, width);
  for (Eigen::Index i = 0; i < matrix.rows(); ++i)
    for (Eigen::Index j = 0; j < width; ++j) matrix(i, j) = a[static_cast<std::size_t>(i * width + j)];
  return matrix;
}
Vector vector_of(const LongNumbers& y) {
  return Eigen::Map<const Vector>(y.data(), static_cast<Eigen::Index>(y.size()));
}

using Decomposition = Eigen::CompleteOrthogonalDecomposition<Matrix>;
Decomposition decomposed(const Matrix& matrix) {
  Decomposition decomposition;
  decomposition.setThreshold(1e-15L);
  decomposition.compute(matrix);
  return decomposition;
}

// Lengths of the columns, or 1; divides them by these.
LongNumbers scale_columns(std::size_t columns, LongNumbers& a) {
  LongNumbers scale(columns);
  for (std::size_t i = 0; i < a.size(); ++i) scale[i % columns] += a[i] * a[i];
  for (long double& one : scale) one = one > 0 ? std::sqrt(one) : 1;
  for (std::size_t i = 0; i < a.size(); ++i) a[i] /= scale[i % columns];
  return scale;
}

}  // namespace

LongNumbers scaled_least_squares(std::size_t columns, LongNumbers a, const LongNumbers& y) {
  const LongNumbers scale = scale_columns(columns, a);
  const Vector solved = decomposed(matrix_of(columns, a)).solve(vector_of(y));
  LongNumbers x(solved.begin(), solved.end());
  for (std::size_t j = 0; j < columns; ++j) x[j] /= scale[j];
  return x;
}

LongNumbers errors_of_least_squares(std::size_t columns, const LongNumbers& a, const LongNumbers& y,
                                    const LongNumbers& x) {
  const auto freedom = static_cast<long double>(y.size() - columns);
  const long double variance = (matrix_of(columns, a) * vector_of(x) - vector_of(y)).squaredNorm() / freedom;
  LongNumbers scaled = a;
  const LongNumbers scale = scale_columns(columns, scaled);
  const Matrix inverse = decomposed(matrix_of(columns, scaled)).pseudoInverse();
  LongNumbers errors;
  for (std::size_t j = 0; j < columns; ++j)
    errors.push_back(std::sqrt(variance) * inverse.row(static_cast<Eigen::Index>(j)).norm() / scale[j]);
  return errors;
}

}  // namespace npgpu
