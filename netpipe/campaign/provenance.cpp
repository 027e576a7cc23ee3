#include "netpipe/campaign/provenance.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>

#include "netpipe/process/child.hpp"
#include "npgpu/measuring/runner.hpp"
#include "npgpu_build.hpp"
#include "npgpu_git.hpp"

extern char** environ;

namespace npgpu::campaign {

namespace {

// Variables that change what is measured. Everything else in the environment is the user's own business.
bool matters(const std::string& variable) {
  static constexpr std::string_view prefixes[] = {"CUDA_",   "NVIDIA_", "NPGPU_", "OMP_",   "GOMP_",     "KMP_",
                                                  "MALLOC_", "GLIBC_",  "HDF5_",  "HWLOC_", "LD_PRELOAD"};
  return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return variable.starts_with(prefix); });
}

Facts variables(bool (*wanted)(const std::string&)) {
  Facts facts;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos && wanted(text.substr(0, equals)))
      facts.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  std::ranges::sort(facts, {}, &Facts::value_type::first);
  return facts;
}

}  // namespace

Facts known_facts(const DeviceInfo& device) {
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
              {"memory_source", device.memory.source},
              {"peers_bytes_per_s", device.peers.per_s},
              {"peers_source", device.peers.source}};
  if (!device.host_nodes.empty())
    facts.emplace_back("host_nodes", fmt::format("{}", fmt::join(device.host_nodes, ", ")));
  add_new(facts, device.facts);
  return facts;
}

namespace {

Facts with_counters(const DeviceInfo& device) {
  Facts facts = known_facts(device);
  add_new(facts, devices::counters(device.id));
  return facts;
}

}  // namespace

void add_new(Facts& facts, const Facts& more) {
  for (const auto& fact : more)
    if (std::ranges::find(facts, fact.first, &Facts::value_type::first) == facts.end()) facts.push_back(fact);
}

std::string tool_version() { return NPGPU_VERSION; }
std::string git_commit() { return NPGPU_GIT_COMMIT; }

Facts build_facts() {
  const std::string cuda = NPGPU_CUDA_TOOLKIT;
  return {{"version", tool_version()},
          {"git_commit", git_commit()},
          {"compiler", std::string(NPGPU_COMPILER)},
          {"build_type", std::string(NPGPU_BUILD_TYPE)},
          {"cuda_toolkit", cuda.empty() ? "none" : cuda},
          {"cuda_architectures", cuda.empty() ? "none" : std::string(NPGPU_CUDA_ARCHITECTURES)},
          {"hdf5", std::string(NPGPU_HDF5)},
          {"boost", std::string(NPGPU_BOOST)},
          {"hwloc", std::string(NPGPU_HWLOC)}};
}

std::string version_text() {
  std::string text = fmt::format("npgpu {} ({})\n", tool_version(), git_commit());
  const Facts facts = build_facts();
  for (std::size_t i = 2; i < facts.size(); ++i)
    text += fmt::format("{}: {}\n", facts[i].first, std::get<std::string>(facts[i].second));
  text += "modules:";
  for (const auto& module : modules()) text += fmt::format(" {}", module->name());
  text += '\n';
  for (const MissingModule& missing : missing_modules())
    text += fmt::format("left out: {} ({})\n", missing.name, missing.reason);
  return text;
}

std::string fresh_uuid() {
  std::string uuid;
  std::ifstream("/proc/sys/kernel/random/uuid") >> uuid;
  return uuid;
}

std::string utc_text(const char* format) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, format, &parts);
  return text;
}

TraceRoot trace_root(const std::string& plan, const std::string& argv, std::uint64_t seed) {
  TraceRoot root;
  root.run_uuid = fresh_uuid();
  root.tool_version = tool_version();
  root.git_commit = git_commit();
  root.argv = argv;
  root.plan = plan;
  root.seed = seed;
  root.start_time_utc = utc_text("%Y-%m-%dT%H:%M:%SZ");
  root.hostname = process::host_name();
  return root;
}

Provenance provenance(const std::vector<DeviceInfo>& devices, const std::vector<std::string>& left_out) {
  Provenance all{{"build", build_facts()}};
  all.emplace_back("host", with_counters(devices::find("host")));
  int gpus = 0;
  for (const DeviceInfo& device : devices)
    if (device.id != "host") all.emplace_back("gpu" + std::to_string(gpus++), with_counters(device));
  // Where all devices are simulated, this machine's GPUs are nobody's business.
  if (std::ranges::any_of(devices, [](const DeviceInfo& device) { return !device.simulated; }))
    if (Facts census = devices::census(); !census.empty()) all.emplace_back("census", std::move(census));
  Facts slurm = variables([](const std::string& v) { return v.starts_with("SLURM_"); });
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

}  // namespace npgpu::campaign
