#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "netpipe/devices/nvml/library.hpp"
#include "netpipe/devices/nvml/nvml.hpp"

namespace npgpu::nvml {

Facts census_of(const std::vector<host::PciGpu>& gpus, const std::function<Sight(const std::string&)>& look) {
  if (gpus.empty()) return {};
  std::string lost, hidden, unknown;
  const auto add = [](std::string& to, const host::PciGpu& gpu, const std::string& why) {
    to += fmt::format("{}{}: {}", to.empty() ? "" : "; ", gpu.bus_id, why);
  };
  const auto has_same = [&](const host::PciGpu& gpu) {
    return std::ranges::any_of(
        gpus, [&](const host::PciGpu& other) { return other.driver == "nvidia" && other.device_id == gpu.device_id; });
  };
  const bool is_loaded = std::ranges::find(gpus, "nvidia", &host::PciGpu::driver) != gpus.end();
  for (const host::PciGpu& gpu : gpus) {
    if (!gpu.answers) {
      add(lost, gpu, "its PCI configuration space reads all ones: it fell off the bus");
    } else if (gpu.driver == "nvidia") {
      const Sight sight = look(gpu.bus_id);
      if (sight.shown == Shown::lost || sight.shown == Shown::by_nvml_only) add(lost, gpu, sight.why);
      if (sight.shown == Shown::hidden) add(hidden, gpu, sight.why);
      if (sight.shown == Shown::unknown) add(unknown, gpu, sight.why);
    } else if (!gpu.driver.empty()) {
      add(hidden, gpu, "the driver " + gpu.driver + " has it");
    } else if (is_loaded && (gpu.is_3d || has_same(gpu))) {
      add(lost, gpu, "the NVIDIA driver has the others, and could not start this one");
    } else {
      add(hidden, gpu, "no driver has it");  // as a display card that the driver does not support
    }
  }
  Facts facts{{"gpus_on_bus", static_cast<std::int64_t>(gpus.size())}};
  for (const auto& [name, text] : {std::pair{"gpus_lost", lost}, {"gpus_hidden", hidden}, {"gpus_unknown", unknown}})
    if (!text.empty()) facts.emplace_back(name, text);
  return facts;
}

Sight sight_of_unlisted(const Visible& visible, const std::string& uuid, unsigned number) {
  std::size_t named = 0;
  bool has_numbers = false;
  for (std::size_t at = 0; at <= visible.list.size();) {
    const std::size_t end = std::min(visible.list.find(',', at), visible.list.size());
    const std::string word = visible.list.substr(at, end - at);
    at = end + 1;
    const bool is_number = !word.empty() && word.size() < 6 && word.find_first_not_of("0123456789") == word.npos;
    if (word.starts_with("GPU-")) {
      if (uuid.starts_with(word))
        return {Shown::by_nvml_only, "CUDA_VISIBLE_DEVICES names it, and CUDA does not show it"};
    } else if (!is_number || std::stoul(word) >= visible.gpus) {
      break;  // CUDA shows none that stands behind a word that is no GPU
    } else if (visible.is_in_bus_order && std::stoul(word) == number) {
      return {Shown::by_nvml_only, "CUDA_VISIBLE_DEVICES names it, and CUDA does not show it"};
    }
    has_numbers |= is_number;
    ++named;
  }
  if (!has_numbers || visible.is_in_bus_order || named <= visible.by_cuda)
    return {Shown::hidden, "CUDA_VISIBLE_DEVICES"};
  return {Shown::unknown, fmt::format("CUDA_VISIBLE_DEVICES names {} GPUs, and CUDA shows {}", named, visible.by_cuda)};
}

namespace {

// The minor number in /proc/driver/nvidia/gpus/0000:3b:00.0/information.
std::optional<int> minor_of(const std::string& bus_id) {
  std::ifstream file("/proc/driver/nvidia/gpus/" + bus_id + "/information");
  constexpr std::string_view key = "Device Minor:";
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key)) return std::atoi(line.c_str() + key.size());
  return std::nullopt;
}

// NVML does not show it: whether this process may open it says whether that is by intention.
Sight look_at_node(const std::string& bus_id) {
  const auto minor = minor_of(bus_id);
  if (!minor) return {Shown::unknown, "the driver does not show it to this process"};
  const std::string node = fmt::format("/dev/nvidia{}", *minor);
  const int file = ::open(node.c_str(), O_RDWR | O_CLOEXEC);
  const int error = errno;
  if (file >= 0) {
    ::close(file);
    return {Shown::unknown, "the driver opens it, and NVML does not show it"};
  }
  if (error == EPERM || error == EACCES || error == ENOENT) return {Shown::hidden, "not given to this process"};
  return {Shown::lost, fmt::format("the driver cannot open {}: error {}", node, error)};
}

bool has_mig(Handle gpu) {
  unsigned mig = 0, pending = 0;
  const Library& n = library();
  return n.mig_mode && n.mig_mode(gpu, &mig, &pending) == success && mig != 0;
}

Sight look_at(const std::string& bus_id, const std::vector<DeviceInfo>& all) {
  if (const auto why = why_lost(bus_id)) return {Shown::lost, *why};
  const Library& n = library();
  if (!n.why_not.empty()) return {Shown::unknown, n.why_not};
  Handle gpu = nullptr;
  switch (const Result result = n.handle_by_bus(bus_id.c_str(), &gpu); result) {
    case success: break;
    case no_permission: return {Shown::hidden, "not given to this process"};
    case not_found:
    case gpu_not_found: return look_at_node(bus_id);
    case insufficient_power:
    case interrupt_issue:
    case unknown_error: return {Shown::lost, "NVML: " + n.text_of(result)};
    default: return {Shown::unknown, "NVML: " + n.text_of(result)};
  }
  const auto is_it = [&](const DeviceInfo& info) { return host::linux_bus_id(info.pci_bus_id) == bus_id; };
  // One that CUDA lists and that could not be described has no bus id: that device is a finding of its own.
  const bool are_known = std::ranges::none_of(all, [](const DeviceInfo& info) { return info.pci_bus_id.empty(); });
  if (all.empty() || !are_known || std::ranges::any_of(all, is_it)) return {Shown::yes};
  if (const char* const list = std::getenv("CUDA_VISIBLE_DEVICES")) {
    const char* const order = std::getenv("CUDA_DEVICE_ORDER");
    char uuid[96] = {};
    unsigned number = ~0u;
    if (n.uuid) (void)n.uuid(gpu, uuid, sizeof uuid);
    if (n.index) (void)n.index(gpu, &number);
    return sight_of_unlisted({list, order && std::string_view(order) == "PCI_BUS_ID", device_count(), all.size()}, uuid,
                             number);
  }
  if (has_mig(gpu)) return {Shown::hidden, "MIG"};
  return {Shown::by_nvml_only, "NVML shows it, and CUDA does not"};
}

}  // namespace

Facts census_of_machine(const std::vector<DeviceInfo>& by_cuda) {
  return census_of(host::nvidia_gpus(), [&](const std::string& bus_id) { return look_at(bus_id, by_cuda); });
}

}  // namespace npgpu::nvml
