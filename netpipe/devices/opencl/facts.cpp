// What an OpenCL device says of itself, which device of another family it is too, and what Linux has of it in /sys.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <fstream>
#include <initializer_list>
#include <vector>

#include "netpipe/devices/host/pci.hpp"
#include "netpipe/devices/host/topology.hpp"
#include "netpipe/devices/opencl/inventory.hpp"
#include "netpipe/files/output.hpp"

namespace npgpu::opencl {

namespace {

namespace fs = std::filesystem;

double number_in(const fs::path& file) {
  double number = not_measured;
  if (!(std::ifstream(file) >> number)) return not_measured;
  return number;
}

// Folders in `parent` whose names begin so, in order: hwmon3, card0.
std::vector<fs::path> folders(const fs::path& parent, std::string_view prefix) {
  std::error_code error;
  std::vector<fs::path> all = files::entries_of(parent, error);
  std::erase_if(all, [&](const fs::path& one) { return !one.filename().string().starts_with(prefix); });
  return all;
}

class Gpu {
 public:
  Gpu(const std::string& pci_bus_id, const fs::path& sys)
      : device_(sys / "bus/pci/devices" / host::linux_bus_id(pci_bus_id)) {}

  // The first of these files of the sensors that holds a number, times `unit`.
  double sensor(std::initializer_list<const char*> files, double unit) const {
    for (const fs::path& hwmon : folders(device_ / "hwmon", "hwmon"))
      for (const char* const file : files)
        if (const double number = number_in(hwmon / file); number > 0) return number * unit;
    return not_measured;
  }
  // The same of Intel's clocks, which lie with the card or with its first tile.
  double clock(std::initializer_list<const char*> files) const {
    std::vector<fs::path> places = folders(device_ / "drm", "card");
    places.push_back(device_ / "tile0/gt0/freq0");
    for (const fs::path& place : places)
      for (const char* const file : files)
        if (const double mhz = number_in(place / file); mhz > 0) return mhz;
    return not_measured;
  }
  // AMD's lists of clocks, "1: 1800Mhz *": the one in use has the star.
  double listed_clock(const char* file, bool in_use) const {
    double found = not_measured;
    std::ifstream lines(device_ / file);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t colon = line.find(':');
      if (colon == std::string::npos) continue;
      const double mhz = std::strtod(line.c_str() + colon + 1, nullptr);
      if (mhz > 0 && (in_use ? line.find('*') != std::string::npos : !(found > mhz))) found = mhz;
    }
    return found;
  }

 private:
  fs::path device_;
};

double first_known(double a, double b) { return std::isnan(a) ? b : a; }

}  // namespace

Telemetry sysfs_telemetry(const std::string& pci_bus_id, const fs::path& sys) {
  const Gpu gpu(pci_bus_id, sys);
  Telemetry now;
  now.sm_clock_mhz = first_known(
      gpu.listed_clock("pp_dpm_sclk", true),
      first_known(gpu.sensor({"freq1_input"}, 1e-6), gpu.clock({"gt_act_freq_mhz", "gt_cur_freq_mhz",
                                                                "gt/gt0/rps_act_freq_mhz", "act_freq", "cur_freq"})));
  now.memory_clock_mhz = first_known(gpu.listed_clock("pp_dpm_mclk", true), gpu.sensor({"freq2_input"}, 1e-6));
  now.power_w = gpu.sensor({"power1_average", "power1_input"}, 1e-6);
  now.temperature_c = gpu.sensor({"temp1_input"}, 1e-3);
  return now;
}

Facts sysfs_facts(const std::string& pci_bus_id, const fs::path& sys) {
  const Gpu gpu(pci_bus_id, sys);
  Facts facts;
  const auto add = [&](const char* name, double value) {
    if (value > 0) facts.emplace_back(name, value);
  };
  const auto add_whole = [&](const char* name, double value) {
    if (value > 0) facts.emplace_back(name, static_cast<std::int64_t>(value));
  };
  add_whole("max_sm_clock_mhz",
            first_known(gpu.listed_clock("pp_dpm_sclk", false),
                        gpu.clock({"gt_RP0_freq_mhz", "gt_max_freq_mhz", "gt/gt0/rps_RP0_freq_mhz", "rp0_freq"})));
  add_whole("max_memory_clock_mhz", gpu.listed_clock("pp_dpm_mclk", false));
  add("power_limit_w", gpu.sensor({"power1_cap", "power1_max"}, 1e-6));
  const LinkState best = host::pci_link(pci_bus_id, host::LinkAt::best, sys),
                  now = host::pci_link(pci_bus_id, host::LinkAt::now, sys);
  add_whole("max_pcie_generation", best.generation);
  add_whole("max_pcie_lanes", best.lanes);
  add_whole("pcie_generation_now", now.generation);
  add_whole("pcie_lanes_now", now.lanes);
  return facts;
}

double sysfs_joules(const std::string& pci_bus_id, const fs::path& sys) {
  return Gpu(pci_bus_id, sys).sensor({"energy1_input"}, 1e-6);
}

namespace {

template <class T> struct Question {
  const char* name;
  cl_device_info what;
};

constexpr Question<cl_uint> small_numbers[] = {{"compute_units", CL_DEVICE_MAX_COMPUTE_UNITS},
                                               {"max_clock_mhz", CL_DEVICE_MAX_CLOCK_FREQUENCY},
                                               {"address_bits", CL_DEVICE_ADDRESS_BITS},
                                               {"cache_line_bytes", CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE},
                                               {"base_alignment_bits", CL_DEVICE_MEM_BASE_ADDR_ALIGN},
                                               {"vector_width_fp16", CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF},
                                               {"vector_width_fp32", CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT},
                                               {"vector_width_fp64", CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE},
                                               {"vector_width_int32", CL_DEVICE_NATIVE_VECTOR_WIDTH_INT},
                                               {"ecc", CL_DEVICE_ERROR_CORRECTION_SUPPORT},
                                               {"unified_memory", CL_DEVICE_HOST_UNIFIED_MEMORY},
                                               {"warp_size", CL_DEVICE_WARP_SIZE_NV},
                                               {"registers_per_block", CL_DEVICE_REGISTERS_PER_BLOCK_NV},
                                               {"warp_size", CL_DEVICE_WAVEFRONT_WIDTH_AMD},
                                               {"simds_per_compute_unit", CL_DEVICE_SIMD_PER_COMPUTE_UNIT_AMD},
                                               {"simd_width", CL_DEVICE_SIMD_WIDTH_AMD},
                                               {"local_memory_banks", CL_DEVICE_LOCAL_MEM_BANKS_AMD},
                                               {"memory_channels", CL_DEVICE_GLOBAL_MEM_CHANNELS_AMD}};
constexpr Question<cl_ulong> large_numbers[] = {{"max_allocation_bytes", CL_DEVICE_MAX_MEM_ALLOC_SIZE},
                                                {"cache_bytes", CL_DEVICE_GLOBAL_MEM_CACHE_SIZE},
                                                {"local_memory_bytes", CL_DEVICE_LOCAL_MEM_SIZE}};
constexpr Question<std::size_t> sizes[] = {{"max_work_group_size", CL_DEVICE_MAX_WORK_GROUP_SIZE},
                                           {"timer_resolution_ns", CL_DEVICE_PROFILING_TIMER_RESOLUTION}};

// Vectors of 0 elements are those of a type that the device does not have.
bool has_meaning(std::string_view name, std::uint64_t value) { return value > 0 || !name.starts_with("vector_width"); }

template <class T, std::size_t count>
void add(Facts& facts, cl_device_id device, const Question<T> (&questions)[count]) {
  for (const auto& [name, what] : questions)
    if (const auto value = value_of<T>(device, what); value && !find_fact(facts, name) && has_meaning(name, *value))
      facts.emplace_back(name, static_cast<std::int64_t>(*value));
}

void add_text(Facts& facts, const char* name, const std::optional<std::string>& text) {
  if (text && !text->empty()) facts.emplace_back(name, *text);
}

std::string type_words(cl_device_id device) {
  const cl_device_type type = value_of<cl_device_type>(device, CL_DEVICE_TYPE).value_or(0);
  if (type & CL_DEVICE_TYPE_GPU) return "GPU";
  if (type & CL_DEVICE_TYPE_CPU) return "CPU";
  if (type & CL_DEVICE_TYPE_ACCELERATOR) return "accelerator";
  return "other";
}

// "0000:3b:00.0": by the standard's extension, else by NVIDIA's or AMD's own.
std::string pci_bus_id_of(cl_device_id device) {
  const auto text = [](unsigned domain, unsigned bus, unsigned slot, unsigned function) -> std::string {
    if (bus > 0xff || slot > 0x1f || function > 7) return {};  // no place that a bus has
    return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, bus, slot, function);
  };
  if (const auto pci = value_of<cl_device_pci_bus_info_khr>(device, CL_DEVICE_PCI_BUS_INFO_KHR))
    return text(pci->pci_domain, pci->pci_bus, pci->pci_device, pci->pci_function);
  constexpr cl_device_info nv_bus = 0x4008, nv_slot = 0x4009, nv_domain = 0x400A;  // not in all headers
  if (has_extension(device, "cl_nv_device_attribute_query"))
    if (const auto bus = value_of<cl_uint>(device, nv_bus), slot = value_of<cl_uint>(device, nv_slot); bus && slot)
      return text(value_of<cl_uint>(device, nv_domain).value_or(0), *bus, *slot >> 3, *slot & 7);
  if (const auto amd = value_of<cl_device_topology_amd>(device, CL_DEVICE_TOPOLOGY_AMD);
      amd && amd->raw.type == CL_DEVICE_TOPOLOGY_TYPE_PCIE_AMD)
    return text(0, static_cast<unsigned char>(amd->pcie.bus), static_cast<unsigned char>(amd->pcie.device),
                static_cast<unsigned char>(amd->pcie.function));
  return {};
}

std::string uuid_of(cl_device_id device) {
  const auto uuid = value_of<std::array<cl_uchar, CL_UUID_SIZE_KHR>>(device, CL_DEVICE_UUID_KHR);
  if (!uuid || std::ranges::count(*uuid, 0) == CL_UUID_SIZE_KHR) return {};
  std::string text;
  for (std::size_t i = 0; i < uuid->size(); ++i)
    text += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", unsigned{(*uuid)[i]});
  return text;
}

// The device of another family that has this UUID (which CUDA writes behind "GPU-") or this place on the bus.
std::optional<DeviceInfo> twin_of(const DeviceInfo& info, bool is_cpu) {
  for (const auto& family : devices::families()) {
    if (is_cpu ? family->kind() != "host" : !family->has_gpus()) continue;
    for (const DeviceInfo& other : family->list()) {
      const bool same_uuid = !info.uuid.empty() && other.uuid.ends_with(info.uuid);
      const bool same_place = !info.pci_bus_id.empty() && !other.pci_bus_id.empty() &&
                              host::linux_bus_id(other.pci_bus_id) == host::linux_bus_id(info.pci_bus_id);
      if (is_cpu || same_uuid || same_place) return other;
    }
  }
  return std::nullopt;
}

}  // namespace

DeviceInfo describe(cl_platform_id platform, cl_device_id device) {
  DeviceInfo info;
  info.name = text_of(device, CL_DEVICE_NAME).value_or("a device without a name");
  if (const auto board = text_of(device, CL_DEVICE_BOARD_NAME_AMD); board && !board->empty()) info.name = *board;
  constexpr cl_ulong most_memory = cl_ulong{1} << 50;  // more is no answer
  info.memory_bytes = value_of<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_SIZE).value_or(0);
  if (info.memory_bytes > most_memory) info.memory_bytes = 0;
  info.uuid = uuid_of(device);
  info.pci_bus_id = pci_bus_id_of(device);

  Facts& facts = info.facts;
  const std::string type = type_words(device);
  facts.emplace_back("device_type", type);
  if (const auto twin = twin_of(info, type == "CPU")) {
    facts.emplace_back("same_as", twin->id);
    info.uuid = twin->uuid;
    info.pci_bus_id = twin->pci_bus_id;
    info.numa_node = twin->numa_node;
    info.host_nodes = twin->host_nodes;
    info.link = twin->link;
    info.memory = twin->memory;
    info.peers = twin->peers;
    if (const Fact* const l2 = find_fact(twin->facts, "l2_bytes"); l2 && type != "CPU")
      facts.emplace_back("l2_bytes", *l2);
  } else if (!info.pci_bus_id.empty()) {
    info.numa_node = host::pci_numa_node(info.pci_bus_id);
    info.host_nodes = host::numa_nodes();
    for (Facts& some : std::array{sysfs_facts(info.pci_bus_id), host::pci_facts(info.pci_bus_id)})
      std::ranges::move(some, std::back_inserter(facts));
    const double generation = number_fact(facts, "max_pcie_generation"), lanes = number_fact(facts, "max_pcie_lanes");
    if (generation > 0 && lanes > 0)
      info.link = host::pcie_limit(static_cast<unsigned>(generation), static_cast<unsigned>(lanes));
  }
  add_text(facts, "vendor", text_of(device, CL_DEVICE_VENDOR));
  add_text(facts, "platform", text_of(platform, CL_PLATFORM_NAME));
  add_text(facts, "platform_version", text_of(platform, CL_PLATFORM_VERSION));
  add_text(facts, "opencl_version", text_of(device, CL_DEVICE_VERSION));
  add_text(facts, "opencl_c_version", text_of(device, CL_DEVICE_OPENCL_C_VERSION));
  add_text(facts, "driver_version", text_of(device, CL_DRIVER_VERSION));
  add(facts, device, small_numbers);
  add(facts, device, large_numbers);
  add(facts, device, sizes);
  for (const char* const extension : {"cl_khr_fp16", "cl_khr_fp64"})
    facts.emplace_back(extension + 7, std::int64_t{has_extension(device, extension)});
  if (!value_of<cl_bool>(device, CL_DEVICE_AVAILABLE).value_or(CL_FALSE))
    facts.emplace_back("error", std::string("its driver says that it is not available"));
  return info;
}

}  // namespace npgpu::opencl
