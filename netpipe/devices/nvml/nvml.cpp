#include "netpipe/devices/nvml/nvml.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "netpipe/devices/nvml/library.hpp"

namespace npgpu::nvml {

namespace {

Library open_library() {
  Library nvml;
  if (!nvml.handle) {
    nvml.why_not = "NVML (libnvidia-ml.so.1) is not there";
  } else if (!nvml.init || !nvml.handle_by_bus) {
    nvml.why_not = "NVML is there, but it lacks nvmlInit_v2 or nvmlDeviceGetHandleByPciBusId_v2";
  } else if (const Result result = nvml.init(); result != success) {
    nvml.why_not = "NVML could not start: " + nvml.text_of(result);
  }
  return nvml;
}

}  // namespace

const Library& library() {
  static const Library one = open_library();
  return one;
}

std::optional<Device> Device::find(const std::string& pci_bus_id, std::string& why) {
  why = library().why_not;
  if (!why.empty()) return std::nullopt;
  Handle handle = nullptr;
  if (const Result result = library().handle_by_bus(pci_bus_id.c_str(), &handle); result != success) {
    why = result == gpu_is_lost || result == reset_required
              ? fmt::format("the GPU at {} does not answer: {}", pci_bus_id, library().text_of(result))
              : fmt::format("NVML does not know the GPU at {}: {}", pci_bus_id, library().text_of(result));
    return std::nullopt;
  }
  return Device(handle);
}

std::optional<std::string> why_lost(const std::string& pci_bus_id) {
  if (pci_bus_id.empty()) return std::nullopt;
  if (host::is_off_the_bus(pci_bus_id)) return "its PCI configuration space reads all ones: it fell off the bus";
  const Library& n = library();
  if (!n.why_not.empty()) return std::nullopt;
  Handle handle = nullptr;
  Result result = n.handle_by_bus(pci_bus_id.c_str(), &handle);
  unsigned celsius = 0;  // asked of the GPU itself, and every GPU has it
  if (result == success && n.temperature) result = n.temperature(handle, gpu_temperature, &celsius);
  if (result == gpu_is_lost || result == reset_required) return "NVML: " + n.text_of(result);
  return std::nullopt;
}

std::optional<std::vector<long>> Device::processes() const {
  const auto by_process = memory_by_process();
  if (!by_process) return std::nullopt;
  std::vector<long> pids;
  for (const auto& [pid, bytes] : *by_process) pids.push_back(pid);
  return pids;
}

std::optional<std::map<long, std::uint64_t>> Device::memory_by_process() const {
  if (!library().processes) return std::nullopt;
  std::vector<ProcessInfo> infos(16);
  for (;;) {
    auto count = static_cast<unsigned>(infos.size());
    const Result result = library().processes(handle_, &count, infos.data());
    if (result == insufficient_size) {
      infos.resize(std::max<std::size_t>(count, infos.size()) + 16);  // more may start meanwhile
      continue;
    }
    if (result != success) return std::nullopt;
    constexpr unsigned long long not_known = ~0ULL;  // NVML_VALUE_NOT_AVAILABLE
    std::map<long, std::uint64_t> all;
    for (unsigned i = 0; i < count; ++i)
      all[infos[i].pid] += infos[i].memory_bytes == not_known ? 0 : infos[i].memory_bytes;
    return all;
  }
}

std::optional<std::vector<Use>> Device::uses(std::uint64_t& since) const {
  if (!library().utilization) return std::nullopt;
  std::vector<UtilizationSample> samples(128);
  auto count = static_cast<unsigned>(samples.size());
  Result result = library().utilization(handle_, samples.data(), &count, since);
  if (result == insufficient_size) {
    samples.resize(count);
    result = library().utilization(handle_, samples.data(), &count, since);
  }
  if (result == not_found) return std::vector<Use>{};  // no sample is newer
  if (result != success) return std::nullopt;
  std::vector<Use> uses;
  const std::uint64_t before = since;
  for (unsigned i = 0; i < count; ++i) {
    const UtilizationSample& s = samples[i];
    if (s.time_stamp_us <= before || s.compute > 100 || s.memory > 100) continue;
    since = std::max<std::uint64_t>(since, s.time_stamp_us);
    uses.push_back({static_cast<long>(s.pid), s.compute, s.memory});
  }
  return uses;
}

std::optional<double> Device::energy_j() const {
  const Answer mj = ask<unsigned long long>(library().energy_mj, handle_);
  if (!mj) return std::nullopt;
  return mj.number() * 1e-3;
}

double Device::instantaneous_power_w() const {
  const Answer mw = ask_field(handle_, instantaneous_power);
  return mw ? mw.number() * 1e-3 : not_measured;
}

std::optional<LinkBytes> Device::link_bytes() const {
  FieldValue values[2] = {};
  values[0].field = pcie_sent_bytes;
  values[1].field = pcie_received_bytes;
  if (!library().fields || library().fields(handle_, 2, values) != success) return std::nullopt;
  for (const FieldValue& one : values)
    if (one.result != success) return std::nullopt;
  return LinkBytes{values[0].value.number, values[1].value.number};
}

LinkState Device::link_state() const {
  return {static_cast<std::uint32_t>(ask(library().link_generation, handle_).value_or(0)),
          static_cast<std::uint32_t>(ask(library().link_width, handle_).value_or(0))};
}

unsigned device_count() {
  unsigned count = 0;
  const Library& n = library();
  return n.why_not.empty() && n.device_count && n.device_count(&count) == success ? count : 0;
}

}  // namespace npgpu::nvml
