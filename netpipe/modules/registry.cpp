#include <algorithm>

#include "npgpu/error.hpp"
#include "npgpu/module.hpp"

namespace npgpu {

namespace {

// A function's static, because modules register before main in no particular order.
std::vector<std::unique_ptr<Module>>& registry() {
  static std::vector<std::unique_ptr<Module>> all;
  return all;
}

}  // namespace

DeviceInfo Module::device(const std::string& id) const {
  const std::vector<DeviceInfo> all = devices();
  if (all.empty())
    throw Error(ErrorKind::nothing, "module " + std::string(name()) + " reaches no device: " + why_none());
  std::string ids;
  for (const DeviceInfo& one : all) {
    if (one.id == id) return one;
    ids += (ids.empty() ? "" : ", ") + one.id;
  }
  throw Error(ErrorKind::usage, "--device: module " + std::string(name()) + " has no device '" + id + "'; it has " + ids);
}

void register_module(std::unique_ptr<Module> module) {
  auto& all = registry();
  const auto place = std::lower_bound(all.begin(), all.end(), module,
                                      [](const auto& a, const auto& b) { return a->name() < b->name(); });
  all.insert(place, std::move(module));
}

const std::vector<std::unique_ptr<Module>>& modules() { return registry(); }

const Module* find_module(std::string_view name) {
  for (const auto& module : registry())
    if (module->name() == name) return module.get();
  return nullptr;
}

}  // namespace npgpu
