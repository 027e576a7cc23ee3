// The operands of Hopper's wgmma: how a tile lies in shared memory, and the lists of an instruction's registers.
//
// NPGPU_SUMS_n lists the registers of a thread's sums, 2 to 128 of them. The operands behind them are counted on from
// n: A and B as descriptors of shared memory (SHARED), or four registers of A and a descriptor of B (REGISTERS). Sparse
// products (KEPT) also say which numbers of A are there.
#pragma once

#include <cstdint>

namespace npgpu::cuda {

// Rows of 16-byte parts. Of each eight rows first all first parts lie in shared memory, then all second ones, and so
// on. Eight parts are 128 bytes, one pass of the banks, so that nothing needs to be swizzled.
constexpr unsigned part_bytes = 16;
template <unsigned parts> __device__ unsigned part_place(unsigned row, unsigned part) {
  return (row / 8 * parts + part) * 8 * part_bytes + row % 8 * part_bytes;
}
// The tile for the instruction (PTX ISA, matrix descriptors); addresses and distances are in units of 16 bytes.
template <unsigned parts> __device__ std::uint64_t descriptor(const char* tile) {
  constexpr std::uint64_t to_next_part = 8, to_next_rows = 8 * parts;
  const std::uint64_t address = static_cast<std::uint32_t>(__cvta_generic_to_shared(tile));
  return (address & 0x3ffff) / 16 | to_next_part << 16 | to_next_rows << 32;
}
// By all threads of a block.
template <unsigned parts> __device__ void copy_tile(char* to, const void* from, unsigned rows) {
  for (unsigned i = threadIdx.x; i < parts * rows; i += blockDim.x)
    *reinterpret_cast<uint4*>(to + part_place<parts>(i / parts, i % parts)) = static_cast<const uint4*>(from)[i];
}

}  // namespace npgpu::cuda

#define NPGPU_SUMS_2 "{%0, %1}"
#define NPGPU_SUMS_4 "{%0, %1, %2, %3}"
#define NPGPU_SUMS_8 "{%0, %1, %2, %3, %4, %5, %6, %7}"
#define NPGPU_SUMS_16 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}"
#define NPGPU_SUMS_32                                                       \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"
#define NPGPU_SUMS_64                                                                \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "          \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}"
#define NPGPU_SUMS_128                                                                           \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                      \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "             \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "             \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "             \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "             \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "             \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}"
#define NPGPU_SHARED_2 "%2, %3"
#define NPGPU_REGISTERS_2 "{%2, %3, %4, %5}, %6"
#define NPGPU_SHARED_KEPT_2 "%2, %3, %4, 0"
#define NPGPU_REGISTERS_KEPT_2 "{%2, %3, %4, %5}, %6, %7, 0"
#define NPGPU_SHARED_4 "%4, %5"
#define NPGPU_REGISTERS_4 "{%4, %5, %6, %7}, %8"
#define NPGPU_SHARED_KEPT_4 "%4, %5, %6, 0"
#define NPGPU_REGISTERS_KEPT_4 "{%4, %5, %6, %7}, %8, %9, 0"
#define NPGPU_SHARED_8 "%8, %9"
#define NPGPU_REGISTERS_8 "{%8, %9, %10, %11}, %12"
#define NPGPU_SHARED_KEPT_8 "%8, %9, %10, 0"
#define NPGPU_REGISTERS_KEPT_8 "{%8, %9, %10, %11}, %12, %13, 0"
#define NPGPU_SHARED_16 "%16, %17"
#define NPGPU_REGISTERS_16 "{%16, %17, %18, %19}, %20"
#define NPGPU_SHARED_KEPT_16 "%16, %17, %18, 0"
#define NPGPU_REGISTERS_KEPT_16 "{%16, %17, %18, %19}, %20, %21, 0"
#define NPGPU_SHARED_32 "%32, %33"
#define NPGPU_REGISTERS_32 "{%32, %33, %34, %35}, %36"
#define NPGPU_SHARED_KEPT_32 "%32, %33, %34, 0"
#define NPGPU_REGISTERS_KEPT_32 "{%32, %33, %34, %35}, %36, %37, 0"
#define NPGPU_SHARED_64 "%64, %65"
#define NPGPU_REGISTERS_64 "{%64, %65, %66, %67}, %68"
#define NPGPU_SHARED_KEPT_64 "%64, %65, %66, 0"
#define NPGPU_REGISTERS_KEPT_64 "{%64, %65, %66, %67}, %68, %69, 0"
#define NPGPU_SHARED_128 "%128, %129"
#define NPGPU_REGISTERS_128 "{%128, %129, %130, %131}, %132"
#define NPGPU_SHARED_KEPT_128 "%128, %129, %130, 0"
#define NPGPU_REGISTERS_KEPT_128 "{%128, %129, %130, %131}, %132, %133, 0"

#define NPGPU_OUT_2(c) "+" c(d[0]), "+" c(d[1])
#define NPGPU_OUT_4(c) NPGPU_OUT_2(c), "+" c(d[2]), "+" c(d[3])
#define NPGPU_FOUR(c, i) "+" c(d[i]), "+" c(d[i + 1]), "+" c(d[i + 2]), "+" c(d[i + 3])
#define NPGPU_OUT_8(c) NPGPU_OUT_4(c), NPGPU_FOUR(c, 4)
#define NPGPU_OUT_16(c) NPGPU_OUT_8(c), NPGPU_FOUR(c, 8), NPGPU_FOUR(c, 12)
#define NPGPU_OUT_32(c) NPGPU_OUT_16(c), NPGPU_FOUR(c, 16), NPGPU_FOUR(c, 20), NPGPU_FOUR(c, 24), NPGPU_FOUR(c, 28)
#define NPGPU_OUT_64(c)                                                                                           \
  NPGPU_OUT_32(c), NPGPU_FOUR(c, 32), NPGPU_FOUR(c, 36), NPGPU_FOUR(c, 40), NPGPU_FOUR(c, 44), NPGPU_FOUR(c, 48), \
      NPGPU_FOUR(c, 52), NPGPU_FOUR(c, 56), NPGPU_FOUR(c, 60)
#define NPGPU_OUT_128(c)                                                                                          \
  NPGPU_OUT_64(c), NPGPU_FOUR(c, 64), NPGPU_FOUR(c, 68), NPGPU_FOUR(c, 72), NPGPU_FOUR(c, 76), NPGPU_FOUR(c, 80), \
      NPGPU_FOUR(c, 84), NPGPU_FOUR(c, 88), NPGPU_FOUR(c, 92), NPGPU_FOUR(c, 96), NPGPU_FOUR(c, 100),             \
      NPGPU_FOUR(c, 104), NPGPU_FOUR(c, 108), NPGPU_FOUR(c, 112), NPGPU_FOUR(c, 116), NPGPU_FOUR(c, 120),         \
      NPGPU_FOUR(c, 124)
