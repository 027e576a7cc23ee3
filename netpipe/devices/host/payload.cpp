#include "netpipe/devices/host/payload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace npgpu::payload {

namespace {

static_assert(std::endian::native == std::endian::little, "the pattern's words are stored least significant byte first");

constexpr std::uint64_t step = 0x9E3779B97F4A7C15;

// Words are made and compared a block at a time: loops of a fixed length are what compilers vectorize at -O2.
constexpr std::size_t block_words = 64;
constexpr std::size_t block_bytes = block_words * 8;
using Block = std::array<std::uint64_t, block_words>;

void make(Block& block, std::uint64_t seed, std::uint64_t first_word, std::uint64_t flip) {
  const std::uint64_t base = seed + first_word * step;
  for (std::size_t i = 0; i < block_words; ++i) {
    const std::uint64_t x = base + i * step;
    block[i] = (x ^ (x >> 29)) ^ flip;
  }
}

void write(Bytes target, std::uint64_t seed, std::uint64_t flip) {
  Block block;
  for (std::size_t at = 0; at < target.size(); at += block_bytes) {
    make(block, seed, at / 8, flip);
    if (target.size() - at >= block_bytes)
      std::memcpy(target.data() + at, block.data(), block_bytes);
    else
      std::memcpy(target.data() + at, block.data(), target.size() - at);
  }
}

std::optional<Mismatch> first_difference(ConstBytes actual, const std::byte* expected, std::size_t before) {
  for (std::size_t i = 0; i < actual.size(); ++i)
    if (actual[i] != expected[i])
      return Mismatch{before + i, std::to_integer<std::uint8_t>(expected[i]), std::to_integer<std::uint8_t>(actual[i])};
  return std::nullopt;
}

std::optional<std::string> guard_sentence(ConstBytes guard, const char* side) {
  if (const auto wrong = check_guard(guard))
    return fmt::format("guard byte {} of the {} {} the payload is 0x{:02x}, expected 0x{:02x}: the copy wrote outside its target",
                       wrong->index, guard.size(), side, wrong->actual, wrong->expected);
  return std::nullopt;
}

}  // namespace

void fill(Bytes target, std::uint64_t seed) { write(target, seed, 0); }

void poison(Bytes target, std::uint64_t seed) { write(target, seed, ~std::uint64_t{0}); }

std::optional<Mismatch> check(ConstBytes actual, std::uint64_t seed) {
  Block expected, found;
  for (std::size_t at = 0; at < actual.size(); at += block_bytes) {
    make(expected, seed, at / 8, 0);
    const std::size_t length = std::min(block_bytes, actual.size() - at);
    const auto* bytes = reinterpret_cast<const std::byte*>(expected.data());
    if (length == block_bytes) {
      std::memcpy(found.data(), actual.data() + at, block_bytes);
      std::uint64_t different = 0;
      for (std::size_t i = 0; i < block_words; ++i) different |= expected[i] ^ found[i];
      if (!different) continue;
    }
    if (const auto wrong = first_difference(actual.subspan(at, length), bytes, at)) return wrong;
  }
  return std::nullopt;
}

std::string sentence(const Mismatch& m, std::uint64_t bytes) {
  std::string text = fmt::format("byte {} of {} is 0x{:02x}, expected 0x{:02x}", m.index, bytes, m.actual, m.expected);
  if (m.actual == static_cast<std::uint8_t>(~m.expected)) text += ": never written";
  return text;
}

void set_guard(Bytes guard) { std::fill(guard.begin(), guard.end(), guard_value); }

std::optional<Mismatch> check_guard(ConstBytes guard) {
  for (std::size_t i = 0; i < guard.size(); ++i)
    if (guard[i] != guard_value)
      return Mismatch{i, std::to_integer<std::uint8_t>(guard_value), std::to_integer<std::uint8_t>(guard[i])};
  return std::nullopt;
}

void arm(Bytes target, std::uint64_t seed) {
  set_guard({target.data() - guard_bytes, guard_bytes});
  poison(target, seed);
  set_guard({target.data() + target.size(), guard_bytes});
}

std::optional<std::string> verdict(ConstBytes target, std::uint64_t seed) {
  if (const auto wrong = check(target, seed)) return sentence(*wrong, target.size());
  if (auto wrong = guard_sentence({target.data() - guard_bytes, guard_bytes}, "before")) return wrong;
  return guard_sentence({target.data() + target.size(), guard_bytes}, "after");
}

std::optional<std::string> framed_verdict(ConstBytes framed, std::uint64_t seed) {
  return verdict(framed.subspan(guard_bytes, framed.size() - 2 * guard_bytes), seed);
}

}  // namespace npgpu::payload
