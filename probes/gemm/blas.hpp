// A BLAS of the host, found at run time, and its threads, which are pinned to a core each.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "netpipe/devices/host/facts.hpp"
#include "probes/gemm/gemm.hpp"
#include "probes/host/threads.hpp"

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

// The threads of a host's BLAS: found by what they run in a product that is not timed, and pinned to a core each.

class BlasThreads {
 public:
  // So many from now on, the caller's own among them.
  void take(std::uint32_t count);
  // Calls work() on the thread that calls the library, which is pinned, too: the library's threads spin for a while
  // after a product, and a thread that is not pinned would take turns with one of them. `work` must not throw.
  void each(const std::function<void()>& work) {
    caller_.each([&](unsigned) { work(); });
  }
  // The same, timed; units are the cpus that all of the threads were on.
  ProbeSample run(const std::function<void()>& work);
  std::string binding() const;

 private:
  std::vector<unsigned> cpus_ = host::core_cpus();
  PinnedThreads caller_{{cpus_.front()}};
  std::uint32_t threads_ = 0;  // that the library was set to have
  std::vector<int> pinned_;    // of them, without the caller
};

}  // namespace npgpu

// A library that is found at run time: the one that an environment variable names, else the first of some names.
namespace npgpu::gemm {

// Finds a function by the first of its names that the library has.
template <class Function> bool find(void* library, Function& function, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function) return true;
  }
  return false;
}
template <class Function> bool find(void* library, Function& function, const char* name) {
  return find(library, function, {name});
}

// What the variable says; null where it is not set, or empty.
inline const char* chosen_library(const char* variable) {
  const char* const chosen = std::getenv(variable);
  return chosen && *chosen ? chosen : nullptr;
}

// What take(library, name, found) makes of the first library that can be opened and of which it is true. The library is
// held as long as the process.
template <class Found, class Take>
std::optional<Found> look_for(const char* variable, std::vector<std::string> names, Take take) {
  if (const char* const chosen = chosen_library(variable)) names = {chosen};
  for (const std::string& name : names) {
    void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    Found found;
    if (library && take(library, name, found)) return found;
  }
  return std::nullopt;
}

}  // namespace npgpu::gemm
