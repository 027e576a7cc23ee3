// A BLAS of the host, found at run time, with threads of its own that are pinned to a core each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace npgpu {

// The functions that are used, as the reference BLAS (Fortran) has them, and how many threads there are, if the library
// can be told.
struct Blas {
  template <class Real>
  using Gemm = void (*)(const char*, const char*, const int*, const int*, const int*, const Real*, const Real*,
                        const int*, const Real*, const int*, const Real*, Real*, const int*);
  Gemm<float> sgemm = nullptr;
  Gemm<double> dgemm = nullptr;
  void (*set_threads)(int) = nullptr;  // null: it cannot be told, and has whatever it has
  std::string text;                    // "OpenBLAS 0.3.21 (libopenblas.so.0)"
  std::string why_not;                 // in one sentence; empty if it is there

  // C = A * B, column by column: A has m rows, C too, B k.
  void multiply(const float* a, const float* b, float* c, int m, int n, int k) const { call(sgemm, a, b, c, m, n, k); }
  void multiply(const double* a, const double* b, double* c, int m, int n, int k) const {
    call(dgemm, a, b, c, m, n, k);
  }

 private:
  template <class Real> static void call(Gemm<Real> gemm, const Real* a, const Real* b, Real* c, int m, int n, int k) {
    const Real one = 1, zero = 0;
    gemm("N", "N", &m, &n, &k, &one, a, &m, b, &k, &zero, c, &m);
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
