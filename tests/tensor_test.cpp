// Tensor cores: numbers that stay exact, work that is counted right, and simulated cores that obey what they were
// given.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "fastest_rate.hpp"
#include "npgpu/model/derive.hpp"
#include "npgpu/vocabulary/probe.hpp"
#include "probes/tensor/tiles.hpp"

namespace tensor_test {

using namespace npgpu;

namespace {

constexpr DataType types[] = {DataType::fp16, DataType::bf16, DataType::tf32,
                              DataType::fp8,  DataType::int8, DataType::fp64};

ProbeCase product(Operation operation, DataType type) {
  return {.probe = "tensor",
          .device = "sim:h200",
          .operation = operation,
          .type = type,
          .space = operation == Operation::wgmma ? Space::shared : Space::registers};
}

double rate(const ProbeCase& c, const Shape& shape) {
  return fastest_rate(c, shape, {.trials = 5, .fixed_repeats = 2000});
}

}  // namespace

TEST_CASE("a pair of products adds one row of B, and every number is exact in eight bits") {
  for (const DataType type : types) {
    const unsigned depth = tensor::depth(type);
    for (const bool grows : {true, false})
      for (unsigned row = 0; row < tensor::group_rows; ++row)
        for (unsigned k = 0; k < depth; ++k) {
          CHECK(std::abs(tensor::a0(row, k)) <= 3);
          CHECK(std::abs(tensor::a1(row, k, depth, {.grows = grows})) <= 4);
          CHECK(tensor::a0(row, k) + tensor::a1(row, k, depth, {.grows = grows}) == (grows && k == row % depth));
        }
    std::set<int> seen;
    for (unsigned column = 0; column < tensor::columns; ++column)
      for (unsigned k = 0; k < depth; ++k) seen.insert(tensor::b(k, column));
    CHECK(seen == std::set<int>{-2, -1, 0, 1, 2});
    CHECK(*seen.rbegin() <= static_cast<int>(tensor::growth));
  }
}

TEST_CASE("lanes' elements are all of a tile, each once") {
  std::set<std::pair<unsigned, unsigned>> places;
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < tensor::columns / 2; ++i)
      CHECK(places.emplace(tensor::row_of(lane, i), tensor::column_of(lane, i)).second);
  CHECK(places.size() == tensor::warp_rows * tensor::columns);
}

TEST_CASE("work: two operations a multiply-add, of every warp, chain and product") {
  // 16 pairs of m16n8k16 of each of 2 * 32 warps and 4 chains.
  CHECK(tensor::work(product(Operation::mma, DataType::fp16), {.blocks = 2, .threads = 1024, .ilp = 4}) ==
        2.0 * 16 * 8 * 16 * 32 * (2 * 32) * 4);
  // 4 pairs of m64n256k32 of each of 3 * 2 groups.
  CHECK(tensor::work(product(Operation::wgmma, DataType::int8), {.blocks = 3, .threads = 256}) ==
        2.0 * 64 * 256 * 32 * 8 * 6);
}

TEST_CASE("simulated tensor cores: rates as the spec says, a quarter by one warp, latency where products wait") {
  const std::map<DataType, double> each{{DataType::fp16, 2048}, {DataType::bf16, 2048}, {DataType::tf32, 1024},
                                        {DataType::fp8, 4096},  {DataType::int8, 4096}, {DataType::fp64, 128}};
  for (const auto& [type, multiply_adds] : each) {
    const std::string called{name(type)};
    CAPTURE(called);
    const double one_sm = 2 * multiply_adds * 1980e6;
    const ProbeCase by_warp = product(Operation::mma, type);
    const double share = type == DataType::fp64 ? 1 : 0.666;
    CHECK(rate(by_warp, {.blocks = 132, .threads = 1024}) == doctest::Approx(132 * share * one_sm).epsilon(0.03));
    if (type == DataType::fp16)  // 2 * 16 * 8 * 16 operations in 24 cycles
      CHECK(rate(by_warp, {.blocks = 1, .threads = 32}) == doctest::Approx(4096 / 24.0 * 1980e6).epsilon(0.03));
    if (type == DataType::fp64) continue;
    const ProbeCase by_group = product(Operation::wgmma, type);
    CHECK(rate(by_group, {.blocks = 132, .threads = 256}) == doctest::Approx(132 * one_sm).epsilon(0.03));
    CHECK(rate(by_group, {.blocks = 1, .threads = 128}) == doctest::Approx(one_sm).epsilon(0.03));
  }
}

TEST_CASE("what is not there is refused, in words") {
  const Probe& probe = find_probe("tensor", "sim:h200");
  for (const ProbeCase& c : probe.cases("sim:h200")) {
    const auto all = probe.shapes(c);
    for (const Shape& s : probe.default_shapes(c)) CHECK(std::ranges::find(all, s) != all.end());
    for (const Shape& s : all) CHECK(probe.refuses({c, s}).value_or("") == "");
  }
  CHECK(probe.refuses_case(product(Operation::wgmma, DataType::fp64)));
  CHECK(probe.refuses_case(product(Operation::mma, DataType::fp32)));
  const auto why = [&](Operation operation, DataType type, const Shape& shape) {
    return probe.refuses({product(operation, type), shape}).value_or("");
  };
  CHECK(why(Operation::mma, DataType::fp16, {.blocks = 1, .threads = 48}).find("whole warps") != std::string::npos);
  CHECK(why(Operation::mma, DataType::fp16, {.blocks = 1, .threads = 32, .ilp = 3}).find("1, 2, 4 or 8") !=
        std::string::npos);
  CHECK(why(Operation::mma, DataType::fp64, {.blocks = 1, .threads = 32, .ilp = 2}).find("takes 1") !=
        std::string::npos);
  CHECK(why(Operation::wgmma, DataType::fp16, {.blocks = 1, .threads = 512}).find("128 or 256") != std::string::npos);
  // A device whose spec has no tensor cores says what is missing.
  CHECK(find_probe("tensor", "sim:gtx470").cases("sim:gtx470").empty());
}

}  // namespace tensor_test
