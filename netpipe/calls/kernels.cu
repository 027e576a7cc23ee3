#include "netpipe/calls/after_free.hpp"

namespace npgpu::cuda {

namespace {

template <unsigned bytes> struct Argument { unsigned char data[bytes]; };

template <bool counting, unsigned bytes> __global__ void run(Argument<bytes>, unsigned* counter) {
  if (counting && threadIdx.x == 0) atomicAdd(counter, 1u);
}

__global__ void signal(volatile std::uint64_t* word, std::uint64_t value) {
  *word = value;
  __threadfence_system();
}

__global__ void __launch_bounds__(512) read_all(const uint4* from, std::uint64_t count, unsigned* end) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  unsigned bits = 0;
  for (; i + 3 * step < count; i += 4 * step) {
    const uint4 a = from[i], b = from[i + step], c = from[i + 2 * step], d = from[i + 3 * step];
    bits |= a.x | a.y | a.z | a.w | b.x | b.y | b.z | b.w | c.x | c.y | c.z | c.w | d.x | d.y | d.z | d.w;
  }
  for (; i < count; i += step) bits |= from[i].x;
  if (bits) *end = bits;
}

template <bool counting> const void* of_size(std::uint64_t bytes) {
  switch (bytes) {
    case 0: return reinterpret_cast<const void*>(&run<counting, 8>);
    case 64: return reinterpret_cast<const void*>(&run<counting, 64>);
    case 512: return reinterpret_cast<const void*>(&run<counting, 512>);
    case max_argument_bytes: return reinterpret_cast<const void*>(&run<counting, max_argument_bytes>);
    default: return nullptr;
  }
}

}  // namespace

const void* empty_kernel(std::uint64_t argument_bytes) { return of_size<false>(argument_bytes); }
const void* counting_kernel(std::uint64_t argument_bytes) { return of_size<true>(argument_bytes); }
const void* reading_kernel() { return reinterpret_cast<const void*>(&read_all); }
const void* signal_kernel() { return reinterpret_cast<const void*>(&signal); }

}  // namespace npgpu::cuda
