#include "npgpu/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "npgpu/error.hpp"

namespace npgpu {

template <class K> std::string title_of(const Batch<K>& batch) {
  const auto cases = batch.cases();
  return cases.size() == 1 ? title(*cases.begin()) : fmt::format("{} {}", K::name, batch.device.id);
}

namespace {

// Why these do not fit into what is free now; nothing if they do.
template <class K> std::optional<std::string> too_large(const Batch<K>& batch) {
  const MemoryNeed free = batch.backend->available(batch.steps.front().question);
  for (const auto& [where, need, have] : {std::tuple{"host", batch.need.host_bytes, free.host_bytes},
                                          std::tuple{"device", batch.need.device_bytes, free.device_bytes}})
    if (need > have)
      return fmt::format("{}: needs {} of {} memory, and {} are free: {}", title_of(batch), size_text(need), where,
                         size_text(have), K::smaller);
  return std::nullopt;
}

}  // namespace

std::vector<DeviceInfo> Plan::devices() const {
  std::vector<DeviceInfo> all;
  for_each_kind([&]<class K>() {
    for (const Batch<K>& batch : of<K>()) {
      const auto add = [&](const DeviceInfo& one) {
        if (std::ranges::find(all, one.id, &DeviceInfo::id) == all.end()) all.push_back(one);
      };
      add(batch.device);
      std::ranges::for_each(batch.more_devices, add);
      for (const auto& question : batch.cases())
        for (const std::string& id : K::other_devices(question))
          if (std::ranges::find(all, id, &DeviceInfo::id) == all.end()) all.push_back(devices::find(id));
    }
  });
  return all;
}

bool Plan::is_of_node() const {
  std::size_t several = 0;
  for (const Batch<Transfers>& batch : of<Transfers>())
    for (const TransferCase& c : batch.cases()) several += devices_of(c).size() > 1;
  constexpr std::size_t a_screen = 20;
  return several > 1 && cases() > a_screen;
}

bool Plan::allows_context_reset() const {
  bool all = true;
  for_each_kind([&]<class K>() {
    for (const Batch<K>& batch : of<K>()) all = all && batch.backend->allows_context_reset();
  });
  return all;
}

std::size_t Plan::points() const {
  std::size_t sum = 0;
  for_each_kind([&]<class K>() {
    for (const Batch<K>& batch : of<K>()) sum += batch.steps.size();
  });
  return sum;
}

std::size_t Plan::cases() const {
  std::size_t sum = 0;
  for_each_kind([&]<class K>() {
    for (const Batch<K>& batch : of<K>()) sum += batch.cases().size();
  });
  return sum;
}

template <class K>
void add(Plan& plan, const Backend<K>& backend, const DeviceInfo& device, const std::vector<Step<K>>& steps,
         Seconds min_trial) {
  struct Refused {
    std::string why;
    typename K::Case first;
    std::size_t points = 0;
  };
  std::vector<Refused> refused;
  Batch<K> batch{&backend, device, {}, {}, min_trial};
  for (const Step<K>& step : steps) {
    const auto why = backend.refuses(step);
    if (!why) {
      batch.steps.push_back(step);
      continue;
    }
    auto same = std::ranges::find(refused, *why, &Refused::why);
    if (same == refused.end()) same = refused.insert(same, {*why, step.question});
    ++same->points;
  }
  for (const Refused& r : refused)
    plan.left_out.push_back(
        fmt::format("{}: {}{}", title(r.first), r.why,
                    r.points > 1 && r.points < steps.size()
                        ? fmt::format(" (and {} more point{})", r.points - 1, r.points == 2 ? "" : "s")
                        : ""));
  if (batch.steps.empty()) return;
  batch.need = backend.needs(batch.steps);
  if (const auto why = too_large(batch)) plan.left_out.push_back(*why);
  else plan.of<K>().push_back(std::move(batch));
}

std::vector<TransferSize> axes_of(const std::vector<std::uint64_t>& sizes) {
  std::vector<TransferSize> axes;
  for (const std::uint64_t bytes : sizes) axes.push_back({bytes});
  return axes;
}

const Module& default_module(const DeviceInfo& device, Executor executor) {
  const std::string_view kind = devices::kind_of(device.id);
  const auto all = reaching(modules(), kind);
  if (all.empty()) throw Error(ErrorKind::nothing, fmt::format("no module of this build moves bytes on {}", device.id));
  if (executor == Executor::sm_kernel)
    for (const Module* module : all)
      if (module->executor() == executor) return *module;
  // The runtime API is what most programs use.
  const auto usual = std::ranges::find(all, "cudaMemcpy", &Module::name);
  return usual == all.end() ? *all.front() : **usual;
}

NPGPU_FOR_KINDS(&add<K>, &title_of<K>)

}  // namespace npgpu
