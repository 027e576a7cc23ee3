// Cores are counted as the affinity mask leaves them, not hyperthreads; and pages are what they say.
#include <doctest/doctest.h>
#include <sched.h>

#include <cstdint>
#include <thread>

#include "netpipe/devices/host/facts.hpp"
#include "netpipe/devices/host/memory.hpp"
#include "netpipe/devices/host/nodes.hpp"
#include "npgpu/error.hpp"

namespace cores_test {

using namespace npgpu;
using Cpus = std::vector<unsigned>;

TEST_CASE("one cpu of each core, as far as it is allowed") {
  const auto machine = host::synthetic_machine("core:3 pu:2");  // cpus 0 and 1 are the first core's
  const auto of = [&](const char* allowed) {
    const host::Bitmap mask(hwloc_bitmap_alloc());
    hwloc_bitmap_list_sscanf(mask.get(), allowed);
    return host::cpu_of_each_core(machine.get(), mask.get());
  };
  CHECK(of("0-5") == Cpus{0, 2, 4});
  CHECK(of("1,2,3") == Cpus{1, 2});
  CHECK(of("5") == Cpus{5});
}

TEST_CASE("a pinned thread sees its own core alone") {
  const Cpus cpus = host::core_cpus();
  REQUIRE_FALSE(cpus.empty());
  std::thread([&] {
    REQUIRE(host::pin_thread(cpus.back()));
    CHECK(sched_getcpu() == static_cast<int>(cpus.back()));
    CHECK(host::core_cpus() == Cpus{cpus.back()});
  }).join();
  CHECK(host::core_cpus() == cpus);  // others are as free as before
}

TEST_CASE("caches of all cores are no smaller than one core's") {
  const host::Caches all = host::caches_of(host::core_cpus());
  CHECK(all.last_bytes_in_all >= all.last_bytes);
  CHECK(all.last_bytes >= all.near_bytes);
  CHECK(host::caches_of({}).last_bytes == 0);
}

TEST_CASE("pages begin on the boundary of a huge one, read as zero, and know how many are huge") {
  const host::Pages pages(3 * 1000 * 1000);
  CHECK(reinterpret_cast<std::uintptr_t>(pages.data()) % host::huge_page_bytes == 0);
  CHECK(pages.bytes() == 2 * host::huge_page_bytes);
  CHECK(pages.huge_bytes() == 0);  // none is touched
  CHECK(pages.data()[pages.bytes() - 1] == std::byte{0});
  for (std::uint64_t i = 0; i < pages.bytes(); ++i) pages.data()[i] = std::byte{1};
  CHECK(pages.huge_bytes() <= pages.bytes());
  CHECK(pages.huge_bytes() % host::huge_page_bytes == 0);
}

TEST_CASE("more than the machine has is an error that says how much") {
  CHECK_THROWS_WITH_AS(host::Pages{std::uint64_t{1} << 60}, doctest::Contains("1152921504606846976 bytes"), Error);
  CHECK_THROWS_AS(host::Pages{UINT64_MAX - 4096}, Error);
}

}  // namespace cores_test
