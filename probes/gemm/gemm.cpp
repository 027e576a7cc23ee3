#include "probes/gemm/gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netpipe/engine/each_once.hpp"
#include "probes/gemm/elements.hpp"

namespace npgpu::gemm {

namespace {

constexpr std::uint32_t most_panels = 64;
constexpr double same_time_tolerance = 0.01;
constexpr std::uint64_t most_of_dimension = 0x7fffffff;  // libraries count in 32 bits

// m, n, k
constexpr std::uint32_t ragged[][3] = {{4096, 64, 4096}, {64, 4096, 4096}, {4096, 4096, 64}, {4095, 1001, 333}};

Shape matrices(std::uint32_t m, std::uint32_t n, std::uint32_t k) {
  Shape s;
  s.m = m;
  s.n = n;
  s.k = k;
  return s;
}

}  // namespace

ProbeCase gemm_case(const std::string& device, DataType type, Space space) {
  return {.probe = "gemm", .device = device, .operation = Operation::fma, .type = type, .space = space};
}

std::vector<ProbeCase> cases(const std::string& device, std::span<const Space> spaces) {
  std::vector<ProbeCase> all;
  for (const Space space : spaces)
    for (const DataType type : {DataType::fp32, DataType::fp64}) all.push_back(gemm_case(device, type, space));
  return all;
}

std::uint64_t bytes_of_element(const ProbeCase& c) { return c.type == DataType::fp64 ? sizeof(double) : sizeof(float); }

MatrixBytes bytes_of(const ProbeCase& c, const Shape& s) {
  const std::uint64_t m = s.m, n = s.n, k = s.k, each = bytes_of_element(c);
  return {m * k * each, k * n * each, m * n * each};
}

MatrixBytes bytes_of(std::span<const ProbeStep> steps) {
  MatrixBytes all;
  for (const ProbeStep& step : steps) {
    const MatrixBytes one = bytes_of(step.question, step.axes);
    all = {std::max(all.a, one.a), std::max(all.b, one.b), std::max(all.c, one.c)};
  }
  return all;
}

double work_of(const Shape& s) { return 2.0 * s.m * s.n * s.k; }

Shape square(std::uint32_t n, std::uint32_t panels) {
  Shape s = matrices(n, n, n);
  s.panels = panels;
  return s;
}

std::vector<Shape> device_shapes(const Layout& l, const ProbeCase& c) {
  std::vector<Shape> all;
  const auto add = [&](const Shape& s) {
    const bool fits = l.memory_bytes == 0 || bytes_of(c, s).sum() < l.memory_bytes / 4 * 3;
    if (fits) all.push_back(s);
  };
  if (c.space == Space::host) {
    for (std::uint32_t n = 512; n <= 8192; n *= 2)
      for (const std::uint32_t panels : {1u, 0u}) add(square(n, panels));
    return all;
  }
  for (std::uint32_t n = 128; n <= 8192; n *= 2) add(square(n));
  for (std::uint32_t n = 8128; n < 8192; n += 8) add(square(n));
  for (const std::uint32_t n : {8129u, 8130u, 8132u, 8191u}) add(square(n));
  for (const auto& [m, n, k] : ragged) add(matrices(m, n, k));
  return all;
}

std::vector<Shape> host_shapes(std::span<const std::uint32_t> cores) {
  constexpr std::uint32_t usual = 2048;
  std::vector<Shape> all;
  if (cores.empty()) return all;
  for (const std::uint32_t blocks : cores) {
    all.push_back(square(usual));
    all.back().blocks = blocks;
  }
  std::vector<Shape> sizes;
  for (std::uint32_t n = 128; n <= usual; n *= 2) sizes.push_back(square(n));
  for (std::uint32_t n = usual - 64; n < usual; n += 8) sizes.push_back(square(n));
  for (const auto& [m, n, k] : ragged) sizes.push_back(matrices(m, n, k));
  for (Shape& s : sizes) {
    s.blocks = cores.back();
    all.push_back(s);
  }
  return each_once(std::move(all));
}

std::optional<std::string> refuses(const ProbeCase& c, const Shape& s) {
  if (s.threads != 1 || s.ilp != 1 || s.access_bytes || s.bytes)
    return "gemm has no threads, ilp, access or bytes: its library chooses them";
  if (!s.m || !s.n || !s.k) return "gemm needs m, n and k, or square: square=4096";
  if (s.m > most_of_dimension || s.n > most_of_dimension || s.k > most_of_dimension)
    return "libraries count m, n and k in 31 bits";
  if (const std::uint32_t most = c.type == DataType::fp32 ? max_k_fp32 : max_k_fp64; s.k > most)
    return fmt::format("the sums of a k up to {} are held exactly by {}, and results are compared exactly", most,
                       name(c.type));
  if (c.space != Space::host && s.panels != 1) return "matrices in the device's memory are not copied: panels=1";
  if (s.panels > s.n) return fmt::format("{} panels of {} columns", s.panels, s.n);
  return std::nullopt;
}

Columns panel_of(const Shape& s, std::uint32_t panel) {
  const std::uint64_t step = s.n / period >= s.panels ? period : 1, units = s.n / step;
  const auto cut = [&](std::uint64_t p) {
    return p == s.panels ? s.n : static_cast<std::uint32_t>(units * p / s.panels * step);
  };
  return {cut(panel), cut(panel + 1) - cut(panel)};
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
