#include "netpipe/devices/cuda/nvml.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "netpipe/devices/cuda/nvml_library.hpp"
#include "netpipe/devices/cuda/nvml_unread.hpp"

namespace npgpu::cuda {

namespace nvml {

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

}  // namespace nvml

using nvml::Answer;
using nvml::ask;
using nvml::FieldValue;
using nvml::gpu_temperature;
using nvml::Handle;
using nvml::insufficient_size;
using nvml::memory_clock;
using nvml::not_found;
using nvml::pcie_received_bytes;
using nvml::pcie_sent_bytes;
using nvml::ProcessInfo;
using nvml::Result;
using nvml::sm_clock;
using nvml::success;
using nvml::Unread;
using nvml::UtilizationSample;

std::optional<NvmlDevice> NvmlDevice::find(const std::string& pci_bus_id, std::string& why) {
  why = nvml::library().why_not;
  if (!why.empty()) return std::nullopt;
  Handle handle = nullptr;
  if (const Result result = nvml::library().handle_by_bus(pci_bus_id.c_str(), &handle); result != success) {
    why = result == nvml::gpu_is_lost || result == nvml::reset_required
              ? fmt::format("the GPU at {} does not answer: {}", pci_bus_id, nvml::library().text_of(result))
              : fmt::format("NVML does not know the GPU at {}: {}", pci_bus_id, nvml::library().text_of(result));
    return std::nullopt;
  }
  return NvmlDevice(handle);
}

std::optional<std::string> NvmlDevice::why_lost(const std::string& pci_bus_id) {
  const nvml::Library& n = nvml::library();
  if (!n.why_not.empty()) return std::nullopt;
  Handle handle = nullptr;
  Result result = n.handle_by_bus(pci_bus_id.c_str(), &handle);
  unsigned celsius = 0;  // asked of the GPU itself, and every GPU has it
  if (result == success && n.temperature) result = n.temperature(handle, gpu_temperature, &celsius);
  if (result == nvml::gpu_is_lost || result == nvml::reset_required) return "NVML: " + n.text_of(result);
  return std::nullopt;
}

namespace {

Telemetry read_noting(Handle gpu, Unread& unread) {
  const nvml::Library& n = nvml::library();
  Telemetry t;
  if (const auto mhz = unread.note("clocks", ask(n.clock, gpu, sm_clock))) t.sm_clock_mhz = *mhz;
  if (const auto mhz = unread.note("clocks", ask(n.clock, gpu, memory_clock))) t.memory_clock_mhz = *mhz;
  if (const auto mw = unread.note("power", ask(n.power_mw, gpu))) t.power_w = *mw * 1e-3;
  if (const auto c = unread.note("temperature", ask(n.temperature, gpu, gpu_temperature))) t.temperature_c = *c;
  if (const auto reasons = unread.note("throttle", ask<unsigned long long>(n.throttle_reasons, gpu)))
    t.throttle_reasons = *reasons;
  return t;
}

// Of confidential computing, which is the whole system's.
void add_confidential_computing(Facts& facts, Unread& unread) {
  const nvml::Library& n = nvml::library();
  nvml::ConfComputeSettings settings;
  nvml::Result result = n.conf_compute_settings ? n.conf_compute_settings(&settings) : nvml::no_function;
  unsigned feature = settings.feature;
  if (result != success && n.conf_compute) {
    nvml::ConfComputeState state;
    result = n.conf_compute(&state);
    feature = state.feature;
  }
  if (unread.note("confidential_computing", result))
    facts.emplace_back("confidential_computing", std::int64_t{feature != 0});
}

}  // namespace

Telemetry NvmlDevice::read() const {
  Unread ignored;
  return read_noting(handle_, ignored);
}

Facts NvmlDevice::facts() const {
  const nvml::Library& n = nvml::library();
  Facts facts;
  Unread unread;
  (void)read_noting(handle_, unread);
  const auto add = [&](const char* group, const char* name, const Answer<unsigned>& answer) {
    if (unread.note(group, answer)) facts.emplace_back(name, std::int64_t{*answer});
  };
  char version[96] = {};
  if (n.driver_version && n.driver_version(version, sizeof version) == success)
    facts.emplace_back("driver_version", std::string(version));
  char vbios[64] = {};
  if (n.vbios_version && n.vbios_version(handle_, vbios, sizeof vbios) == success)
    facts.emplace_back("vbios_version", std::string(vbios));
  add("link", "pcie_generation_now", ask(n.link_generation, handle_));
  add("link", "pcie_lanes_now", ask(n.link_width, handle_));
  add("link", "max_pcie_generation", ask(n.max_link_generation, handle_));
  add("link", "gpu_max_pcie_generation", ask(n.gpu_max_link_generation, handle_));
  add("link", "max_pcie_lanes", ask(n.max_link_width, handle_));
  add("max_clocks", "max_sm_clock_mhz", ask(n.max_clock, handle_, sm_clock));
  add("max_clocks", "max_memory_clock_mhz", ask(n.max_clock, handle_, memory_clock));
  if (const auto mw = unread.note("power_limit", ask(n.power_limit_mw, handle_)))
    facts.emplace_back("power_limit_w", *mw * 1e-3);
  if (const auto mw = unread.note("power_limit", ask(n.default_power_limit_mw, handle_)))
    facts.emplace_back("default_power_limit_w", *mw * 1e-3);
  add("slowdown_temperature", "slowdown_temperature_c", ask(n.temperature_threshold, handle_, nvml::slowdown));
  add("persistence", "persistence_mode", ask(n.persistence, handle_));
  std::ranges::move(nvlink_facts(), std::back_inserter(facts));
  if (const auto links = nvml::ask_field(handle_, nvml::c2c_links); links && *links > 0) {
    facts.emplace_back("c2c_links", static_cast<std::int64_t>(*links));
    unsigned long long best = 0;  // "for active links"
    for (unsigned link = 0; link < *links; ++link)
      best = std::max(best, nvml::ask_field(handle_, nvml::c2c_mb_s, link).value_or(0));
    if (best > 0) facts.emplace_back("c2c_mb_s", static_cast<std::int64_t>(best));
  }
  unsigned mig = 0, pending = 0;
  if (unread.note("mig", n.mig_mode ? n.mig_mode(handle_, &mig, &pending) : nvml::no_function))
    facts.emplace_back("mig_mode", std::int64_t{mig});
  add_confidential_computing(facts, unread);
  std::ranges::move(unread.facts(), std::back_inserter(facts));
  return facts;
}

std::optional<std::vector<long>> NvmlDevice::processes() const {
  const auto by_process = memory_by_process();
  if (!by_process) return std::nullopt;
  std::vector<long> pids;
  for (const auto& [pid, bytes] : *by_process) pids.push_back(pid);
  return pids;
}

std::optional<std::map<long, std::uint64_t>> NvmlDevice::memory_by_process() const {
  if (!nvml::library().processes) return std::nullopt;
  std::vector<ProcessInfo> infos(16);
  for (;;) {
    auto count = static_cast<unsigned>(infos.size());
    const Result result = nvml::library().processes(handle_, &count, infos.data());
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

std::optional<std::vector<Use>> NvmlDevice::uses(std::uint64_t& since) const {
  if (!nvml::library().utilization) return std::nullopt;
  std::vector<UtilizationSample> samples(128);
  auto count = static_cast<unsigned>(samples.size());
  Result result = nvml::library().utilization(handle_, samples.data(), &count, since);
  if (result == insufficient_size) {
    samples.resize(count);
    result = nvml::library().utilization(handle_, samples.data(), &count, since);
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

std::optional<double> NvmlDevice::energy_j() const {
  const auto mj = ask<unsigned long long>(nvml::library().energy_mj, handle_);
  if (!mj) return std::nullopt;
  return static_cast<double>(*mj) * 1e-3;
}

double NvmlDevice::instantaneous_power_w() const {
  const auto mw = nvml::ask_field(handle_, nvml::instantaneous_power);
  return mw ? static_cast<double>(*mw) * 1e-3 : not_measured;
}

std::optional<LinkBytes> NvmlDevice::link_bytes() const {
  FieldValue values[2] = {};
  values[0].field = pcie_sent_bytes;
  values[1].field = pcie_received_bytes;
  if (!nvml::library().fields || nvml::library().fields(handle_, 2, values) != success) return std::nullopt;
  for (const FieldValue& one : values)
    if (one.result != success) return std::nullopt;
  return LinkBytes{values[0].value.number, values[1].value.number};
}

}  // namespace npgpu::cuda
