// Products of matrices without a GPU: elements that are known, panels, advice, and simulated devices.
#include "probes/gemm/gemm.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "probed.hpp"
#include "probes/gemm/elements.hpp"

namespace gemm_test {

using namespace npgpu;
using nlohmann::json;

namespace {

// The product by its definition.
template <class Real> std::vector<Real> multiplied(std::uint32_t m, std::uint32_t n, std::uint32_t k) {
  std::vector<Real> a(std::size_t{m} * k), b(std::size_t{k} * n), c(std::size_t{m} * n);
  gemm::fill_left(a.data(), m, k);
  gemm::fill_right(b.data(), k, n);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t l = 0; l < k; ++l)
      for (std::size_t i = 0; i < m; ++i) c[j * m + i] += a[l * m + i] * b[j * k + l];
  return c;
}

// As arithmetic with fewer binary digits has them: the rest is cut off.
float cut(float value, int digits) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  bits &= ~0u << (24 - digits);
  std::memcpy(&value, &bits, sizeof bits);
  return value;
}

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

TEST_CASE("every element of the product is known: as the definition has it, for sizes of every kind") {
  for (const auto& [m, n, k] : std::vector<std::array<std::uint32_t, 3>>{
           {1, 1, 1}, {1, 1, 2}, {3, 5, 2}, {64, 64, 64}, {65, 63, 129}, {130, 7, 63}, {7, 130, 65}, {200, 70, 1}}) {
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    CHECK(gemm::wrong_element(multiplied<float>(m, n, k).data(), m, n, k).value_or("") == "");
    CHECK(gemm::wrong_element(multiplied<double>(m, n, k).data(), m, n, k).value_or("") == "");
  }
  // Counted by hand: the smallest product is one of two large elements.
  CHECK(multiplied<double>(1, 1, 1)[0] == double{gemm::large(0)} * gemm::large(1));
}

TEST_CASE(
    "what is wrong is found: one element, columns or rows that changed places, another k, numbers that are none") {
  constexpr std::uint32_t m = 70, n = 200, k = 90;
  const auto right = multiplied<float>(m, n, k);
  auto c = right;
  c[m * 7 + 3] += 1;
  CHECK(gemm::wrong_element(c.data(), m, n, k)->rfind("element 3, 7 of C is ", 0) == 0);
  c = right;
  std::swap_ranges(c.begin(), c.begin() + m * 64, c.begin() + m * 64);  // two panels, of the period's width
  CHECK(gemm::wrong_element(c.data(), m, n, k).has_value());
  c = right;
  for (std::uint32_t j = 0; j < n; ++j) std::swap(c[j * m + 1], c[j * m + 65]);  // a period apart
  CHECK(gemm::wrong_element(c.data(), m, n, k).has_value());
  c = right;
  c.back() = NAN;
  CHECK(gemm::wrong_element(c.data(), m, n, k)->find("is nan, not") != std::string::npos);
  CHECK(gemm::wrong_element(right.data(), m, n, k + 64).has_value());
}

TEST_CASE("arithmetic with fewer digits is found: TF32 has 11, BF16 has 8; 12 are enough") {
  constexpr std::uint32_t m = 33, n = 40, k = 50;
  std::vector<float> a(m * k), b(k * n);
  const auto with = [&](int digits) {
    gemm::fill_left(a.data(), m, k);
    gemm::fill_right(b.data(), k, n);
    std::vector<float> c(m * n);
    for (std::uint32_t j = 0; j < n; ++j)
      for (std::uint32_t l = 0; l < k; ++l)
        for (std::uint32_t i = 0; i < m; ++i) c[j * m + i] += cut(a[l * m + i], digits) * cut(b[j * k + l], digits);
    return gemm::wrong_element(c.data(), m, n, k);
  };
  CHECK_FALSE(with(12));
  CHECK(with(11).has_value());
  CHECK(with(8).has_value());
}

TEST_CASE("fp32 holds every sum exactly up to the largest k that is taken") {
  const std::uint32_t k = gemm::max_k_fp32;
  const std::uint64_t most = std::uint64_t{49} * k + 2 * 7 * 4095;
  CHECK(most < 1u << 24);
  CHECK(std::uint64_t{49} * gemm::max_k_fp64 + 2 * 7 * 4095 < 1ull << 32);
  for (std::uint32_t i = 0; i < 100000; ++i) {
    REQUIRE(gemm::large(i) > 2048);
    REQUIRE(gemm::large(i) < 4096);
    REQUIRE(gemm::large(i) % 2 == 1);
  }
}

TEST_CASE("panels: all columns, each once, cut at 64s where there are enough") {
  for (const std::uint32_t n : {1u, 63u, 64u, 100u, 640u, 1000u, 8191u})
    for (const std::uint32_t panels : {1u, 2u, 3u, 8u, 64u}) {
      if (panels > n) continue;
      Shape s = gemm::square(n, panels);
      std::uint32_t next = 0;
      for (std::uint32_t p = 0; p < panels; ++p) {
        const gemm::Columns columns = gemm::panel_of(s, p);
        CHECK(columns.first == next);
        CHECK(columns.count > 0);
        if (n >= 64 * panels) CHECK(columns.first % 64 == 0);
        next += columns.count;
      }
      CHECK(next == n);
    }
}

// A takes 3 s. B and C take 4 s each, computing 8 s: with P panels 3 + 4/P + 8 + 4/P where nothing is added.
TEST_CASE("the time of panels, by hand, and the fewest that are as good as the best") {
  const Shape s = gemm::square(4096);
  gemm::PanelCosts costs{.copy_a = Seconds{3}, .all_b = Seconds{4}, .all_c = Seconds{4}};
  for (const std::uint32_t p : {64u, 32u, 16u, 8u, 4u, 2u, 1u})
    costs.compute_of_fraction.push_back({1.0 / p, Seconds{8.0 / p}});
  for (const std::uint32_t p : {1u, 2u, 4u, 64u})
    CHECK(gemm::time_of(s, costs, p).count() == doctest::Approx(3 + 8 + 8.0 / p));
  CHECK(gemm::advised_panels(s, costs) == 64);
  // Each copy of a panel of B adds half a second before the first product; 4 panels: 3 + 1.5 + 8 + 1.
  costs.start_b = Seconds{0.5};
  CHECK(gemm::time_of(s, costs, 4).count() == doctest::Approx(3 + 1.5 + 8 + 1));
  // Where the copies of B take longest, P panels take 3 + P/2 + 4 + 8/P + 4/P.
  for (auto& point : costs.compute_of_fraction) point.time /= 8;
  CHECK(gemm::time_of(s, costs, 8).count() == doctest::Approx(3 + 4 + 4 + 1.0 / 8 + 0.5));
  CHECK(gemm::advised_panels(s, costs) == 4);
  // One copy engine: what comes back stands in the way of what goes down.
  costs.copy_engines = 1;
  CHECK(gemm::time_of(s, costs, 8) > Seconds{3 + 4 + 4 + 3.9});
}

TEST_CASE("panels 0 become those that are advised, or that the trace already has") {
  ProbeStep step{gemm::gemm_case("host", DataType::fp32, Space::host), gemm::square(1024, 0)};
  const auto advise = [](const ProbeStep& serial) { return serial.axes.panels + 4; };
  CHECK(gemm::settled(step, {}, advise).axes.panels == 5);
  const Shape known[] = {gemm::square(512, 8), gemm::square(1024, 1), gemm::square(1024, 16)};
  CHECK(gemm::settled(step, known, advise).axes.panels == 16);
  step.axes.panels = 2;
  CHECK(gemm::settled(step, known, advise).axes.panels == 2);
}

TEST_CASE("what cannot be is refused, in words") {
  const ProbeCase on_gpu = gemm::gemm_case("sim:x", DataType::fp32, Space::global),
                  from_host = gemm::gemm_case("sim:x", DataType::fp32, Space::host);
  CHECK_FALSE(gemm::refuses(on_gpu, gemm::square(100)));
  CHECK_FALSE(gemm::refuses(from_host, gemm::square(100, 3)));
  CHECK(gemm::refuses(on_gpu, gemm::square(100, 3))->find("panels=1") != std::string::npos);
  CHECK(gemm::refuses(from_host, gemm::square(2, 3)) == "3 panels of 2 columns");
  for (const auto& change : std::vector<void (*)(Shape&)>{
           [](Shape& s) { s.m = 0; }, [](Shape& s) { s.k = 262145; }, [](Shape& s) { s.n = 1u << 31; },
           [](Shape& s) { s.bytes = 1; }, [](Shape& s) { s.threads = 2; }, [](Shape& s) { s.ilp = 2; },
           [](Shape& s) { s.access_bytes = 4; }}) {
    Shape s = gemm::square(64);
    change(s);
    CHECK(gemm::refuses(on_gpu, s).has_value());
  }
  CHECK(find_probe("compute", "sim:h200")
            .refuses({find_probe("compute", "sim:h200").cases("sim:h200").front(), gemm::square(64)})
            ->find("no m, n, k") != std::string::npos);
}

TEST_CASE("a case and its shape in words") {
  CHECK(title(gemm::gemm_case("cuda:0", DataType::fp64, Space::global)) == "gemm cuda:0 fma fp64");
  CHECK(title(gemm::gemm_case("cuda:0", DataType::fp64, Space::host)) == "gemm cuda:0 fma fp64 host");
  CHECK(title(gemm::gemm_case("host", DataType::fp32, Space::host)) == "gemm host fma fp32");
  CHECK(text_of(gemm::square(512, 4)) == "square 512, 4 panels");
  CHECK(text_of(gemm::square(512, 0)) == "square 512, panels as advised");
  Shape ragged = gemm::square(512);
  ragged.k = 3, ragged.blocks = 16;
  CHECK(text_of(ragged) == "m 512, n 512, k 3, 16 cores");
}

TEST_CASE("the lists of shapes: each once, and none is refused") {
  const std::uint32_t cores[] = {1, 2, 4};
  for (const Space space : {Space::global, Space::host}) {
    const ProbeCase c = gemm::gemm_case("sim:x", DataType::fp64, space);
    auto all = gemm::device_shapes({}, c);
    if (space == Space::host)
      for (const Shape& s : gemm::host_shapes(cores)) all.push_back(s);
    for (const Shape& s : all) CHECK(gemm::refuses(c, s).value_or("") == "");
  }
  for (const auto& list :
       {gemm::device_shapes({}, gemm::gemm_case("x", DataType::fp32, Space::global)),
        gemm::device_shapes({}, gemm::gemm_case("x", DataType::fp32, Space::host)), gemm::host_shapes(cores)})
    CHECK(std::set<Shape>(list.begin(), list.end()).size() == list.size());
  // A device of 512 MiB holds no three matrices of 8192 * 8192.
  for (const Shape& s :
       gemm::device_shapes({.memory_bytes = GiB / 2}, gemm::gemm_case("x", DataType::fp32, Space::global)))
    CHECK(s.n < 8000);
}

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

}  // namespace gemm_test
