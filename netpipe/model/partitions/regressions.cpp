#include "netpipe/model/partitions/regressions.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <set>

namespace npgpu {

namespace {

constexpr double hidden(double sum, double n) { return (n - 1) / n * sum; }
double big_logarithm(double n) { return 4.0 / 3 * std::log2(n); }

// Rows of features and what they should give.
class Rows {
 public:
  void add(const Eigen::Vector3d& features, double wanted) {
    features_.push_back(features);
    wanted_.push_back(wanted);
  }
  std::size_t size() const { return wanted_.size(); }
  // Of the first `count` features. Sizes and ones differ by eight powers of ten, so that columns are scaled.
  Eigen::Vector3d solve(Eigen::Index count, RegressionQuality& quality) const {
    const auto rows = static_cast<Eigen::Index>(size());
    Eigen::MatrixXd a(rows, count);
    Eigen::VectorXd y(rows);
    for (Eigen::Index i = 0; i < rows; ++i) {
      a.row(i) = features_[static_cast<std::size_t>(i)].head(count).transpose();
      y(i) = wanted_[static_cast<std::size_t>(i)];
    }
    const Eigen::VectorXd scale = a.colwise().norm();
    const Eigen::MatrixXd scaled = a * scale.cwiseInverse().asDiagonal();
    const Eigen::VectorXd x = scaled.colPivHouseholderQr().solve(y).cwiseQuotient(scale);
    const double left = (a * x - y).squaredNorm(), total = (y.array() - y.mean()).matrix().squaredNorm();
    quality.rows = static_cast<std::uint32_t>(rows);
    quality.mse = left / static_cast<double>(rows);
    quality.rmse = std::sqrt(quality.mse);
    if (total > 0) quality.r2 = 1 - left / total;
    Eigen::Vector3d all = Eigen::Vector3d::Constant(not_measured);
    all.head(count) = x;
    return all;
  }

 private:
  std::vector<Eigen::Vector3d> features_;
  std::vector<double> wanted_;
};

}  // namespace

double PartitionRegressions::overhead(double size, double n) const {
  if (size <= small_up_to) return small_size * size + small_log * std::log10(n) + small_start;
  return (big_size * size + big_log) * big_logarithm(n) + big_start;
}

double PartitionRegressions::gain(double size, double n) const { return hidden(sum(size), n) - overhead(size, n); }

std::optional<std::uint32_t> PartitionRegressions::optimum(double size,
                                                           std::span<const std::uint32_t> candidates) const {
  std::uint32_t best = 1;
  double most = 0;
  for (const std::uint32_t n : candidates) {
    const double saved = gain(size, n);
    if (std::isnan(saved)) return std::nullopt;
    if (saved > most) {
      most = saved;
      best = n;
    }
  }
  return best;
}

double partition_overhead(double streamed, double unsplit, double sum, double n) {
  return streamed - unsplit + hidden(sum, n);
}

double creation_optimum(double sum, double t_sc) { return std::sqrt(sum / t_sc); }

namespace model {

FittedRegressions fit(std::span<const SumPoint> sums, std::span<const OverheadPoint> overheads) {
  FittedRegressions fitted;
  PartitionRegressions& m = fitted.model;
  Rows line;
  std::set<double> sizes;
  for (const SumPoint& p : sums) {
    line.add({p.size, 1, 0}, p.sum);
    sizes.insert(p.size);
  }
  if (sizes.size() >= 2) {
    const auto x = line.solve(2, fitted.sum);
    m.sum_slope = x[0];
    m.sum_start = x[1];
  }
  for (const bool big : {false, true}) {
    Rows rows;
    std::set<double> of_rows, streams;
    for (const OverheadPoint& p : overheads) {
      if ((p.size > PartitionRegressions::small_up_to) != big) continue;
      const double l = big ? big_logarithm(p.n) : std::log10(p.n);
      rows.add({big ? p.size * l : p.size, l, 1}, p.overhead);
      of_rows.insert(p.size);
      streams.insert(p.n);
    }
    if (of_rows.size() < 2 || streams.size() < 2) continue;
    const auto x = rows.solve(3, big ? fitted.big : fitted.small);
    (big ? m.big_size : m.small_size) = x[0];
    (big ? m.big_log : m.small_log) = x[1];
    (big ? m.big_start : m.small_start) = x[2];
  }
  return fitted;
}

}  // namespace model

}  // namespace npgpu
