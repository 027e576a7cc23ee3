// What is copied, and how a copy is judged. A payload is a pattern in which every 8-byte word is another:
//
//   word i:  x = seed + i * 0x9E3779B97F4A7C15;  x ^= x >> 29        (a bijection of i for every seed)
//   byte k of the payload is byte k % 8 of word k / 8, least significant first
//
// A target is poisoned before it is written: each byte becomes the complement of what it should become, so
// that not one byte that was never written can pass. 64 guard bytes of 0xA5 on either side must stay so.
//
//     | 64 x 0xA5 | payload, `bytes` long | 64 x 0xA5 |
//
// What this finds: every missing, changed or surplus byte near the target, a copy from the wrong place (from 8
// bytes on: all words differ), a copy that did nothing. A 1-byte payload only shows that this byte was
// written, with the right one of 256 values, and that no neighbour was; not which source byte it came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace npgpu::payload {

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

constexpr std::uint64_t guard_bytes = 64;
constexpr std::byte guard_value{0xA5};

struct Mismatch {
  std::uint64_t index = 0;
  std::uint8_t expected = 0;
  std::uint8_t actual = 0;

  bool operator==(const Mismatch&) const = default;
};

void fill(Bytes, std::uint64_t seed);
// Every byte the complement of what fill() writes.
void poison(Bytes, std::uint64_t seed);
// The first byte that is not what fill() writes.
std::optional<Mismatch> check(ConstBytes, std::uint64_t seed);
// "byte 17 of 4096 is 0x00, expected 0xa3"; "... expected 0xa3: never written" where it is still the poison.
std::string sentence(const Mismatch&, std::uint64_t bytes);
// For a payload of at least 8 bytes that are all zero, which is what redirected copies between devices bring. Fewer may
// be zero by chance.
std::string zeros_sentence(std::uint64_t bytes);
constexpr std::uint64_t fewest_zeros = 8;

// The same for a byte of the guard before or after the payload.
std::string guard_sentence(const Mismatch&, bool before);

// All of it for a target in host memory, which must have guard_bytes writable on both sides.
void arm(Bytes target, std::uint64_t seed);  // guards, and poison between them
// One sentence for what is wrong with the target or its guards, nothing if all is well.
std::optional<std::string> verdict(ConstBytes target, std::uint64_t seed);
// A source has margins too, as wide as a target's guards and their complement: a copy that takes a byte too many
// cannot bring what happens to be a guard. Where a payload was filled for a larger size, what follows is payload.
constexpr std::byte margin_value{0x5A};
void fill_source(Bytes, std::uint64_t seed);

// Payloads at equal distances; one slot where the cache is warm. Guards lie outside of `bytes`, so a
// stride leaves room for them on both sides. Slots have seeds of their own: a copy from the wrong slot is wrong.
constexpr std::uint64_t slot_seed_step = 0xD1B54A32D192ED03;
struct Slots {
  std::byte* first = nullptr;  // first payload byte of slot 0
  std::uint64_t bytes = 0;     // payload of each
  std::uint64_t stride = 0;    // a multiple of 8
  std::uint64_t count = 1;
  std::uint64_t seed = 0;

  Bytes slot(std::uint64_t i) const { return {first + i * stride, bytes}; }
  std::uint64_t seed_of(std::uint64_t i) const { return seed + i * slot_seed_step; }
};
void fill_sources(const Slots&);
void arm(const Slots&);
struct WrongSlot {
  std::uint64_t slot = 0;
  std::string sentence;
};
std::optional<WrongSlot> first_wrong(const Slots&);

// Another for every channel of the process: what one channel copied never passes for another's.
std::uint64_t fresh_seed();

}  // namespace npgpu::payload
