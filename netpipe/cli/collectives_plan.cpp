#include "netpipe/cli/collectives_plan.hpp"

#include <algorithm>
#include <iterator>

#include "netpipe/cli/matrix_plan.hpp"
#include "npgpu/collective_figures.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

namespace {

// What the links allow, by copies of kernels, which is what NCCL's are.
Plan copies_at_once(const std::vector<DeviceInfo>& gpus) {
  constexpr std::uint64_t simulated_copy = 16 * MiB;  // so large that latencies are small
  return matrix_plan(gpus,
                     {.parts = {gpus.size() == 2 ? MatrixPart::both : MatrixPart::together},
                      .accesses = {Access::write},
                      .executors = {Executor::sm_kernel},
                      .sizes = gpus.front().simulated ? std::vector{simulated_copy} : std::vector<std::uint64_t>{},
                      .host_at_once = false});
}

}  // namespace

std::vector<Step<Collectives>> fitting_steps(const CollectiveCase& c, const std::vector<std::uint64_t>& sizes) {
  std::vector<CollectiveSize> all;
  for (const std::uint64_t bytes : sizes)
    all.push_back({fitting_size(c.operation, c.type, devices_of(c).size(), bytes)});
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return steps_of<Collectives>(c, all);
}

Plan collectives_plan(const std::vector<DeviceInfo>& gpus, const std::vector<Step<Collectives>>& steps) {
  const std::string& first = gpus.front().id;
  const auto some = reaching(backends<Collectives>(), devices::kind_of(first));
  if (some.empty())
    throw Error(ErrorKind::usage,
                "--device: '" + first + "' does nothing together with others: name GPUs, or sim:NODE");
  Plan collectives;
  add<Collectives>(collectives, *some.front(), gpus.front(), steps);
  for (auto& batch : collectives.of<Collectives>()) batch.more_devices.assign(gpus.begin() + 1, gpus.end());
  if (collectives.of<Collectives>().empty()) return collectives;
  Plan plan = copies_at_once(gpus);
  plan.of<Collectives>() = std::move(collectives.of<Collectives>());
  std::ranges::move(collectives.left_out, std::back_inserter(plan.left_out));
  return plan;
}

Plan all_reduce_plan(const std::vector<DeviceInfo>& gpus) {
  std::vector<std::string> ids;
  for (const DeviceInfo& gpu : gpus) ids.push_back(gpu.id);
  const CollectiveCase large = collective_on(ids, CollectiveOperation::all_reduce);
  CollectiveCase small = large;
  small.timing = Timing::gated;
  constexpr std::uint64_t word = 8;
  auto steps = fitting_steps(small, {word});
  std::ranges::move(fitting_steps(large, {least_judged_bytes(large.operation)}), std::back_inserter(steps));
  return collectives_plan(gpus, steps);
}

}  // namespace npgpu::cli
