#include "netpipe/jobs/partition/interface.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace npgpu::partition {

namespace {

constexpr std::size_t row_values = 4;

}  // namespace

template <class Real> void solve_interface(Real* rows, Real* ends, std::uint64_t systems) {
  struct Row {
    Real a, b, c, d;
  };
  static_assert(sizeof(Row) == row_values * sizeof(Real));
  Row* const row = reinterpret_cast<Row*>(rows);
  // After the sweep, x_i + coupling_i x_next = right_i, where the next one is that towards the middle. `a` and `c` are
  // left to hold the couplings and `d` the right sides.
  Real up_coupling = 0, up_right = 0, down_coupling = 0, down_right = 0;
  const std::uint64_t last = 2 * systems - 1;
  for (std::uint64_t i = 0; i < systems; ++i) {
    Row &top = row[i], &bottom = row[last - i];
    const Real w = 1 / (top.b - top.a * up_coupling), v = 1 / (bottom.b - bottom.c * down_coupling);
    up_coupling = top.c * w;
    up_right = (top.d - top.a * up_right) * w;
    down_coupling = bottom.a * v;
    down_right = (bottom.d - bottom.c * down_right) * v;
    top.c = up_coupling;
    top.d = up_right;
    bottom.a = down_coupling;
    bottom.d = down_right;
  }
  // The two rows that meet: x + p y = q and r x + y = s.
  Real upper = (up_right - up_coupling * down_right) / (1 - up_coupling * down_coupling);
  Real lower = down_right - down_coupling * upper;
  ends[systems - 1] = upper;
  ends[systems] = lower;
  for (std::uint64_t i = systems - 1; i-- > 0;) {
    upper = row[i].d - row[i].c * upper;
    lower = row[last - i].d - row[last - i].a * lower;
    ends[i] = upper;
    ends[last - i] = lower;
  }
}

template <class Real>
double backward_error(const Real* a, const Real* b, const Real* c, const Real* d, const Real* x, std::uint64_t size) {
  double worst = 0;
  for (std::uint64_t i = 0; i < size; ++i) {
    const double before = i > 0 ? double{a[i]} * x[i - 1] : 0, own = double{b[i]} * x[i],
                 after = i + 1 < size ? double{c[i]} * x[i + 1] : 0;
    const double scale = std::abs(before) + std::abs(own) + std::abs(after) + std::abs(double{d[i]});
    const double error = std::abs(before + own + after - d[i]);
    if (!(error <= std::numeric_limits<double>::max())) return std::numeric_limits<double>::infinity();
    if (error > 0) worst = std::max(worst, error / scale);
  }
  return worst;
}

template <class Real> double max_backward_error() { return 64.0 * std::numeric_limits<Real>::epsilon(); }

std::optional<std::string> judge_residual(double backward_error, double allowed) {
  if (backward_error <= allowed) return std::nullopt;
  return fmt::format("the solution's backward error is {:.2g}, and {:.2g} is allowed", backward_error, allowed);
}

template void solve_interface(float*, float*, std::uint64_t);
template void solve_interface(double*, double*, std::uint64_t);
template double backward_error(const float*, const float*, const float*, const float*, const float*, std::uint64_t);
template double backward_error(const double*, const double*, const double*, const double*, const double*,
                               std::uint64_t);
template double max_backward_error<float>();
template double max_backward_error<double>();

}  // namespace npgpu::partition
