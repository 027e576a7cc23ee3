// Rate classes by what divides the size: the paper's own table, made rates whose classes are known, and rates that have
// none.
#include "npgpu/classes.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <sstream>

namespace classes_test {

using namespace npgpu;

namespace {

using Rate = std::function<double(std::uint32_t divisor)>;

// Rates that grow with n, times what the divisor makes of them; `spread`: half of the interval, as a part.
std::vector<SizeRate> made(std::uint32_t first, std::uint32_t last, std::uint32_t step, const Rate& part,
                           double spread = 0.002) {
  std::vector<SizeRate> all;
  for (std::uint32_t n = first; n <= last; n += step) {
    const double wobble = 1 + spread * std::sin(n * 12.9898), growth = n / (n + 300.0);
    const double rate = 50e12 * growth * part(divisor_of(n)) * wobble;
    all.push_back({n, {rate, rate * (1 - spread), rate * (1 + spread), "", ""}});
  }
  return all;
}

std::string words(const RateClasses& found) {
  std::ostringstream text;
  for (const RateClass& c : found.classes) text << c.least << ".." << c.most << " ";
  return text.str();
}

}  // namespace

TEST_CASE("the largest power of two that divides n, up to 64") {
  CHECK(divisor_of(8128) == 64);
  CHECK(divisor_of(8192) == 64);
  CHECK(divisor_of(8160) == 32);
  CHECK(divisor_of(8144) == 16);
  CHECK(divisor_of(8136) == 8);
  CHECK(divisor_of(8129) == 1);
}

TEST_CASE("Table III of Allada et al. 2009: three classes of SGEMM, three of DGEMM, and not the same") {
  std::ifstream file(std::string(NPGPU_SOURCE_DIR) + "/data/papers/004_table3_gemm.csv");
  std::vector<SizeRate> single, twice;
  std::string line;
  while (std::getline(file, line)) {
    unsigned divisor = 0;
    double sgemm = 0, dgemm = 0;
    if (std::sscanf(line.c_str(), "%u,%lf,%lf", &divisor, &sgemm, &dgemm) != 3) continue;
    for (std::uint32_t n = 8128; n < 8192; n += 8)
      if (divisor_of(n) == divisor) {
        single.push_back({n, {sgemm * 1e9, not_measured, not_measured, "", ""}});
        twice.push_back({n, {dgemm * 1e9, not_measured, not_measured, "", ""}});
      }
  }
  REQUIRE(single.size() == 8);
  const RateClasses s = rate_classes(single), d = rate_classes(twice);
  CHECK(words(s) == "8..16 32..32 64..64 ");
  CHECK(s.classes[0].sizes == 6);
  CHECK(s.classes[0].rate == doctest::Approx(167.08e9).epsilon(0.003));
  CHECK(s.classes[1].relative.value == doctest::Approx(245.67 / 344.32));
  CHECK(s.classes[2].rate == doctest::Approx(344.32e9));
  CHECK(words(d) == "8..8 16..32 64..64 ");
  CHECK(d.classes[1].relative.value == doctest::Approx(62.11 / 69.96));
}

TEST_CASE("classes of a sweep whose rates grow with the size: those that were put in") {
  const RateClasses two = rate_classes(made(512, 2048, 8, [](auto d) { return d >= 16 ? 1 : 0.8; }));
  CHECK(words(two) == "8..8 16..64 ");
  CHECK(two.classes[0].relative.value == doctest::Approx(0.8).epsilon(0.005));
  CHECK(two.classes[0].sizes == 96);
  CHECK(two.left_out == 0);
  const RateClasses all = rate_classes(made(1024, 1280, 1, [](auto d) { return 0.4 + 0.1 * std::log2(d); }));
  CHECK(words(all) == "1..1 2..2 4..4 8..8 16..16 32..32 64..64 ");
  CHECK(all.classes[1].relative.value == doctest::Approx(0.5).epsilon(0.01));
}

TEST_CASE("where nothing differs there is one class, also where the sizes scatter more than 2 %") {
  CHECK(words(rate_classes(made(512, 2048, 8, [](auto) { return 1; }))) == "8..64 ");
  CHECK(words(rate_classes(made(
            512, 2048, 8, [](auto) { return 1; }, 0.05))) == "8..64 ");
  // 1 % is nothing, however sure it is.
  CHECK(words(rate_classes(made(
            512, 2048, 8, [](auto d) { return d > 8 ? 1 : 0.99; }, 1e-5))) == "8..64 ");
  // 3 % is a class where it is sure, and none where intervals touch.
  CHECK(words(rate_classes(made(
            1024, 1088, 8, [](auto d) { return d > 8 ? 1 : 0.97; }, 1e-4))) == "8..8 16..64 ");
  CHECK(words(rate_classes(made(
            1024, 1088, 32, [](auto d) { return d > 32 ? 1 : 0.97; }, 0.04))) == "32..64 ");
}

TEST_CASE("a size is compared with neighbours within 64 only") {
  const RateClasses some = rate_classes(made(1000, 1020, 4, [](auto) { return 1; }));
  CHECK(some.classes.empty());
  CHECK(some.left_out == 6);
  const RateClasses one_side = rate_classes(made(
      1024, 1080, 8, [](auto) { return 1; }, 1e-4));
  CHECK(one_side.left_out == 0);
  CHECK(rate_classes({}).classes.empty());
}

}  // namespace classes_test
