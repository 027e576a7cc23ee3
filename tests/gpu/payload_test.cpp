// The GPU's payload is the CPU's, byte for byte, whatever the alignment.
#include "netpipe/devices/cuda/payload.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/host/payload.hpp"

namespace payload_test {

using namespace npgpu;
using namespace npgpu::cuda;

namespace {

constexpr std::size_t room = 64 * KiB;

std::vector<std::byte> copy_of(const Buffer& buffer, const Stream& stream) {
  std::vector<std::byte> bytes(buffer.bytes());
  check(cudaMemcpyAsync(bytes.data(), buffer.data(), bytes.size(), cudaMemcpyDefault, stream.get()), "reading back");
  stream.synchronize();
  return bytes;
}

// What the CPU makes of the same slots, in memory that was zero.
std::vector<std::byte> by_cpu(const Slots& slots, std::size_t first, bool poisoned) {
  std::vector<std::byte> bytes(room);
  for (std::uint64_t i = 0; i < slots.count; ++i) {
    const payload::Bytes place{bytes.data() + first + i * slots.stride, slots.bytes};
    poisoned ? payload::arm(place, slots.seed_of(i)) : payload::fill_source(place, slots.seed_of(i));
  }
  return bytes;
}

}  // namespace

TEST_CASE("filled and poisoned as by the CPU, at every alignment, guards included, nothing else touched") {
  make_current(0);
  PayloadKernels kernels;
  const Stream stream;
  for (const Memory kind : {Memory::device, Memory::pinned, Memory::write_combined}) {
    Buffer buffer(kind, room);
    for (const std::uint64_t bytes : {1, 2, 7, 8, 9, 63, 64, 65, 1000, 4097})
      for (std::size_t offset = 0; offset < 9; ++offset) {
        const std::size_t first = 4096 + offset;
        const Slots slots{.first = buffer.data() + first,
                          .bytes = bytes,
                          .stride = (bytes + offset + 128 + 255) / 256 * 256,
                          .count = 3,
                          .seed = 42 + bytes};
        INFO(name(kind) << " " << bytes << " bytes at offset " << offset);
        check(cudaMemsetAsync(buffer.data(), 0, room, stream.get()), "clearing");
        kernels.fill(slots, stream.get());
        stream.synchronize();
        CHECK(copy_of(buffer, stream) == by_cpu(slots, first, false));
        check(cudaMemsetAsync(buffer.data(), 0, room, stream.get()), "clearing");
        kernels.poison(slots, stream.get());
        stream.synchronize();
        CHECK(copy_of(buffer, stream) == by_cpu(slots, first, true));

        // Poison is wrong from its first byte; the payload between guards is right.
        const auto poisoned = kernels.first_wrong(slots, stream.get());
        REQUIRE(poisoned);
        CHECK(poisoned->slot == 0);
        CHECK(poisoned->place == 0);
        CHECK(poisoned->actual == static_cast<std::uint8_t>(~poisoned->expected));
        kernels.fill(slots, stream.get());
        const auto source = kernels.first_wrong(slots, stream.get());  // a source's margins are no guards
        REQUIRE(source);
        CHECK(source->place == -64);
      }
  }
}

TEST_CASE("the first wrong byte: payload before guards, slot by slot") {
  make_current(0);
  PayloadKernels kernels;
  const Stream stream;
  Buffer buffer(Memory::device, room);
  const Slots slots{.first = buffer.data() + 4099, .bytes = 100, .stride = 256, .count = 4, .seed = 7};
  const auto set = [&](std::uint64_t slot, std::int64_t place) {
    check(cudaMemsetAsync(slots.slot(slot).data() + place, 0x5A, 1, stream.get()), "spoiling");
  };
  const auto verdict = [&] {
    const auto wrong = kernels.first_wrong(slots, stream.get());
    REQUIRE(wrong);
    CHECK(wrong->actual == 0x5A);
    return std::pair(wrong->slot, wrong->place);
  };
  check(cudaMemsetAsync(buffer.data(), 0xA5, room, stream.get()), "guarding");
  for (std::uint64_t i = 0; i < slots.count; ++i) {
    std::vector<std::byte> right(slots.bytes);
    payload::fill(right, slots.seed_of(i));
    check(cudaMemcpyAsync(slots.slot(i).data(), right.data(), right.size(), cudaMemcpyDefault, stream.get()),
          "filling");
    stream.synchronize();
  }
  REQUIRE_FALSE(kernels.first_wrong(slots, stream.get()));
  using Place = std::pair<std::uint64_t, std::int64_t>;
  set(3, 0);
  CHECK(verdict() == Place(3, 0));
  set(2, 163);  // the last guard byte after slot 2's payload
  CHECK(verdict() == Place(2, 163));
  set(2, -64);  // the first one before it
  CHECK(verdict() == Place(2, -64));
  set(2, 99);
  CHECK(verdict() == Place(2, 99));
  set(2, 50);
  CHECK(verdict() == Place(2, 50));
}

TEST_CASE("a payload of zeros is said to be one, and one with a byte that is not zero is not") {
  make_current(0);
  PayloadKernels kernels;
  const Stream stream;
  Buffer buffer(Memory::device, room);
  for (const std::uint64_t bytes : {8, 9, 100, 4097}) {
    const Slots slots{.first = buffer.data() + 4099, .bytes = bytes, .stride = 8192, .count = 2, .seed = 7};
    kernels.poison(slots, stream.get());
    kernels.fill({slots.first, bytes, 8192, 1, 7}, stream.get());
    check(cudaMemsetAsync(slots.slot(0).data() - 64, 0xA5, 64, stream.get()), "guarding");
    check(cudaMemsetAsync(slots.slot(0).data() + bytes, 0xA5, 64, stream.get()), "guarding");
    check(cudaMemsetAsync(slots.slot(1).data(), 0, bytes, stream.get()), "clearing");
    const auto zeros = kernels.first_wrong(slots, stream.get());
    REQUIRE(zeros);
    CHECK(zeros->slot == 1);
    CHECK(zeros->all_zero);
    CHECK(sentence(*zeros, bytes) == payload::zeros_sentence(bytes));
    check(cudaMemsetAsync(slots.slot(1).data() + bytes - 1, 1, 1, stream.get()), "spoiling");
    const auto spoiled = kernels.first_wrong(slots, stream.get());
    REQUIRE(spoiled);
    CHECK_FALSE(spoiled->all_zero);
  }
}

TEST_CASE("past 4 GiB: no index is 32 bits wide") {
  make_current(0);
  const std::uint64_t bytes = 4 * GiB + 77;
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for free memory");
  if (free < 3 * bytes) {
    MESSAGE("left out: needs 12 GiB of free device memory");
    return;
  }
  PayloadKernels kernels;
  const Stream stream;
  Buffer source(Memory::device, bytes + 8192), target(Memory::device, bytes + 8192);
  const Slots there{
      .first = source.data() + 4096, .bytes = bytes, .stride = bytes + 4096 - bytes % 8, .count = 1, .seed = 9};
  Slots here = there;
  here.first = target.data() + 4096;
  kernels.fill(there, stream.get());
  kernels.poison(here, stream.get());
  check(cudaMemcpyAsync(here.first, there.first, bytes, cudaMemcpyDefault, stream.get()), "copying");
  CHECK_FALSE(kernels.first_wrong(here, stream.get()));
  const std::uint64_t place = 4 * GiB + 5;
  std::uint8_t was = 0;
  check(cudaMemcpyAsync(&was, here.first + place, 1, cudaMemcpyDefault, stream.get()), "reading");
  stream.synchronize();
  check(cudaMemsetAsync(here.first + place, was ^ 1, 1, stream.get()), "spoiling");
  const auto wrong = kernels.first_wrong(here, stream.get());
  REQUIRE(wrong);
  CHECK(wrong->place == static_cast<std::int64_t>(place));
  CHECK(wrong->expected == was);
}

}  // namespace payload_test
