// A memory test: all memory of a device that is free is written with a pattern, then all of it is read back and
// compared on the device. One file a family of devices, which ends with NPGPU_REGISTERED(soak::MemoryTester, Class).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/vocabulary/device.hpp"
#include "npgpu/vocabulary/load.hpp"

namespace npgpu::soak {

constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);  // patterns are of such words

// Where a piece of the memory is.
struct Piece {
  std::uint64_t address = 0, bytes = 0;
};

// Passes over all of the memory: each writes it whole, then reads it whole.
struct Pass {
  MemoryPattern pattern = MemoryPattern::random;
  std::uint64_t number = 0;  // of a walking bit its place in the first word, of random words their seed
};
// Each bit of each word at 1 and at 0 in turn, then addresses and random words: 130 passes.
std::vector<Pass> all_passes();
// One pass of each pattern, another one for each number.
std::vector<Pass> few_passes(std::uint64_t number);

struct MemoryTestOptions {
  std::vector<Pass> passes;
  std::uint64_t most_bytes = UINT64_MAX;
  std::function<bool()> stop{};                                           // asked before each pass
  std::function<void(const Pass&, const std::vector<Piece>&)> written{};  // called between writing and reading
};

struct WrongWord {
  MemoryPattern pattern = MemoryPattern::none;
  std::uint64_t address = 0, expected = 0, found = 0;
  bool again = false;  // a second read brought the same
};
constexpr std::size_t most_words = 100;  // that are kept of a test

struct MemoryTested {
  std::uint64_t bytes = 0;  // of the device that were tested
  double written = 0, read = 0;
  Seconds writing{0}, reading{0};
  std::uint64_t mismatches = 0;
  std::vector<WrongWord> words;  // the first of them
};

class MemoryTester {
 public:
  virtual ~MemoryTester() = default;
  virtual std::string_view rank() const = 0;  // the family's kind
  // Throws Error.
  virtual MemoryTested test(const std::string& device, const MemoryTestOptions&) const = 0;
};
// Null where this build has none for such a device.
const MemoryTester* memory_tester_for(const std::string& device);

// What a word holds: `index` of all words, and its address.
constexpr std::uint64_t word_of(MemoryPattern pattern, std::uint64_t number, std::uint64_t index,
                                std::uint64_t address) {
  const std::uint64_t bit = std::uint64_t{1} << ((index + number) & 63);
  switch (pattern) {
    case MemoryPattern::walking: return bit;
    case MemoryPattern::inverse: return ~bit;
    case MemoryPattern::address: return address;
    default: break;
  }
  std::uint64_t z = index + (number + 1) * 0x9E3779B97F4A7C15;  // SplitMix64 (Steele, Lea and Flood 2014)
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

}  // namespace npgpu::soak
