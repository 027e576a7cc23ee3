// Products of matrices through npgpu beside a loop that calls cuBLAS itself, on matrices of its own, in one process.
// Each row alternates the two; median of the rounds of each and their ratio. Not a test: it needs a quiet GPU.
//
//   npgpu_bench_gemm [rounds [n ...]]     default 7; 512 2048 8192
#include "probes/gemm/gemm.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/handles.hpp"
#include "npgpu/measuring/runner.hpp"
#include "npgpu/model/statistics.hpp"
#include "npgpu/vocabulary/probe.hpp"
#include "npgpu/vocabulary/units.hpp"
#include "probes/gemm/cublas.hpp"
#include "probes/gemm/elements.hpp"

using namespace npgpu;

namespace {

constexpr int trials = 5;

// So many repeats that a trial takes some 20 ms at 40 TFLOP/s.
std::uint64_t repeats_for(const Shape& s) {
  return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(8e11 / gemm::work_of(s)), 2, 2000);
}

// A stream, a handle, three matrices and two events: what a program has that calls cuBLAS and nothing else.
template <class Real> class Bare {
 public:
  explicit Bare(std::uint32_t n) : n_(n) {
    for (auto* matrix : {&a_, &b_, &c_}) *matrix = cuda::Buffer(Memory::device, std::uint64_t{n} * n * sizeof(Real));
    std::vector<Real> host(std::size_t{n} * n);
    gemm::fill_left(host.data(), {.k = n}, n);
    cuda::check(cudaMemcpy(a_.data(), host.data(), a_.bytes(), cudaMemcpyHostToDevice), "filling");
    gemm::fill_right(host.data(), {.k = n}, n);
    cuda::check(cudaMemcpy(b_.data(), host.data(), b_.bytes(), cudaMemcpyHostToDevice), "filling");
  }
  double us(std::uint64_t repeats) {
    std::vector<double> all;
    for (int i = 0; i < trials; ++i) {
      begin_.record(stream_.get());
      for (std::uint64_t r = 0; r < repeats; ++r) handle_.multiply(at(a_), at(b_), at(c_), call_);
      end_.record(stream_.get());
      stream_.synchronize();
      all.push_back(microseconds(cuda::Event::between(begin_, end_)) / static_cast<double>(repeats));
    }
    return median(all);
  }

 private:
  static Real* at(const cuda::Buffer& b) { return reinterpret_cast<Real*>(b.data()); }
  std::uint32_t n_;
  gemm::Call call_ = gemm::call_of(gemm::square(n_), {0, n_});
  cuda::Buffer a_, b_, c_;
  cuda::Stream stream_;
  cuda::CublasHandle handle_{stream_.get()};
  cuda::Event begin_, end_;
};

double ours_us(Runner<Probes>& runner, const ProbeStep& step, std::uint64_t repeats) {
  const auto schedule = classic_schedule({.trials = trials, .fixed_repeats = repeats});
  const auto m = measure<Probes>(runner, *schedule, step, {}).value();
  if (!m.mismatch.empty()) throw Error(ErrorKind::failed, m.mismatch);
  std::vector<double> all;
  for (const ProbeSample& s : m.samples) all.push_back(s.device_us / static_cast<double>(s.repeats));
  return median(all);
}

template <class Real> void compare(DataType type, std::uint32_t n, int rounds) {
  const ProbeStep step{gemm::gemm_case("cuda:0", type, Space::global), gemm::square(n)};
  const Probe& probe = find_probe("gemm", "cuda:0");
  if (const auto why = probe.refuses(step)) throw Error(ErrorKind::usage, *why);
  const auto runner = probe.open({&step, 1});
  cuda::make_current(0);
  Bare<Real> bare(n);
  const std::uint64_t repeats = repeats_for(step.axes);
  ours_us(*runner, step, repeats);
  bare.us(repeats);
  std::vector<double> bare_us, our_us, ratio;
  for (int i = 0; i < rounds; ++i) {
    bare_us.push_back(bare.us(repeats));
    our_us.push_back(ours_us(*runner, step, repeats));
    ratio.push_back(our_us.back() / bare_us.back());
  }
  const auto [least, most] = std::minmax_element(ratio.begin(), ratio.end());
  const double flop = gemm::work_of(step.axes) * 1e-6;
  std::printf("%s n %5u  bare %10.2f us %8.3f TFLOP/s  npgpu %10.2f us %8.3f TFLOP/s  ratio %.4f (%.4f..%.4f)\n",
              std::string(name(type)).c_str(), n, median(bare_us), flop / median(bare_us), median(our_us),
              flop / median(our_us), median(ratio), *least, *most);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) try {
  if (const std::string why = cuda::why_no_device(); !why.empty()) {
    std::printf("left out: %s\n", why.c_str());
    return exit_code::nothing;
  }
  const int rounds = argc > 1 ? std::max(5, std::atoi(argv[1])) : 7;
  std::vector<std::uint32_t> sizes;
  for (int i = 2; i < argc; ++i) sizes.push_back(static_cast<std::uint32_t>(std::atoi(argv[i])));
  if (sizes.empty()) sizes = {512, 2048, 8192};
  std::printf("%s\n", cuda::cublas().text.c_str());
  for (const std::uint32_t n : sizes) {
    compare<float>(DataType::fp32, n, rounds);
    compare<double>(DataType::fp64, n, rounds);
  }
  return exit_code::done;
} catch (const Error& e) {
  std::fprintf(stderr, "npgpu_bench_gemm: %s\n", e.what());
  return exit_code_of(e.kind());
}
