#include "npgpu/vocabulary/record.hpp"

#include <fmt/format.h>

#include "npgpu/measuring/campaign.hpp"

namespace npgpu {

namespace {

bool is_pageable(const RecordCase& c) {
  return c.source == RecordMemory::pageable || c.target == RecordMemory::pageable;
}

}  // namespace

std::string title(const RecordCase& c) {
  std::string what;
  if (c.activity == Activity::copy) what = fmt::format("{} to {}", name(c.source), name(c.target));
  else if (c.activity == Activity::memset) what = fmt::format("of {} memory", name(c.target));
  else what = c.name;
  return fmt::format("{} {} {}{}", name(c.activity), c.device, what,
                     c.process ? fmt::format(", process {}", c.process) : "");
}

TimeClass class_of(const RecordCase& c) {
  if (is_host_timed(c)) return TimeClass::calls;
  if (c.activity == Activity::copy) return is_pageable(c) ? TimeClass::pageable_copies : TimeClass::device_copies;
  return TimeClass::kernels;
}

Seconds Records::timed(const Case&, std::span<const Sample> trial) {
  return from_microseconds(trial.front().end_us - trial.front().start_us);
}

// Nothing measures it again.
Repetition Records::repetition() { return {}; }

std::string_view Records::counted(const RecordCase& c, const RecordResult&) {
  switch (c.activity) {
    case Activity::copy: return "time of a copy";
    case Activity::kernel: return "time of a kernel";
    case Activity::memset: return "time of a memset";
    case Activity::wait: return "time of a wait";
    case Activity::call: break;
  }
  return "time of a call until it returns";
}

std::optional<std::string> flaw_of(const RecordShape& shape) {
  constexpr std::uint32_t most = 1 << 16;  // far above what any device takes: their product stays a number
  for (const std::uint32_t side : {shape.block_x, shape.block_y, shape.block_z})
    if (side > most) return fmt::format("has blocks with a side of {} threads", side);
  return std::nullopt;
}

std::optional<std::string> flaw_of(const RecordSample& sample) {
  if (!(sample.end_us >= sample.start_us)) return "ends before it starts";
  return flaw_of_intact(sample.intact);
}

std::string text_of(const RecordShape& shape) {
  if (!shape.grid_x) return shape.bytes ? size_text(shape.bytes) : "";
  std::string text = fmt::format("{}x{}x{} blocks of {}x{}x{}", shape.grid_x, shape.grid_y, shape.grid_z, shape.block_x,
                                 shape.block_y, shape.block_z);
  if (shape.registers) text += fmt::format(", {} registers", shape.registers);
  if (const auto shared = std::uint64_t{shape.static_shared_bytes} + shape.dynamic_shared_bytes)
    text += fmt::format(", {} shared", size_text(shared));
  return text;
}

}  // namespace npgpu
