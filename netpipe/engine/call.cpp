#include "npgpu/vocabulary/call.hpp"

#include <fmt/format.h>

#include <cmath>

#include "npgpu/measuring/campaign.hpp"
#include "npgpu/model/result.hpp"

namespace npgpu {

Seconds Calls::timed(const Case&, std::span<const Sample> trial) {
  const Sample& sample = trial.front();
  return from_microseconds(sample.done_us > 0 ? sample.done_us : sample.host_us);
}

std::string title(const CallCase& c) {
  std::string text = fmt::format("calls {} {} {}", c.device, name(c.call), name(c.spacing));
  if (c.form != GraphForm::none) text += fmt::format(" {}", name(c.form));
  if (!c.function.empty()) text += ' ' + c.function;
  if (is_beside(c)) text += " beside=" + c.beside;
  return text;
}

std::optional<std::string> flaw_of(const CallShape& shape) {
  if (shape.nodes > 0 && shape.blocks == 0) return fmt::format("has {} kernels of 0 blocks", shape.nodes);
  return std::nullopt;
}

std::string text_of(const CallShape& shape) {
  std::string text;
  const auto add = [&](const std::string& words) { text += (text.empty() ? "" : ", ") + words; };
  if (shape.bytes) add(size_text(shape.bytes));
  if (shape.blocks > 1) add(fmt::format("{} blocks", shape.blocks));
  if (shape.nodes) add(fmt::format("{} kernel{}", shape.nodes, shape.nodes == 1 ? "" : "s"));
  return text.empty() ? "-" : text;
}

std::vector<Step<Calls>> all_calls(const DeviceInfo& device) {
  double known = number_fact(device.facts, device.simulated ? "sms" : "multiprocessors");
  if (std::isnan(known)) known = number_fact(device.facts, "compute_units");  // as OpenCL calls them
  const std::uint32_t units = known > 0 ? static_cast<std::uint32_t>(known) : 1;
  std::vector<Step<Calls>> steps;
  const auto add = [&](Call call, const CallShape& shape, GraphForm form = GraphForm::none,
                       std::initializer_list<Spacing> spacings = {Spacing::alone, Spacing::back_to_back}) {
    for (const Spacing spacing : spacings) steps.push_back({{device.id, call, spacing, form}, shape});
  };
  add(Call::launch, {.blocks = 1});
  for (const std::uint64_t bytes : {64u, 512u, 4000u}) add(Call::launch, {.bytes = bytes, .blocks = 1});
  for (const std::uint32_t each : {1u, 10u, 100u}) add(Call::launch, {.blocks = each * units});
  add(Call::cooperative_launch, {.blocks = 1});
  add(Call::cooperative_launch, {.blocks = units});
  add(Call::signal, {.blocks = 1}, GraphForm::none, {Spacing::alone});
  for (const Call call :
       {Call::event_record, Call::event_wait, Call::event_elapsed, Call::stream_synchronize, Call::callback})
    add(call, {});
  for (const std::uint64_t bytes : {std::uint64_t{4}, MiB}) add(Call::memset, {.bytes = bytes});
  for (const std::uint64_t bytes : {4 * KiB, 64 * KiB, 128 * KiB, MiB})
    add(Call::copy_in, {.bytes = bytes}, GraphForm::none, {Spacing::alone});
  for (const std::uint64_t bytes : {4 * KiB, 64 * MiB})
    add(Call::copy_within, {.bytes = bytes}, GraphForm::none, {Spacing::alone});
  for (const Call call : {Call::malloc_free, Call::pool_alloc_free})
    for (const std::uint64_t bytes : {4 * KiB, 64 * MiB}) add(call, {.bytes = bytes});
  for (const GraphForm form : {GraphForm::chain, GraphForm::fork})
    for (const std::uint32_t nodes : {1u, 2u, 4u, 8u, 16u, 64u, 256u, 1024u}) {
      const CallShape shape{.blocks = 1, .nodes = nodes};
      add(Call::launches, shape, form);
      if (form == GraphForm::chain && nodes <= 64) add(Call::default_launches, shape, form);
      add(Call::graph_launch, shape, form);
      add(Call::graph_instantiate, shape, form, {Spacing::alone});
      add(Call::graph_update, shape, form, {Spacing::alone});
    }
  return steps;
}

std::vector<Step<Calls>> calls_of_frees(const DeviceInfo& device) {
  std::vector<Step<Calls>> steps;
  for (const Call call : {Call::free, Call::pool_free, Call::pool_trim, Call::managed_free})
    for (const std::uint64_t gib_quarters : {1u, 2u, 4u, 8u, 16u, 32u, 64u}) {
      const std::uint64_t bytes = gib_quarters * 256 * MiB;
      if (bytes > device.memory_bytes / 4 || (call == Call::managed_free && bytes > GiB)) continue;
      steps.push_back({{device.id, call, Spacing::alone, GraphForm::none}, {.bytes = bytes}});
    }
  return steps;
}

// ---- how it is repeated, what a point costs, what its figure counts -------------------------------------------------

// Calls are short, and many are timed.
Repetition Calls::repetition() {
  return {.classic = {.target = Seconds{0.01}},
          .adaptive = {.trial = Seconds{0.0005}, .budget = Seconds{0.015}},
          .rounds = Repetition::usual_rounds};
}

std::string_view Calls::counted(const CallCase&, const CallResult& r) {
  return std::isfinite(r.done_us.value) ? "time of a call until its work is done" : "time of a call until it returns";
}

}  // namespace npgpu
