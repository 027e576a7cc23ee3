// What is said of the GPUs, against what the runtime says; and their telemetry.
#include "netpipe/devices/cuda/inventory.hpp"

#include <cuda.h>
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/handles.hpp"
#include "npgpu/vocabulary/device.hpp"

namespace inventory_test {

using namespace npgpu;

namespace {

std::int64_t number(const DeviceInfo& info, const std::string& fact) {
  const Fact* const found = find_fact(info.facts, fact);
  REQUIRE_MESSAGE(found, "no fact called " << fact);
  return std::get<std::int64_t>(*found);
}

// Of 21, the median; us.
template <class Look> double time_of(const std::string& what, const Look& look) {
  std::vector<double> us;
  for (int i = 0; i < 21; ++i) {
    const Seconds begin = steady_clock().now();
    look();
    us.push_back(microseconds(steady_clock().now() - begin));
  }
  std::sort(us.begin(), us.end());
  MESSAGE(what << ": " << us[10] << " us (least " << us[0] << ", most " << us[20] << ")");
  return us[10];
}

// Not to be asked of the runtime, which would make one.
bool has_context(int ordinal) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status{};
#if CUDART_VERSION >= 12050
  REQUIRE(cudaGetDriverEntryPointByVersion("cuDevicePrimaryCtxGetState", &found, 12000, cudaEnableDefault, &status) ==
          cudaSuccess);
#else
  REQUIRE(cudaGetDriverEntryPoint("cuDevicePrimaryCtxGetState", &found, cudaEnableDefault, &status) == cudaSuccess);
#endif
  unsigned flags = 0;
  int active = 0;
  REQUIRE(reinterpret_cast<decltype(&cuDevicePrimaryCtxGetState)>(found)(ordinal, &flags, &active) == CUDA_SUCCESS);
  return active != 0;
}

}  // namespace

TEST_CASE("listing the GPUs makes no context on any of them") {
  int count = 0;
  cuda::check(cudaGetDeviceCount(&count), "counting");
  std::vector<bool> before;
  for (int i = 0; i < count; ++i) before.push_back(has_context(i));
  CHECK(cuda::inventory().size() == static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) CHECK(has_context(i) == before[static_cast<std::size_t>(i)]);
}

TEST_CASE("a device that is begun anew has no context, and takes the next work") {
  for (int turn = 0; turn < 2; ++turn) {
    {
      cuda::make_current(0);
      const cuda::Buffer one(Memory::device, MiB);
      CHECK(has_context(0));
    }
    devices::reset_context("cuda:0");
    CHECK_FALSE(has_context(0));
  }
}

TEST_CASE("devices are what the runtime says they are") {
  const auto& all = cuda::inventory();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const DeviceInfo& info = all[i];
    cudaDeviceProp properties{};
    cuda::check(cudaGetDeviceProperties(&properties, static_cast<int>(i)), "asking");
    CHECK(info.id == "cuda:" + std::to_string(i));
    CHECK(info.name == properties.name);
    CHECK(info.memory_bytes == properties.totalGlobalMem);
    CHECK(info.uuid.size() == 40);  // GPU- and 36 characters
    CHECK(info.uuid.rfind("GPU-", 0) == 0);
    CHECK(info.pci_bus_id.size() == 12);  // 0000:1b:00.0
    CHECK_FALSE(info.simulated);
    CHECK(number(info, "multiprocessors") == properties.multiProcessorCount);
    CHECK(number(info, "l2_bytes") == properties.l2CacheSize);
    CHECK(number(info, "memory_bus_bits") == properties.memoryBusWidth);
    CHECK(number(info, "copy_engines") == properties.asyncEngineCount);
    CHECK(number(info, "ecc") == properties.ECCEnabled);
    MESSAGE(info.id << " " << info.name << " " << info.uuid << " " << info.pci_bus_id << " NUMA node "
                    << info.numa_node);
    MESSAGE("link " << info.link.per_s / 1e9 << " GB/s: " << info.link.source);
    MESSAGE("memory " << info.memory.per_s / 1e9 << " GB/s: " << info.memory.source);
    CHECK((std::isnan(info.link.per_s) ? info.link.source.rfind("unknown: ", 0) == 0 : info.link.per_s > 1e8));
    CHECK((std::isnan(info.memory.per_s) || info.memory.per_s > 1e9));
  }
  CHECK(devices::gpus().size() == all.size());
  CHECK(devices::why_no_gpu().empty());
  CHECK(devices::default_device() == all[0].id);
  CHECK(devices::find(all[0].id).uuid == all[0].uuid);
}

TEST_CASE("who uses the GPU, and what looking for others costs") {
  std::string why;
  const auto nvml = nvml::Device::find(cuda::inventory()[0].pci_bus_id, why);
  if (!nvml) return;
  cuda::make_current(0);
  std::uint64_t since = 0;
  (void)time_of("the list of processes", [&] { (void)nvml->processes(); });
  (void)time_of("how much each used the GPU", [&] { (void)nvml->uses(since); });
  (void)time_of("the link's bytes", [&] { (void)nvml->link_bytes(); });
  const auto processes = nvml->processes();
  REQUIRE(processes);
  MESSAGE(
      "this process is " << (std::ranges::find(*processes, long{getpid()}) == processes->end() ? "hidden" : "listed")
                         << ", as one of " << processes->size());
  for (const double ms : {0.3, 1.0, 5.0}) {
    const auto before = nvml->link_bytes();
    std::this_thread::sleep_for(Seconds{ms * 1e-3});
    const auto after = nvml->link_bytes();
    if (before && after)
      MESSAGE("an idle link in " << ms << " ms: sent " << after->sent - before->sent << " B, received "
                                 << after->received - before->received << " B");
  }
  const auto watch = devices::watch("cuda:0");
  REQUIRE(watch);
  watch->begin();
  const Disturbance found = watch->end();
  MESSAGE("others: " << disturbance_text(found.causes, {found.by}) << "; cannot see: " << watch->cannot_see());
  if (processes->size() == 1) CHECK(found.causes == 0);
}

TEST_CASE("telemetry, and what reading it costs") {
  std::string why;
  const auto nvml = nvml::Device::find(cuda::inventory()[0].pci_bus_id, why);
  if (!nvml) {
    CHECK_FALSE(why.empty());
    MESSAGE("no telemetry: " << why);
    return;
  }
  Telemetry t = nvml->read();
  CHECK(t.sm_clock_mhz > 0);
  CHECK(t.memory_clock_mhz > 0);
  MESSAGE("SM " << t.sm_clock_mhz << " MHz, memory " << t.memory_clock_mhz << " MHz, " << t.power_w << " W, "
                << t.temperature_c << " C, throttle reasons " << t.throttle_reasons);
  CHECK(time_of("one read", [&] { t = nvml->read(); }) < 1e5);
  for (const auto& [name, value] : nvml->facts())
    std::visit([&, n = name](const auto& v) { MESSAGE(n << " = " << v); }, value);
}

TEST_CASE("counters of errors and the link's state, and what reading them costs") {
  std::string why;
  const auto nvml = nvml::Device::find(cuda::inventory()[0].pci_bus_id, why);
  if (!nvml) {
    MESSAGE("no counters: " << why);
    return;
  }
  Facts before = nvml->counters();
  (void)time_of("the counters", [&] { before = nvml->counters(); });
  LinkState link;
  (void)time_of("the link's state", [&] { link = nvml->link_state(); });
  MESSAGE("link Gen" << link.generation << " x" << link.lanes);
  CHECK((link.lanes == 0) == (link.generation == 0));
  CHECK(link.lanes <= 32);
  for (const auto& [name, value] : before)
    std::visit([&, n = name](const auto& v) { MESSAGE(n << " = " << v); }, value);
  const Facts after = devices::counters("cuda:0");
  REQUIRE(after.size() == before.size());
  for (const auto& [name, value] : before) {
    CAPTURE(name);
    if (std::holds_alternative<std::string>(value)) continue;      // why it could not be read
    CHECK(number_fact(after, name) >= number_fact(before, name));  // nothing is counted backwards
  }
  if (number_fact(cuda::inventory()[0].facts, "ecc") > 0) CHECK(number_fact(before, "ecc_uncorrected_volatile") >= 0);
}

}  // namespace inventory_test
