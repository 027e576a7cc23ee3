// Both directions at once: two channels, two gates, one thread; and two threads where the calls block.
#include <doctest/doctest.h>

#include "npgpu/runner.hpp"
#include "npgpu/statistics.hpp"
#include "tests/gpu/cases.hpp"

using namespace npgpu;
using test::module_called;

namespace {

Measured<Transfers> measured(const TransferCase& c, std::uint64_t bytes, std::uint64_t repeats) {
  std::vector<std::unique_ptr<Channel>> owned;
  std::vector<Channel*> channels;
  for (const TransferCase& lane : lanes(c)) {
    owned.push_back(module_called(c.module.c_str()).open(lane, bytes));
    channels.push_back(owned.back().get());
  }
  const auto schedule = classic_schedule({.trials = 3, .fixed_repeats = repeats});
  auto point = measure_point(c, channels, *schedule, bytes, [] { return false; });
  REQUIRE(point);
  return *point;
}

}  // namespace

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
  TransferCase c{.module = "cudaMemcpy", .device = "cuda:0", .async = true, .timing = Timing::gated};
  const Measured<Transfers> alone = measured(c, 32 * MiB, 8);
  c.pattern = Pattern::duplex;
  const Measured<Transfers> both = measured(c, 32 * MiB, 8);
  const double one = alone.samples.back().device_us;
  const double there = both.samples[4].device_us, here = both.samples[5].device_us;
  MESSAGE("one way " << 8 * 32 * MiB / one / 1e3 << " GB/s; both at once " << 8 * 32 * MiB / there / 1e3 << " and "
                     << 8 * 32 * MiB / here / 1e3 << " GB/s");
  CHECK(std::max(there, here) < 1.8 * one);
}
