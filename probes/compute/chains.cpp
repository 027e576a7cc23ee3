#include "probes/compute/chains.hpp"

#include <fmt/format.h>

#include <cstring>

#include "probes/bandwidth/loops.hpp"

namespace npgpu {

std::vector<Isa> isas_here() {
#if defined(__x86_64__)
  std::vector<Isa> all;
  if (!__builtin_cpu_supports("fma")) return all;
  all.push_back(Isa::scalar);
  if (__builtin_cpu_supports("avx2")) all.push_back(Isa::avx2);
  if (__builtin_cpu_supports("avx512f")) all.push_back(Isa::avx512);
  return all;
#elif defined(__aarch64__)
  return {Isa::scalar, Isa::neon};
#else
  return {};
#endif
}

std::string why_no_isa() {
  return "this processor has no fused multiply-add that the probe knows; one with FMA3 (x86, 2013 and later) or an "
         "Arm of 64 bits has";
}

namespace chains {

namespace {

template <class T> std::optional<std::string> compare(std::span<const std::byte> state, const auto& expected) {
  for (std::size_t i = 0; i < state.size() / sizeof(T); ++i) {
    T is{};
    std::memcpy(&is, state.data() + i * sizeof(T), sizeof(T));
    if (const T must = expected(i + 1); is != must)
      return fmt::format("element {} of the chains is {}, but must be {}", i, is, must);
  }
  return std::nullopt;
}

// x + steps as rounding leaves it: once x is 2^digits, x + 1 lies between two numbers and rounds back to even.
template <class T> T counted(std::size_t x, std::uint64_t steps, std::uint64_t end) {
  return static_cast<T>(steps >= end - x ? end : x + steps);
}

// x -> a*x + b, taken `steps` times modulo 2^32, by squaring.
std::uint32_t walked(std::uint32_t x, std::uint32_t a, std::uint32_t b, std::uint64_t steps) {
  for (; steps; steps >>= 1) {
    if (steps & 1) x = a * x + b;
    b = a * b + b;
    a = a * a;
  }
  return x;
}

}  // namespace

Chains find(Isa isa, DataType type, unsigned ilp) { return simd::of(isa).chains(type, ilp); }

std::size_t bytes_of(DataType type) { return type == DataType::fp64 ? 8 : 4; }

// With a = 1 modulo 4 and b odd the sequence visits all 2^32 values before it repeats.
double factor(DataType type) { return type == DataType::int32 ? 1664525 : 1; }
double addend(DataType type) { return type == DataType::int32 ? 1013904223 : 1; }

void start(DataType type, std::span<std::byte> state) {
  const auto put = [&]<class T>(T) {
    for (std::size_t i = 0; i < state.size() / sizeof(T); ++i) {
      const T value = static_cast<T>(i + 1);
      std::memcpy(state.data() + i * sizeof(T), &value, sizeof(T));
    }
  };
  if (type == DataType::fp32) put(float{});
  if (type == DataType::fp64) put(double{});
  if (type == DataType::int32) put(std::uint32_t{});
}

std::optional<std::string> check(DataType type, std::span<const std::byte> state, std::uint64_t steps) {
  if (type == DataType::fp32)
    return compare<float>(state, [&](std::size_t x) { return counted<float>(x, steps, std::uint64_t{1} << 24); });
  if (type == DataType::fp64)
    return compare<double>(state, [&](std::size_t x) { return counted<double>(x, steps, std::uint64_t{1} << 53); });
  const auto a = static_cast<std::uint32_t>(factor(type)), b = static_cast<std::uint32_t>(addend(type));
  return compare<std::uint32_t>(state,
                                [&](std::size_t x) { return walked(static_cast<std::uint32_t>(x), a, b, steps); });
}

}  // namespace chains
}  // namespace npgpu
