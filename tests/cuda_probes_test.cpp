// The arithmetic around kernels that probe GPUs: no GPU needed.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "netpipe/devices/cuda/probe_bench.hpp"

namespace cuda_probes_test {

using namespace npgpu;

TEST_CASE("limits by hand: an H200 has 132 multiprocessors at 1980 MHz") {
  // 132 * 128 * 2 * 1.98e9 = 66.9 TFLOP/s, as its data sheet says; fp64 half of it, packed fp16 twice.
  CHECK(cuda::arithmetic_limit(DataType::fp32, 90, 132, 1980).per_s == doctest::Approx(66.908e12).epsilon(1e-4));
  CHECK(cuda::arithmetic_limit(DataType::fp64, 90, 132, 1980).per_s == doctest::Approx(33.454e12).epsilon(1e-4));
  CHECK(cuda::arithmetic_limit(DataType::fp16, 90, 132, 1980).per_s == doctest::Approx(133.816e12).epsilon(1e-4));
  // An A100's: 108 at 1410 MHz, 19.5 TFLOP/s.
  CHECK(cuda::arithmetic_limit(DataType::fp32, 80, 108, 1410).per_s == doctest::Approx(19.49e12).epsilon(1e-3));
  // B200: 148 * 128 * 2 * 1965e6, and half of that in fp64; RTX 5090: 170 * 128 * 2 * 2407e6.
  CHECK(cuda::arithmetic_limit(DataType::fp32, 100, 148, 1965).per_s == doctest::Approx(74.45e12).epsilon(1e-3));
  CHECK(cuda::arithmetic_limit(DataType::fp64, 100, 148, 1965).per_s == doctest::Approx(37.22e12).epsilon(1e-3));
  CHECK(cuda::arithmetic_limit(DataType::fp64, 103, 148, 1920).per_s == doctest::Approx(1.137e12).epsilon(1e-3));
  CHECK(cuda::arithmetic_limit(DataType::fp32, 120, 170, 2407).per_s == doctest::Approx(104.8e12).epsilon(1e-3));
  CHECK(std::isnan(cuda::arithmetic_limit(DataType::bf16, 100, 148, 1965).per_s));
  CHECK(cuda::arithmetic_limit(DataType::fp32, 90, 132, 1980).source.find("capability 9.0") != std::string::npos);
}

TEST_CASE("models whose fp64 is cut are known by name") {
  for (const char* name : {"NVIDIA H20", "NVIDIA H20-3e", "NVIDIA H800", "NVIDIA H800 PCIe"})
    CHECK(cuda::has_reduced_fp64(name));
  for (const char* name : {"NVIDIA H200", "NVIDIA H200 NVL", "NVIDIA H100 80GB HBM3", "NVIDIA A800-SXM4-80GB", ""})
    CHECK_FALSE(cuda::has_reduced_fp64(name));
}

TEST_CASE("a rate that is not known is not guessed, and says what is missing") {
  const Limit newer = cuda::arithmetic_limit(DataType::fp32, 130, 200, 2000);
  CHECK(std::isnan(newer.per_s));
  CHECK(newer.source == "unknown: this program has no fp32 rate of compute capability 13.0");
  CHECK(std::isnan(cuda::arithmetic_limit(DataType::bf16, 75, 40, 1590).per_s));
  const Limit no_clock = cuda::arithmetic_limit(DataType::fp32, 90, 132, not_measured);
  CHECK(std::isnan(no_clock.per_s));
  CHECK(no_clock.source.find("clock") != std::string::npos);
}

TEST_CASE("first-level caches as documented") {
  CHECK(cuda::unified_cache_bytes(90) == 256 * KiB);
  CHECK(cuda::unified_cache_bytes(75) == 96 * KiB);
  CHECK(cuda::unified_cache_bytes(130) == 0);
}

TEST_CASE("what a multiprocessor holds as documented") {
  CHECK(nvidia::unit_of(90).blocks == 32);
  CHECK(nvidia::unit_of(75).threads == 1024);
  CHECK(nvidia::unit_of(130).blocks == 0);
}

TEST_CASE("records of blocks: the slowest unit, the units, the most blocks on one") {
  // Unit 7 has three blocks, from 1000 to 1300; its clock is its own, and far from unit 0's.
  const std::vector<cuda::BlockRecord> records{
      {1010, 1110, 7, 3}, {99000, 99250, 0, 3}, {1000, 1090, 7, 3}, {5, 115, 131, 3}, {1220, 1300, 7, 3}};
  const cuda::BlockReadback all = cuda::read_back(records, 3);
  CHECK(all.cycles == 300);
  CHECK(all.units == 3);
  CHECK(all.max_blocks_on_unit == 3);
  CHECK_THROWS_WITH(cuda::read_back(records, 4), "block 0 of 5 left no record of its run");
}

}  // namespace cuda_probes_test
