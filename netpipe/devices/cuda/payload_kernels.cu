#include <algorithm>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/payload.hpp"

namespace npgpu::cuda {

namespace {

using Word = std::uint64_t;

constexpr std::int64_t guard_bytes = payload::guard_bytes;
constexpr auto guard_byte = static_cast<std::uint8_t>(payload::guard_value);
static_assert(payload::margin_value == ~payload::guard_value);
constexpr Word none_wrong = ~Word{0};
constexpr unsigned threads = 256;

__host__ __device__ Word payload_word(Word seed, Word i) {
  const Word x = seed + i * 0x9E3779B97F4A7C15;
  return x ^ (x >> 29);
}

__host__ __device__ std::uint8_t payload_byte(Word seed, Word k) {
  return static_cast<std::uint8_t>(payload_word(seed, k / 8) >> (8 * (k % 8)));
}

// Payload bytes k .. k+7 as they lie in memory.
__device__ Word payload_eight(Word seed, Word k) {
  const unsigned shift = 8 * (k % 8);
  const Word low = payload_word(seed, k / 8) >> shift;
  return shift ? low | payload_word(seed, k / 8 + 1) << (64 - shift) : low;
}

__host__ __device__ std::uint8_t framed_byte(Word seed, std::int64_t place, std::int64_t bytes) {
  return place < 0 || place >= bytes ? guard_byte : payload_byte(seed, static_cast<Word>(place));
}

// The aligned words of memory that touch a slot and its guards or margins. Every thread takes whole
// words, so that accesses are wide whatever the offset; only words on a border are taken byte by byte.
struct Words {
  Slots slots;
  std::byte* begin;  // aligned address of slot 0's first word
  Word per_slot;
};

Words words_of(const Slots& slots) {
  const auto first = reinterpret_cast<std::uintptr_t>(slots.first);
  const std::uintptr_t begin = (first - guard_bytes) / 8 * 8;
  const std::uintptr_t end = (first + slots.bytes + guard_bytes + 7) / 8 * 8;
  return {slots, reinterpret_cast<std::byte*>(begin), (end - begin) / 8};
}

// Calls word(address, seed, place, slot) for words wholly inside the payload, edge(...) for each single byte of
// the others. `place` is relative to the slot's first payload byte.
template <class OnWord, class OnByte> __device__ void for_each(const Words& w, OnWord on_word, OnByte on_byte) {
  const Word all = w.per_slot * w.slots.count;
  const std::int64_t bytes = static_cast<std::int64_t>(w.slots.bytes);
  for (Word i = blockIdx.x * Word{blockDim.x} + threadIdx.x; i < all; i += Word{gridDim.x} * blockDim.x) {
    const Word slot = i / w.per_slot;
    std::byte* const address = w.begin + slot * w.slots.stride + (i - slot * w.per_slot) * 8;
    const std::int64_t place = address - (w.slots.first + slot * w.slots.stride);
    const Word seed = w.slots.seed + slot * payload::slot_seed_step;
    if (place >= 0 && place + 8 <= bytes) {
      on_word(reinterpret_cast<Word*>(address), seed, place, slot);
    } else {
      for (int b = 0; b < 8; ++b)
        if (place + b >= -guard_bytes && place + b < bytes + guard_bytes)
          on_byte(reinterpret_cast<std::uint8_t*>(address) + b, seed, place + b, slot);
    }
  }
}

// A source between its margins, or a target's poison between its guards.
template <bool poisoned> __global__ void write_kernel(Words w) {
  const std::int64_t bytes = static_cast<std::int64_t>(w.slots.bytes);
  for_each(
      w,
      [](Word* to, Word seed, std::int64_t place, Word) {
        const Word right = payload_eight(seed, place);
        *to = poisoned ? ~right : right;
      },
      [bytes](std::uint8_t* to, Word seed, std::int64_t place, Word) {
        const std::uint8_t right = framed_byte(seed, place, bytes);
        const bool framing = place < 0 || place >= bytes;
        *to = framing == poisoned ? right : static_cast<std::uint8_t>(~right);
      });
}

// Where a byte stands in the order of the verdict: slot by slot, its payload, the guard before, the guard after.
struct Order {
  std::int64_t bytes;
  __host__ __device__ std::int64_t frame() const { return bytes + 2 * guard_bytes; }
  __host__ __device__ std::uint64_t position(std::int64_t place, Word slot) const {
    const std::int64_t in_slot = place < 0 ? bytes + guard_bytes + place : place < bytes ? place : place + guard_bytes;
    return slot * frame() + in_slot;
  }
  std::int64_t place(std::uint64_t position) const {
    const std::int64_t in_slot = static_cast<std::int64_t>(position % frame());
    return in_slot < bytes                 ? in_slot
           : in_slot < bytes + guard_bytes ? in_slot - bytes - guard_bytes
                                           : in_slot - guard_bytes;
  }
};

__global__ void check_kernel(Words w, unsigned long long* first_wrong) {
  const std::int64_t bytes = static_cast<std::int64_t>(w.slots.bytes);
  const auto wrong_at = [=](std::int64_t place, Word slot) {
    atomicMin(first_wrong, static_cast<unsigned long long>(Order{bytes}.position(place, slot)));
  };
  for_each(
      w,
      [=](const Word* at, Word seed, std::int64_t place, Word slot) {
        const Word difference = *at ^ payload_eight(seed, place);
        if (difference) wrong_at(place + (__ffsll(static_cast<long long>(difference)) - 1) / 8, slot);
      },
      [=](const std::uint8_t* at, Word seed, std::int64_t place, Word slot) {
        if (*at != framed_byte(seed, place, bytes)) wrong_at(place, slot);
      });
}

__global__ void nonzero_kernel(Words w, unsigned long long* nonzero) {
  const std::int64_t bytes = static_cast<std::int64_t>(w.slots.bytes);
  for_each(
      w,
      [=](const Word* at, Word, std::int64_t, Word) {
        if (*at) atomicOr(nonzero, 1ULL);
      },
      [=](const std::uint8_t* at, Word, std::int64_t place, Word) {
        if (place >= 0 && place < bytes && *at) atomicOr(nonzero, 1ULL);
      });
}

unsigned blocks_for(const Words& w) {
  const Word wanted = (w.per_slot * w.slots.count + threads - 1) / threads;
  return static_cast<unsigned>(std::clamp<Word>(wanted, 1, 4096));
}

template <bool poisoned> void write(const Slots& slots, cudaStream_t stream) {
  const Words w = words_of(slots);
  write_kernel<poisoned><<<blocks_for(w), threads, 0, stream>>>(w);
}

void launched(const char* what) { check(cudaGetLastError(), what); }

}  // namespace

std::string sentence(const WrongByte& wrong, std::uint64_t bytes) {
  if (wrong.all_zero) return payload::zeros_sentence(bytes);
  const auto end = static_cast<std::int64_t>(bytes);
  const bool before = wrong.place < 0, inside = !before && wrong.place < end;
  const std::int64_t index = before ? wrong.place + guard_bytes : inside ? wrong.place : wrong.place - end;
  const payload::Mismatch found{static_cast<std::uint64_t>(index), wrong.expected, wrong.actual};
  return inside ? payload::sentence(found, bytes) : payload::guard_sentence(found, before);
}

PayloadKernels::PayloadKernels() : verdict_(Memory::device, sizeof(Word)), readback_(Memory::pinned, sizeof(Word)) {
  cudaFuncAttributes unused;
  check(cudaFuncGetAttributes(&unused, write_kernel<false>), "loading the payload kernels");
  check(cudaFuncGetAttributes(&unused, write_kernel<true>), "loading the payload kernels");
  check(cudaFuncGetAttributes(&unused, check_kernel), "loading the payload kernels");
  check(cudaFuncGetAttributes(&unused, nonzero_kernel), "loading the payload kernels");
}

void PayloadKernels::fill(const Slots& slots, cudaStream_t stream) {
  write<false>(slots, stream);
  launched("filling a source");
}

void PayloadKernels::poison(const Slots& slots, cudaStream_t stream) {
  write<true>(slots, stream);
  launched("poisoning a target");
}

std::optional<WrongByte> PayloadKernels::first_wrong(const Slots& slots, cudaStream_t stream) {
  const Words w = words_of(slots);
  auto* const verdict = reinterpret_cast<unsigned long long*>(verdict_.data());
  check(cudaMemsetAsync(verdict, 0xFF, sizeof(Word), stream), "preparing the check");
  check_kernel<<<blocks_for(w), threads, 0, stream>>>(w, verdict);
  launched("checking a target");
  check(cudaMemcpyAsync(readback_.data(), verdict, sizeof(Word), cudaMemcpyDeviceToHost, stream),
        "reading the check's verdict");
  check(cudaStreamSynchronize(stream), "checking a target");
  const Word position = *reinterpret_cast<const Word*>(readback_.data());
  if (position == none_wrong) return std::nullopt;
  const Order order{static_cast<std::int64_t>(slots.bytes)};
  WrongByte wrong;
  wrong.slot = position / order.frame();
  wrong.place = order.place(position);
  wrong.expected = framed_byte(slots.seed_of(wrong.slot), wrong.place, order.bytes);
  check(cudaMemcpyAsync(readback_.data(), slots.slot(wrong.slot).data() + wrong.place, 1, cudaMemcpyDefault, stream),
        "reading the wrong byte");
  check(cudaStreamSynchronize(stream), "reading the wrong byte");
  wrong.actual = std::to_integer<std::uint8_t>(readback_.data()[0]);
  // The first wrong byte of a payload of zeros need not be its first byte, which may have to be zero.
  const bool inside = wrong.place >= 0 && wrong.place < order.bytes;
  if (inside && wrong.actual == 0 && slots.bytes >= payload::fewest_zeros) {
    Slots one = slots;
    one.first = slots.slot(wrong.slot).data();
    one.count = 1;
    wrong.all_zero = is_all_zero(one, stream);
  }
  return wrong;
}

bool PayloadKernels::is_all_zero(const Slots& one, cudaStream_t stream) {
  const Words w = words_of(one);
  auto* const verdict = reinterpret_cast<unsigned long long*>(verdict_.data());
  check(cudaMemsetAsync(verdict, 0, sizeof(Word), stream), "preparing the check for zeros");
  nonzero_kernel<<<blocks_for(w), threads, 0, stream>>>(w, verdict);
  launched("looking for zeros");
  check(cudaMemcpyAsync(readback_.data(), verdict, sizeof(Word), cudaMemcpyDeviceToHost, stream),
        "reading whether all are zeros");
  check(cudaStreamSynchronize(stream), "looking for zeros");
  return *reinterpret_cast<const Word*>(readback_.data()) == 0;
}

}  // namespace npgpu::cuda
