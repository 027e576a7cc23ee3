// A plan before it is run: for --dry-run, and what plans have in common.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "netpipe/cli/measure_options.hpp"
#include "npgpu/error.hpp"
#include "npgpu/plan.hpp"

namespace npgpu::cli {

// For --dry-run: each batch with its number of points, its time and its memory.
std::string plan_text(const Plan&, const MeasureOptions&, std::size_t width);
void plan_json(std::ostream&, const Plan&, const MeasureOptions&);

// The devices that --device names, else the first GPU. Throws Error(nothing), as "calls need a GPU: ...".
std::vector<std::string> gpu_ids(const Options&, const std::string& what);
// What `steps(plan, backend, device)` says of each device, by all backends of the kind that reach it. Throws
// Error(usage) where none does: "--device: 'host' <why>".
template <class K, class Steps>
Plan plan_for(const std::vector<std::string>& ids, const std::string& why, const Steps& steps) {
  Plan plan;
  for (const std::string& id : ids) {
    const DeviceInfo device = devices::find(id);
    const auto some = reaching(backends<K>(), devices::kind_of(id));
    if (some.empty()) throw Error(ErrorKind::usage, "--device: '" + id + "' " + why);
    for (const Backend<K>* backend : some) add<K>(plan, *backend, device, steps(plan, *backend, device));
  }
  return plan;
}
// The devices of a list: names of devices, and of nodes, which stand for all of their GPUs. Throws Error.
std::vector<DeviceInfo> devices_named(const std::string& list);
// Throws Error(usage) where --to is given and no copy is between two devices.
void refuse_targets_without_peers(const Options&);
// Where copies between two devices go: --to, else all others of the node. Throws Error(nothing) where there is none.
std::vector<std::string> targets_of(const Options&, const std::string& source);
// Throws Error(usage) naming the modules that there are, or why this one was left out of the build.
const Module& module_named(const std::string& name);

}  // namespace npgpu::cli
