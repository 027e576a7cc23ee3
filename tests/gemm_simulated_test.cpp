// Products of matrices on simulated devices, whose rates are their spec's.
#include "probed.hpp"
#include "probes/gemm/gemm.hpp"

namespace gemm_simulated_test {

using namespace npgpu;
using nlohmann::json;

namespace {

double rate_of(const ProbeCase& c, const Shape& shape, std::string* wrong = nullptr) {
  const auto schedule = classic_schedule({.trials = 3, .fixed_repeats = 5});
  const ProbeStep step{c, shape};
  const auto runner = find_probe("gemm", c.device).open({&step, 1});
  const auto m = measure<Probes>(*runner, *schedule, step, {}).value();
  if (wrong) *wrong = m.mismatch;
  return m.visit.work * static_cast<double>(m.samples[0].repeats) / m.samples[0].device_us * 1e6;
}

// 100 GB/s each way, 1 us a copy; 1 TFLOP/s.
ChangedSpec round_numbers(int engines = 2) {
  return ChangedSpec("plain", [=](json& j) {
    for (const char* way : {"h2d", "d2h"}) j["links"][way]["pinned"] = {{"rate_gb_s", 100}, {"latency_us", 1}};
    j["copy_engines"] = engines;
    j["memory_bytes"] = 1ull << 36;
    j["hardware"]["gemm_fp32_64_gflops"] = 1000;
    j["hardware"]["gemm_fp32_8_gflops"] = 500;
    j["hardware"]["kernel_latency_us"] = 0;
  });
}

}  // namespace

TEST_CASE("a simulated device: the spec's rates by what divides all of m, n and k") {
  const ChangedSpec spec = round_numbers();
  const ProbeCase c = gemm::gemm_case(spec.id(), DataType::fp32, Space::global);
  const auto rate = [&](std::uint32_t m, std::uint32_t n, std::uint32_t k) {
    Shape s = gemm::square(1);
    s.m = m, s.n = n, s.k = k;
    return rate_of(c, s);
  };
  CHECK(rate(1024, 1024, 1024) == doctest::Approx(1e12).epsilon(0.001));
  CHECK(rate(1024, 1056, 1024) == doctest::Approx(1e12).epsilon(0.001));  // 32 has the rate of 64
  CHECK(rate(1024, 1024, 1032) == doctest::Approx(5e11).epsilon(0.001));
  CHECK(rate(1023, 1024, 1024) == doctest::Approx(5e11).epsilon(0.001));
  CHECK(find_probe("gemm", spec.id()).cases(spec.id()).size() == 2);  // it has no rates of fp64
  CHECK(find_probe("gemm", "sim:gtx470").cases("sim:gtx470").empty());
  CHECK(find_probe("gemm", "sim:gtx470")
            .refuses_case(gemm::gemm_case("sim:gtx470", DataType::fp32, Space::global))
            ->find("add hardware.gemm_fp32_64_gflops") != std::string::npos);
}

// 4096^2 floats are 67.1 MB: 671 us and 1 us of latency a matrix; 2 * 4096^3 operations take 137.4 ms.
TEST_CASE("a simulated device: copies in turn add up, and panels hide all but A, one panel of B and one of C") {
  const ChangedSpec spec = round_numbers(), one_engine = round_numbers(1);
  const auto us = [&](const ChangedSpec& on, std::uint32_t panels, std::uint32_t n = 4096) {
    const Shape s = gemm::square(n, panels);
    return gemm::work_of(s) / rate_of(gemm::gemm_case(on.id(), DataType::fp32, Space::host), s) * 1e6;
  };
  const double product = 2 * 4096.0 * 4096 * 4096 / 1e12 * 1e6, matrix = 4096.0 * 4096 * 4 / 100e9 * 1e6;
  CHECK(us(spec, 1) == doctest::Approx(product + 3 * matrix + 3).epsilon(1e-6));
  CHECK(us(spec, 8) == doctest::Approx(matrix + 1 + 2 * (matrix / 8 + 1) + product).epsilon(1e-6));
  CHECK(us(one_engine, 1) == doctest::Approx(product + 3 * matrix + 3).epsilon(1e-6));
  const ProbeCase c = gemm::gemm_case(spec.id(), DataType::fp32, Space::host);
  const ProbeStep step{c, gemm::square(512, 0)};
  const auto runner = find_probe("gemm", spec.id()).open({&step, 1});
  const ProbeStep settled = runner->settled(step, {});
  CHECK(settled.axes.panels > 1);
  CHECK(us(spec, settled.axes.panels, 512) < us(spec, 1, 512));
  CHECK_THROWS(runner->prepare(step));
}

TEST_CASE("a simulated device: whatever is transposed takes as long, and beta adds the time of reading C") {
  const ChangedSpec spec("plain", [](json& j) {
    j["links"]["d2d"] = {{"rate_gb_s", 500}, {"latency_us", 1}};  // memory: 1000 GB/s
    j["memory_bytes"] = 1ull << 36;
    j["hardware"]["gemm_fp32_64_gflops"] = 1000;
    j["hardware"]["gemm_fp16_64_gflops"] = 4000;
    j["hardware"]["kernel_latency_us"] = 0;
  });
  const ProbeCase c = gemm::gemm_case(spec.id(), DataType::fp32, Space::global);
  const auto us = [&](Shape s) { return gemm::work_of(s) / rate_of(c, s) * 1e6; };
  const Shape plain = gemm::square(1024);
  for (const Ops ops : {Ops::nt, Ops::tn, Ops::tt}) {
    Shape s = plain;
    s.ops = ops;
    CHECK(us(s) == doctest::Approx(us(plain)).epsilon(1e-9));
  }
  for (const std::int32_t beta : {1, -1}) {
    Shape s = plain;
    s.beta = beta;
    CHECK(us(s) - us(plain) == doctest::Approx(1024 * 1024 * 4 / 1000e9 * 1e6).epsilon(1e-6));
    s.alpha = -3;
    CHECK(us(s) - us(plain) == doctest::Approx(1024 * 1024 * 4 / 1000e9 * 1e6).epsilon(1e-6));
    CHECK(gemm::work_of(s) == gemm::work_of(plain));
  }
  Shape s = plain;
  s.operands = Operands::zeros;
  CHECK(rate_of(gemm::gemm_case(spec.id(), DataType::fp16, Space::global), s) == doctest::Approx(4e12).epsilon(1e-6));
  CHECK(find_probe("gemm", spec.id()).cases(spec.id()).size() == 3);  // fp32 twice, fp16 in global memory alone
}

// The GPU takes 1000 us of copying A, and 1 TFLOP/s; the host has a tenth of that.
TEST_CASE("a simulated device and its host together: as long as the slower of both, best where both end at once") {
  const ChangedSpec spec("plain", [](json& j) {
    for (const char* way : {"h2d", "d2h"}) j["links"][way]["pinned"] = {{"rate_gb_s", 100}, {"latency_us", 1}};
    j["copy_engines"] = 2;
    j["memory_bytes"] = 1ull << 36;
    j["hardware"]["gemm_fp32_64_gflops"] = 1000;
    j["hardware"]["host_gemm_fp32_gflops"] = 100;
    j["hardware"]["kernel_latency_us"] = 0;
  });
  const ProbeCase c = gemm::gemm_case(spec.id(), DataType::fp32, Space::host);
  const auto us = [&](std::uint32_t columns) {
    Shape s = gemm::square(2048, 8);
    s.host_columns = columns;
    return gemm::work_of(s) / rate_of(c, s) * 1e6;
  };
  const double all_by_host = 2 * 2048.0 * 2048 * 2048 / 100e9 * 1e6;
  CHECK(us(1024) == doctest::Approx(all_by_host / 2).epsilon(1e-6));
  CHECK(us(64) < us(0));
  ProbeStep step{c, gemm::square(2048, 0)};
  step.axes.host_columns = Shape::as_advised;
  const ProbeStep settled = find_probe("gemm", spec.id()).open({&step, 1})->settled(step, {});
  CHECK(settled.axes.host_columns % 64 == 0);
  CHECK(settled.axes.host_columns > 0);
  const double together = gemm::work_of(settled.axes) / rate_of(c, settled.axes) * 1e6;
  CHECK(together < us(settled.axes.host_columns + 128));
  CHECK(together < 0.93 * us(0));
  Shape part = gemm::square(64);
  part.host_columns = 8;
  const ChangedSpec alone("tesla-s1070", [](json& j) { j["hardware"].erase("host_gemm_fp32_gflops"); });
  const ProbeCase without = gemm::gemm_case(alone.id(), DataType::fp32, Space::host);
  CHECK(find_probe("gemm", without.device).refuses({without, part})->find("add hardware.host_gemm_fp32_gflops") !=
        std::string::npos);
}

TEST_CASE("a simulated device that corrupts its results is found out, wherever the matrices are") {
  for (const Space space : {Space::global, Space::host}) {
    const ChangedSpec spec("plain", [](json& j) {
      j["hardware"]["gemm_fp64_64_gflops"] = 100;
      j["faults"] = json::array({{{"call", 2}, {"every", 1}, {"kind", "corrupt"}}});
    });
    std::string wrong;
    rate_of(gemm::gemm_case(spec.id(), DataType::fp64, space), gemm::square(64), &wrong);
    CHECK(wrong.find("of the result is") != std::string::npos);
  }
}

}  // namespace gemm_simulated_test
