#include "netpipe/jobs/partition/lapack.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "netpipe/jobs/partition/rows.hpp"
#include "npgpu/error.hpp"

namespace npgpu::partition {

namespace {

// Fortran's: n, right sides, below, on and above the diagonal, right sides, their stride, result.
template <class Real> using Gtsv = void (*)(const int*, const int*, Real*, Real*, Real*, Real*, const int*, int*);

}  // namespace

Lapack::Lapack() {
  for (const char* library : {"liblapack.so.3", "libopenblas.so.0", "libopenblas.so"}) {
    void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);  // held as long as the process
    if (!handle) continue;
    sgtsv_ = dlsym(handle, "sgtsv_");
    dgtsv_ = dlsym(handle, "dgtsv_");
    if (sgtsv_ && dgtsv_) {
      text_ = fmt::format("compared with gtsv of {} up to {} unknowns", library, max_size);
      return;
    }
  }
  sgtsv_ = dgtsv_ = nullptr;
  text_ = "not compared with LAPACK: there is no liblapack.so.3 and no libopenblas.so.0";
}

template <> std::map<std::uint64_t, std::vector<float>>& Lapack::known() { return known_fp32_; }
template <> std::map<std::uint64_t, std::vector<double>>& Lapack::known() { return known_fp64_; }

template <class Real> const std::vector<Real>& Lapack::solution(std::uint64_t size) {
  std::vector<Real>& x = known<Real>()[size];
  if (!x.empty()) return x;
  std::vector<Real> below(size), on(size), above(size), right(size);
  for (std::uint64_t i = 0; i < size; ++i) {
    const Row<Real> row = row_of<Real>(i);
    if (i > 0) below[i - 1] = row.a;
    on[i] = row.b;
    above[i] = row.c;
    right[i] = row.d;
  }
  const int n = static_cast<int>(size), one = 1;
  int info = 0;
  void* const symbol = std::is_same_v<Real, float> ? sgtsv_ : dgtsv_;
  reinterpret_cast<Gtsv<Real>>(symbol)(&n, &one, below.data(), on.data(), above.data(), right.data(), &n, &info);
  if (info != 0) throw Error(ErrorKind::failed, fmt::format("LAPACK's gtsv gave up: info {}", info));
  return x = std::move(right);
}

template <class Real> std::optional<std::string> Lapack::differs(const Real* x, std::uint64_t size) {
  if (!dgtsv_ || size > max_size) return std::nullopt;
  const std::vector<Real>& wanted = solution<Real>(size);
  // The inverse's norm is at most 1, because |b| >= |a| + |c| + 1; a matrix' is below 3.
  double largest = 0, worst = 0;
  std::uint64_t where = 0;
  for (std::uint64_t i = 0; i < size; ++i) {
    largest = std::max(largest, std::abs(double{wanted[i]}));
    const double off = std::abs(double{x[i]} - double{wanted[i]});
    if (off <= worst) continue;  // not where it is no number
    worst = off;
    where = i;
    if (!std::isfinite(off)) break;
  }
  const double allowed = 256.0 * std::numeric_limits<Real>::epsilon() * largest;
  if (worst <= allowed) return std::nullopt;
  return fmt::format("x[{}] is {}, and LAPACK's is {}: {:.2g} apart, and {:.2g} is allowed", where, x[where],
                     wanted[where], worst, allowed);
}

template std::optional<std::string> Lapack::differs(const float*, std::uint64_t);
template std::optional<std::string> Lapack::differs(const double*, std::uint64_t);

}  // namespace npgpu::partition
