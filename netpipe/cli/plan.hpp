// What will be measured, decided and checked before anything is: steps of all kinds, and what was left out and why.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "netpipe/cli/measure_options.hpp"
#include "npgpu/kinds.hpp"
#include "npgpu/module.hpp"
#include "npgpu/runner.hpp"

namespace npgpu::cli {

// Steps that share a runner, in the order in which they run.
template <class K> struct Batch {
  const Backend<K>* backend = nullptr;
  DeviceInfo device;
  std::vector<Step<K>> steps;
  MemoryNeed need;
  Seconds least_trial{0};  // no trial is shorter, but those that the classic schedule makes

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
  bool stands_begin_anew() const;           // all of its backends do
  bool is_of_node() const;                  // so many copies between GPUs that their titles say little to a person
  std::size_t points() const;
  std::size_t cases() const;
};

// How the points of a batch are repeated.
template <class K> Repetition repetition_of(const Batch<K>& batch, const MeasureOptions& options) {
  return options.repetition<K>().with_trials_from(batch.least_trial);
}

// Adds a batch of these steps, but not those that its backend refuses, each reason being told once; and none of them if
// they need more memory than is free. For K out of Kinds.
template <class K>
void add(Plan&, const Backend<K>&, const DeviceInfo&, const std::vector<Step<K>>&, Seconds least_trial = Seconds{0});
// One case over all these axes.
template <class K>
std::vector<Step<K>> steps_of(const typename K::Case& question, const std::vector<typename K::Axes>& axes) {
  std::vector<Step<K>> steps;
  for (const auto& one : axes) steps.push_back({question, one});
  return steps;
}
std::vector<TransferSize> axes_of(const std::vector<std::uint64_t>& sizes);

// A guess of the wall time of one step, of what comes before a batch's first, and of the whole plan.
template <class K> Seconds guess(const Batch<K>&, const Step<K>&, const Repetition&);
template <class K> Seconds guess_set_up(const Batch<K>&);
Seconds guess(const Plan&, const MeasureOptions&);

// For --dry-run: each batch with its number of points, its time and its memory.
std::string plan_text(const Plan&, const MeasureOptions&, std::size_t width);
void plan_json(std::ostream&, const Plan&, const MeasureOptions&);

// The backends of a kind that reach devices of this kind (cuda, host, sim).
template <class B>
std::vector<const B*> reaching(const std::vector<std::unique_ptr<B>>& all, std::string_view device_kind) {
  std::vector<const B*> some;
  for (const auto& one : all)
    if (one->device_kind() == device_kind) some.push_back(one.get());
  return some;
}
// The devices that --device names, else the first GPU. Throws Error(nothing), as "calls need a GPU: ...".
std::vector<std::string> gpu_ids(const Options&, const std::string& what);
// The module that moves a device's bytes when the user names none. Throws Error(nothing) if this build has none.
const Module& default_module(const DeviceInfo&, Executor executor = Executor::copy_engine);
// Throws Error(usage) naming the modules that there are, or why this one was left out of the build.
const Module& module_named(const std::string& name);

}  // namespace npgpu::cli
