// Products of matrices without a GPU: elements that are known, panels, advice, shapes.
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

namespace {

// The product by its definition, of matrices as they lie in memory.
template <class Real>
std::vector<Real> multiplied(const gemm::Elements& e, std::uint32_t m, std::uint32_t n, Ops ops = Ops::nn) {
  const std::uint32_t k = e.k;
  std::vector<Real> a(std::size_t{m} * k), b(std::size_t{k} * n), c(std::size_t{m} * n);
  gemm::fill_left(a.data(), e, m, transposes_a(ops));
  gemm::fill_right(b.data(), e, n, transposes_b(ops));
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t l = 0; l < k; ++l)
      for (std::size_t i = 0; i < m; ++i)
        c[j * m + i] +=
            (transposes_a(ops) ? a[i * k + l] : a[l * m + i]) * (transposes_b(ops) ? b[l * n + j] : b[j * k + l]);
  return c;
}
template <class Real> std::vector<Real> multiplied(std::uint32_t m, std::uint32_t n, std::uint32_t k) {
  return multiplied<Real>(gemm::Elements{k}, m, n);
}

// As arithmetic with fewer binary digits has them: the rest is cut off.
float cut(float value, int digits) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  bits &= ~0u << (24 - digits);
  std::memcpy(&value, &bits, sizeof bits);
  return value;
}

}  // namespace

TEST_CASE("every element of the product is known: as the definition has it, for sizes of every kind") {
  for (const auto& [m, n, k] : std::vector<std::array<std::uint32_t, 3>>{
           {1, 1, 1}, {1, 1, 2}, {3, 5, 2}, {64, 64, 64}, {65, 63, 129}, {130, 7, 63}, {7, 130, 65}, {200, 70, 1}}) {
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    CHECK(gemm::wrong_element(multiplied<float>(m, n, k).data(), m, n, {k}).value_or("") == "");
    CHECK(gemm::wrong_element(multiplied<double>(m, n, k).data(), m, n, {k}).value_or("") == "");
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
  CHECK(gemm::wrong_element(c.data(), m, n, {k})->rfind("element 3, 7 of C is ", 0) == 0);
  c = right;
  std::swap_ranges(c.begin(), c.begin() + m * 64, c.begin() + m * 64);  // two panels, of the period's width
  CHECK(gemm::wrong_element(c.data(), m, n, {k}).has_value());
  c = right;
  for (std::uint32_t j = 0; j < n; ++j) std::swap(c[j * m + 1], c[j * m + 65]);  // a period apart
  CHECK(gemm::wrong_element(c.data(), m, n, {k}).has_value());
  c = right;
  c.back() = NAN;
  CHECK(gemm::wrong_element(c.data(), m, n, {k})->find("is nan, not") != std::string::npos);
  CHECK(gemm::wrong_element(right.data(), m, n, {k + 64}).has_value());
}

TEST_CASE("arithmetic with fewer digits is found: TF32 has 11, BF16 has 8; 12 are enough") {
  constexpr std::uint32_t m = 33, n = 40, k = 50;
  std::vector<float> a(m * k), b(k * n);
  const auto with = [&](int digits) {
    gemm::fill_left(a.data(), {k}, m);
    gemm::fill_right(b.data(), {k}, n);
    std::vector<float> c(m * n);
    for (std::uint32_t j = 0; j < n; ++j)
      for (std::uint32_t l = 0; l < k; ++l)
        for (std::uint32_t i = 0; i < m; ++i) c[j * m + i] += cut(a[l * m + i], digits) * cut(b[j * k + l], digits);
    return gemm::wrong_element(c.data(), m, n, {k});
  };
  CHECK_FALSE(with(12));
  CHECK(with(11).has_value());
  CHECK(with(8).has_value());
}

TEST_CASE("operands of both signs: every element is known, sums stay small, zeros are zeros, digits fit the type") {
  for (const auto& [type, operands, most] : {std::tuple{DataType::fp16, Operands::usual, 4},
                                             {DataType::fp16, Operands::random, 256},
                                             {DataType::fp8, Operands::random, 16},
                                             {DataType::int8, Operands::random, 127},
                                             {DataType::tf32, Operands::random, 1024},
                                             {DataType::fp64, Operands::random, 4096},
                                             {DataType::fp32, Operands::zeros, 0}})
    for (const std::uint32_t k : {1u, 7u, 64u, 100u, 512u}) {
      const gemm::Elements e = gemm::elements_of(type, operands, k);
      const std::uint32_t m = 70, n = 130;
      CAPTURE(k);
      CHECK(gemm::wrong_element(multiplied<double>(e, m, n).data(), m, n, e).value_or("") == "");
      std::int32_t found = 0;
      for (std::uint32_t row = 0; row < m; ++row)
        for (std::uint32_t column = 0; column < n; ++column) {
          found = std::max({found, std::abs(e.left(row, column % k)), std::abs(e.right(row % k, column))});
          REQUIRE(std::abs(e.left(row, column % k)) <= most);
          REQUIRE(std::abs(e.right(row % k, column)) <= most);
          // Eight by eight along k, as exact sums need it, and halves of an eight on the way.
          double sum = 0, largest = 0;
          for (std::uint32_t l = 0; l < k; ++l) {
            sum += e.left(row, l) * e.right(l, column);
            largest = std::max(largest, std::abs(sum));
          }
          REQUIRE(largest <= gemm::largest_sum(e));
        }
      CHECK(found >= most / 2);
    }
}

TEST_CASE("transposed matrices hold the same elements, another way round") {
  constexpr std::uint32_t m = 5, n = 7, k = 9;
  const gemm::Elements e{k};
  for (const Ops ops : {Ops::nn, Ops::nt, Ops::tn, Ops::tt})
    CHECK(gemm::wrong_element(multiplied<float>(e, m, n, ops).data(), m, n, e).value_or("") == "");
  std::vector<float> plain(m * k), transposed(m * k);
  gemm::fill_left(plain.data(), e, m);
  gemm::fill_left(transposed.data(), e, m, true);
  for (std::uint32_t i = 0; i < m; ++i)
    for (std::uint32_t l = 0; l < k; ++l) CHECK(plain[l * m + i] == transposed[i * k + l]);
  CHECK(plain != transposed);  // whoever does not transpose is found
}

TEST_CASE("what C becomes by alpha and beta: as the definition has it, never what it was, and never far from it") {
  for (const std::int32_t beta : {-1, 0, 1})
    for (const std::int32_t alpha : {1, -2, 3})
      for (const std::uint64_t repeats : {1u, 2u, 3u, 4u, 9u, 10u}) {
        const gemm::Update update{alpha, beta, repeats};
        const std::int64_t product = 1000, first = 17;
        std::int64_t c = first, most = 0;
        for (std::uint64_t i = 0; i < repeats; ++i) {
          c = update.sign(i) * alpha * product + beta * c;
          most = std::max(most, std::abs(c));
        }
        CAPTURE(repeats);
        CAPTURE(alpha);
        CAPTURE(beta);
        CHECK(c == update.of(product, first));
        CHECK(std::abs(c - first) > 900);
        CHECK(most <= 2 * std::abs(alpha) * product + first);
        if (beta) CHECK(update.of(product, first) != update.of(product, first + 1));  // C was read
      }
  // Found where C was not read, or alpha not applied.
  constexpr std::uint32_t m = 6, n = 4, k = 5;
  const auto product = multiplied<double>(m, n, k);
  CHECK(gemm::wrong_element(product.data(), m, n, {k}, {1, 1, 1}).has_value());
  CHECK(gemm::wrong_element(product.data(), m, n, {k}, {2, 0, 1}).has_value());
  CHECK_FALSE(gemm::wrong_element(product.data(), m, n, {k}, {1, 0, 7}));
}

TEST_CASE("fp32 holds every sum exactly up to the largest k that is taken") {
  const ProbeCase c = gemm::gemm_case("sim:x", DataType::fp32, Space::global);
  const auto most_k = [&](std::int32_t alpha, std::int32_t beta) {
    std::uint32_t least = 1, most = 1u << 30;  // that is taken, and not
    while (most - least > 1) {
      Shape s = gemm::square(64);
      s.k = least + (most - least) / 2, s.alpha = alpha, s.beta = beta;
      (gemm::refuses(c, s) ? most : least) = s.k;
    }
    return least;
  };
  CHECK(std::uint64_t{49} * most_k(1, 0) + 2 * 7 * 4095 < 1u << 24);
  CHECK(most_k(1, 0) > 300000);
  CHECK(2 * 3 * (std::uint64_t{49} * most_k(-3, 1) + 2 * 7 * 4095) + gemm::most_of_c < 1u << 24);
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
  const auto advise_columns = [](const ProbeStep& alone) { return alone.axes.panels * 10 + alone.axes.host_columns; };
  CHECK(gemm::settled(step, {}, advise, advise_columns).axes.panels == 5);
  const Shape known[] = {gemm::square(512, 8), gemm::square(1024, 1), gemm::square(1024, 16)};
  CHECK(gemm::settled(step, known, advise, advise_columns).axes.panels == 16);
  step.axes.panels = 2;
  CHECK(gemm::settled(step, known, advise, advise_columns).axes.panels == 2);
}

TEST_CASE("the host's columns: both end at once, as 64 divides them, and once settled they stay") {
  const Shape s = gemm::square(4096);
  // The GPU takes 2 + 8 s, of which 2 whatever it computes; the host 40: 2 + 8 (1 - x) = 40 x, x = 10/48.
  CHECK(gemm::advised_host_columns(s, Seconds{10}, Seconds{2}, Seconds{40}) == 4096 * 10 / 48 / 64 * 64);
  CHECK(gemm::advised_host_columns(s, Seconds{1}, Seconds{0}, Seconds{1000}) == 4);
  CHECK(gemm::advised_host_columns(s, Seconds{1}, Seconds{0}, Seconds{1e6}) == 0);
  CHECK(gemm::advised_host_columns(gemm::square(64), Seconds{10}, Seconds{10}, Seconds{1}) == 63);
  ProbeStep step{gemm::gemm_case("x", DataType::fp32, Space::host), gemm::square(1024, 0)};
  step.axes.host_columns = Shape::as_advised;
  const auto advise = [](const ProbeStep&) { return 4u; };
  const auto advise_columns = [](const ProbeStep& alone) { return alone.axes.panels * 10; };
  const ProbeStep settled = gemm::settled(step, {}, advise, advise_columns);
  CHECK(settled.axes.panels == 4);
  CHECK(settled.axes.host_columns == 40);
  Shape known = gemm::square(1024, 8);
  known.host_columns = 128;
  CHECK(gemm::settled(step, {&known, 1}, advise, advise_columns).axes == known);
  CHECK(gemm::settled({step.question, gemm::square(1024, 0)}, {&known, 1}, advise, advise_columns).axes ==
        gemm::square(1024, 4));  // what is shared says nothing of the device alone
  known.beta = 1;
  CHECK(gemm::settled(step, {&known, 1}, advise, advise_columns).axes.host_columns == 40);
  // Panels are those of the device's columns.
  known.beta = 0;
  CHECK(gemm::panel_of(known, 7).first + gemm::panel_of(known, 7).count == 1024 - 128);
  CHECK(gemm::host_columns(known).first == 1024 - 128);
}

TEST_CASE("what cannot be is refused, in words") {
  const ProbeCase on_gpu = gemm::gemm_case("sim:x", DataType::fp32, Space::global),
                  from_host = gemm::gemm_case("sim:x", DataType::fp32, Space::host);
  CHECK_FALSE(gemm::refuses(on_gpu, gemm::square(100)));
  CHECK_FALSE(gemm::refuses(from_host, gemm::square(100, 3)));
  CHECK(gemm::refuses(on_gpu, gemm::square(100, 3))->find("panels=1") != std::string::npos);
  CHECK(gemm::refuses(from_host, gemm::square(2, 3)) == "3 panels of 2 columns");
  for (const auto& change : std::vector<void (*)(Shape&)>{
           [](Shape& s) { s.m = 0; }, [](Shape& s) { s.k = 1000000; }, [](Shape& s) { s.n = 1u << 31; },
           [](Shape& s) { s.bytes = 1; }, [](Shape& s) { s.threads = 2; }, [](Shape& s) { s.ilp = 2; },
           [](Shape& s) { s.access_bytes = 4; }, [](Shape& s) { s.alpha = 0; }, [](Shape& s) { s.alpha = 9; },
           [](Shape& s) { s.beta = 2; }, [](Shape& s) { s.host_columns = 3; }}) {
    Shape s = gemm::square(64);
    change(s);
    CHECK(gemm::refuses(on_gpu, s).has_value());
  }
  Shape of_fp8 = gemm::square(64);
  const ProbeCase fp8 = gemm::tensor_cases("sim:x")[3];
  CHECK(gemm::refuses(fp8, of_fp8)->find("ops=tn") != std::string::npos);
  of_fp8.ops = Ops::tn;
  CHECK_FALSE(gemm::refuses(fp8, of_fp8));
  of_fp8.k = 72;
  CHECK(gemm::refuses(fp8, of_fp8)->find("16 divides") != std::string::npos);
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
  Shape other = gemm::square(512);
  other.ops = Ops::nt, other.alpha = -2, other.beta = 1, other.operands = Operands::zeros, other.host_columns = 64;
  CHECK(text_of(other) == "square 512, 64 columns by the host, ops nt, alpha -2, beta 1, operands zeros");
  Shape ragged = gemm::square(512);
  ragged.k = 3, ragged.blocks = 16;
  CHECK(text_of(ragged) == "m 512, n 512, k 3, 16 cores");
}

TEST_CASE("the lists of shapes: each once, and none is refused") {
  const std::uint32_t cores[] = {1, 2, 4};
  for (const Space space : {Space::global, Space::host}) {
    const ProbeCase c = gemm::gemm_case("sim:x", DataType::fp64, space);
    auto all = gemm::device_shapes(c, {});
    if (space == Space::host)
      for (const Shape& s : gemm::host_shapes(cores)) all.push_back(s);
    for (const Shape& s : all) CHECK(gemm::refuses(c, s).value_or("") == "");
  }
  for (const auto& list :
       {gemm::device_shapes(gemm::gemm_case("x", DataType::fp32, Space::global), {}),
        gemm::device_shapes(gemm::gemm_case("x", DataType::fp32, Space::host), {}), gemm::host_shapes(cores)})
    CHECK(std::set<Shape>(list.begin(), list.end()).size() == list.size());
  // A device of 512 MiB holds no three matrices of 8192 * 8192.
  for (const Shape& s :
       gemm::device_shapes(gemm::gemm_case("x", DataType::fp32, Space::global), {.memory_bytes = GiB / 2}))
    CHECK(s.n < 8000);
}

}  // namespace gemm_test
