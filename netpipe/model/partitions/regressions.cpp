#include "netpipe/model/partitions/regressions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "netpipe/model/least_squares.hpp"

namespace npgpu {

namespace {

constexpr double hidden(double sum, double n) { return (n - 1) / n * sum; }
double big_logarithm(double n) { return 4.0 / 3 * std::log2(n); }

// Rows of features and what they should give.
class Rows {
 public:
  void add(const std::array<double, 3>& features, double wanted) {
    features_.push_back(features);
    wanted_.push_back(wanted);
  }
  // Of the first `count` features. Sizes and ones differ by eight powers of ten.
  std::array<double, 3> solve(std::size_t count, RegressionQuality& quality) const {
    LongNumbers a;
    for (const auto& row : features_) a.insert(a.end(), row.begin(), row.begin() + static_cast<std::ptrdiff_t>(count));
    const LongNumbers x = scaled_least_squares(count, a, {wanted_.begin(), wanted_.end()});
    const auto rows = static_cast<double>(wanted_.size());
    double left = 0, total = 0, mean = 0;
    for (const double wanted : wanted_) mean += wanted / rows;
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      long double off = -wanted_[i];
      for (std::size_t j = 0; j < count; ++j) off += x[j] * features_[i][j];
      left += static_cast<double>(off * off);
      total += (wanted_[i] - mean) * (wanted_[i] - mean);
    }
    quality.rows = static_cast<std::uint32_t>(wanted_.size());
    quality.mse = left / rows;
    quality.rmse = std::sqrt(quality.mse);
    if (total > 0) quality.r2 = 1 - left / total;
    std::array<double, 3> all{not_measured, not_measured, not_measured};
    std::transform(x.begin(), x.end(), all.begin(), [](long double one) { return static_cast<double>(one); });
    return all;
  }

 private:
  std::vector<std::array<double, 3>> features_;
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
