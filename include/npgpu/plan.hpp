// What a campaign measures, decided and checked before it begins: steps of all kinds, and what was left out and why.
//
// Example:
//   npgpu::Plan plan;
//   const npgpu::DeviceInfo gpu = npgpu::devices::find("sim:h200");  // or cuda:0
//   const npgpu::Module& module = npgpu::default_module(gpu);
//   const auto copy = npgpu::case_on(std::string(module.name()), gpu.id, npgpu::Direction::h2d);
//   npgpu::add<npgpu::Transfers>(plan, module, gpu,
//                                npgpu::steps_of<npgpu::Transfers>(copy, npgpu::axes_of({npgpu::MiB})));
//   std::cout << plan.points() << " point\n";
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/kinds.hpp"
#include "npgpu/module.hpp"
#include "npgpu/runner.hpp"

namespace npgpu {

// Steps that share a runner, in the order in which they run.
template <class K> struct Batch {
  const Backend<K>* backend = nullptr;  // outlives the plan
  DeviceInfo device;
  std::vector<Step<K>> steps;
  MemoryNeed need;
  Seconds min_trial{0};                    // no trial is shorter, but those that the classic schedule makes
  std::vector<DeviceInfo> more_devices{};  // others that have steps in it, too

  const DeviceInfo& device_for(const typename K::Case& question) const {
    for (const DeviceInfo& one : more_devices)
      if (one.id == device_of(question)) return one;
    return device;
  }

  std::set<typename K::Case> cases() const {
    std::set<typename K::Case> all;
    for (const Step<K>& step : steps) all.insert(step.question);
    return all;
  }
};
template <class K> using Batches = std::vector<Batch<K>>;

struct Plan {
  Kinds::Tuple<Batches> batches;
  std::vector<std::string> left_out;  // a sentence each

  template <class K> Batches<K>& of() { return std::get<Batches<K>>(batches); }
  template <class K> const Batches<K>& of() const { return std::get<Batches<K>>(batches); }
  std::vector<DeviceInfo> devices() const;  // each once, in order
  bool allows_context_reset() const;        // all of its backends do
  bool is_of_node() const;                  // so many copies between GPUs that their titles say little to a person
  std::size_t points() const;
  std::size_t cases() const;
};

// Adds a batch of these steps to the plan. Steps that the backend refuses are left out, each reason named once in
// `left_out`; all are left out if they need more memory than is free. For K out of Kinds.
template <class K>
void add(Plan&, const Backend<K>&, const DeviceInfo&, const std::vector<Step<K>>&, Seconds min_trial = Seconds{0});
// One case over all these axes.
template <class K>
std::vector<Step<K>> steps_of(const typename K::Case& question, const std::vector<typename K::Axes>& axes) {
  std::vector<Step<K>> steps;
  for (const auto& one : axes) steps.push_back({question, one});
  return steps;
}
std::vector<TransferSize> axes_of(const std::vector<std::uint64_t>& sizes);  // bytes
// "transfer sim:h200 ...", the title of its case; of several cases the kind and the device.
template <class K> std::string title_of(const Batch<K>&);

// The backends of a kind that reach devices of this kind (cuda, host, sim).
template <class B>
std::vector<const B*> reaching(const std::vector<std::unique_ptr<B>>& all, std::string_view device_kind) {
  std::vector<const B*> some;
  for (const auto& one : all)
    if (one->device_kind() == device_kind) some.push_back(one.get());
  return some;
}
// The module that moves a device's bytes when the user names none. Throws Error(nothing) if this build has none.
const Module& default_module(const DeviceInfo& device, Executor executor = Executor::copy_engine);

}  // namespace npgpu
