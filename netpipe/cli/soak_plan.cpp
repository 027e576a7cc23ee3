#include "netpipe/cli/soak_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "npgpu/error.hpp"

namespace npgpu::cli {

namespace {

using SoakBackend = Backend<Soaks>;

// So many slices a load at least, where they are not longer than this; shorter ones say little.
constexpr double slices_wanted = 126;
constexpr Seconds longest{2}, shortest{0.25};
// After each slice results are compared and counters read: 0.12 s on an H100, 0.22 s on two. Simulated ones take none.
constexpr Seconds between_slices{0.15};

const SoakBackend& soak_backend_for(const DeviceInfo& device) {
  const auto some = reaching(backends<Soaks>(), devices::kind_of(device.id));
  if (some.empty())
    throw Error(ErrorKind::usage, fmt::format("--soak: this program has no such loads on '{}'", device.id));
  return *some.front();
}

// The next GPU of the node that is soaked, too; empty where there is none.
std::string target_of(const std::vector<DeviceInfo>& all, const std::string& id) {
  const std::vector<std::string> node = devices::node(id);
  const auto me = std::ranges::find(all, id, &DeviceInfo::id) - all.begin();
  for (std::size_t step = 1; step < all.size(); ++step) {
    const std::string& other = all[(static_cast<std::size_t>(me) + step) % all.size()].id;
    if (std::ranges::find(node, other) != node.end()) return other;
  }
  return {};
}

// Of these loads those that the device has; why it lacks others is said once.
std::vector<SoakCase> cases_of(Plan& plan, const std::vector<DeviceInfo>& all, const DeviceInfo& device,
                               const std::vector<SoakLoad>& loads) {
  std::vector<SoakCase> cases;
  const std::string target = target_of(all, device.id);
  for (const SoakLoad load : loads) {
    SoakCase c{.device = device.id, .load = load};
    if (load == SoakLoad::peer && target.empty()) continue;
    // Few devices have it, and nobody asked for it.
    if (load == SoakLoad::fp64_tensor && soak_backend_for(device).refuses({c, {}})) continue;
    if (load == SoakLoad::peer || load == SoakLoad::together) c.target = target;
    if (const auto why = soak_backend_for(device).refuses({c, {}}))
      plan.left_out.push_back(fmt::format("{}: {}", title(c), *why));
    else cases.push_back(std::move(c));
  }
  return cases;
}

// Devices of one family share a runner.
void add_batches(Plan& plan, const std::vector<DeviceInfo>& all,
                 const std::map<std::string, std::vector<SoakCase>>& by_device, std::uint32_t slices,
                 std::uint32_t length_ms) {
  std::map<const SoakBackend*, std::vector<DeviceInfo>> families;
  for (const DeviceInfo& device : all)
    if (!by_device.at(device.id).empty()) families[&soak_backend_for(device)].push_back(device);
  for (const auto& [backend, some] : families) {
    std::vector<Step<Soaks>> steps;
    for (std::uint32_t slice = 0; slice < slices; ++slice)
      for (const DeviceInfo& device : some) {
        const std::vector<SoakCase>& cases = by_device.at(device.id);
        steps.push_back({cases[slice % cases.size()], {slice, length_ms}});
      }
    add<Soaks>(plan, *backend, some.front(), steps);
    if (!plan.of<Soaks>().empty()) plan.of<Soaks>().back().more_devices.assign(some.begin() + 1, some.end());
  }
}

}  // namespace

Plan soak_plan(const std::vector<DeviceInfo>& all, Seconds duration, bool with_memory_test) {
  Plan plan;
  std::vector<SoakLoad> loads{SoakLoad::tensor, SoakLoad::memory, SoakLoad::fp32,        SoakLoad::h2d,
                              SoakLoad::fp64,   SoakLoad::d2h,    SoakLoad::fp64_tensor, SoakLoad::peer};
  if (with_memory_test) loads.push_back(SoakLoad::memory_test);
  const Seconds length = std::clamp(duration / slices_wanted, shortest, longest);
  std::map<std::string, std::vector<SoakCase>> by_device;
  for (const DeviceInfo& device : all) {
    const std::vector<SoakCase> together = cases_of(plan, all, device, {SoakLoad::together});
    std::vector<SoakCase>& turns = by_device[device.id];
    for (const SoakCase& c : cases_of(plan, all, device, loads)) {
      turns.push_back(c);
      std::ranges::copy(together, std::back_inserter(turns));
    }
  }
  const bool is_measured = std::ranges::any_of(all, [](const DeviceInfo& one) { return !one.simulated; });
  const Seconds each = is_measured ? length + between_slices : length;
  const auto slices = static_cast<std::uint32_t>(std::fmax(1, std::round(duration / each)));
  add_batches(plan, all, by_device, slices, static_cast<std::uint32_t>(length.count() * 1e3 + 0.5));
  return plan;
}

Plan memory_test_plan(const std::vector<DeviceInfo>& all) {
  Plan plan;
  std::map<std::string, std::vector<SoakCase>> by_device;
  for (const DeviceInfo& device : all) by_device[device.id] = cases_of(plan, all, device, {SoakLoad::memory_test});
  add_batches(plan, all, by_device, 1, static_cast<std::uint32_t>(longest.count() * 1e3));
  return plan;
}

}  // namespace npgpu::cli
