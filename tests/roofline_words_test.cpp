// What probe roofline's memory holds and what operations must leave: against every step done one by one. And simulated
// devices, whose ridge is known.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "fastest_rate.hpp"
#include "probes/roofline/shapes.hpp"
#include "probes/roofline/words.hpp"

namespace roofline_words_test {

using namespace npgpu;

namespace {

ProbeCase on(const std::string& device, DataType type = DataType::fp32) {
  for (const ProbeCase& c : roofline::cases(device))
    if (c.type == type) return c;
  return {};
}

// All chains of one warp, which reads so many steps from the first on, as the kernel has them.
template <class T> std::int64_t done_one_by_one(std::uint32_t operations, std::uint32_t steps) {
  constexpr std::uint32_t elements = roofline::step_bytes / sizeof(T), of_access = elements / roofline::accesses;
  std::int64_t all = 0;
  for (std::uint32_t lane = 0; lane < roofline::warp; ++lane) {
    T x[roofline::chains];
    for (std::uint32_t i = 0; i < roofline::chains; ++i) x[i] = static_cast<T>(roofline::first(lane, i));
    for (std::uint32_t step = 0; step < steps; ++step)
      for (std::uint32_t e = 0; e < std::min(elements, operations); ++e) {
        const std::uint64_t row = step * roofline::accesses + e / of_access;
        const auto v = static_cast<T>(roofline::sign((row * roofline::warp + lane) * of_access + e % of_access));
        T& own = x[e % roofline::chains];
        if (operations <= elements) own = std::fma(v, T{1}, own);
        else
          for (std::uint32_t i = 0; i < operations / elements; ++i) own = std::fma(own, v, v);
      }
    for (std::uint32_t i = 0; i < roofline::chains; ++i)
      all += roofline::weight(i) * (static_cast<std::int64_t>(x[i]) - roofline::first(lane, i));
  }
  return all;
}

template <class T> std::int64_t by_terms(std::uint32_t operations, std::uint32_t steps) {
  constexpr std::uint32_t elements = roofline::step_bytes / sizeof(T), words = sizeof(T) / 4;
  std::int64_t all = 0;
  for (std::uint64_t word = 0; word < std::uint64_t{steps} * roofline::warp * roofline::step_bytes / 4; word += words) {
    const roofline::Place at = roofline::place_of(word);
    const std::uint32_t e = (at.access * 4 + at.word) / words;
    if (e < operations) all += roofline::term(e, elements, operations, roofline::sign(word / words));
  }
  return all;
}

// One warp's tiles of A times B, element by element.
std::int64_t products_one_by_one(std::uint32_t products) {
  std::int64_t all = 0;
  for (std::uint32_t tile = 0; tile < std::min(products, roofline::tiles); ++tile)
    for (std::uint32_t row = 0; row < 16; ++row)
      for (std::uint32_t column = 0; column < roofline::columns; ++column)
        for (std::uint32_t k = 0; k < roofline::depth; ++k) {
          // Where a lane has this element (PTX ISA, mma.m16n8k16): rows lane / 4 and + 8 in words 0 and 1, columns from
          // 8 on in words 2 and 3.
          const std::uint32_t lane = row % 8 * 4 + k % 8 / 2, word = row / 8 + 2 * (k / 8);
          const std::uint64_t half = 2 * ((tile * std::uint64_t{32} + lane) * 4 + word) + k % 2;
          const int a = roofline::small(half);
          const std::uint32_t each = std::max(1u, products / roofline::tiles);
          for (std::uint32_t i = 0; i < each; ++i)
            all += roofline::weight(tile) * a * (i % 2 ? roofline::b1(k, column) : roofline::b0(k, column));
        }
  return all;
}

std::int64_t products_by_terms(std::uint32_t products) {
  std::int64_t all = 0;
  for (std::uint64_t word = 0; word < roofline::warp * roofline::step_bytes / 4; ++word) {
    const roofline::Place at = roofline::place_of(word);
    if (products < roofline::tiles && at.access >= products) continue;
    for (std::uint32_t h = 0; h < 2; ++h)
      all += roofline::term_of_tile(at.access, roofline::column_of(at.lane, at.word, h), products,
                                    roofline::small(2 * word + h));
  }
  return all;
}

double rate(const ProbeCase& c, const Shape& shape) {
  return fastest_rate(c, shape, {.trials = 3, .fixed_repeats = 1000});
}

}  // namespace

TEST_CASE("what multiply-adds leave is what the terms of all elements sum to") {
  for (const std::uint32_t operations : {2u, 4u, 8u, 16u, 32u, 64u, 512u, 8192u}) {
    CAPTURE(operations);
    CHECK(done_one_by_one<float>(operations, 5) == by_terms<float>(operations, 5));
    CHECK(done_one_by_one<double>(operations, 5) == by_terms<double>(operations, 5));
    CHECK(by_terms<float>(operations, 5) != by_terms<float>(operations, 4));
  }
}

TEST_CASE("and of products, that of all elements of A") {
  for (const std::uint32_t products : {1u, 2u, 4u, 8u, 16u, 512u}) {
    CAPTURE(products);
    CHECK(products_one_by_one(products) == products_by_terms(products));
    CHECK(products_by_terms(products) != 0);
  }
}

TEST_CASE("shapes have the operations that they are called by") {
  for (const ProbeCase& c : roofline::cases("cuda:0")) {
    const Layout h100{.units = 132, .lanes = 32, .max_threads_per_block = 1024, .max_threads_per_unit = 2048};
    const auto shapes = roofline::shapes(c, h100);
    CHECK(std::set<Shape>(shapes.begin(), shapes.end()).size() == shapes.size());
    for (const Shape& s : shapes) {
      CHECK(roofline::refuses(c, s).value_or("") == "");
      const double each = c.type == DataType::fp16 ? 2 * 16 * 8 * 16 : 2, of_step = c.type == DataType::fp16 ? 32 : 1;
      CHECK(roofline::operations_of_step(c, s) * each == intensity_of(s) * roofline::step_bytes * of_step);
      CHECK(roofline::work(c, s) == roofline::bytes_of_repeat(c, s) * intensity_of(s));
      CHECK(s.blocks == 132 * roofline::blocks_of_unit);
    }
  }
  CHECK(intensity_of(roofline::shapes(on("cuda:0"), {.units = 1, .max_threads_per_block = 1024}).front()) == 1.0 / 16);
  CHECK(intensity_of(roofline::shapes(on("cuda:0"), {.units = 1, .max_threads_per_block = 1024}).back()) == 256);
  Shape odd = roofline::shapes(on("cuda:0"), {.units = 1, .max_threads_per_block = 1024}).front();
  odd.intensity = 96;
  CHECK(roofline::refuses(on("cuda:0"), odd).value_or("").find("powers of two") != std::string::npos);
}

TEST_CASE("sets: far beyond the caches, what a partition of L2 holds, and a block's own") {
  const Layout h100{.units = 132, .max_threads_per_block = 1024, .max_threads_per_unit = 2048, .cache_bytes = 50 * MiB};
  std::map<Space, std::set<std::uint64_t>> sets;
  for (const ProbeCase& c : roofline::cases("cuda:0"))
    for (const Shape& s : roofline::shapes(c, h100)) {
      CHECK(roofline::refuses(c, s).value_or("") == "");
      sets[c.space].insert(s.bytes);
    }
  CHECK(sets[Space::global] == std::set<std::uint64_t>{3200 * MiB});
  CHECK(sets[Space::l2] == std::set<std::uint64_t>{20 * MiB});
  CHECK(sets[Space::shared] == std::set<std::uint64_t>{16 * KiB});
  ProbeCase shared = on("cuda:0");
  shared.space = Space::shared;
  Shape odd = roofline::shapes(shared, h100).front();
  for (const std::uint64_t bytes : {std::uint64_t{0}, 6 * KiB, 48 * KiB}) {
    odd.bytes = bytes;
    CHECK(roofline::refuses(shared, odd).value_or("").find("a block's set") != std::string::npos);
  }
}

TEST_CASE("a simulated device takes the longest of its times, so each ridge is that of its spec") {
  const double cores = 132 * 1980e6;
  const std::map<Space, double> read{
      {Space::global, 2 * 2141e9 * 1.076}, {Space::l2, 10500e9}, {Space::shared, 32 * 4 * cores}};
  const std::map<DataType, double> top{
      {DataType::fp32, 2 * 128 * cores}, {DataType::fp64, 2 * 64 * cores}, {DataType::fp16, 2 * 2048 * 0.666 * cores}};
  const Probe& probe = find_probe("roofline", "sim:h200");
  const auto cases = probe.cases("sim:h200");
  CHECK(cases.size() == 9);
  for (const ProbeCase& c : cases)
    for (const Shape& shape : probe.shapes(c)) {
      const std::string what = title(c) + ", " + text_of(shape);
      CAPTURE(what);
      CHECK(rate(c, shape) ==
            doctest::Approx(std::min(top.at(c.type), intensity_of(shape) * read.at(c.space))).epsilon(0.01));
    }
  CHECK(find_probe("roofline", "sim:gtx280").cases("sim:gtx280").size() < 9);
}

TEST_CASE("lanes of fp64 are fewer than those of fp32, and the limit says so") {
  const Probe& compute = find_probe("compute", "sim:h200");
  const auto cases = compute.cases("sim:h200");
  REQUIRE(cases.size() == 2);
  CHECK(compute.context(cases[1]).limit.per_s == doctest::Approx(2 * 64 * 132 * 1980e6));
  const Shape full{.blocks = 264, .threads = 1024, .ilp = 4}, alone{.blocks = 1, .threads = 1, .ilp = 1};
  CHECK(rate(cases[0], full) / rate(cases[1], full) == doctest::Approx(2).epsilon(0.01));
  // A chain alone waits for each result: 4 cycles, and 8.
  CHECK(rate(cases[0], alone) / rate(cases[1], alone) == doctest::Approx(2).epsilon(0.01));
}

}  // namespace roofline_words_test
