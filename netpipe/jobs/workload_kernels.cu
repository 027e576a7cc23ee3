#include <algorithm>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/jobs/workload_kernels.hpp"

namespace npgpu::cuda {

namespace {

using Verdict = unsigned long long;
constexpr Verdict none_wrong = ~Verdict{0};
constexpr unsigned chain_steps = 8, chains = 4;  // of compute, in one iteration

// Different numbers give words that differ in all bits (Murmur3's finalizer).
__host__ __device__ Word mixed(Word x) {
  x ^= x >> 16;
  x *= 0x85EBCA6Bu;
  x ^= x >> 13;
  x *= 0xC2B2AE35u;
  return x ^ (x >> 16);
}
__device__ Word input_word(Word number) { return mixed(number + 0x10000001u); }
__device__ Word device_word(Word number, Word run) { return mixed(number ^ mixed(run + 0x20000003u)); }
__device__ Word scratch_word(Word number) { return number * 2654435761u + 7; }

// Factor and word may be the same memory for all the compiler knows: both are accessed in each iteration.
__global__ void increment(Launch a) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= a.count) return;
  Word* const word = a.words + i;
  const Word* const factor = &a.run->factor;
#pragma unroll 4
  for (unsigned k = 0; k < a.iterations; ++k) *word += *factor;
}

__global__ void memory(Launch a) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= a.count) return;
  Word sum = a.words[i] + a.run->factor;
  Word place = a.run->start + a.first + i;
#pragma unroll 8
  for (unsigned k = 0; k < a.iterations; ++k, place += a.stride)
    sum += __ldg(a.scratch + (place & (a.scratch_words - 1)));
  a.words[i] = sum;
}

// Multiply-adds of ones: a chain counts its steps, exactly as long as it stays under 2^24.
__global__ void compute(Launch a) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= a.count) return;
  const Word word = a.words[i];
  const float one = a.run->factor ? 1.0f : 0.0f;  // the factor is never 0, which the compiler does not know
  float x[chains];
#pragma unroll
  for (unsigned j = 0; j < chains; ++j) x[j] = static_cast<float>((word & 0xffffu) + j);
#pragma unroll 1
  for (unsigned k = 0; k < a.iterations; ++k) {
#pragma unroll
    for (unsigned step = 0; step < chain_steps; ++step)
#pragma unroll
      for (unsigned j = 0; j < chains; ++j) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x[j]) : "f"(one));
  }
  Word sum = word + a.run->factor;
#pragma unroll
  for (unsigned j = 0; j < chains; ++j) sum += static_cast<Word>(x[j]);
  a.words[i] = sum;
}

// What the kernels leave of a word, without their memory accesses and chains.
__device__ Word worked(Word word, Word i, const Stretch& s) {
  const Launch& a = s.launch;
  if (s.workload == Workload::none) return word;
  if (s.workload == Workload::increment) return word + a.iterations * s.run.factor;
  if (s.workload == Workload::compute)
    return word + s.run.factor + chains * ((word & 0xffffu) + chain_steps * a.iterations) + chains * (chains - 1) / 2;
  Word sum = word + s.run.factor;
  for (Word k = 0; k < a.iterations; ++k)
    sum += scratch_word((s.run.start + a.first + i + k * a.stride) & (a.scratch_words - 1));
  return sum;
}

__global__ void fill_words(Word* words, std::uint64_t count, Fill what, Word run) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    const Word number = static_cast<Word>(i);
    words[i] = what == Fill::input     ? input_word(number)
               : what == Fill::scratch ? scratch_word(number)
               : what == Fill::device  ? device_word(number, run)
                                       : spoiled;
  }
}

__global__ void compare_words(const Word* actual, std::uint32_t count, Stretch s, std::uint32_t label,
                              Verdict* first_wrong) {
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    Word word = i < s.in_words ? input_word(s.in_first + i) : device_word(s.device_first + i, s.run.number);
    if (i < s.launch.count) word = worked(word, i, s);
    if (actual[i] != word) atomicMin(first_wrong, Verdict{label} << 32 | i);
  }
}

constexpr unsigned threads = 256;
unsigned grid_of(std::uint64_t words) {
  return static_cast<unsigned>(std::min<std::uint64_t>((words + threads - 1) / threads, 4096));
}

}  // namespace

const void* kernel_of(Workload workload) {
  constexpr void (*of_workload[])(Launch) = {nullptr, increment, memory, compute};
  return reinterpret_cast<const void*>(of_workload[static_cast<std::size_t>(workload)]);
}

void fill(Word* words, std::uint64_t count, Fill what, cudaStream_t stream, Word run) {
  if (count == 0) return;
  fill_words<<<grid_of(count), threads, 0, stream>>>(words, count, what, run);
  check(cudaGetLastError(), "filling memory of a job");
}

JobWords::JobWords() : verdict_(Memory::device, sizeof(Verdict)), readback_(Memory::pinned, sizeof(Verdict)) {}

void JobWords::compare(const Word* actual, std::uint32_t count, const Stretch& stretch, std::uint32_t label,
                       cudaStream_t stream) {
  if (count == 0) return;
  auto* const verdict = reinterpret_cast<Verdict*>(verdict_.data());
  if (!armed_) check(cudaMemsetAsync(verdict, 0xff, sizeof(Verdict), stream), "preparing the check");
  armed_ = true;
  compare_words<<<grid_of(count), threads, 0, stream>>>(actual, count, stretch, label, verdict);
  check(cudaGetLastError(), "comparing a job's results");
}

std::optional<JobWords::Wrong> JobWords::first_wrong(cudaStream_t stream) {
  if (!armed_) return std::nullopt;
  armed_ = false;
  check(cudaMemcpyAsync(readback_.data(), verdict_.data(), sizeof(Verdict), cudaMemcpyDeviceToHost, stream),
        "reading the check's verdict");
  check(cudaStreamSynchronize(stream), "comparing a job's results");
  const Verdict first = *reinterpret_cast<const Verdict*>(readback_.data());
  if (first == none_wrong) return std::nullopt;
  return Wrong{static_cast<std::uint32_t>(first >> 32), static_cast<std::uint32_t>(first)};
}

}  // namespace npgpu::cuda
