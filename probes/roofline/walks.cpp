#include "probes/roofline/walks.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <vector>

#include "probes/bandwidth/loops.hpp"
#include "probes/roofline/words.hpp"

namespace npgpu::walks {

namespace {

unsigned lanes_of(Isa isa, DataType type) { return chains::find(isa, type, 1).lanes; }

template <class T> T element(const Part& part, std::uint64_t i) { return static_cast<const T*>(part.elements)[i]; }

template <class T> std::optional<std::string> checked(const Work& work, const Part& part, unsigned lanes) {
  std::vector<double> x(chains_of_step * lanes);
  for (unsigned i = 0; i < x.size(); ++i) x[i] = start(i / lanes);
  const auto take = [&](unsigned chain, unsigned lane, double v, unsigned times) {
    double& own = x[chain * lanes + lane];
    if (v > 0) own += times;
    else if (times % 2) own = -1 - own;
  };
  const std::uint64_t elements = part.bytes / sizeof(T);
  for (std::uint64_t i = 0; i < elements; ++i) {
    const double v = element<T>(part, i);
    if (v != roofline::sign(i)) return fmt::format("element {} of memory is {}, not {}", i, v, roofline::sign(i));
    const auto vector = static_cast<unsigned>(i / lanes % vectors_of_step), lane = static_cast<unsigned>(i % lanes);
    if (work.times) {
      take(vector % 4, lane, v, work.times);
      take(vector % 4 + 4, lane, v, work.times);
    } else if (vector < work.taken) {
      take(vector, lane, v, 1);
    }
  }
  for (unsigned i = 0; i < x.size(); ++i) {
    T found;
    std::memcpy(&found, part.chains + i * sizeof(T), sizeof(T));
    if (static_cast<double>(found) != x[i])
      return fmt::format("lane {} of chain {} is {}, but must be {}", i % lanes, i / lanes, found, x[i]);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Work> work_of(DataType type, std::uint32_t intensity) {
  // A multiply-add on each element is so much.
  const std::uint32_t one = type == DataType::fp32 ? 512 : type == DataType::fp64 ? 256 : 0;
  if (!one || !std::has_single_bit(intensity)) return std::nullopt;
  if (intensity > one) return Work{.taken = vectors_of_step, .times = intensity / one / 2};
  if (one / intensity > vectors_of_step) return std::nullopt;
  return Work{.taken = vectors_of_step * intensity / one};
}

Walk find(Isa isa, DataType type, const Work& work) { return simd::of(isa).walk(type, work); }

void fill(DataType type, Part& part) {
  const auto put = [&]<class T>(T*) {
    auto* const to = static_cast<T*>(part.elements);
    for (std::uint64_t i = 0; i < part.bytes / sizeof(T); ++i) to[i] = static_cast<T>(roofline::sign(i));
  };
  if (type == DataType::fp64) put(static_cast<double*>(nullptr));
  else put(static_cast<float*>(nullptr));
}

std::optional<std::string> check(Isa isa, DataType type, const Work& work, const Part& part) {
  const unsigned lanes = lanes_of(isa, type);
  return type == DataType::fp64 ? checked<double>(work, part, lanes) : checked<float>(work, part, lanes);
}

}  // namespace npgpu::walks
