#include "probes/gemm/gemm.hpp"

#include <algorithm>
#include <cmath>

namespace npgpu::gemm {

namespace {

constexpr std::uint32_t most_panels = 64;
constexpr double same_time_tolerance = 0.01;

}  // namespace

Columns panel_of(const Shape& s, std::uint32_t panel) {
  const std::uint32_t n = device_columns(s).count;
  const std::uint64_t step = n / period >= s.panels ? period : 1, units = n / step;
  const auto cut = [&](std::uint64_t p) {
    return p == s.panels ? n : static_cast<std::uint32_t>(units * p / s.panels * step);
  };
  return {cut(panel), cut(panel + 1) - cut(panel)};
}

std::uint32_t advised_host_columns(const Shape& s, Seconds device, Seconds fixed, Seconds host) {
  const double of_host = device / (host + device - fixed);  // fixed + (device - fixed) (1 - x) = host x
  const auto columns = static_cast<std::uint32_t>(std::clamp(of_host, 0.0, 1.0) * s.n);
  if (columns < period) return std::min(columns, s.n - 1);
  const auto time = [&](std::uint32_t of_columns) {
    const double x = static_cast<double>(of_columns) / s.n;
    return std::max(fixed + (device - fixed) * (1 - x), host * x);
  };
  const std::uint32_t below = columns / period * period, above = below + period;
  return std::min(time(above) < time(below) ? above : below, s.n - 1);
}

Call call_of(const Shape& s, const Columns& columns) {
  const bool a = transposes_a(s.ops), b = transposes_b(s.ops);
  return {.transpose_a = a,
          .transpose_b = b,
          .m = s.m,
          .n = columns.count,
          .k = s.k,
          .lda = a ? s.k : s.m,
          .ldb = b ? s.n : s.k,
          .ldc = s.m,
          .alpha = s.alpha,
          .beta = s.beta,
          .first_of_b = std::uint64_t{columns.first} * (b ? 1 : s.k),
          .first_of_c = std::uint64_t{columns.first} * s.m};
}

std::vector<std::uint32_t> panel_candidates(const Shape& s) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t p = 1; p <= std::min(most_panels, s.n); p *= 2) all.push_back(p);
  return all;
}

Seconds time_of(const Shape& s, const PanelCosts& costs, std::uint32_t panels) {
  const std::uint64_t b = std::uint64_t{s.k} * s.n, c = std::uint64_t{s.m} * s.n;  // as if an element had one byte
  Job job{.in_bytes = b, .out_bytes = c, .kernel = costs.compute_of_fraction.back().time};
  job.kernel_of_fraction = Curve(costs.compute_of_fraction);
  StreamCosts node;
  node.copy_h2d = Curve::line(costs.start_b, costs.all_b / static_cast<double>(b));
  node.copy_d2h = Curve::line(costs.start_c, costs.all_c / static_cast<double>(c));
  node.copy_engines = costs.copy_engines;
  node.compute = Compute::serial;
  return costs.copy_a + simulate_total(job, panels, node, Order::depth_first).total;
}

std::uint32_t advised_panels(const Shape& s, const PanelCosts& costs) {
  const auto candidates = panel_candidates(s);
  Seconds best{INFINITY};
  for (const std::uint32_t p : candidates) best = std::min(best, time_of(s, costs, p));
  for (const std::uint32_t p : candidates)
    if (time_of(s, costs, p) <= (1 + same_time_tolerance) * best) return p;
  return 1;
}

}  // namespace npgpu::gemm
