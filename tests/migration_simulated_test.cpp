// Memory whose pages move, on a simulated device: what a fault takes, what its way takes, and what derive() makes of
// it.
#include <fmt/format.h>

#include "probed.hpp"
#include "probes/migration/shapes.hpp"

namespace migration_simulated_test {

using namespace npgpu;
using nlohmann::json;

namespace {

// No noise, no launch: 20 us and 2 MiB a fault, 50 and 40 GB/s on the way, 12 GB/s of reads by the host.
ChangedSpec exact() {
  return ChangedSpec("h200", [](json& j) {
    j["noise"] = {{"seed", 1}};
    j["host"]["launch_us"] = 0;
    j["hardware"]["kernel_latency_us"] = 0;
    j["hardware"]["page_fault_us"] = 20;
    j["hardware"]["fault_bytes"] = 2097152;
    j["hardware"]["migrate_to_device_gb_s"] = 50;
    j["hardware"]["migrate_to_host_gb_s"] = 40;
    j["links"]["h2h"]["rate_gb_s"] = 12;
  });
}

ProbeCase migration(const std::string& device, Operation operation, Space space = Space::managed) {
  for (const ProbeCase& c : migration::cases(device))
    if (c.operation == operation && c.space == space) return c;
  FAIL("no such case");
  return {};
}

ProbeSeries measured(const ProbeCase& c) { return probed(c, *classic_schedule({.trials = 3, .fixed_repeats = 10})); }

// Of one repeat, in us.
double time_of(const ProbeSeries& series, Pages pages, std::uint64_t bytes, std::uint32_t stride = 1) {
  for (const auto& visit : series.visits)
    if (visit.axes.pages == pages && visit.axes.bytes == bytes && visit.axes.stride == stride) {
      const ProbeSample& one = series.samples[visit.first_sample];
      return one.device_us / static_cast<double>(one.repeats);
    }
  FAIL("no such shape");
  return 0;
}

}  // namespace

TEST_CASE("pages that move: a fault for every 2 MiB, and the bytes' way") {
  const ChangedSpec spec = exact();
  const ProbeSeries reads = measured(migration(spec.id(), Operation::read));
  CHECK(time_of(reads, Pages::host, 2 * MiB) == doctest::Approx(20 + 2.097152e6 / 50e3));
  CHECK(time_of(reads, Pages::host, 128 * MiB) == doctest::Approx(64 * 20 + 134.217728e6 / 50e3));
  CHECK(time_of(reads, Pages::copied, 128 * MiB) == doctest::Approx(64 * 20 + 134.217728e6 / 50e3));
  CHECK(time_of(reads, Pages::in_place, 128 * MiB) == doctest::Approx(134.217728e6 / 50e3));
  CHECK(time_of(reads, Pages::device, 128 * MiB) == doctest::Approx(134.217728e6 / (2 * 2141e3)));
  const ProbeSeries writes = measured(migration(spec.id(), Operation::write));
  CHECK(time_of(writes, Pages::untouched, 16 * MiB) == doctest::Approx(8 * 20));
  CHECK(time_of(writes, Pages::in_place, 16 * MiB) == doctest::Approx(16.777216e6 / 50e3));
  const ProbeSeries prefetches = measured(migration(spec.id(), Operation::prefetch));
  CHECK(time_of(prefetches, Pages::host, 16 * MiB) == doctest::Approx(16.777216e6 / 50e3));
  CHECK(time_of(prefetches, Pages::device, 16 * MiB) == doctest::Approx(16.777216e6 / 40e3));
  const ProbeSeries host = measured(migration(spec.id(), Operation::host_read));
  CHECK(time_of(host, Pages::host, 16 * MiB) == doctest::Approx(16.777216e6 / 12e3));
  CHECK(time_of(host, Pages::device, 16 * MiB) == doctest::Approx(16.777216e6 / 12e3 + 8 * 20 + 16.777216e6 / 40e3));
}

TEST_CASE(
    "loads that touch a page each wait for a fault; of smaller strides, most find what an earlier fault brought") {
  const ChangedSpec spec = exact();
  const ProbeSeries chase = measured(migration(spec.id(), Operation::chase));
  const double fault = 20 + 2.097152e6 / 50e3, load = 1146 / 1980.0;
  CHECK(time_of(chase, Pages::host, 64 * MiB, 524288) == doctest::Approx(32 * (load + fault)));
  CHECK(time_of(chase, Pages::host, 64 * MiB, 1024) == doctest::Approx(16384 * load + 32 * fault));
  CHECK(time_of(chase, Pages::device, 64 * MiB, 1024) == doctest::Approx(16384 * load));

  Trace trace;
  trace.of<Probes>() = {chase, measured(migration(spec.id(), Operation::read)),
                        measured(migration(spec.id(), Operation::prefetch))};
  const DeviceParameters device = derive(trace).at(0);
  CHECK(value_of(device, "page fault") == doctest::Approx(1e3 * (load + fault)));
  CHECK(value_of(device, "B migrated by faults") == doctest::Approx(134.217728e6 / (64 * 20e-6 + 134.217728e6 / 50e9)));
  CHECK(value_of(device, "B prefetched to device") == doctest::Approx(50e9));
  CHECK(value_of(device, "B prefetched to host") == doctest::Approx(40e9));
  CHECK(value_of(device, "B managed in place") == doctest::Approx(50e9));
}

TEST_CASE("sets that could hang a device, and places that an operation has not, are refused in a sentence") {
  const Probe& probe = find_probe("migration", "sim:h200");
  const ProbeCase read = migration("sim:h200", Operation::read);
  Shape shape = probe.shapes(read).front();
  CHECK_FALSE(probe.refuses({read, shape}));
  shape.bytes = 2 * GiB;
  CHECK(probe.refuses({read, shape}) ==
        "2 GiB of memory that moves page by page: at most 1 GiB, as more than a device has free can hang it");
  shape.bytes = 2 * MiB;
  shape.pages = Pages::untouched;
  CHECK(probe.refuses({read, shape}) == "pages untouched: read of managed memory takes device, host, in-place, copied");
  // A device whose spec says nothing of faults has no such probe.
  const ChangedSpec plain("h200", [](json& j) { j["hardware"].erase("page_fault_us"); });
  CHECK(probe.cases(plain.id()).empty());
}

}  // namespace migration_simulated_test
