// What probes of GPUs share whose threads each leave one word, which the host can compute. Device code, too.
#pragma once

#include <limits>
#include <vector>

#include "netpipe/devices/cuda/check.hpp"
#include "probes/cuda.hpp"
#include "probes/cycle_sum.hpp"

namespace npgpu::cuda {

class SumsRunner : public CudaProbeRunner {
 public:
  using CudaProbeRunner::CudaProbeRunner;

 protected:
  // A run of so many repeats; also none, because the driver loads a kernel at its first launch, which no trial should
  // wait for.
  virtual ProbeSample timed(std::uint32_t repeats) = 0;
  // The word of this thread after a run of so many repeats.
  virtual std::uint32_t expected(std::uint32_t block, std::uint32_t thread, std::uint64_t repeats) const = 0;

  // At the end of set_up().
  void make_ready() {
    if (results_.bytes() < result_bytes()) results_ = Buffer(Memory::device, result_bytes());
    timed(0);
  }
  std::uint32_t* results() const { return reinterpret_cast<std::uint32_t*>(results_.data()); }
  std::uint64_t threads() const { return std::uint64_t{shape().blocks} * shape().threads; }

  std::optional<std::string> wrong_result() override {
    bench().gpu().make_current();
    const auto found = read<std::uint32_t>(results_.data(), threads());
    for (std::uint32_t block = 0, i = 0; block < shape().blocks; ++block)
      for (std::uint32_t thread = 0; thread < shape().threads; ++thread, ++i)
        if (found[i] != expected(block, thread, repeats_))
          return "thread " + std::to_string(thread) + " of block " + std::to_string(block) + " left " +
                 std::to_string(found[i]) + ", not the " + std::to_string(expected(block, thread, repeats_)) + " of " +
                 std::to_string(repeats_) + " repeats";
    return std::nullopt;
  }
  template <class T> std::vector<T> read(const void* from, std::uint64_t count) const {
    std::vector<T> here(count);
    cuda::check(cudaMemcpyAsync(here.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost, stream()),
                "reading results");
    cuda::check(cudaStreamSynchronize(stream()), "reading results");
    return here;
  }

 private:
  ProbeSample launch(std::uint64_t repeats) final {
    if (repeats > std::numeric_limits<std::uint32_t>::max())
      throw Error(ErrorKind::usage, "a run of this probe has at most 2^32 - 1 repeats");
    bench().gpu().make_current();
    cuda::check(cudaMemsetAsync(results_.data(), 0xA5, result_bytes(), stream()), "poisoning the results");
    repeats_ = repeats;
    return timed(static_cast<std::uint32_t>(repeats));
  }
  std::uint64_t result_bytes() const { return threads() * sizeof(std::uint32_t); }

  Buffer results_;
  std::uint64_t repeats_ = 0;
};

__global__ inline void fill_pattern(std::uint32_t* words, std::uint64_t count, std::uint32_t factor = pattern_word(1)) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * blockDim.x)
    words[i] = factor * static_cast<std::uint32_t>(i);
}

}  // namespace npgpu::cuda
