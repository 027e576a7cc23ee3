#include <doctest/doctest.h>

#include "netpipe/model/transfers/perturbed_sizes.hpp"
#include "npgpu/measuring/runner.hpp"
#include "npgpu/model/statistics.hpp"
#include "tests/made_sweep.hpp"

namespace curve_test {

using namespace npgpu;

namespace {

// The sizes 1, 2, 4 .. 2^last, timed by `us`.
template <class Time> std::vector<TransferResult> octaves(int last, Time us) {
  std::vector<TransferResult> points;
  for (int k = 0; k <= last; ++k) {
    const auto bytes = std::uint64_t{1} << k;
    points.push_back(summary_of(bytes, us(static_cast<double>(bytes))));
  }
  return points;
}

bool says(const std::vector<std::string>& notes, const char* word) {
  for (const std::string& note : notes)
    if (note.find(word) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("a perfect line is found exactly: 5 us + bytes / (1000 bytes/us)") {
  const CurveFit fit = fit_curve(octaves(24, [](double b) { return 5 + b / 1000; }));
  CHECK(fit.latency_us.value == doctest::Approx(5));
  CHECK(fit.rate.value == doctest::Approx(1e9));
  CHECK(fit.worst_residual < 1e-9);
  CHECK(fit.latency_us.low == doctest::Approx(5));
  CHECK(fit.latency_us.high == doctest::Approx(5));
  CHECK(fit.rate.low == doctest::Approx(1e9));
  CHECK(fit.rate.high == doctest::Approx(1e9));
  CHECK(fit.best_bytes == 1U << 24);
  // n_1/2 of that line is 5 us * 1000 bytes/us.
  CHECK(fit.half_bytes == doctest::Approx(5000).epsilon(0.02));
  // 1 .. 512 bytes: 5 us + 1023/10 bytes at 1 ns each.
  CHECK(fit.small_us == doctest::Approx(5.1023));
  CHECK(fit.notes.empty());
}

TEST_CASE("residuals are relative, and the interval comes from leaving out one octave at a time") {
  // 1, 2 and 4 bytes in 3, 4 and 6.5 us. Every sum of the normal equations is divided by the squared time.
  const double t[] = {3, 4, 6.5};
  const double w[] = {1 / (t[0] * t[0]), 1 / (t[1] * t[1]), 1 / (t[2] * t[2])};
  const double s = w[0] + w[1] + w[2];
  const double sb = 1 * w[0] + 2 * w[1] + 4 * w[2];
  const double sbb = 1 * w[0] + 4 * w[1] + 16 * w[2];
  const double st = t[0] * w[0] + t[1] * w[1] + t[2] * w[2];
  const double sbt = 1 * t[0] * w[0] + 2 * t[1] * w[1] + 4 * t[2] * w[2];
  const double t0 = (st * sbb - sbt * sb) / (s * sbb - sb * sb);
  const double g = (sbt - sb * t0) / sbb;

  const CurveFit fit = fit_curve(std::vector{summary_of(1, 3), summary_of(2, 4), summary_of(4, 6.5)});
  CHECK(fit.latency_us.value == doctest::Approx(t0));
  CHECK(fit.rate.value == doctest::Approx(1e6 / g));
  double worst = 0;
  for (const int i : {0, 1, 2}) worst = std::max(worst, std::abs((t0 + (1 << i) * g) / t[i] - 1));
  CHECK(fit.worst_residual == doctest::Approx(worst));

  // Without the first octave the line through the others is 1.5 us + 1.25 us a byte, without the second 11/6 + 7/6,
  // without the third 2 + 1. So t0 in sixths is 9, 11, 12: mean 32/3, squares (25 + 1 + 16)/9. And g in twelfths
  // is 15, 14, 12: mean 41/3, squares (16 + 1 + 25)/9. Student's t with 2 degrees of freedom is 4.3027.
  const double half_t0 = 4.302653 * std::sqrt(2.0 / 3 * (42.0 / 9)) / 6;
  const double half_g = 4.302653 * std::sqrt(2.0 / 3 * (42.0 / 9)) / 12;
  CHECK(fit.latency_us.low == doctest::Approx(t0 - half_t0));
  CHECK(fit.latency_us.high == doctest::Approx(t0 + half_t0));
  CHECK(fit.rate.low == doctest::Approx(1e6 / (g + half_g)));
  CHECK(fit.rate.high == doctest::Approx(1e6 / (g - half_g)));
}

TEST_CASE("an interval of a latency does not reach below zero") {
  // 1, 2 and 4 bytes in 2, 3 and 6 us: the normal equations, times 36 and 12, are 14 t0 + 21 g = 36 and
  // 7 t0 + 41/3 g = 22. So t0 is 90/133, and what leaving out an octave does to it is three times as wide.
  const CurveFit fit = fit_curve(std::vector{summary_of(1, 2), summary_of(2, 3), summary_of(4, 6)});
  CHECK(fit.latency_us.value == doctest::Approx(90.0 / 133));
  CHECK(fit.latency_us.low == 0);
  CHECK(fit.latency_us.high > 2 * fit.latency_us.value);
}

TEST_CASE("the interval does not shrink because each size was measured three times") {
  std::vector<TransferResult> once, thrice;
  for (int k = 0; k < 20; ++k) {
    const auto bytes = std::uint64_t{1} << k;
    // 20 % off in turn: a line met badly
    const double us = (5 + static_cast<double>(bytes) / 1000) * (k % 2 ? 1.2 : 1);
    once.push_back(summary_of(bytes, us));
    for (int i = 0; i < 3; ++i) thrice.push_back(summary_of(bytes, us));
  }
  CHECK(fit_curve(thrice).latency_us.high == doctest::Approx(fit_curve(once).latency_us.high));
  CHECK(fit_curve(thrice).rate.low == doctest::Approx(fit_curve(once).rate.low));
}

TEST_CASE("nothing measured") {
  const CurveFit fit = fit_curve({});
  CHECK(std::isnan(fit.latency_us.value));
  CHECK(std::isnan(fit.rate.value));
  CHECK(std::isnan(fit.best_rate));
  CHECK(std::isnan(fit.half_bytes));
  CHECK(std::isnan(fit.knee_bytes));
  CHECK(std::isnan(fit.small_us));
  CHECK(fit.latency_us.method == "nothing measured");
  TransferResult empty;
  empty.axes.bytes = 8;
  TransferResult timeless = summary_of(16, 1);
  timeless.time_us.value = 0;
  timeless.rate.value = not_measured;
  CHECK(fit_curve(std::vector{empty, timeless}).latency_us.method == "nothing measured");
}

TEST_CASE("one size has a best rate and nothing else") {
  const CurveFit fit = fit_curve(std::vector{summary_of(1000, 2)});
  CHECK(fit.best_rate == doctest::Approx(500e6));
  CHECK(fit.best_bytes == 1000);
  CHECK(std::isnan(fit.latency_us.value));
  CHECK(std::isnan(fit.rate.value));
  CHECK(std::isnan(fit.worst_residual));
  CHECK(std::isnan(fit.half_bytes));
  CHECK(std::isnan(fit.knee_bytes));
  CHECK(std::isnan(fit.small_us));
  CHECK(fit.rate.method == "one size was measured: latency and rate need two");
  CHECK(says(fit.notes, "no n_1/2: it takes three sizes"));
}

TEST_CASE("two sizes give the line through them, without an interval and without praise for meeting it") {
  const CurveFit fit = fit_curve(std::vector{summary_of(1000, 2), summary_of(3000, 4)});
  CHECK(fit.latency_us.value == doctest::Approx(1));
  CHECK(fit.rate.value == doctest::Approx(1e9));
  CHECK(std::isnan(fit.latency_us.low));
  CHECK(std::isnan(fit.rate.high));
  CHECK(std::isnan(fit.worst_residual));
  CHECK(fit.rate.method.find("no interval") != std::string::npos);
  // 3000 bytes at 1 ns are more than the 1 us of latency.
  CHECK(std::isnan(fit.small_us));
  CHECK(says(fit.notes, "no latency of the smallest sizes: at 3000 bytes"));
  CHECK(says(fit.notes, "no knee: it takes three sizes"));
}

TEST_CASE("times that are all equal: all latency, and no rate rather than an infinite one") {
  const CurveFit fit = fit_curve(octaves(12, [](double) { return 7.0; }));
  CHECK(fit.latency_us.value == doctest::Approx(7));
  CHECK(fit.latency_us.low == doctest::Approx(7));
  CHECK(std::isnan(fit.rate.value));
  CHECK(fit.rate.method == "the time does not grow with the size");
  CHECK(fit.small_us == doctest::Approx(7));
  CHECK(fit.worst_residual < 1e-9);
}

TEST_CASE("times that fall with the size give no negative rate") {
  const CurveFit fit = fit_curve(octaves(12, [](double b) { return 7 - b / 4096; }));
  CHECK(std::isnan(fit.rate.value));
  CHECK(fit.rate.method == "the time does not grow with the size");
  CHECK(fit.latency_us.value > 6);
  CHECK(fit.latency_us.value < 7);
}

TEST_CASE("a slope that one octave can undo is not resolved") {
  // Flat but for the largest size.
  auto points = octaves(12, [](double) { return 7.0; });
  points.back() = summary_of(4096, 7.5);
  const CurveFit fit = fit_curve(points);
  CHECK(std::isnan(fit.rate.value));
  CHECK(fit.rate.method.starts_with("not resolved"));
  CHECK(fit.latency_us.value == doctest::Approx(7).epsilon(0.01));
}

TEST_CASE("a negative latency is no latency: NaN, the number in the reason, and the line put through zero") {
  // A cache that small copies fit in: 1 ns a byte up to 1 MiB, 2 ns past it.
  std::vector<TransferResult> points;
  for (const std::uint64_t kib : {256, 512, 1024, 2048, 4096, 8192})
    points.push_back(summary_of(kib * KiB, static_cast<double>(kib * KiB) / (kib > 1024 ? 500 : 1000)));
  const CurveFit fit = fit_curve(points);
  CHECK(std::isnan(fit.latency_us.value));
  CHECK(std::isnan(fit.latency_us.low));
  CHECK(fit.latency_us.method.starts_with("the fitted line meets zero bytes at -"));
  // Through zero, x = us a byte: sum of (x/1 - 1) * 1/1 three times and (x/2 - 1) * 1/2 three times is zero,
  // so x (1 + 1/4) = 1 + 1/2 and x = 1.2 ns.
  CHECK(fit.rate.value == doctest::Approx(1e9 / 1.2));
  CHECK(fit.worst_residual == doctest::Approx(0.4));  // 1.2/2 - 1
  CHECK(std::isnan(fit.small_us));
}

TEST_CASE("a sum of two lanes moves twice its size: the fit's rate counts both, as its best rate does") {
  auto points = octaves(24, [](double b) { return 5 + b / 1000; });
  for (TransferResult& p : points) p.rate.value *= 2;
  const CurveFit fit = fit_curve(points);
  CHECK(fit.rate.value == doctest::Approx(2e9));
  CHECK(fit.latency_us.value == doctest::Approx(5));
  CHECK(fit.half_bytes == doctest::Approx(5000).epsilon(0.02));  // in bytes of one copy
}

TEST_CASE("n_1/2 is interpolated over log2 of the size, where the curve first reaches half") {
  // 10, 30, 100, 20, 100 MB/s: half of the best is 50, between 4 (30) and 8 bytes (100), 2/7 of the way.
  const CurveFit fit = fit_curve(std::vector{summary_of(2, 0.2), summary_of(4, 4.0 / 30), summary_of(8, 0.08),
                                             summary_of(16, 0.8), summary_of(32, 0.32)});
  CHECK(fit.best_rate == doctest::Approx(100e6));
  CHECK(fit.best_bytes == 8);
  CHECK(fit.half_bytes == doctest::Approx(std::exp2(2 + 2.0 / 7)));
}

TEST_CASE("two sizes give no n_1/2, however far apart they are") {
  const CurveFit fit = fit_curve(std::vector{summary_of(8, 5), summary_of(MiB, 25)});
  CHECK(std::isnan(fit.half_bytes));
  CHECK(says(fit.notes, "no n_1/2: it takes three sizes"));
}

TEST_CASE("where the rate falls again that is said, with how far") {
  const CurveFit fit = fit_curve(
      std::vector{summary_of(8, 2), summary_of(KiB, 2.1), summary_of(MiB, 500), summary_of(2 * MiB, 2 * 500 / 0.74)});
  CHECK(fit.falls_by == doctest::Approx(0.26));
  CHECK(says(fit.notes, "the rate falls beyond 1048576 bytes: at 2097152 it is 26 % lower"));
  CHECK_FALSE(says(fit_curve(std::vector{summary_of(8, 2), summary_of(KiB, 2.1)}).notes, "falls"));
}

TEST_CASE("the smallest size has a latency although most of the ten smallest are transfers") {
  const CurveFit fit = fit_curve(std::vector{summary_of(8, 2), summary_of(MiB, 100), summary_of(16 * MiB, 1600)});
  CHECK(fit.small_us == doctest::Approx(2));
  CHECK(says(fit.notes, "latency of the 1 smallest size"));
}

TEST_CASE("a sweep that starts past n_1/2 does not show it") {
  const CurveFit fit = fit_curve(std::vector{summary_of(1000, 1), summary_of(2000, 1.5), summary_of(4000, 2.5)});
  CHECK(std::isnan(fit.half_bytes));
  CHECK(says(fit.notes, "no n_1/2"));
}

TEST_CASE("the knee stands farthest above the chord") {
  // 100, 500, 800, 900, 900 MB/s at 1, 2, 4, 8, 16 bytes: of 0..1, 0, 1/2, 7/8, 1, 1 less 0, 1/4, 1/2, 3/4, 1.
  const CurveFit fit =
      fit_curve(std::vector{summary_of(1, 1 / 100.0), summary_of(2, 2 / 500.0), summary_of(4, 4 / 800.0),
                            summary_of(8, 8 / 900.0), summary_of(16, 16 / 900.0)});
  CHECK(fit.knee_bytes == 4);
}

TEST_CASE("no knee on a straight line, a falling curve or one that only takes off") {
  const auto knee_of = [](std::initializer_list<double> mb_per_s) {
    std::vector<TransferResult> points;
    std::uint64_t bytes = 1;
    for (const double rate : mb_per_s) {
      points.push_back(summary_of(bytes, static_cast<double>(bytes) / rate));
      bytes *= 2;
    }
    return fit_curve(points);
  };
  for (const CurveFit& fit : {knee_of({100, 200, 300, 400}), knee_of({100, 110, 130, 400}), knee_of({100, 209, 300})}) {
    CHECK(std::isnan(fit.knee_bytes));
    CHECK(says(fit.notes, "does not level off"));
  }
  for (const CurveFit& fit : {knee_of({400, 300, 100}), knee_of({400, 400, 400})}) {
    CHECK(std::isnan(fit.knee_bytes));
    CHECK(says(fit.notes, "does not rise"));
  }
}

TEST_CASE("the latency of the smallest sizes is the mean of ten, whatever order the points come in") {
  // 1 .. 12 us at 1 .. 12 bytes would be no latency; 100.1 .. 101.2 us is.
  std::vector<TransferResult> points;
  for (int i = 12; i >= 1; --i) points.push_back(summary_of(static_cast<std::uint64_t>(i), 100 + i / 10.0));
  CHECK(fit_curve(points).small_us == doctest::Approx(100.55));
}

TEST_CASE("the neighbours of a default sweep are folded into their centres, and nothing else") {
  const auto sizes = sweep_sizes(1, 8388608, 3);
  const PerturbedSizes folding = perturbed_sizes_of(sizes);
  CHECK(folding.perturbation == 3);
  for (const std::uint64_t n : {13, 19, 21, 27, 8388605, 8388611}) CHECK(folding.folds(n));
  for (const std::uint64_t n : {1, 2, 3, 4, 6, 8, 12, 16, 24, 8388608}) CHECK_FALSE(folding.folds(n));
  CHECK(folding.behind.at(16) == std::vector<std::uint64_t>{13, 19});
}

TEST_CASE("sizes that no perturbation explains stay: an odd start is shown") {
  const PerturbedSizes folding = perturbed_sizes_of(sweep_sizes(1000, 1 << 20, 3));
  CHECK(folding.perturbation == 3);
  CHECK_FALSE(folding.folds(1000));
  CHECK(folding.folds(1021));
}

TEST_CASE("other perturbations are found, a wide one too") {
  // At 16 and 24 the neighbours +-6 of one lie nearer to the other: they are the minority.
  const auto sizes = sweep_sizes(1, 1 << 20, 6);
  const PerturbedSizes folding = perturbed_sizes_of(sizes);
  CHECK(folding.perturbation == 6);
  CHECK(folding.folds(22));
}

TEST_CASE("without neighbours nothing is folded") {
  CHECK(perturbed_sizes_of(sweep_sizes(1, 1 << 20, 0)).perturbation == 0);
  CHECK(perturbed_sizes_of({}).perturbation == 0);
  const std::vector<std::uint64_t> odd{1000, 2000, 3000};
  CHECK(perturbed_sizes_of(odd).perturbation == 0);
  const std::vector<std::uint64_t> one{1000, 1024};  // one distance is no rule
  CHECK(perturbed_sizes_of(one).perturbation == 0);
}

}  // namespace curve_test
