// The kernels of a step by time, and what their shape shows: their bytes and operations are not in a recording.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "netpipe/model/record/several_streams.hpp"

namespace npgpu {

double waves_of(const RecordShape& shape, const MeasuredCosts& costs) {
  const std::uint64_t blocks = std::max<std::uint64_t>(shape.blocks(), 1);
  try {
    return time_of_kernel(costs, {.flops = 1,
                                  .blocks = blocks,
                                  .threads = shape.threads(),
                                  .registers = shape.registers,
                                  .shared_bytes = shape.static_shared_bytes + shape.dynamic_shared_bytes})
        .waves;
  } catch (const Error&) {
    const std::uint64_t slots = slots_of(costs, shape.threads());
    return slots ? static_cast<double>(blocks) / static_cast<double>(slots) : not_measured;
  }
}

namespace {

AppBound bound_of(const AppKernel& k, double empty_us) {
  constexpr double short_by = 2, uneven_by = 1.25;
  if (k.each_us <= short_by * empty_us) return AppBound::launch;
  if (static_cast<double>(k.shape.blocks()) < k.multiprocessors) return AppBound::few_blocks;
  if (k.waves > 1 && std::ceil(k.waves) / k.waves > uneven_by) return AppBound::last_wave;
  return AppBound::unknown;
}

}  // namespace

std::optional<KernelCounts> counts_of(const StepItem& kernel, std::span<const AppKernelCount> all) {
  const auto count = std::ranges::find_if(all, [&](const auto& one) { return kernel.name.starts_with(one.name); });
  if (kernel.activity != Activity::kernel || count == all.end()) return std::nullopt;
  const RecordShape& shape = kernel.shape;
  return KernelCounts{.flops = count->flops,
                      .bytes = count->bytes,
                      .type = count->type,
                      .blocks = std::max<std::uint64_t>(shape.blocks(), 1),
                      .threads = shape.threads(),
                      .registers = shape.registers,
                      .shared_bytes = shape.static_shared_bytes + shape.dynamic_shared_bytes};
}

std::vector<AppKernel> kernels_of(const AppStep& step, const MeasuredCosts& costs,
                                  std::span<const AppKernelCount> counts) {
  for (const AppKernelCount& one : counts)
    if (std::ranges::none_of(step.items,
                             [&](const StepItem& item) { return counts_of(item, std::span(&one, 1)).has_value(); }))
      throw Error(ErrorKind::usage, "--counts: no kernel of the step begins with '" + one.name + "'");

  const bool is_known = is_of_model(costs, step.device_name);
  std::map<std::pair<std::string, RecordShape>, AppKernel> all;
  for (const StepItem& item : step.items) {
    if (item.activity != Activity::kernel) continue;
    AppKernel& k = all[{item.name, item.shape}];
    k.name = item.name;
    k.shape = item.shape;
    ++k.times;
    k.total_us += item.device_us;
    if (const auto count = is_known && !k.allowed ? counts_of(item, counts) : std::nullopt)
      k.allowed = time_of_kernel(costs, *count);
  }
  std::vector<AppKernel> sorted;
  for (auto& [of, k] : all) {
    k.each_us = k.total_us / static_cast<double>(k.times);
    if (is_known) {
      k.multiprocessors = costs.multiprocessors;
      k.waves = waves_of(k.shape, costs);
      k.bound = bound_of(k, costs.at("empty_kernel_us", 0));
    }
    sorted.push_back(std::move(k));
  }
  std::ranges::stable_sort(sorted, std::greater<>(), &AppKernel::total_us);
  return sorted;
}

}  // namespace npgpu
