// The host's part of the partition method: the interface system, and how well a solution solves the whole one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace npgpu::partition {

// Stage 2: the interface system of so many sub-systems, from their rows (a, b, c, d of 2 * systems rows), which are
// overwritten, to their ends. The Thomas algorithm from both ends towards the middle: two chains of divisions that do
// not wait for each other. Diagonally dominant rows need no pivots. Real: float or double.
template <class Real> void solve_interface(Real* rows, Real* ends, std::uint64_t systems);

// The largest |a x_{i-1} + b x_i + c x_{i+1} - d| / (|a x_{i-1}| + |b x_i| + |c x_{i+1}| + |d|) over all rows: how far
// the system is, row by row, from one that x solves exactly (Oettli & Prager 1964). Of a stable method it is of the
// size of a rounding error. Infinity where x is not finite.
template <class Real>
double backward_error(const Real* a, const Real* b, const Real* c, const Real* d, const Real* x, std::uint64_t size);

// What a solution may have: 64 rounding errors.
template <class Real> double max_backward_error();

// One sentence if that is more than is allowed.
std::optional<std::string> judge_residual(double backward_error, double allowed);

}  // namespace npgpu::partition
