// What jobs do to words of memory: the workloads' kernels, and what every word must be before and after them.
//
// Every word follows from its place alone: input from its number on the host, device memory from its number there
// and the run, results from these by arithmetic modulo 2^32. Nothing a run leaves passes for the next one's result: the
// device's words are set anew before each run, and the kernels add the run's own factor.
#pragma once

#include <cstdint>
#include <optional>

#include "netpipe/devices/cuda/handles.hpp"
#include "netpipe/jobs/runner.hpp"

namespace npgpu::cuda {

using Word = std::uint32_t;

// One launch, over part of the job's words.
struct Launch {
  Word* words = nullptr;
  std::uint32_t count = 0;
  std::uint32_t first = 0;  // number of words[0] among all of the kernel's
  std::uint32_t iterations = 0;
  const RunWords* run = nullptr;
  const Word* scratch = nullptr;  // memory workload: so many words, a power of two
  std::uint32_t scratch_words = 0;
  std::uint32_t stride = 0;  // words from one iteration's to the next one's
};

// The kernel of a workload, to be launched with one Launch. Not for none.
const void* kernel_of(Workload);

// What a stretch of words must be: input copied over the first of them, then the kernel run over the first of them.
struct Stretch {
  std::uint32_t device_first = 0;  // number on the device of the first word
  std::uint32_t in_words = 0;      // so many came from the host
  std::uint32_t in_first = 0;      // number on the host of the first of these
  Launch launch;                   // count 0: no kernel
  Workload workload = Workload::none;
  RunWords run;
};

// What memory holds before a run: the host's input, the memory workload's scratch, the device's words of one run, or a
// constant that no result is but by chance.
enum class Fill { input, scratch, device, spoiled };
// In stream order, not waited for. `run` is asked for Fill::device only.
void fill(Word*, std::uint64_t count, Fill, cudaStream_t, Word run = 0);

class JobWords {
 public:
  JobWords();
  // Compares `count` words, up to 2^31 of them; many may be asked for before first_wrong(). `label` comes back.
  void compare(const Word* actual, std::uint32_t count, const Stretch&, std::uint32_t label, cudaStream_t);
  struct Wrong {
    std::uint32_t label = 0;
    std::uint32_t word = 0;
  };
  // Waits. The wrong word of the lowest label, and of its words the first; forgets all comparisons.
  std::optional<Wrong> first_wrong(cudaStream_t);

 private:
  Buffer verdict_;
  Buffer readback_;
  bool armed_ = false;
};

}  // namespace npgpu::cuda
