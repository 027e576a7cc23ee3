#include <algorithm>
#include <cstdint>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/modules/cuda/copy_kernel.hpp"

namespace npgpu::cuda {

namespace {

// A block a multiprocessor, and small ones, so that the kernels of several lanes run at once on a GPU. On 132
// multiprocessors 3.2 MB are in flight: eight times what a link of 400 GB/s moves in a microsecond.
constexpr unsigned copy_threads = 128, in_flight = 12;

// What is before the first whole word, and behind the last.
struct Edges {
  std::uint64_t head = 0, tail = 0;
};

template <class Word>
__global__ void __launch_bounds__(copy_threads)
    copy_words(std::byte* to, const std::byte* from, std::uint64_t words, Edges edges) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * copy_threads,
                      first = blockIdx.x * std::uint64_t{copy_threads} + threadIdx.x;
  Word* const target = reinterpret_cast<Word*>(to + edges.head);
  const Word* const source = reinterpret_cast<const Word*>(from + edges.head);
  std::uint64_t i = first;
  for (; i + (in_flight - 1) * step < words; i += in_flight * step) {
    Word held[in_flight];
#pragma unroll
    for (unsigned k = 0; k < in_flight; ++k) held[k] = source[i + k * step];
#pragma unroll
    for (unsigned k = 0; k < in_flight; ++k) target[i + k * step] = held[k];
  }
  for (; i < words; i += step) target[i] = source[i];
  if (first < edges.head) to[first] = from[first];
  if (first < edges.tail) {
    const std::uint64_t at = edges.head + words * sizeof(Word) + first;
    to[at] = from[at];
  }
}

template <class Word>
void launch(void* to, const void* from, std::size_t bytes, unsigned multiprocessors, cudaStream_t stream) {
  const std::uint64_t past = reinterpret_cast<std::uintptr_t>(to) % sizeof(Word);
  Edges edges;
  edges.head = std::min<std::uint64_t>(past ? sizeof(Word) - past : 0, bytes);
  const std::uint64_t words = (bytes - edges.head) / sizeof(Word);
  edges.tail = bytes - edges.head - words * sizeof(Word);
  const std::uint64_t of_block = std::uint64_t{copy_threads} * in_flight;
  const auto blocks =
      static_cast<unsigned>(std::clamp<std::uint64_t>((words + of_block - 1) / of_block, 1, multiprocessors));
  copy_words<Word><<<blocks, copy_threads, 0, stream>>>(static_cast<std::byte*>(to),
                                                        static_cast<const std::byte*>(from), words, edges);
  check(cudaGetLastError(), "launching a copy");
}

template <class... Words> void load() {
  cudaFuncAttributes unused;
  (check(cudaFuncGetAttributes(&unused, copy_words<Words>), "loading the copy kernels"), ...);
}

}  // namespace

CopyKernel::CopyKernel(int ordinal)
    : multiprocessors_(static_cast<unsigned>(attribute(cudaDevAttrMultiProcessorCount, ordinal))) {
  make_current(ordinal);
  load<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, uint4>();
}

void CopyKernel::operator()(void* to, const void* from, std::size_t bytes, cudaStream_t stream) const {
  const std::uintptr_t apart = reinterpret_cast<std::uintptr_t>(to) ^ reinterpret_cast<std::uintptr_t>(from);
  if (apart % 16 == 0) launch<uint4>(to, from, bytes, multiprocessors_, stream);
  else if (apart % 8 == 0) launch<std::uint64_t>(to, from, bytes, multiprocessors_, stream);
  else if (apart % 4 == 0) launch<std::uint32_t>(to, from, bytes, multiprocessors_, stream);
  else if (apart % 2 == 0) launch<std::uint16_t>(to, from, bytes, multiprocessors_, stream);
  else launch<std::uint8_t>(to, from, bytes, multiprocessors_, stream);
}

}  // namespace npgpu::cuda
