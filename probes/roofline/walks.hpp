// Walks through memory with multiply-adds on what is read: the work of the host's roofline probe.
//
// Elements are -1, and one of 64 is 1. A multiply-add is x = x*v + v: v = 1 adds 1 to x, and v = -1 makes it -1 - x. A
// step is eight vectors. Where there is less than one multiply-add for each, some vectors take part in none, and are
// loaded only. Where there are two or more, each vector is taken by two chains, `times` times each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "probes/compute/chains.hpp"

namespace npgpu::walks {

constexpr unsigned chains_of_step = 8, vectors_of_step = 8;
constexpr std::size_t max_vector_bytes = 64;
constexpr std::uint64_t granularity = vectors_of_step * max_vector_bytes;  // of a part, in bytes

// What is done to a step's vectors.
struct Work {
  unsigned taken = vectors_of_step;  // of the vectors, once each; a power of two
  unsigned times = 0;                // from 1 on: all vectors, by two chains each
  double multiply_adds() const { return times ? 2.0 * times * vectors_of_step : taken; }  // of a step, in vectors
};
// Of an intensity in operations for each KiB; nothing where no such work is there.
std::optional<Work> work_of(DataType, std::uint32_t intensity);

// A thread's part of memory, and its chains after the last pass, which begins with start().
struct Part {
  void* elements = nullptr;
  std::uint64_t bytes = 0;
  alignas(max_vector_bytes) std::byte chains[chains_of_step * max_vector_bytes]{};
};
using Walk = void (*)(Part&, unsigned times, std::uint64_t passes);
// Null: this instruction set or type has none.
Walk find(Isa, DataType, const Work&);

inline double start(unsigned chain) { return chain; }
void fill(DataType, Part&);
// Nothing if the chains are what one pass makes of them, otherwise one sentence.
std::optional<std::string> check(Isa, DataType, const Work&, const Part&);

}  // namespace npgpu::walks
