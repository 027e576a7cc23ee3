#include <doctest/doctest.h>

#include <sstream>

#include "npgpu/report.hpp"
#include "tests/made_sweep.hpp"

namespace npout_test {

using namespace npgpu;

namespace {
std::string npout(const TransferSeries& sweep) {
  std::ostringstream out;
  export_npout(out, sweep);
  return out.str();
}
}  // namespace

TEST_CASE("five columns by hand: 1000 bytes in 1, 2 and 3 us are 4 Gbit/s in the average time, 2.667 .. 8") {
  TransferSeries sweep = sweep_of();
  add_point(sweep, 1000, {1, 3, 2});
  //                        bytes       avg       min       max      us
  CHECK(npout(sweep) == "     1000     4.000     2.667     8.000    2.00\n");
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

}  // namespace npout_test
