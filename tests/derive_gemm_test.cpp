// What is derived of products of matrices, from sweeps that can be added up by hand.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "made_probe.hpp"
#include "npgpu/derive.hpp"

namespace derive_gemm_test {

using namespace npgpu;

namespace {

ProbeSeries products(const std::string& device, Space space, DataType type = DataType::fp32) {
  ProbeSeries series = probe_sweep(device);
  series.question = {.probe = "gemm", .device = device, .operation = Operation::fma, .type = type, .space = space};
  series.limit = {2e9, "a limit"};
  series.library = "a library";
  return series;
}

// 2 n^3 operations in so many microseconds, six times.
void add(ProbeSeries& series, std::uint32_t n, double us, std::uint32_t panels = 1, std::uint32_t blocks = 1) {
  Shape s;
  s.m = s.n = s.k = n, s.panels = panels, s.blocks = blocks;
  add_point(series, s, 2.0 * n * n * n, {us, us, us, us, us, us});
}

DeviceParameters derived(std::vector<ProbeSeries> all) {
  Trace trace;
  trace.of<Probes>() = std::move(all);
  return derive(trace).at(0);
}

const Parameter* named(const DeviceParameters& d, const std::string& name) {
  const auto p = std::ranges::find(d.parameters, name, &Parameter::name);
  return p == d.parameters.end() ? nullptr : &*p;
}

bool says(const DeviceParameters& d, const std::string& words) {
  return std::ranges::any_of(d.missing, [&](const std::string& m) { return m.find(words) != std::string::npos; });
}

}  // namespace

TEST_CASE("the best product against the limit, and what copies leave of the largest that both have") {
  ProbeSeries inside = products("cuda:0", Space::global), copied = products("cuda:0", Space::host);
  add(inside, 100, 2000);   // 1 GFLOP/s
  add(inside, 200, 10000);  // 1.6
  add(inside, 400, 70000);  // 1.83, and no copy to hold against it
  add(copied, 100, 4000);
  add(copied, 200, 20000);
  add(copied, 200, 12500, 8);
  add(copied, 200, 16000, 4);
  const DeviceParameters d = derived({inside, copied});
  REQUIRE(named(d, "gemm fp32"));
  CHECK(named(d, "gemm fp32")->estimate.value == doctest::Approx(2 * 64e6 / 0.07));
  CHECK(named(d, "gemm fp32")->meaning.find("a library") != std::string::npos);
  CHECK(named(d, "gemm fp32 reached")->estimate.value == doctest::Approx(100 * 2 * 64e6 / 0.07 / 2e9));
  CHECK(named(d, "gemm fp32 copied in turn")->estimate.value == doctest::Approx(0.5));
  CHECK(named(d, "gemm fp32 copied in panels")->estimate.value == doctest::Approx(0.8));
  CHECK(named(d, "gemm fp32 copied in panels")->estimate.method.find("8 panels") != std::string::npos);
  CHECK_FALSE(named(d, "gemm fp32 cores"));
}

TEST_CASE("types are told apart, and what is missing is said") {
  ProbeSeries inside = products("cuda:0", Space::global, DataType::fp64), copied = products("cuda:0", Space::host);
  add(inside, 100, 2000);
  add(copied, 100, 4000);
  const DeviceParameters d = derived({inside, copied});
  CHECK(named(d, "gemm fp64"));
  CHECK_FALSE(named(d, "gemm fp64 copied in turn"));
  CHECK_FALSE(named(d, "gemm fp32"));
  ProbeSeries other = products("cuda:0", Space::host, DataType::fp64);
  add(other, 200, 4000);
  CHECK(says(derived({inside, other}), "gemm fp64 with copies: needs one square"));
}

TEST_CASE("cores of a host: how many times one core's rate, held below how many there are") {
  ProbeSeries series = products("host", Space::host);  // of 4 cores
  add(series, 100, 8000, 1, 1);
  add(series, 200, 64000, 1, 1);
  add(series, 200, 32000, 1, 2);
  add(series, 200, 16400, 1, 4);
  add(series, 400, 1, 1, 4);  // another size says nothing of cores
  const Parameter* cores = nullptr;
  const DeviceParameters d = derived({series});
  REQUIRE((cores = named(d, "gemm fp32 cores")));
  CHECK(cores->estimate.value == doctest::Approx(64.0 / 16.4));
  CHECK(cores->reference == 4);
  CHECK(cores->verdict == Agreement::agrees);
  ProbeSeries alone = products("host", Space::host);
  add(alone, 100, 8000);
  CHECK(says(derived({alone}), "gemm fp32 cores: needs one product on one core and on more"));
  // Five times one core's rate on four cores cannot be.
  ProbeSeries wrong = products("host", Space::host);
  add(wrong, 200, 64000, 1, 1);
  add(wrong, 200, 12800, 1, 4);
  CHECK(named(derived({wrong}), "gemm fp32 cores")->verdict == Agreement::disagrees);
}

}  // namespace derive_gemm_test
