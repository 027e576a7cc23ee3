// The arithmetic around kernels that probe GPUs: no GPU needed.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "netpipe/devices/cuda/block_records.hpp"
#include "netpipe/devices/cuda/throughput.hpp"

using namespace npgpu;

TEST_CASE("peaks by hand: an H200 has 132 multiprocessors at 1980 MHz") {
  // 132 * 128 * 2 * 1.98e9 = 66.9 TFLOP/s, as its data sheet says; fp64 half of it, packed fp16 twice.
  CHECK(cuda::arithmetic_peak(DataType::fp32, 90, 132, 1980).per_s == doctest::Approx(66.908e12).epsilon(1e-4));
  CHECK(cuda::arithmetic_peak(DataType::fp64, 90, 132, 1980).per_s == doctest::Approx(33.454e12).epsilon(1e-4));
  CHECK(cuda::arithmetic_peak(DataType::fp16, 90, 132, 1980).per_s == doctest::Approx(133.816e12).epsilon(1e-4));
  // An A100's: 108 at 1410 MHz, 19.5 TFLOP/s.
  CHECK(cuda::arithmetic_peak(DataType::fp32, 80, 108, 1410).per_s == doctest::Approx(19.49e12).epsilon(1e-3));
  CHECK(cuda::arithmetic_peak(DataType::fp32, 90, 132, 1980).source.find("capability 9.0") != std::string::npos);
}

TEST_CASE("a rate that is not known is not guessed, and says what is missing") {
  const Peak newer = cuda::arithmetic_peak(DataType::fp32, 130, 200, 2000);
  CHECK(std::isnan(newer.per_s));
  CHECK(newer.source == "unknown: this program has no fp32 rate of compute capability 13.0");
  CHECK(std::isnan(cuda::arithmetic_peak(DataType::bf16, 75, 40, 1590).per_s));
  const Peak no_clock = cuda::arithmetic_peak(DataType::fp32, 90, 132, not_measured);
  CHECK(std::isnan(no_clock.per_s));
  CHECK(no_clock.source.find("clock") != std::string::npos);
}

TEST_CASE("what blocks tell: the slowest, the units, the most on one") {
  const std::vector<cuda::BlockRecord> records{{100, 7, 3}, {250, 0, 3}, {90, 7, 3}, {110, 131, 3}, {80, 7, 3}};
  const cuda::BlocksTold told = cuda::told_by(records, 3);
  CHECK(told.cycles == 250);
  CHECK(told.units == 3);
  CHECK(told.most_on_unit == 3);
  CHECK_THROWS_WITH(cuda::told_by(records, 4), "block 0 of 5 left no record of its run");
}
