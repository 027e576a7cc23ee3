// The probe of banks: all lanes of a warp chase through shared memory, by words a stride apart, by words of which each
// is in another bank, and by words of a random order. How many of 32 lanes meet in one bank is then the largest of 32
// bins that get 32 balls. One warp alone shows what a conflict adds to a latency; all that fit, what it takes of a
// rate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "npgpu/vocabulary/probe.hpp"
#include "probes/walks.hpp"

namespace npgpu::banks {

// Which words the lanes of a warp take, pattern after pattern. Each word is in one pattern only, so that a word can
// hold the place of the next one: all lanes chase through shared memory together.
constexpr std::uint32_t lanes = 32, word_bytes = 4;
// Rungs: words a stride apart; each bank once, lanes and rows in random order; words of a random order of them all.
constexpr std::uint32_t strided = 1, shuffled = 2, random = 3;

// Word of lane l in pattern t at 32 t + l, of as many words as that. `stride` divides `patterns`.
inline std::vector<std::uint32_t> words_of(std::uint32_t rung, std::uint32_t stride, std::uint32_t patterns) {
  std::vector<std::uint32_t> words(std::size_t{patterns} * lanes);
  std::mt19937_64 numbers(1);
  std::iota(words.begin(), words.end(), 0u);
  if (rung == strided) {
    for (std::uint32_t t = 0; t < patterns; ++t)
      for (std::uint32_t lane = 0; lane < lanes; ++lane)
        words[t * lanes + lane] = t / stride * (lanes * stride) + t % stride + lane * stride;
  } else if (rung == random) {
    shuffle(words.begin(), words.end(), numbers);
  } else {
    std::vector<std::uint32_t> rows(patterns);
    std::iota(rows.begin(), rows.end(), 0u);
    shuffle(rows.begin(), rows.end(), numbers);
    for (std::uint32_t t = 0; t < patterns; ++t) {
      const auto first = words.begin() + std::ptrdiff_t{t} * lanes;
      std::iota(first, first + lanes, rows[t] * lanes);
      shuffle(first, first + lanes, numbers);
    }
  }
  return words;
}

// Passes that these patterns take on average: of each, as many as its lanes want different rows of one bank.
inline double passes_of(const std::vector<std::uint32_t>& words, std::uint32_t banks, std::uint32_t bank_words) {
  std::uint64_t passes = 0;
  for (std::size_t t = 0; t < words.size(); t += lanes) {
    std::map<std::uint32_t, std::vector<std::uint32_t>> rows;  // by bank
    for (std::size_t i = t; i < t + lanes; ++i) {
      std::vector<std::uint32_t>& its = rows[words[i] / bank_words % banks];
      const std::uint32_t row = words[i] / bank_words / banks;
      if (std::ranges::find(its, row) == its.end()) its.push_back(row);
    }
    std::size_t most = 0;
    for (const auto& [bank, its] : rows) most = std::max(most, its.size());
    passes += most;
  }
  return static_cast<double>(passes) / static_cast<double>(words.size() / lanes);
}

// ---- what the probe asks

constexpr std::uint32_t loads_of_repeat = 512;  // of a lane: a multiple of all numbers of patterns
constexpr std::uint64_t least_bytes = KiB, most_bytes = 32 * KiB, usual_bytes = 16 * KiB;

std::vector<ProbeCase> cases(const std::string& device);
std::vector<Shape> shapes(const ProbeCase&, const Layout&);
std::optional<std::string> refuses(const ProbeCase&, const Shape&);
inline std::uint32_t patterns_of(const Shape& s) { return static_cast<std::uint32_t>(s.bytes / (lanes * word_bytes)); }
inline std::vector<std::uint32_t> words_of(const Shape& s) { return words_of(s.rung, s.stride, patterns_of(s)); }
double work(const ProbeCase&, const Shape&);  // of a repeat: loads of a warp, or bytes of all

}  // namespace npgpu::banks
