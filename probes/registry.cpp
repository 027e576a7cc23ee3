#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "npgpu/error.hpp"
#include "npgpu/probe.hpp"

namespace npgpu {

const Probe& find_probe(std::string_view name, const std::string& device) {
  std::set<std::string_view> names, kinds;
  for (const auto& probe : probes()) {
    names.insert(probe->name());
    if (probe->name() == name) kinds.insert(probe->device_kind());
  }
  if (kinds.empty())
    throw Error(ErrorKind::usage, fmt::format("'{}' is no probe; there are {}", name, fmt::join(names, ", ")));
  (void)devices::find(device);
  for (const auto& probe : probes())
    if (probe->name() == name && probe->device_kind() == devices::kind_of(device)) return *probe;
  throw Error(ErrorKind::usage, fmt::format("--device: probe {} has nothing for '{}'; it has {}", name, device,
                                            fmt::join(kinds, ", ")));
}

}  // namespace npgpu
