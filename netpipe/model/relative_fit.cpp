#include "netpipe/model/relative_fit.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace npgpu::model {

namespace {

// The shortest x that minimizes |a x - b|, of a symmetric matrix a without negative eigenvalues, by rows. Jacobi's
// method: rotations make the matrix diagonal, and directions that it maps to almost nothing are left out. (Where all
// workloads have the same bytes, for example, those cannot be separated from a constant.)
std::vector<long double> shortest_solution(std::vector<long double> a, const std::vector<long double>& b) {
  constexpr long double nothing = 1e-15L;  // of products; 3e-8 of features
  const std::size_t n = b.size();
  std::vector<long double> vectors(n * n, 0);
  for (std::size_t i = 0; i < n; ++i) vectors[i * n + i] = 1;
  const auto rotate = [](long double& x, long double& y, long double cosine, long double sine) {
    const long double was = x;
    x = cosine * was - sine * y;
    y = sine * was + cosine * y;
  };
  // The matrix is scaled to a diagonal of ones. Few rounds are needed: convergence is quadratic.
  for (int round = 0; round < 30; ++round)
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) {
        const long double off = a[p * n + q];
        if (!(std::abs(off) > 1e-21L)) continue;
        const long double theta = (a[q * n + q] - a[p * n + p]) / (2 * off);
        const long double tangent = std::copysign(1 / (std::abs(theta) + std::hypot(theta, 1.0L)), theta);
        const long double cosine = 1 / std::hypot(tangent, 1.0L);
        for (std::size_t k = 0; k < n; ++k) {
          rotate(a[k * n + p], a[k * n + q], cosine, tangent * cosine);
          rotate(vectors[k * n + p], vectors[k * n + q], cosine, tangent * cosine);
        }
        for (std::size_t k = 0; k < n; ++k) rotate(a[p * n + k], a[q * n + k], cosine, tangent * cosine);
        a[p * n + q] = a[q * n + p] = 0;
      }
  long double largest = 0;
  for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, a[i * n + i]);
  std::vector<long double> x(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    if (!(a[i * n + i] > nothing * largest)) continue;
    long double along = 0;
    for (std::size_t k = 0; k < n; ++k) along += vectors[k * n + i] * b[k];
    for (std::size_t k = 0; k < n; ++k) x[k] += vectors[k * n + i] * along / a[i * n + i];
  }
  return x;
}

}  // namespace

void RelativeFit::add_to(Sums& sums, const std::vector<long double>& row, long double right) {
  const std::size_t n = row.size();
  sums.products.resize(n * n);
  sums.right.resize(n);
  ++sums.rows;
  for (std::size_t i = 0; i < n; ++i) {
    sums.right[i] += row[i] * right;
    for (std::size_t j = 0; j < n; ++j) sums.products[i * n + j] += row[i] * row[j];
  }
}

void RelativeFit::add(const void* group, const std::vector<double>& features, double offset, double measured) {
  std::vector<long double> row(features.begin(), features.end());
  for (long double& x : row) x /= measured;
  const long double right = 1 - static_cast<long double>(offset) / measured;
  add_to(all_, row, right);
  add_to(groups_[group], row, right);
}

std::vector<double> RelativeFit::solve(const void* without) const {
  Sums left = all_;
  if (const auto out = groups_.find(without); out != groups_.end()) {
    left.rows -= out->second.rows;
    for (std::size_t i = 0; i < left.products.size(); ++i) left.products[i] -= out->second.products[i];
    for (std::size_t i = 0; i < left.right.size(); ++i) left.right[i] -= out->second.right[i];
  }
  if (left.rows == 0) return {};
  const std::size_t n = left.right.size();
  // Columns of bytes and of ones differ by many powers of ten.
  std::vector<long double> scale(n);
  for (std::size_t i = 0; i < n; ++i) {
    scale[i] = std::sqrt(left.products[i * n + i]);
    if (!(scale[i] > 0)) scale[i] = 1;
  }
  for (std::size_t i = 0; i < n; ++i) {
    left.right[i] /= scale[i];
    for (std::size_t j = 0; j < n; ++j) left.products[i * n + j] /= scale[i] * scale[j];
  }
  const std::vector<long double> x = shortest_solution(std::move(left.products), left.right);
  std::vector<double> result;
  for (std::size_t i = 0; i < n; ++i) result.push_back(static_cast<double>(x[i] / scale[i]));
  return result;
}

}  // namespace npgpu::model
