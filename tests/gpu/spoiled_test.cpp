// Copies that are wrong on purpose: every one of them has to be found.
#include <doctest/doctest.h>

#include <functional>

#include "netpipe/modules/cuda/copy_channel.hpp"

namespace spoiled_test {

using namespace npgpu;

namespace {

using Copy = std::function<void(void*, const void*, std::size_t)>;

void right(void* to, const void* from, std::size_t bytes) {
  cuda::check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "copying");
}

// A channel whose API does as the test says.
struct Spoiled {
  Spoiled(const TransferCase& c, Copy there, Copy back = right)
      : channel(
            c, 4096, [&](cudaStream_t) { return there; }, [&](cudaStream_t) { return back; }) {
    channel.prepare(4096);
  }
  std::string verdict(bool went_back = false) {
    channel.forward();
    if (went_back) channel.back();
    channel.settle();
    return channel.intact(went_back).value_or("");
  }
  cuda::CopyChannel<Copy, Copy> channel;
};

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// Where checks run on the GPU, on the CPU, and on the GPU through a mapping.
std::vector<TransferCase> places() {
  std::vector<TransferCase> all;
  for (const Memory memory : {Memory::pinned, Memory::write_combined, Memory::pageable, Memory::managed})
    for (const Direction direction : {Direction::h2d, Direction::d2h}) {
      TransferCase c = case_on("cudaMemcpy", "cuda:0", direction);
      c.pattern = Pattern::pingpong;
      c.memory = memory;
      c.source_offset = 3;
      c.target_offset = 5;
      all.push_back(c);
    }
  return all;
}

void write_byte(void* at, unsigned char value) { right(at, &value, 1); }

}  // namespace

TEST_CASE("wrong copies and what is said of them") {
  for (const TransferCase& c : places()) {
    const std::string what = title(c);
    INFO(what);
    CHECK(Spoiled(c, right).verdict(true) == "");

    const auto nothing = Spoiled(c, [](void*, const void*, std::size_t) {}).verdict();
    CHECK(has(nothing, "byte 0 of 4096 is"));
    CHECK(has(nothing, "never written"));

    const auto short_by_one =
        Spoiled(c, [](void* to, const void* from, std::size_t n) { right(to, from, n - 1); }).verdict();
    CHECK(has(short_by_one, "byte 4095 of 4096 is"));

    const auto long_by_one =
        Spoiled(c, [](void* to, const void* from, std::size_t n) { right(to, from, n + 1); }).verdict();
    CHECK(has(long_by_one, "guard byte 0 of the 64 after the payload"));

    const auto one_early = Spoiled(c, [](void* to, const void* from, std::size_t n) {
                             right(to, from, n);
                             write_byte(static_cast<char*>(to) - 1, 0);
                           }).verdict();
    CHECK(has(one_early, "guard byte 63 of the 64 before the payload is 0x00, expected 0xa5"));

    const auto displaced = Spoiled(c, [](void* to, const void* from, std::size_t n) {
                             right(to, static_cast<const char*>(from) + 8, n);
                           }).verdict();
    CHECK(has(displaced, " of 4096 is "));

    const auto lost_on_the_way_back = Spoiled(c, right, [](void*, const void*, std::size_t) {}).verdict(true);
    CHECK(has(lost_on_the_way_back, "on the way back, byte 0 of 4096 is"));
  }
}

TEST_CASE("one byte changed in memory, wherever it lies") {
  for (const std::size_t place : {std::size_t{0}, std::size_t{7}, std::size_t{1000}, std::size_t{4095}}) {
    TransferCase c = case_on("cudaMemcpy", "cuda:0");
    c.target_offset = 1;
    Spoiled spoiled(c, right);
    spoiled.channel.forward();
    spoiled.channel.settle();
    REQUIRE_FALSE(spoiled.channel.intact(false));
    unsigned char was = 0;
    right(&was, spoiled.channel.target() + place, 1);
    write_byte(spoiled.channel.target() + place, static_cast<unsigned char>(was ^ 0x10));
    const auto wrong = spoiled.channel.intact(false).value_or("");
    CHECK(has(wrong, ("byte " + std::to_string(place) + " of 4096 is").c_str()));
    // and put right again
    write_byte(spoiled.channel.target() + place, was);
    CHECK_FALSE(spoiled.channel.intact(false));
  }
}

TEST_CASE("cold: the right bytes from the wrong slot are wrong") {
  TransferCase c = case_on("cudaMemcpy", "cuda:0");
  c.cache = Cache::cold;
  const void* first = nullptr;
  Spoiled spoiled(c, [&first](void* to, const void* from, std::size_t n) {
    if (!first) first = from;
    right(to, first, n);
  });
  spoiled.channel.forward();
  spoiled.channel.settle();
  CHECK_FALSE(spoiled.channel.intact(false));
  spoiled.channel.forward();  // the second slot gets the first one's payload
  spoiled.channel.settle();
  const auto wrong = spoiled.channel.intact(false).value_or("");
  CHECK(has(wrong, "byte 0 of 4096 is"));
  CHECK(has(wrong, "(slot 1 of "));
}

TEST_CASE("what one channel copied never passes for another's") {
  const TransferCase c = case_on("cudaMemcpy", "cuda:0");
  Spoiled one(c, right);
  Spoiled other(c, [&](void* to, const void*, std::size_t n) { right(to, one.channel.target(), n); });
  CHECK(one.verdict() == "");
  CHECK(has(other.verdict(), "byte 0 of 4096 is"));
}

}  // namespace spoiled_test
