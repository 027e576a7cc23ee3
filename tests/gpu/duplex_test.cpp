// Both directions at once: two channels, two gates, one thread; and two threads where the calls block.
#include <doctest/doctest.h>

#include "tests/gpu/cases.hpp"

namespace duplex_test {

using namespace npgpu;
using test::measured;

TEST_CASE("every duplex case moves both payloads") {
  for (const char* module : {"cudaMemcpy", "cuMemcpy"})
    for (TransferCase c : test::possible_cases(module, Pattern::duplex)) {
      const std::string what = title(c);
      INFO(what);
      c.source_offset = 1;
      const Measured<Transfers> point = measured(c, 65537, 4);
      CHECK(point.mismatch == "");
      REQUIRE(point.samples.size() == 6);
      CHECK(point.samples[4].intact == 1);
      CHECK(point.samples[5].intact == 1);
      for (const TransferSample& sample : point.samples)
        CHECK((c.timing == Timing::host ? sample.host_us : sample.device_us) > 0);
    }
}

// 8 copies of 32 MiB each way. Were they one after the other, both together would be no faster than one alone.
TEST_CASE("gated duplex overlaps: both directions together beat one") {
  TransferCase c = case_on("cudaMemcpy", devices::default_device());
  c.async = true;
  c.timing = Timing::gated;
  const Measured<Transfers> alone = measured(c, 32 * MiB, 8);
  c.pattern = Pattern::duplex;
  const Measured<Transfers> both = measured(c, 32 * MiB, 8);
  const double one = alone.samples.back().device_us;
  const double there = both.samples[4].device_us, here = both.samples[5].device_us;
  MESSAGE("one way " << 8 * 32 * MiB / one / 1e3 << " GB/s; both at once " << 8 * 32 * MiB / there / 1e3 << " and "
                     << 8 * 32 * MiB / here / 1e3 << " GB/s");
  CHECK(std::max(there, here) < 1.8 * one);
}

// How much a load slows the measured lane is the engine's choice: an H200's takes all that is ready of one queue first.
TEST_CASE("a lane that is only a load gives no samples, and the measured one arrives intact") {
  TransferCase c = case_on("cudaMemcpy", devices::default_device());
  c.async = true;
  c.more_lanes = lanes(c);
  c.more_lanes[0].measured = false;
  const Measured<Transfers> loaded = measured(c, 32 * MiB, 16);
  CHECK(loaded.mismatch == "");
  REQUIRE(loaded.samples.size() == 3);
  for (const TransferSample& sample : loaded.samples) CHECK(sample.lane == 0);
}

}  // namespace duplex_test
