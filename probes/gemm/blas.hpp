// A BLAS of the host, found at run time, with threads of its own that are pinned to a core each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probes/gemm/gemm.hpp"

namespace npgpu {

// The functions that are used, as the reference BLAS (Fortran) has them, and how many threads there are, if the library
// can be told.
struct Blas {
  template <class Real>
  using Gemm = void (*)(const char*, const char*, const int*, const int*, const int*, const Real*, const Real*,
                        const int*, const Real*, const int*, const Real*, Real*, const int*);
  Gemm<float> sgemm = nullptr;
  Gemm<double> dgemm = nullptr;
  void (*set_threads)(int) = nullptr;  // null: it cannot be set, and has whatever it has
  std::string text;                    // "OpenBLAS 0.3.21 (libopenblas.so.0)"
  std::string why_not;                 // in one sentence; empty if it is there

  // Columns of C, as the call says; alpha times a sign. The matrices begin at a, b and c.
  void multiply(const float* a, const float* b, float* c, const gemm::Call& one, int sign = 1) const {
    call(sgemm, a, b, c, one, sign);
  }
  void multiply(const double* a, const double* b, double* c, const gemm::Call& one, int sign = 1) const {
    call(dgemm, a, b, c, one, sign);
  }

 private:
  template <class Real>
  static void call(Gemm<Real> gemm, const Real* a, const Real* b, Real* c, const gemm::Call& one, int sign) {
    const int m = static_cast<int>(one.m), n = static_cast<int>(one.n), k = static_cast<int>(one.k),
              lda = static_cast<int>(one.lda), ldb = static_cast<int>(one.ldb), ldc = static_cast<int>(one.ldc);
    const Real alpha = static_cast<Real>(sign * one.alpha), beta = static_cast<Real>(one.beta);
    gemm(one.transpose_a ? "T" : "N", one.transpose_b ? "T" : "N", &m, &n, &k, &alpha, a, &lda, b + one.first_of_b,
         &ldb, &beta, c + one.first_of_c, &ldc);
  }
};
// Looked for once: $NPGPU_BLAS, then MKL, OpenBLAS, BLIS, and whatever the system has for libblas.so.3.
const Blas& blas();

// Threads of this process, by what they have run since they began; the system counts in nanoseconds or, where it does
// not, in clock ticks.
struct ThreadTime {
  int id = 0;
  double ran_s = 0;
};
std::vector<ThreadTime> thread_times();
// Up to `most` of them but for `caller`, those that ran longest between the two and for at least a tenth of `wall_s`;
// in the order in which they were made.
std::vector<int> threads_at_work(const std::vector<ThreadTime>& before, const std::vector<ThreadTime>& after,
                                 int caller, double wall_s, std::size_t most);

}  // namespace npgpu
