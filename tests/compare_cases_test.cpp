// What a comparison calls by which name: curves, latencies, lanes, classes and key figures; and what its outcome
// covers.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "npgpu/compare.hpp"
#include "tests/made_sweep.hpp"

namespace compare_cases_test {

using namespace npgpu;

namespace {

constexpr double rounds_us[] = {99.9, 100, 100.1, 99.95, 100.05, 100};

Trace trace_of(std::initializer_list<TransferSeries> all) {
  Trace trace;
  trace.of<Transfers>() = all;
  return trace;
}

Comparison held(const Trace& a, const Trace& b) {
  const Trace *of_a = &a, *of_b = &b;
  return compare({&of_a, 1}, {&of_b, 1});
}

}  // namespace

TEST_CASE("the smallest copies are those of up to 64 KiB, and there are none where all are larger") {
  const auto smallest = [](std::initializer_list<std::uint64_t> sizes) -> std::string {
    TransferSeries sweep = sweep_of();
    for (const std::uint64_t bytes : sizes)
      for (const double us : rounds_us) add_point(sweep, bytes, {us});
    for (const KeyFigure& figure : held(trace_of({sweep}), trace_of({sweep})).figures)
      if (figure.name == "smallest copy, host to device") return figure.at;
    return "";
  };
  CHECK(smallest({4, 8, 16, 32}) == "4 B .. 16 B");
  CHECK(smallest({4, 16 << 20, 64 << 20}) == "4 B");
  CHECK(smallest({16 << 20, 64 << 20}).empty());
}

}  // namespace compare_cases_test
