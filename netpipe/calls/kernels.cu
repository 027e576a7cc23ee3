#include "netpipe/calls/kernels.hpp"

namespace npgpu::cuda {

namespace {

template <unsigned bytes> struct Argument { unsigned char data[bytes]; };

template <unsigned bytes> __global__ void empty(Argument<bytes>, unsigned*) {}

template <unsigned bytes> __global__ void count(Argument<bytes>, unsigned* counter) {
  if (threadIdx.x == 0) atomicAdd(counter, 1u);
}

__global__ void signal(volatile std::uint64_t* word, std::uint64_t value) {
  *word = value;
  __threadfence_system();
}

template <template <unsigned> class Choose> const void* of_size(std::uint64_t bytes) {
  switch (bytes) {
    case 0: return Choose<8>::kernel();
    case 64: return Choose<64>::kernel();
    case 512: return Choose<512>::kernel();
    case max_argument_bytes: return Choose<max_argument_bytes>::kernel();
    default: return nullptr;
  }
}
template <unsigned bytes> struct Empty {
  static const void* kernel() { return reinterpret_cast<const void*>(&empty<bytes>); }
};
template <unsigned bytes> struct Count {
  static const void* kernel() { return reinterpret_cast<const void*>(&count<bytes>); }
};

}  // namespace

const void* empty_kernel(std::uint64_t argument_bytes) { return of_size<Empty>(argument_bytes); }
const void* counting_kernel(std::uint64_t argument_bytes) { return of_size<Count>(argument_bytes); }
const void* signal_kernel() { return reinterpret_cast<const void*>(&signal); }

}  // namespace npgpu::cuda
