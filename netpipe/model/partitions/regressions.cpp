// The regressions of Veneva & Imamura 2025, fitted to measured times.
#include <array>
#include <cmath>
#include <initializer_list>
#include <set>

#include "netpipe/model/least_squares.hpp"
#include "npgpu/partition_model.hpp"

namespace npgpu {

namespace {

constexpr double hidden(double sum, double n) { return (n - 1) / n * sum; }
double big_logarithm(double n) { return 4.0 / 3 * std::log2(n); }

// Rows of features and what they should give.
class Rows {
 public:
  void add(double size, double n, const std::array<double, 3>& features, double wanted) {
    sizes_.insert(size);
    streams_.insert(n);
    features_.push_back(features);
    wanted_.push_back(wanted);
  }
  // Coefficients of the first features. Sizes and ones differ by eight powers of ten.
  void solve(std::initializer_list<double*> coefficients, RegressionQuality& quality) const {
    const std::size_t count = coefficients.size();
    if (sizes_.size() < 2 || (count > 2 && streams_.size() < 2)) return;
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
    quality = {static_cast<std::uint32_t>(wanted_.size()), not_measured, left / rows, std::sqrt(left / rows)};
    if (total > 0) quality.r2 = 1 - left / total;
    for (std::size_t j = 0; j < count; ++j) *coefficients.begin()[j] = static_cast<double>(x[j]);
  }

 private:
  std::set<double> sizes_, streams_;
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

PartitionRegressions regressions_of(std::span<const PartitionRow> all, const PartitionRow* without) {
  PartitionRegressions m;
  Rows line, small, big;
  for (const PartitionRow& row : all) {
    if (&row == without || std::isnan(row.sum_us)) continue;
    const auto size = static_cast<double>(row.size);
    line.add(size, 1, {size, 1, 0}, row.sum_us);
    for (std::size_t i = 1; i < row.streams.size(); ++i) {
      const double n = row.streams[i], l = big_logarithm(n);
      if (size > PartitionRegressions::small_up_to) big.add(size, n, {size * l, l, 1}, row.overhead_us[i]);
      else small.add(size, n, {size, std::log10(n), 1}, row.overhead_us[i]);
    }
  }
  line.solve({&m.sum_slope, &m.sum_start}, m.sum_quality);
  small.solve({&m.small_size, &m.small_log, &m.small_start}, m.small_quality);
  big.solve({&m.big_size, &m.big_log, &m.big_start}, m.big_quality);
  return m;
}

}  // namespace npgpu
