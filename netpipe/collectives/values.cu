// Kernels that write operands and compare results, element by element.
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include "netpipe/collectives/values.hpp"
#include "netpipe/devices/cuda/check.hpp"

namespace npgpu::collectives {

namespace {

constexpr unsigned blocks = 1024, threads = 256;

__device__ std::uint32_t bits_of(const Values& v, std::uint32_t number) {
  if (!v.are_summed) return number;
  switch (v.type) {
    case DataType::fp32: return __float_as_uint(static_cast<float>(number));
    case DataType::fp16: return __half_as_ushort(__uint2half_rn(number));
    case DataType::bf16: return __float_as_uint(static_cast<float>(number)) >> 16;  // exact up to 256
    default: return number;
  }
}

template <class Word> __global__ void fill_words(Values v, std::uint64_t rank, Word* to, std::uint64_t count) {
  const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    to[i] = static_cast<Word>(bits_of(v, number_of(v, rank, i)));
}

template <class Word> __global__ void compare_words(Values v, Expected e, const Word* result, WrongElements* wrong) {
  const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < e.count; i += step) {
    std::uint32_t number = 0;
    if (e.rank == Expected::all)
      for (std::uint32_t rank = 0; rank < v.ranks; ++rank) number += number_of(v, rank, e.first + i);
    else number = number_of(v, static_cast<std::uint64_t>(e.rank), e.first + i);
    const Word right = static_cast<Word>(bits_of(v, number)), found = result[e.at + i];
    if (found == right) continue;
    atomicAdd(&wrong->count, 1ULL);
    const unsigned long long place = e.at + i;
    // One of the first; of two that come at once either may stay.
    if (atomicMin(&wrong->first, place) > place) {
      wrong->found = found;
      wrong->expected = right;
    }
  }
}

template <class Visit> void of_word(DataType type, Visit visit) {
  switch (element_bytes(type)) {
    case 4: visit.template operator()<std::uint32_t>(); break;
    case 2: visit.template operator()<std::uint16_t>(); break;
    default: visit.template operator()<std::uint8_t>(); break;
  }
}

unsigned blocks_for(std::uint64_t count) {
  const std::uint64_t wanted = (count + threads - 1) / threads;
  return static_cast<unsigned>(wanted < blocks ? wanted : blocks);
}

}  // namespace

void fill(const Values& v, std::uint64_t rank, void* operand, std::uint64_t count, CUstream_st* stream) {
  if (count == 0) return;
  of_word(v.type, [&]<class Word>() {
    fill_words<<<blocks_for(count), threads, 0, stream>>>(v, rank, static_cast<Word*>(operand), count);
  });
  cuda::check(cudaGetLastError(), "launching a kernel that fills operands");
}

void compare(const Values& v, const Expected& e, const void* result, WrongElements* wrong, CUstream_st* stream) {
  if (e.count == 0) return;
  of_word(v.type, [&]<class Word>() {
    compare_words<<<blocks_for(e.count), threads, 0, stream>>>(v, e, static_cast<const Word*>(result), wrong);
  });
  cuda::check(cudaGetLastError(), "launching a kernel that compares results");
}

}  // namespace npgpu::collectives
