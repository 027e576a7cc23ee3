// Texts, and files in the form of NetPIPE.
#include "netpipe/report/format.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <sstream>

#include "netpipe/engine/algorithms.hpp"
#include "npgpu/report/report.hpp"
#include "tests/made_sweep.hpp"

namespace format_test {

using namespace npgpu;

TEST_CASE("sizes are exact, in the largest unit that shows them so") {
  CHECK(size_text(0) == "0 B");
  CHECK(size_text(1) == "1 B");
  CHECK(size_text(1000) == "1000 B");
  CHECK(size_text(1023) == "1023 B");
  CHECK(size_text(1024) == "1 KiB");
  CHECK(size_text(1280) == "1.25 KiB");
  CHECK(size_text(1536) == "1.5 KiB");
  CHECK(size_text(1792) == "1.75 KiB");
  CHECK(size_text(1537) == "1537 B");
  CHECK(size_text(4093) == "4093 B");
  CHECK(size_text(1500 * KiB) == "1500 KiB");
  CHECK(size_text(64'000'000) == "64 MB");
  CHECK(size_text(2'000'000'000) == "2 GB");
  CHECK(size_text(192 * MiB) == "192 MiB");
  CHECK(size_text(192 * MiB + 3) == "201326595 B");
  CHECK(size_text(std::uint64_t{5} << 40) == "5 TiB");
  CHECK(size_text(UINT64_MAX) == "18446744073709551615 B");
}

TEST_CASE("rates and times have four significant digits in the unit that suits them") {
  CHECK(rate_text(55.4e9) == "55.40 GB/s");
  CHECK(rate_text(2093e9) == "2093 GB/s");
  CHECK(rate_text(999.97e6) == "1.000 GB/s");
  CHECK(rate_text(195312.5) == "195.3 kB/s");
  CHECK(rate_text(5) == "5.000 B/s");
  CHECK(rate_text(not_measured) == "-");
  CHECK(rate_text(INFINITY) == "-");
  CHECK(time_text(5.12) == "5.120 us");
  CHECK(time_text(1030) == "1.030 ms");
  CHECK(time_text(2.5e6) == "2.500 s");
  CHECK(time_text(0.0021) == "2.100 ns");
  CHECK(time_text(0) == "0 ns");
  CHECK(time_text(not_measured) == "-");
}

TEST_CASE("digits never take an exponent, and round into the next one properly") {
  CHECK(digits_text(0.0001953125) == "0.0001953");
  CHECK(digits_text(9.9996) == "10.00");
  CHECK(digits_text(34628.4) == "34628");
  CHECK(digits_text(-0.5) == "-0.5000");
  CHECK(digits_text(0) == "0");
  CHECK(digits_text(1e-12) == "0.0000000");
  CHECK(digits_text(not_measured) == "-");
}

TEST_CASE("a size that is a result is rounded") {
  CHECK(about_size_text(283.49 * 1024) == "283 KiB");
  CHECK(about_size_text(1023.9 * 1024) == "1 MiB");
  CHECK(about_size_text(1019.6 * 1024) == "1020 KiB");
  CHECK(about_size_text(1023) == "1023 B");
  CHECK(about_size_text(4.0 * 1024 * 1024) == "4 MiB");
  CHECK(about_size_text(17.25) == "17.2 B");
  CHECK(about_size_text(1010.3 * 1024) == "1010 KiB");
  CHECK(about_size_text(not_measured) == "-");
}

TEST_CASE("a size that a user typed is echoed in the unit that makes it shortest") {
  CHECK(typed_size_text(64'000'000) == "64 MB");
  CHECK(typed_size_text(2'000'000'000) == "2 GB");
  CHECK(typed_size_text(64 * MiB) == "64 MiB");
  CHECK(typed_size_text(62500 * KiB + 1024) == "62501 KiB");
  CHECK(typed_size_text(1500) == "1.5 kB");
  CHECK(typed_size_text(1536) == "1.5 KiB");
  CHECK(typed_size_text(128'000) == "125 KiB");  // as short as 128 kB
  CHECK(typed_size_text(62'914'561) == "62914561 B");
  CHECK(typed_size_text(0) == "0 B");
}

TEST_CASE("an interval is shown relative to its value, or not at all") {
  CHECK(interval_text({200, 199, 202, "", ""}) == "-0.5 +1.0 %");
  CHECK(interval_text({200, not_measured, not_measured, "", ""}) == "-");
  CHECK(interval_text({}) == "-");
  CHECK(range_text({200, 199, 202, "", ""}, 0.001) == "0.1990 .. 0.2020");
}

TEST_CASE("percentages show the small ones") {
  CHECK(percent_text(88.04) == "88.0");
  CHECK(percent_text(0.044) == "0.04");
  CHECK(percent_text(9.996) == "10.0");
  CHECK(percent_text(not_measured) == "-");
}

TEST_CASE("figures that nothing has are written short, and what is none is a dash") {
  CHECK(rate_text(1e300) == "1.000e+291 GB/s");
  CHECK(rate_text(-1e300) == "-1.000e+291 GB/s");
  CHECK(digits_text(1.7e308) == "1.700e+308");
  CHECK(digits_text(5e-324, 4) == "0.0000000");
  CHECK(about_size_text(1e300) == "9.09e+287 TiB");
  CHECK(percent_text(1e200) == "1e+200");
  for (const double none : {HUGE_VAL, -HUGE_VAL, std::nan("")}) {
    CHECK(rate_text(none) == "-");
    CHECK(time_text(none) == "-");
    CHECK(about_size_text(none) == "-");
    CHECK(percent_text(none) == "-");
  }
}

TEST_CASE("a whole number of a figure that is out of range is the nearest there is") {
  CHECK(saturated<std::size_t>(3.9) == 3);
  CHECK(saturated<std::size_t>(-3.9) == 0);
  CHECK(saturated<std::size_t>(1e300) == SIZE_MAX);
  CHECK(saturated<std::size_t>(18446744073709551616.0) == SIZE_MAX);
  CHECK(saturated<long>(-HUGE_VAL) == std::numeric_limits<long>::min());
  CHECK(saturated<long>(std::nan("")) == 0);
  CHECK(saturated<std::uint32_t>(4294967295.0) == UINT32_MAX);
}

namespace {
std::string npout(const TransferSeries& sweep, int pairs = 1) {
  std::ostringstream out;
  export_npout(out, sweep, pairs);
  return out.str();
}
}  // namespace

TEST_CASE("five columns by hand: 1000 bytes in 1, 2 and 3 us are 4 Gbit/s in the average time, 2.667 .. 8") {
  TransferSeries sweep = sweep_of();
  add_point(sweep, 1000, {1, 3, 2});
  //                        bytes       avg       min       max      us
  CHECK(npout(sweep) == "     1000     4.000     2.667     8.000    2.00\n");
}

TEST_CASE("rates of two pairs are twice that of one, at the same size and time") {
  TransferSeries sweep = sweep_of();
  add_point(sweep, 1000, {1, 3, 2});
  CHECK(npout(sweep, 2) == "     1000     8.000     5.333    16.000    2.00\n");
}

TEST_CASE("the average is of the times: 1 and 3 us average to 2, not their bandwidths") {
  TransferSeries sweep = sweep_of();
  add_point(sweep, 1000, {1, 3, 8});  // mean 4 us; the median is 3
  CHECK(npout(sweep) == "     1000     2.000     1.000     8.000    4.00\n");
}

TEST_CASE("times below a microsecond are not clamped to one") {
  TransferSeries sweep = sweep_of();
  add_point(sweep, 1000, {0.25});
  CHECK(npout(sweep) == "     1000    32.000    32.000    32.000    0.25\n");
}

TEST_CASE("a round trip is halved, and both directions at once count the bytes of both") {
  TransferSeries pingpong = sweep_of(Pattern::pingpong);
  add_point(pingpong, 1000, {4});
  CHECK(npout(pingpong) == "     1000     4.000     4.000     4.000    2.00\n");
  TransferSeries duplex = sweep_of(Pattern::duplex);
  add_duplex(duplex, 1000, {1}, {2});
  CHECK(npout(duplex) == "     2000     8.000     8.000     8.000    2.00\n");
}

TEST_CASE("what npplot needs: no header, five numbers a line, sizes that go up and can be drawn on a log axis") {
  TransferSeries sweep = sweep_of();
  for (std::uint64_t n : {16, 1, 3, 1 << 20}) add_point(sweep, n, {static_cast<double>(n) / 1000 + 5});
  add_point(sweep, 32, {NAN});  // no time
  add_point(sweep, 64, {0});    // no rate
  add_point(sweep, 192 * MiB, {3.5e3});
  std::istringstream in(npout(sweep));
  std::string line;
  double last = 0;
  int lines = 0;
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    double bytes = 0, average = 0, least = 0, most = 0, us = 0;
    REQUIRE((fields >> bytes >> average >> least >> most >> us));
    std::string more;
    CHECK_FALSE((fields >> more));
    CHECK(bytes > last);
    CHECK(us > 0);
    CHECK(least <= average);
    CHECK(average <= most);
    last = bytes;
    ++lines;
  }
  CHECK(lines == 5);
}

TEST_CASE("columns widen for numbers that need it, and stay apart") {
  TransferSeries sweep = sweep_of();
  add_point(sweep, 12345678901, {1e7});
  CHECK(npout(sweep) == "12345678901     9.877     9.877     9.877 10000000.00\n");
}

}  // namespace format_test
