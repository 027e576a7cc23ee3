#include "netpipe/cli/provenance.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/version.hpp"
#include "npgpu/module.hpp"

extern char** environ;

namespace npgpu::cli {

namespace {

std::string fresh_uuid() {
  std::string uuid;
  std::ifstream("/proc/sys/kernel/random/uuid") >> uuid;
  return uuid;
}

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string hostname() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

// Variables that change what is measured. Everything else in the environment is the user's own business.
bool matters(const std::string& variable) {
  static constexpr std::string_view prefixes[] = {"CUDA_", "NVIDIA_", "NPGPU_", "OMP_",   "GOMP_",      "KMP_",
                                                  "MALLOC_", "GLIBC_", "HDF5_",  "HWLOC_", "LD_PRELOAD"};
  return std::any_of(std::begin(prefixes), std::end(prefixes),
                     [&](std::string_view prefix) { return variable.rfind(prefix, 0) == 0; });
}

Facts variables(bool (*wanted)(const std::string&)) {
  Facts facts;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos && wanted(text.substr(0, equals)))
      facts.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  std::sort(facts.begin(), facts.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return facts;
}

Facts device_facts(const DeviceInfo& device) {
  Facts facts{{"id", device.id},
              {"name", device.name},
              {"simulated", std::int64_t{device.simulated}},
              {"uuid", device.uuid},
              {"pci_bus_id", device.pci_bus_id},
              {"numa_node", std::int64_t{device.numa_node}},
              {"memory_bytes", static_cast<std::int64_t>(device.memory_bytes)},
              {"link_bytes_per_s", device.link.per_s},
              {"link_source", device.link.source},
              {"memory_bytes_per_s", device.memory.per_s},
              {"memory_source", device.memory.source}};
  for (const auto& fact : device.facts) {
    const auto same = [&](const auto& have) { return have.first == fact.first; };
    if (std::none_of(facts.begin(), facts.end(), same)) facts.push_back(fact);
  }
  return facts;
}

}  // namespace

TraceRoot trace_root() {
  return {fresh_uuid(), tool_version(), git_commit(), typed(), utc_now(), hostname(), false};
}

Provenance provenance(const std::vector<DeviceInfo>& devices, const std::vector<std::string>& left_out) {
  Provenance all{{"build", build_facts()}};
  if (const Module* memcpy = find_module("memcpy"))
    for (const DeviceInfo& host : memcpy->devices()) all.emplace_back("host", device_facts(host));
  int gpus = 0;
  for (const DeviceInfo& device : devices)
    if (device.id != "host") all.emplace_back("gpu" + std::to_string(gpus++), device_facts(device));
  Facts slurm = variables([](const std::string& v) { return v.rfind("SLURM_", 0) == 0; });
  if (!slurm.empty()) all.emplace_back("slurm", std::move(slurm));
  Facts environment = variables(matters);
  if (!environment.empty()) all.emplace_back("environment", std::move(environment));
  if (!left_out.empty()) {
    Facts plan;
    for (std::size_t i = 0; i < left_out.size(); ++i)
      plan.emplace_back("left_out_" + std::to_string(i + 1), left_out[i]);
    all.emplace_back("plan", std::move(plan));
  }
  return all;
}

}  // namespace npgpu::cli
