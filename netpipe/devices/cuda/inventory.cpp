#include "netpipe/devices/cuda/inventory.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "netpipe/devices/cuda/called.hpp"
#include "netpipe/devices/cuda/clearing.hpp"
#include "netpipe/devices/cuda/gate.hpp"
#include "netpipe/devices/cuda/peers.hpp"
#include "netpipe/devices/cuda/watch.hpp"
#include "netpipe/devices/host/kernel_log.hpp"
#include "netpipe/devices/host/pci.hpp"
#include "netpipe/devices/host/watch.hpp"
#include "netpipe/devices/nvidia.hpp"
#include "netpipe/devices/polled_meter.hpp"
#include "netpipe/engine/nvlink.hpp"
#include "npgpu/vocabulary/series.hpp"

namespace npgpu::cuda {

Gpu::Gpu(int ordinal, bool bind, int host_node)
    : ordinal_(ordinal),
      binding_(host_node >= 0 ? host::Binding::on_node(host_node)
               : bind         ? host::Binding::near_device(info_of(ordinal).pci_bus_id)
                              : host::Binding::none("--no-bind")) {
  std::string why;
  nvml_ = nvml::Device::find(info_of(ordinal).pci_bus_id, why);
}

namespace {

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

Facts attribute_facts(int ordinal) {
  static constexpr std::pair<const char*, cudaDeviceAttr> named[] = {
      {"multiprocessors", cudaDevAttrMultiProcessorCount},
      {"sm_clock_khz", cudaDevAttrClockRate},
      {"memory_clock_khz", cudaDevAttrMemoryClockRate},
      {"memory_bus_bits", cudaDevAttrGlobalMemoryBusWidth},
      {"l2_bytes", cudaDevAttrL2CacheSize},
      {"copy_engines", cudaDevAttrAsyncEngineCount},
      {"warp_size", cudaDevAttrWarpSize},
      {"threads_per_multiprocessor", cudaDevAttrMaxThreadsPerMultiProcessor},
      {"blocks_per_multiprocessor", cudaDevAttrMaxBlocksPerMultiprocessor},
      {"registers_per_multiprocessor", cudaDevAttrMaxRegistersPerMultiprocessor},
      {"shared_memory_per_multiprocessor_bytes", cudaDevAttrMaxSharedMemoryPerMultiprocessor},
      {"shared_memory_per_block_optin_bytes", cudaDevAttrMaxSharedMemoryPerBlockOptin},
      {"concurrent_kernels", cudaDevAttrConcurrentKernels},
      {"ecc", cudaDevAttrEccEnabled},
      {"integrated", cudaDevAttrIntegrated},
      {"compute_mode", cudaDevAttrComputeMode},
      {"unified_addressing", cudaDevAttrUnifiedAddressing},
      {"managed_memory", cudaDevAttrManagedMemory},
      {"concurrent_managed_access", cudaDevAttrConcurrentManagedAccess},
      {"pageable_memory_access", cudaDevAttrPageableMemoryAccess},
      {"pageable_memory_access_uses_host_page_tables", cudaDevAttrPageableMemoryAccessUsesHostPageTables},
      {"host_native_atomics", cudaDevAttrHostNativeAtomicSupported},
      {"cooperative_launch", cudaDevAttrCooperativeLaunch},
  };
  Facts facts;
  const int major = attribute(cudaDevAttrComputeCapabilityMajor, ordinal);
  const int minor = attribute(cudaDevAttrComputeCapabilityMinor, ordinal);
  facts.emplace_back("compute_capability", fmt::format("{}.{}", major, minor));
  for (const auto& [name, which] : named)
    if (const auto value = maybe_attribute(which, ordinal)) facts.emplace_back(name, std::int64_t{*value});
  return facts;
}

void add_logged_errors(Facts& facts, const std::string& bus) {
  if (const std::string ignored = host::ignored_xids(); !ignored.empty()) facts.emplace_back("xids_ignored", ignored);
  const auto log = host::kernel_log();
  if (!log) {
    facts.emplace_back("unread_kernel_log", std::string("cannot be read"));
    return;
  }
  const std::string path = text_fact(facts, "pci_path");  // the nearest bridge stands last
  const host::LoggedErrors errors = host::errors_of(*log, bus, path.substr(path.rfind(' ') + 1));
  facts.emplace_back("xids_logged", static_cast<std::int64_t>(errors.count() - errors.switch_errors));
  if (errors.last_xid > 0) facts.emplace_back("xid_logged_last", std::int64_t{errors.last_xid});
  if (const std::string said = errors.words(); !said.empty()) facts.emplace_back("kernel_log_says", said);
  facts.emplace_back("sxids_logged", static_cast<std::int64_t>(errors.switch_errors));
  if (errors.last_switch_error > 0) facts.emplace_back("sxid_logged_last", std::int64_t{errors.last_switch_error});
}

DeviceInfo describe_working(int ordinal) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, ordinal), fmt::format("asking cuda:{} what it is", ordinal));
  char bus[32] = {};
  check(cudaDeviceGetPCIBusId(bus, sizeof bus, ordinal), fmt::format("asking cuda:{} for its bus id", ordinal));

  DeviceInfo info;
  info.id = gpu_called(static_cast<std::uint32_t>(ordinal));
  info.name = properties.name;
  info.memory_bytes = properties.totalGlobalMem;
  info.uuid = uuid_text(properties.uuid);
  info.pci_bus_id = bus;
  info.numa_node = host::pci_numa_node(bus);
  info.host_nodes = host::numa_nodes();

  int driver = 0, runtime = 0;
  check(cudaDriverGetVersion(&driver), "asking for the driver's CUDA version");
  check(cudaRuntimeGetVersion(&runtime), "asking for the runtime's version");
  info.facts = attribute_facts(ordinal);
  info.facts.emplace_back("cuda_of_driver", version_text(driver));
  info.facts.emplace_back("cuda_runtime", version_text(runtime));
  std::string why;
  if (const auto gpu = nvml::Device::find(info.pci_bus_id, why))
    std::ranges::move(gpu->facts(), std::back_inserter(info.facts));
  else info.facts.emplace_back("telemetry", "unavailable: " + why);
  std::ranges::move(host::pci_facts(bus), std::back_inserter(info.facts));
  add_logged_errors(info.facts, bus);
  info.link = link_limit(info.facts);
  info.memory = memory_limit(info.facts);
  info.peers = peer_limit(info.facts);
  return info;
}

// A GPU that does not answer is listed with its reason, and hides no other.
DeviceInfo describe(int ordinal) {
  try {
    return describe_working(ordinal);
  } catch (const Error& e) {
    DeviceInfo info;
    info.id = gpu_called(static_cast<std::uint32_t>(ordinal));
    info.name = "not readable";
    info.facts.emplace_back("error", std::string(e.what()));
    info.facts.emplace_back("failure", std::string(name(failure_of(e.kind()))));
    return info;
  }
}

std::vector<DeviceInfo> describe_all() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    (void)cudaGetLastError();
    return {};
  }
  std::vector<DeviceInfo> all;
  for (int ordinal = 0; ordinal < count; ++ordinal) all.push_back(describe(ordinal));
  return all;
}

class Gpus final : public DeviceFamily {
 public:
  std::string_view kind() const override { return "cuda"; }
  bool has_gpus() const override { return true; }
  std::vector<DeviceInfo> list() const override { return inventory(); }
  std::string why_none() const override { return why_no_device(); }
  std::vector<std::string> likely() const override {
    unsigned count = nvml::device_count();
    if (const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES"))
      count = std::min(count, static_cast<unsigned>(std::ranges::count(std::string_view(visible), ',')) + 1);
    std::vector<std::string> all;
    for (unsigned ordinal = 0; ordinal < count; ++ordinal)
      all.push_back(gpu_called(static_cast<std::uint32_t>(ordinal)));
    return all;
  }
  Facts census() const override { return nvml::census_of_machine(inventory()); }
  std::unique_ptr<DeviceWatch> watch(const std::string& id) const override {
    // The process that started this one has a context on each GPU: it asked how much memory is free there. Were it not
    // known, NVML would be asked before and after each visit what it does.
    host::count_relatives_as_own();
    Watch::Eyes eyes{.own_pid = ::getpid(),
                     .now = [] { return steady_clock().now(); },
                     .wait = [](Seconds time) { std::this_thread::sleep_for(time); },
                     .processes = [] { return std::nullopt; },
                     .uses = [] { return std::nullopt; },
                     .link_bytes = [] { return std::nullopt; },
                     .name = host::name_of_process,
                     .is_ours = [](long pid) { return is_second_process(pid) || host::is_counted_as_own(pid); },
                     .is_server = [](long pid) { return host::name_of_process(pid).starts_with("nvidia-cuda-mps"); }};
    if (const auto gpu = nvml::Device::find(info_of(ordinal_or_throw(id)).pci_bus_id, eyes.blind)) {
      eyes.processes = [gpu] { return gpu->processes(); };
      eyes.uses = [gpu, since = std::uint64_t{0}]() mutable { return gpu->uses(since); };
      eyes.link_bytes = [gpu] { return gpu->link_bytes(); };
      eyes.memory = [gpu] { return gpu->memory_by_process(); };
      eyes.freed = [ordinal = ordinal_or_throw(id)](std::uint64_t bytes) { note_freed(ordinal, bytes); };
    }
    return std::make_unique<Watch>(std::move(eyes));
  }
  Facts counters(const std::string& id) const override {
    std::string why;
    const std::string& bus_id = info_of(ordinal_or_throw(id)).pci_bus_id;
    const auto gpu = nvml::Device::find(bus_id, why);
    Facts facts = gpu ? gpu->counters() : Facts{};
    std::ranges::move(host::pcie_errors(bus_id), std::back_inserter(facts));
    if (const auto loss = nvml::why_lost(bus_id); loss && !find_fact(facts, "unread_device"))
      facts.emplace_back("unread_device", *loss);
    return facts;
  }
  LinkState link_state(const std::string& id) const override {
    std::string why;
    const auto gpu = nvml::Device::find(info_of(ordinal_or_throw(id)).pci_bus_id, why);
    return gpu ? gpu->link_state() : LinkState{};
  }
  Telemetry telemetry(const std::string& id) const override {
    std::string why;
    const auto gpu = nvml::Device::find(info_of(ordinal_or_throw(id)).pci_bus_id, why);
    return gpu ? gpu->read() : Telemetry{};
  }
  std::unique_ptr<EnergyMeter> energy_meter(const std::string& id, std::string& why) const override {
    const auto gpu = nvml::Device::find(info_of(ordinal_or_throw(id)).pci_bus_id, why);
    if (!gpu) return nullptr;
    devices::PolledSource source{.power_w = [gpu] { return gpu->instantaneous_power_w(); },
                                 .state = [gpu] { return gpu->read(); }};
    if (gpu->energy_j()) {
      source.name = "NVML's total energy counter";
      source.joules = [gpu] { return gpu->energy_j(); };
    } else if (std::isfinite(gpu->instantaneous_power_w())) {
      source.name = "NVML's instantaneous power, read every 20 ms";
    } else {
      why = "NVML gives neither the energy nor the instantaneous power of " + id;
      return nullptr;
    }
    return devices::polled_meter(std::move(source));
  }
  std::unique_ptr<DeviceTimer> stream_timer(const std::string& id, void* stream) const override {
    constexpr Seconds gate_time_out{10};
    return std::make_unique<StreamTimer>(ordinal_or_throw(id), static_cast<cudaStream_t>(stream), gate_time_out);
  }
  void reset_context(const std::string& id) const override { reset(ordinal_or_throw(id)); }
  void settle(const std::string& id) const override { wait_until_cleared(ordinal_or_throw(id)); }
  std::optional<int> serve_as_second_process() const override { return serve(); }
};

}  // namespace

int attribute(cudaDeviceAttr which, int ordinal) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, ordinal),
        fmt::format("asking cuda:{} for attribute {}", ordinal, int(which)));
  return value;
}

std::optional<int> maybe_attribute(cudaDeviceAttr which, int ordinal) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, which, ordinal) == cudaSuccess) return value;
  (void)cudaGetLastError();
  return std::nullopt;
}

Limit memory_limit(const Facts& facts) {
  const double mhz =
      std::fmax(number_fact(facts, "memory_clock_khz") * 1e-3, number_fact(facts, "max_memory_clock_mhz"));
  const double bits = number_fact(facts, "memory_bus_bits");
  if (!(mhz > 0 && bits > 0)) return {not_measured, "unknown: the driver does not say the memory's clock and width"};
  return {mhz * 1e6 * bits * 2 / 8, fmt::format("{:g} MHz * {:g} bit * 2 (double data rate)", mhz, bits)};
}

Limit link_limit(const Facts& facts) {
  // Grace Hopper and its like: the GPU shares the host's page tables over NVLink-C2C, and PCIe is not the way.
  const double c2c_links = number_fact(facts, "c2c_links"), c2c_mb_s = number_fact(facts, "c2c_mb_s");
  if (c2c_links > 0 && c2c_mb_s > 0)
    return {c2c_links * c2c_mb_s * 1e6, fmt::format("NVLink-C2C: {:g} links of {:g} GB/s", c2c_links, c2c_mb_s * 1e-3)};
  if (number_fact(facts, "pageable_memory_access_uses_host_page_tables") > 0)
    return {not_measured, "unknown: the host is reached over a coherent link, whose rate the driver does not say"};
  if (number_fact(facts, "integrated") > 0)
    return {not_measured, "unknown: the GPU is integrated and shares the host's memory"};
  if (const Fact* const telemetry = find_fact(facts, "telemetry")) {  // "unavailable: NVML is not there"
    const std::string& why = std::get<std::string>(*telemetry);
    return {not_measured, "unknown: " + why.substr(why.find(": ") + 2)};
  }
  const double generation = number_fact(facts, "max_pcie_generation"), lanes = number_fact(facts, "max_pcie_lanes");
  if (!(generation > 0 && lanes > 0))
    return {not_measured, "unknown: NVML does not say the PCIe generation and width that GPU and slot support"};
  return host::pcie_limit(static_cast<unsigned>(generation), static_cast<unsigned>(lanes));
}

Limit peer_limit(const Facts& facts) {
  const Nvlinks links = nvlinks_of(facts, {});
  if (links.count > 0 && nvlink_rate(links) > 0)
    return {links.count * nvlink_rate(links),
            fmt::format("{:g} NVLinks of {:g} GB/s", links.count, nvlink_rate(links) * 1e-9)};
  if (links.count > 0) return {not_measured, "unknown: NVML does not say how fast the NVLinks are"};
  return link_limit(facts);
}

namespace {
std::atomic<const std::vector<DeviceInfo>*> made_inventory{nullptr};
}

const std::vector<DeviceInfo>& inventory() {
  static const std::vector<DeviceInfo> all = describe_all();
  made_inventory = &all;
  return all;
}

const std::vector<DeviceInfo>* inventory_if_made() { return made_inventory; }

const DeviceInfo& info_of(int ordinal) { return inventory().at(static_cast<std::size_t>(ordinal)); }

std::optional<int> ordinal_of(std::string_view device) {
  constexpr std::string_view prefix = "cuda:";
  if (!device.starts_with(prefix)) return std::nullopt;
  device.remove_prefix(prefix.size());
  int ordinal = -1;
  const auto [end, error] = std::from_chars(device.data(), device.data() + device.size(), ordinal);
  if (error != std::errc{} || end != device.data() + device.size() || ordinal < 0) return std::nullopt;
  return ordinal;
}

std::optional<std::string> why_not_there(std::string_view device) {
  const auto ordinal = ordinal_of(device);
  if (!ordinal) return fmt::format("--device {} is no CUDA device: write cuda:N (npgpu info shows them)", device);
  const auto& all = inventory();
  if (all.empty()) return fmt::format("--device {}: {}", device, why_no_device());
  if (static_cast<std::size_t>(*ordinal) < all.size()) return std::nullopt;
  return fmt::format("--device {} is not there: this machine shows cuda:0{}", device,
                     all.size() > 1 ? fmt::format(" to cuda:{}", all.size() - 1) : "");
}

int ordinal_or_throw(std::string_view device) {
  if (const auto why = why_not_there(device))
    throw Error(inventory().empty() ? ErrorKind::nothing : ErrorKind::usage, *why);
  return *ordinal_of(device);
}

std::uint64_t free_memory(int ordinal) {
  make_current(ordinal);
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), fmt::format("asking cuda:{} for its free memory", ordinal));
  return free;
}

namespace {

class CudaDriver final : public GpuDriver {
 public:
  std::string_view rank() const override { return "cuda"; }
  bool can_ask() const override {
    int driver = 0, count = 0;
    const bool is_there = cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0;
    const bool is_too_old = cudaGetDeviceCount(&count) == cudaErrorInsufficientDriver;
    (void)cudaGetLastError();
    return is_there && !is_too_old;
  }
};

}  // namespace

std::uint64_t l2_bytes(int ordinal) { return static_cast<std::uint64_t>(attribute(cudaDevAttrL2CacheSize, ordinal)); }

}  // namespace npgpu::cuda

NPGPU_REGISTERED(DeviceFamily, npgpu::cuda::Gpus)
NPGPU_REGISTERED(GpuDriver, npgpu::cuda::CudaDriver)
