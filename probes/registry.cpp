#include <algorithm>

#include "npgpu/error.hpp"
#include "npgpu/probe.hpp"

namespace npgpu {

namespace {

// A function's static, because probes register before main in no particular order.
std::vector<std::unique_ptr<Probe>>& registry() {
  static std::vector<std::unique_ptr<Probe>> all;
  return all;
}

bool is_of_kind(const std::string& device, std::string_view kind) {
  return device == kind || device.rfind(std::string(kind) + ':', 0) == 0;
}

}  // namespace

DeviceInfo Probe::device(const std::string& id) const {
  const std::vector<DeviceInfo> all = devices();
  if (all.empty())
    throw Error(ErrorKind::nothing, "probe " + std::string(name()) + " reaches no " + std::string(kind()) + " device: " + why_none());
  std::string ids;
  for (const DeviceInfo& one : all) {
    if (one.id == id) return one;
    ids += (ids.empty() ? "" : ", ") + one.id;
  }
  throw Error(ErrorKind::usage, "--device: probe " + std::string(name()) + " has no device '" + id + "'; it has " + ids);
}

void register_probe(std::unique_ptr<Probe> probe) {
  auto& all = registry();
  const auto before = [](const auto& a, const auto& b) {
    return std::pair(a->name(), a->kind()) < std::pair(b->name(), b->kind());
  };
  all.insert(std::lower_bound(all.begin(), all.end(), probe, before), std::move(probe));
}

const std::vector<std::unique_ptr<Probe>>& probes() { return registry(); }

const Probe& find_probe(std::string_view name, const std::string& device) {
  std::string names, kinds;
  for (const auto& probe : registry()) {
    if (probe->name() == name && is_of_kind(device, probe->kind())) return *probe;
    const std::string word(probe->name());
    if (names.find(word) == std::string::npos) names += (names.empty() ? "" : ", ") + word;
    if (word == name) kinds += (kinds.empty() ? "" : ", ") + std::string(probe->kind());
  }
  if (kinds.empty())
    throw Error(ErrorKind::usage, "'" + std::string(name) + "' is no probe; there are " + names);
  if (is_of_kind(device, "cuda") && std::none_of(registry().begin(), registry().end(),
                                                 [](const auto& probe) { return probe->kind() == "cuda"; }))
    throw Error(ErrorKind::nothing, "--device: " + device + " cannot be probed by this build: it was made without CUDA");
  throw Error(ErrorKind::usage, "--device: probe " + std::string(name) + " has nothing for '" + device + "'; it has " + kinds);
}

}  // namespace npgpu
