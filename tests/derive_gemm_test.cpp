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

TEST_CASE("efficiency of cores, of the same product only") {
  ProbeSeries series = products("host", Space::host);
  add(series, 200, 64000, 1, 1);
  add(series, 200, 20000, 1, 4);
  Shape read{.blocks = 4, .m = 200, .n = 200, .k = 200};
  read.beta = 1;
  add_point(series, read, 16e6, {1000, 1000, 1000, 1000, 1000, 1000});  // another product: 64 times one core's rate
  const DeviceParameters d = derived({series});
  REQUIRE(named(d, "gemm fp32 efficiency of cores"));
  CHECK(named(d, "gemm fp32 efficiency of cores")->estimate.value == doctest::Approx(80));
  CHECK(named(d, "gemm fp32 cores")->estimate.value == doctest::Approx(3.2));
  CHECK(named(d, "gemm fp32 beta 1")->estimate.value == doctest::Approx(20));
}

TEST_CASE("the host's part, and what transposed products lose") {
  ProbeSeries inside = products("cuda:0", Space::global), copied = products("cuda:0", Space::host);
  add(inside, 200, 10000);
  Shape s{.m = 200, .n = 200, .k = 200};
  s.ops = Ops::tn;
  add_point(inside, s, 16e6, {12500, 12500, 12500, 12500, 12500, 12500});
  add(copied, 200, 20000);
  add(copied, 200, 16000, 4);
  Shape together{.m = 200, .n = 200, .k = 200, .panels = 4};
  together.host_columns = 50;
  add_point(copied, together, 16e6, {12800, 12800, 12800, 12800, 12800, 12800});
  const DeviceParameters d = derived({inside, copied});
  CHECK(named(d, "gemm fp32 ops tn")->estimate.value == doctest::Approx(0.8));
  CHECK(named(d, "gemm fp32 copied in panels")->estimate.value == doctest::Approx(10.0 / 16));  // not with the host
  CHECK(named(d, "gemm fp32 with the host")->estimate.value == doctest::Approx(1.25));
  CHECK(named(d, "gemm fp32 share of the host")->estimate.value == doctest::Approx(25));
  CHECK(named(derived({copied}), "gemm fp32 with the host"));  // nothing in the device's memory is needed for it
}

TEST_CASE("the library beside the instruction, by operands: wgmma where there is one") {
  ProbeSeries library = products("cuda:0", Space::global, DataType::fp16), mma = products("cuda:0", Space::registers),
              wgmma = mma;
  mma.question = {"tensor", "cuda:0", Operation::mma, DataType::fp16, Form::streaming, Space::registers};
  wgmma.question = {"tensor", "cuda:0", Operation::wgmma, DataType::fp16, Form::streaming, Space::shared};
  for (const auto& [operands, us] : {std::pair{Operands::zeros, 1000.0}, {Operands::random, 1250.0}}) {
    Shape s{.m = 200, .n = 200, .k = 200};
    s.ops = Ops::tn, s.operands = operands;
    add_point(library, s, 16e6, {us, us, us, us, us, us});
    Shape tile{.blocks = 4, .threads = 256};
    tile.operands = operands;
    add_point(wgmma, tile, 16e6, {800, 800, 800, 800, 800, 800});
    add_point(mma, tile, 16e6, {1600, 1600, 1600, 1600, 1600, 1600});
  }
  const DeviceParameters d = derived({mma, wgmma, library});
  CHECK(named(d, "gemm fp16 over wgmma, zeros")->estimate.value == doctest::Approx(0.8));
  CHECK(named(d, "gemm fp16 over wgmma, random")->estimate.value == doctest::Approx(0.64));
  CHECK(named(d, "gemm fp16, random")->estimate.value == doctest::Approx(16e6 / 1250e-6));
  CHECK_FALSE(named(d, "gemm fp16 over mma, zeros"));
  CHECK(named(derived({mma, library}), "gemm fp16 over mma, zeros")->estimate.value == doctest::Approx(1.6));
}

}  // namespace derive_gemm_test
