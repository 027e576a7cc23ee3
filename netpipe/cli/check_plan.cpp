#include "netpipe/cli/check_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "netpipe/cli/collectives_plan.hpp"
#include "netpipe/cli/matrix_plan.hpp"
#include "netpipe/engine/filling_shape.hpp"
#include "netpipe/engine/saturated.hpp"
#include "npgpu/catalogue.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

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

bool is_asked(const ProbeCase& c, Level level, bool has_reads) {
  const auto question = question_of(c);
  if (question == ProbeQuestion::computing_power) return level != Level::seconds || c.type == DataType::fp32;
  if (question != ProbeQuestion::memory_bandwidth) return false;
  return level != Level::seconds || c.operation == Operation::read || !has_reads;
}

void add_probes_of(Plan& plan, const DeviceInfo& device, Level level) {
  for (const Probe* probe : reaching(probes(), devices::kind_of(device.id))) {
    if (!description_of(probe->name()).is_usual) continue;
    try {
      const auto cases = probe->cases(device.id);
      const bool has_reads = std::ranges::any_of(cases, [](const auto& c) { return c.operation == Operation::read; });
      for (const ProbeCase& c : cases)
        if (is_asked(c, level, has_reads))
          if (const auto shape = filling_shape(probe->shapes(c))) add<Probes>(plan, *probe, device, {{c, *shape}});
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
