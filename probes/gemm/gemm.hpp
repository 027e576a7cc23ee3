// What all gemm probes share, whatever computes: the questions, shapes and what they take; and how a product whose
// matrices lie in the host's memory is cut into panels that are copied and computed by turns.
//
// C (m x n) = A (m x k) * B (k x n), alpha 1, beta 0, nothing transposed, in memory column by column. Work: 2 m n k.
//   space global  the matrices are in the device's memory before the clock starts, and stay there
//   space host    on a GPU: they lie in pinned memory of the host. A is copied first, then B goes down and C comes back
//                 panel by panel, each way by its own copy engine, while the panel between is computed. One panel:
//                 copy, compute, copy. On a CPU: the memory that it computes in
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npgpu/probe.hpp"
#include "npgpu/simulate.hpp"

namespace npgpu::gemm {

ProbeCase gemm_case(const std::string& device, DataType, Space);
// fp32 and fp64 in each of these.
std::vector<ProbeCase> cases(const std::string& device, std::span<const Space>);

struct MatrixBytes {
  std::uint64_t a = 0, b = 0, c = 0;
  std::uint64_t sum() const { return a + b + c; }
};
std::uint64_t bytes_of_element(const ProbeCase&);
MatrixBytes bytes_of(const ProbeCase&, const Shape&);
// The largest of each that the steps need.
MatrixBytes bytes_of(std::span<const ProbeStep>);
double work_of(const Shape&);  // operations

Shape square(std::uint32_t n, std::uint32_t panels = 1);
// Squares by doubling, the eight of Allada et al. 2009 (8128 to 8184 by 8) and four beside them that 8 does not divide,
// and ragged ones. In the host's memory: squares in one panel, and in as many as the model advises.
std::vector<Shape> device_shapes(const Layout&, const ProbeCase&);
// Squares by doubling on all cores, ragged ones, and one square over the cores.
std::vector<Shape> host_shapes(std::span<const std::uint32_t> cores);
// Whatever computes: also sizes beyond what libraries count with.
std::optional<std::string> refuses(const ProbeCase&, const Shape&);

// The columns of B and C that a panel has. Cuts are at multiples of 64 columns where each panel has that many, so that
// a panel's columns are divided by what the matrix' are.
struct Columns {
  std::uint32_t first = 0, count = 0;
};
Columns panel_of(const Shape&, std::uint32_t panel);

// Panels that are tried: 1, 2, 4, ... 64, up to the number of columns.
std::vector<std::uint32_t> panel_candidates(const Shape&);
// What panels cost on this device: copies of B and C as a start for each panel and a rate, and the time of computing
// one panel out of so many; by measurement, each alone.
struct PanelCosts {
  Seconds copy_a{0};
  Seconds start_b{0}, all_b{0};  // of each panel's copy; of all of B without starts
  Seconds start_c{0}, all_c{0};
  std::vector<Curve::Point> compute_of_fraction{};  // x: one panel's part of the columns, ascending
  int copy_engines = 2;
};
// The whole product by the simulator (npgpu/simulate.hpp): A, then the panels through the engines.
Seconds time_of(const Shape&, const PanelCosts&, std::uint32_t panels);
// The fewest panels whose time is within 1 % of the best.
std::uint32_t advised_panels(const Shape&, const PanelCosts&);

// `step` with panels 0 replaced: by those that the trace already has for these matrices, where there are more than one,
// else by what `advise` says.
template <class Advise> ProbeStep settled(ProbeStep step, std::span<const Shape> known, Advise advise) {
  if (step.axes.panels) return step;
  for (const Shape& s : known)
    if (s.m == step.axes.m && s.n == step.axes.n && s.k == step.axes.k && s.panels > 1) return {step.question, s};
  step.axes.panels = 1;
  step.axes.panels = advise(step);
  return step;
}

}  // namespace npgpu::gemm
