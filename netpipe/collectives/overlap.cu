#include <algorithm>

#include "netpipe/collectives/overlap.hpp"

namespace npgpu::collectives {

namespace {

constexpr unsigned most_launches = 500, launches_alone = 24, threads = 256;
// Blocks that end after some ten microseconds let others in between, as those of other programs do.
constexpr unsigned blocks_a_multiprocessor = 64;
constexpr int steps = 768;
constexpr std::uint64_t copy_bytes = 256 * MiB, bytes_a_block = 64 * KiB;

struct State {
  unsigned stop;
  unsigned wrong;                            // threads, or words
  unsigned long long begins[most_launches];  // ns, of each launch that was not stopped; 0: it was
};

__device__ unsigned long long now_ns() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

// Whether the launch is to do its work; the same for all threads of a block.
__device__ bool begins(State* state, unsigned number) {
  __shared__ unsigned stop;
  if (threadIdx.x == 0) {
    stop = *const_cast<volatile unsigned*>(&state->stop);
    if (blockIdx.x == 0 && !stop) state->begins[number] = now_ns();
  }
  __syncthreads();
  return !stop;
}

// x -> x/2 + 1 reaches 2 exactly, from wherever it begins.
__global__ void multiply_adds(State* state, unsigned number, float half, float one) {
  if (!begins(state, number)) return;
  float a = static_cast<float>(threadIdx.x), b = a + 1, c = a + 2, d = a + 3;
  for (int i = 0; i < steps; ++i) {
    a = fmaf(a, half, one);
    b = fmaf(b, half, one);
    c = fmaf(c, half, one);
    d = fmaf(d, half, one);
  }
  if (a != 2 || b != 2 || c != 2 || d != 2) atomicAdd(&state->wrong, 1);
}

__device__ std::uint64_t first_of_block() { return blockIdx.x * (bytes_a_block / sizeof(uint4)) + threadIdx.x; }

__global__ void copy(State* state, unsigned number, const uint4* from, uint4* to) {
  if (!begins(state, number)) return;
  for (std::uint64_t i = first_of_block(), n = 0; n < bytes_a_block / sizeof(uint4); n += threads, i += threads)
    to[i] = from[i];
}

__device__ uint4 word_at(std::uint64_t i) {
  const auto low = static_cast<unsigned>(i);
  return {low, ~low, low * 0x9E3779B9U, 1};
}
__global__ void fill(uint4* from, uint4* to) {
  for (std::uint64_t i = first_of_block(), n = 0; n < bytes_a_block / sizeof(uint4); n += threads, i += threads) {
    from[i] = word_at(i);
    to[i] = {};
  }
}
__global__ void compare(State* state, const uint4* to) {
  for (std::uint64_t i = first_of_block(), n = 0; n < bytes_a_block / sizeof(uint4); n += threads, i += threads) {
    const uint4 is = to[i], wanted = word_at(i);
    if (is.x != wanted.x || is.y != wanted.y || is.z != wanted.z || is.w != wanted.w) atomicAdd(&state->wrong, 1);
  }
}

constexpr unsigned copy_blocks = copy_bytes / bytes_a_block;

template <class T> T* as(const cuda::Buffer& buffer) { return reinterpret_cast<T*>(buffer.data()); }

}  // namespace

BesideKernel::BesideKernel(int ordinal, CollectiveOverlap which)
    : ordinal_(ordinal), which_(which), stream_(cuda::stream_of(ordinal)), control_(cuda::stream_of(ordinal)) {
  int count = 0;
  cuda::check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, ordinal), "counting multiprocessors");
  multiprocessors_ = static_cast<unsigned>(count);
  state_ = cuda::Buffer(Memory::device, sizeof(State));
  host_ = cuda::Buffer(Memory::pinned, sizeof(State));
  *as<State>(host_) = {};
  if (which_ == CollectiveOverlap::memory) {
    from_ = cuda::Buffer(Memory::device, copy_bytes);
    to_ = cuda::Buffer(Memory::device, copy_bytes);
    fill<<<copy_blocks, threads, 0, stream_.get()>>>(as<uint4>(from_), as<uint4>(to_));
    cuda::check(cudaGetLastError(), "launching a kernel");
  }
  (void)alone();  // its code is loaded
}

void BesideKernel::launch(unsigned number) {
  if (which_ == CollectiveOverlap::memory)
    copy<<<copy_blocks, threads, 0, stream_.get()>>>(as<State>(state_), number, as<uint4>(from_), as<uint4>(to_));
  else
    multiply_adds<<<multiprocessors_ * blocks_a_multiprocessor, threads, 0, stream_.get()>>>(as<State>(state_), number,
                                                                                             0.5F, 1.0F);
  cuda::check(cudaGetLastError(), "launching a kernel");
}

std::optional<Seconds> BesideKernel::mean_launch(unsigned launches) {
  State& state = *as<State>(host_);
  cuda::check(cudaMemcpyAsync(&state, state_.data(), sizeof state, cudaMemcpyDeviceToHost, stream_.get()),
              "reading a kernel's times");
  stream_.synchronize();
  unsigned begun = 0;
  while (begun < launches && state.begins[begun] != 0) ++begun;
  if (begun < 2) return std::nullopt;
  return Seconds{static_cast<double>(state.begins[begun - 1] - state.begins[0]) * 1e-9 / (begun - 1)};
}

void BesideKernel::reset() {
  cuda::make_current(ordinal_);
  State& state = *as<State>(host_);
  const unsigned wrong = state.wrong;
  state = {};
  state.wrong = wrong;
  cuda::check(cudaMemcpyAsync(state_.data(), &state, sizeof state, cudaMemcpyHostToDevice, stream_.get()),
              "preparing the kernel of --overlap");
  stream_.synchronize();
}

Seconds BesideKernel::alone() {
  reset();
  for (unsigned i = 0; i < launches_alone; ++i) launch(i);
  return mean_launch(launches_alone).value_or(Seconds{0});
}

void BesideKernel::start() {
  reset();
  for (unsigned i = 0; i < most_launches; ++i) launch(i);
}

std::optional<Seconds> BesideKernel::stop() {
  cuda::make_current(ordinal_);
  const bool is_over = cudaStreamQuery(stream_.get()) == cudaSuccess;
  State& state = *as<State>(host_);
  state.stop = 1;
  // By a copy engine, as a kernel would wait for room among the launches.
  cuda::check(cudaMemcpyAsync(state_.data(), &state.stop, sizeof state.stop, cudaMemcpyHostToDevice, control_.get()),
              "stopping the kernel of --overlap");
  control_.synchronize();
  const auto each = mean_launch(most_launches);
  return is_over ? std::nullopt : each;
}

bool BesideKernel::is_right() {
  cuda::make_current(ordinal_);
  if (which_ == CollectiveOverlap::memory) {
    compare<<<copy_blocks, threads, 0, stream_.get()>>>(as<State>(state_), as<uint4>(to_));
    cuda::check(cudaGetLastError(), "launching a kernel");
  }
  State& state = *as<State>(host_);
  cuda::check(cudaMemcpyAsync(&state, state_.data(), sizeof state, cudaMemcpyDeviceToHost, stream_.get()),
              "reading a kernel's results");
  stream_.synchronize();
  return state.wrong == 0;
}

}  // namespace npgpu::collectives
