// The chains of every instruction set that this machine has take exactly the steps they are asked for, and a wrong
// element is seen.
#include "probes/compute/chains.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

namespace chains_test {

using namespace npgpu;

namespace {

struct alignas(64) State {
  std::byte x[chains::max_state_bytes];
};

template <class T> T element(const State& state, std::size_t i) {
  T value{};
  std::memcpy(&value, state.x + i * sizeof(T), sizeof(T));
  return value;
}

constexpr DataType types[] = {DataType::fp32, DataType::fp64, DataType::int32};

}  // namespace

TEST_CASE("every type, instruction set and number of chains here gives exact results") {
  if (isas_here().empty()) {
    MESSAGE("skipped: " << why_no_isa());
    return;
  }
  for (const Isa isa : isas_here())
    for (const DataType type : types) {
      unsigned found = 0;
      for (const unsigned ilp : chains::ilps) {
        const chains::Chains one = chains::find(isa, type, ilp);
        if (!one.loop) continue;
        ++found;
        CAPTURE(name(isa));
        CAPTURE(name(type));
        CAPTURE(ilp);
        State state;
        const std::span<std::byte> used(state.x, ilp * one.lanes * chains::bytes_of(type));
        chains::start(type, used);
        one.loop(state.x, chains::factor(type), chains::addend(type), 3);
        CHECK(chains::check(type, used, 3 * chains::steps_of_repeat).value_or("") == "");
        // One step more or less is another result.
        CHECK(chains::check(type, used, 3 * chains::steps_of_repeat + 1));
        CHECK(chains::check(type, used, 3 * chains::steps_of_repeat - 1));
        used[used.size() / 2] ^= std::byte{1};
        CHECK(chains::check(type, used, 3 * chains::steps_of_repeat));
      }
      CHECK(found >= 8);
    }
}

TEST_CASE("the check's own arithmetic, by hand") {
  State state;
  SUBCASE("counting: element i starts at i + 1") {
    const float two[] = {1 + 5, 2 + 5};
    std::memcpy(state.x, two, sizeof two);
    CHECK_FALSE(chains::check(DataType::fp32, {state.x, sizeof two}, 5));
    CHECK(chains::check(DataType::fp32, {state.x, sizeof two}, 6));
  }
  SUBCASE("a float counts to 2^24 and stays there") {
    const float end[] = {16777216};
    std::memcpy(state.x, end, sizeof end);
    CHECK(chains::check(DataType::fp32, {state.x, sizeof end}, 16777214));
    CHECK_FALSE(chains::check(DataType::fp32, {state.x, sizeof end}, 16777215));
    CHECK_FALSE(chains::check(DataType::fp32, {state.x, sizeof end}, 1u << 30));
  }
  SUBCASE("two steps of the congruential sequence from 1, modulo 2^32") {
    const std::uint32_t once = 1664525u + 1013904223u, twice = once * 1664525u + 1013904223u;
    std::memcpy(state.x, &twice, sizeof twice);
    CHECK_FALSE(chains::check(DataType::int32, {state.x, sizeof twice}, 2));
    CHECK(chains::check(DataType::int32, {state.x, sizeof twice}, 1));
  }
}

TEST_CASE("a float's chain does stop at 2^24, as its check expects") {
  if (isas_here().empty()) return;
  State state;
  chains::start(DataType::fp32, {state.x, sizeof(float)});
  const std::uint64_t repeats = (1u << 24) / chains::steps_of_repeat + 3;
  chains::find(Isa::scalar, DataType::fp32, 1).loop(state.x, 1, 1, repeats);
  CHECK(element<float>(state, 0) == 16777216);
  CHECK_FALSE(chains::check(DataType::fp32, {state.x, sizeof(float)}, repeats * chains::steps_of_repeat));
}

TEST_CASE("what no register holds is not offered") {
  for (const Isa isa : isas_here()) {
    CHECK((chains::find(isa, DataType::fp16, 1).loop == nullptr));
    CHECK((chains::find(isa, DataType::fp32, 0).loop == nullptr));
    CHECK((chains::find(isa, DataType::fp32, 17).loop == nullptr));
    if (isa == Isa::avx2)
      CHECK((chains::find(isa, DataType::fp32, 16).loop == nullptr));  // 16 registers hold a and b too
  }
}

}  // namespace chains_test
