#include "netpipe/cli/check_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "netpipe/cli/matrix.hpp"
#include "netpipe/engine/algorithms.hpp"
#include "netpipe/engine/copy_cases.hpp"
#include "netpipe/judge/health/findings.hpp"
#include "npgpu/vocabulary/questions.hpp"
#include "npgpu/vocabulary/units.hpp"

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

// Those of these loads that the device has; why it lacks others is said once.
std::vector<SoakCase> soak_cases_of(Plan& plan, const std::vector<DeviceInfo>& all, const DeviceInfo& device,
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
    const std::vector<SoakCase> together = soak_cases_of(plan, all, device, {SoakLoad::together});
    std::vector<SoakCase>& turns = by_device[device.id];
    for (const SoakCase& c : soak_cases_of(plan, all, device, loads)) {
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
  for (const DeviceInfo& device : all) by_device[device.id] = soak_cases_of(plan, all, device, {SoakLoad::memory_test});
  add_batches(plan, all, by_device, 1, static_cast<std::uint32_t>(longest.count() * 1e3));
  return plan;
}

namespace {

void add_copies(Plan& plan, const DeviceInfo& device, CopyQuestion question, const std::vector<std::uint64_t>& sizes) {
  const Module& module = default_module(device);
  const TransferCase c = case_of(question, std::string(module.name()), device.id);
  add<Transfers>(plan, module, device, steps_of<Transfers>(c, axes_of(sizes)));
}

void add_copies(Plan& plan, const DeviceInfo& device, Level level) {
  const std::vector<std::uint64_t> few{8, 4 * MiB, 64 * MiB},
      sizes{8, 4 * KiB, 64 * KiB, MiB, 4 * MiB, 16 * MiB, 64 * MiB, 128 * MiB};
  for (const CopyQuestion question : {CopyQuestion::to_device, CopyQuestion::to_host})
    add_copies(plan, device, question, level == Level::seconds ? few : sizes);
  if (number_fact(device.facts, "copy_engines") != 1) add_copies(plan, device, CopyQuestion::both_ways, {32 * MiB});
  if (level == Level::seconds) return;
  add_copies(plan, device, CopyQuestion::to_device_blocking, {8, 4 * KiB});
  for (const CopyQuestion question : {CopyQuestion::to_device_pageable, CopyQuestion::to_host_pageable})
    add_copies(plan, device, question, {MiB, 16 * MiB, 64 * MiB});
  // Far beyond the L2 cache.
  const double l2 = number_fact(device.facts, "l2_bytes");
  const std::uint64_t beyond =
      l2 > 0 ? padded(2 * std::min<std::uint64_t>(saturated<std::uint64_t>(l2), 1024 * GiB), 64 * MiB) : 0;
  add_copies(plan, device, CopyQuestion::within_device, {std::max(192 * MiB, beyond)});
}

bool is_asked(const ProbeCase& c, Level level, const std::vector<ProbeCase>& all) {
  const bool is_quick = level == Level::seconds;
  const auto has = [&](Operation operation) {
    return std::ranges::find(all, operation, &ProbeCase::operation) != all.end();
  };
  const auto question = question_of(c);
  if (!question) return false;
  switch (*question) {
    case ProbeQuestion::computing_power: return !is_quick || c.type == DataType::fp32;
    case ProbeQuestion::memory_bandwidth: return !is_quick || c.operation == Operation::read || !has(Operation::read);
    case ProbeQuestion::tensor_power:  // by a warp group where it has such instructions
      return !is_quick && (c.type == DataType::fp64 ||
                           (c.type == DataType::fp16 && (c.operation == Operation::wgmma || !has(Operation::wgmma))));
    case ProbeQuestion::memory_latency:
    case ProbeQuestion::cache_bandwidth: return !is_quick;
    default: return false;
  }
}

// The one that is asked of a case: of a cache a set that it surely holds, of a chase the first set that it hardly
// helps.
std::optional<Shape> shape_of(const Probe& probe, const ProbeCase& c, double l2_bytes) {
  const auto question = question_of(c);
  if (question == ProbeQuestion::cache_bandwidth || question == ProbeQuestion::tensor_power)
    return filling_shape(probe.default_shapes(c));
  if (question != ProbeQuestion::memory_latency) return filling_shape(probe.shapes(c));
  if (!(l2_bytes > 0)) return std::nullopt;
  std::vector<Shape> sets = probe.shapes(c);
  std::erase_if(sets, [&](const Shape& s) { return static_cast<double>(s.bytes) < model::beyond_l2 * l2_bytes; });
  const auto least = std::ranges::min_element(sets, {}, &Shape::bytes);
  return least == sets.end() ? std::nullopt : std::optional(*least);
}

void add_probes_of(Plan& plan, const DeviceInfo& device, Level level) {
  for (const Probe* probe : reaching(probes(), devices::kind_of(device.id))) {
    if (!description_of(probe->name()).is_usual) continue;
    try {
      const auto cases = probe->cases(device.id);
      for (const ProbeCase& c : cases)
        if (is_asked(c, level, cases))
          if (const auto shape = shape_of(*probe, c, number_fact(device.facts, "l2_bytes")))
            add<Probes>(plan, *probe, device, {{c, *shape}});
    } catch (const Error& e) {
      plan.left_out.push_back(fmt::format("probe {} of {}: {}", probe->name(), device.id, e.what()));
    }
  }
}

void add_launches(Plan& plan, const DeviceInfo& device, Level level) {
  std::vector<Step<Calls>> steps;
  for (const Spacing spacing : {Spacing::back_to_back, Spacing::alone})
    if (level != Level::seconds || spacing == Spacing::back_to_back)
      steps.push_back(
          {{.device = device.id, .call = Call::launch, .spacing = spacing}, {.bytes = 0, .blocks = 1, .nodes = 0}});
  for (const Backend<Calls>* backend : reaching(backends<Calls>(), devices::kind_of(device.id)))
    add<Calls>(plan, *backend, device, steps);
}

// Its bytes are compared. Nothing where the two are of no one node.
std::optional<TransferCase> peer_copy(const DeviceInfo& source, const DeviceInfo& target) {
  if (devices::kind_of(source.id) != devices::kind_of(target.id)) return std::nullopt;
  const std::vector<std::string> node = devices::node(source.id);
  if (std::ranges::find(node, target.id) == node.end()) return std::nullopt;
  const Module& module = default_module(source);
  TransferCase c = peer_case(std::string(module.name()), source.id, target.id, Access::write);
  c.async = true;
  c.timing = Timing::gated;
  if (module.refuses_case(c)) {  // one does not see the other
    c.access = Access::staged;
    c.timing = Timing::event;
  }
  return c;
}

struct PeerCopies {
  std::vector<std::pair<std::size_t, TransferCase>> all{}, of_ring{};  // by the number of the GPU that is read
  bool are_mixed = false;
};

PeerCopies peer_copies(const std::vector<DeviceInfo>& gpus) {
  PeerCopies found;
  for (const auto& [from, to] : pairs_of(gpus.size(), true))
    if (const auto c = peer_copy(gpus[from], gpus[to])) {
      found.all.emplace_back(from, *c);
      if (to == from + 1 || (gpus.size() > 2 && from + 1 == gpus.size() && to == 0))
        found.of_ring.emplace_back(from, *c);
    }
  found.are_mixed = std::ranges::any_of(
      found.all, [&](const auto& one) { return one.second.access != found.all.front().second.access; });
  return found;
}

}  // namespace

bool are_peers_mixed(const std::vector<DeviceInfo>& gpus) { return peer_copies(gpus).are_mixed; }

void add_peer_copies(Plan& plan, const std::vector<DeviceInfo>& gpus) {
  const PeerCopies found = peer_copies(gpus);
  for (const auto& [from, c] : found.are_mixed ? found.all : found.of_ring)
    add<Transfers>(plan, default_module(gpus[from]), gpus[from],
                   steps_of<Transfers>(c, axes_of({gpus[from].simulated ? MiB : 64 * MiB})));
}

void add_between_gpus(Plan& plan, const std::vector<DeviceInfo>& all) {
  add_peer_copies(plan, all);
  if (all.size() < 2) return;
  const std::vector<std::string> node = devices::node(all.front().id);
  for (const DeviceInfo& one : all)
    if (std::ranges::find(node, one.id) == node.end()) {
      plan.left_out.push_back(fmt::format("all-reduce: {} and {} are of no one node", all.front().id, one.id));
      return;
    }
  try {
    Plan together = all_reduce_plan(all);
    for_each_kind([&]<class K>() { std::ranges::move(together.of<K>(), std::back_inserter(plan.of<K>())); });
    for (const std::string& why : together.left_out) plan.left_out.push_back("all-reduce: " + why);
  } catch (const Error& e) {
    plan.left_out.push_back(std::string("all-reduce: ") + e.what());
  }
}

Plan check_plan(const std::vector<DeviceInfo>& all, Level level) {
  Plan plan;
  for (const DeviceInfo& device : all) {
    add_copies(plan, device, level);
    add_probes_of(plan, device, level);
    add_launches(plan, device, level);
  }
  if (level != Level::seconds) add_peer_copies(plan, all);
  return plan;
}

void set_repetition(MeasureOptions& options, const Options& given, Level level) {
  if (level == Level::all) return;
  for_each_kind([&]<class K>() {
    Repetition& how = options.repetition<K>();
    if (how.is_classic || given.has("rounds")) return;
    how.rounds = level == Level::seconds ? 3 : 6;
    how.adaptive.visits = static_cast<int>(how.rounds);
  });
}

std::vector<std::string> required_metrics(Level level) {
  std::vector<std::string> all{"results", "h2d_rate", "d2h_rate", "memory_rate", "compute_rate", "launch_time"};
  if (level != Level::seconds) all.insert(all.end(), {"sms", "copy_time", "d2d_rate"});
  return all;
}

}  // namespace npgpu::cli
