// Multiply-adds of all lanes on elements that are read from memory.
#include "probes/roofline/multiplies.cuh"

namespace npgpu::cuda::rooflines {

namespace {

template <class Type, std::uint32_t n = 2> Kernel kernel_of(std::uint32_t operations) {
  if constexpr (n <= most_unrolled) {
    if (operations == n) return stream<Multiplies<Type, n>>;
    return kernel_of<Type, 2 * n>(operations);
  } else {
    return operations % most_unrolled ? nullptr : stream<Multiplies<Type, most_unrolled, true>>;
  }
}

}  // namespace

Kernel multiply_kernel(DataType type, std::uint32_t operations) {
  return type == DataType::fp64 ? kernel_of<Fp64Elements>(operations) : kernel_of<Fp32Elements>(operations);
}

}  // namespace npgpu::cuda::rooflines
