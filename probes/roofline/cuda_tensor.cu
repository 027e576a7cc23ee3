// Products of tensor cores on tiles that are read from memory.
#include "probes/roofline/products.cuh"

namespace npgpu::cuda::rooflines {

namespace {

template <std::uint32_t n = 1> Kernel kernel_of(std::uint32_t products) {
  if constexpr (n <= most_unrolled_products) {
    if (products == n) return stream<Products<n>>;
    return kernel_of<2 * n>(products);
  } else {
    return products % most_unrolled_products ? nullptr : stream<Products<most_unrolled_products, true>>;
  }
}

}  // namespace

Kernel product_kernel(std::uint32_t products) { return kernel_of(products); }

}  // namespace npgpu::cuda::rooflines
