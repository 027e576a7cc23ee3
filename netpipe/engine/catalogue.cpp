#include "npgpu/catalogue.hpp"

#include <algorithm>

namespace npgpu {

namespace {

struct Entry {
  CopyQuestion question;
  Pattern pattern;
  Direction direction;
  Memory memory;
  bool is_async, is_host_timed;
  Cache cache = Cache::warm;
};

constexpr bool async = true, blocking = false, by_host = true, by_device = false;

constexpr std::array entries{
    Entry{CopyQuestion::to_device, Pattern::stream, Direction::h2d, Memory::pinned, async, by_device},
    Entry{CopyQuestion::to_host, Pattern::stream, Direction::d2h, Memory::pinned, async, by_device},
    Entry{CopyQuestion::both_ways, Pattern::duplex, Direction::h2d, Memory::pinned, async, by_device},
    Entry{CopyQuestion::to_device_queued, Pattern::stream, Direction::h2d, Memory::pinned, async, by_host},
    Entry{CopyQuestion::to_host_queued, Pattern::stream, Direction::d2h, Memory::pinned, async, by_host},
    Entry{CopyQuestion::to_device_blocking, Pattern::stream, Direction::h2d, Memory::pinned, blocking, by_host},
    Entry{CopyQuestion::to_host_blocking, Pattern::stream, Direction::d2h, Memory::pinned, blocking, by_host},
    Entry{CopyQuestion::to_device_pageable, Pattern::stream, Direction::h2d, Memory::pageable, blocking, by_host},
    Entry{CopyQuestion::to_host_pageable, Pattern::stream, Direction::d2h, Memory::pageable, blocking, by_host},
    Entry{CopyQuestion::to_device_write_combined, Pattern::stream, Direction::h2d, Memory::write_combined, async,
          by_device},
    Entry{CopyQuestion::within_device, Pattern::stream, Direction::d2d, Memory::device, async, by_device},
    Entry{CopyQuestion::within_device_cold, Pattern::stream, Direction::d2d, Memory::device, async, by_device,
          Cache::cold},
    Entry{CopyQuestion::to_peer, Pattern::stream, Direction::peer, Memory::device, async, by_device},
    Entry{CopyQuestion::within_host, Pattern::stream, Direction::h2h, Memory::pageable, blocking, by_host},
    Entry{CopyQuestion::within_host_cold, Pattern::stream, Direction::h2h, Memory::pageable, blocking, by_host,
          Cache::cold},
    Entry{CopyQuestion::within_host_both_ways, Pattern::duplex, Direction::h2h, Memory::pageable, blocking, by_host},
    Entry{CopyQuestion::there_and_back, Pattern::pingpong, Direction::h2d, Memory::pinned, blocking, by_host},
    Entry{CopyQuestion::there_and_back_pageable, Pattern::pingpong, Direction::h2d, Memory::pageable, blocking,
          by_host},
    Entry{CopyQuestion::there_and_back_in_host, Pattern::pingpong, Direction::h2h, Memory::pageable, blocking,
          by_host}};
static_assert(entries.size() == names_of<CopyQuestion>.size());

bool is_of_one_flow(const TransferCase& c) {
  const Executor usual = c.direction == Direction::h2h ? Executor::cpu : Executor::copy_engine;
  return c.more_lanes.empty() && !c.source_offset && !c.target_offset && c.host_node < 0 && !is_beside(c) &&
         !is_between_ranks(c) && c.executor == usual;
}

}  // namespace

std::optional<CopyQuestion> question_of(const TransferCase& c) {
  if (!is_of_one_flow(c)) return std::nullopt;
  const auto found = std::ranges::find_if(entries, [&](const Entry& e) {
    // By the device's clock a blocking copy takes as long as an asynchronous one.
    const bool is_called_alike = e.is_async == c.async || !e.is_host_timed;
    return e.pattern == c.pattern && e.direction == c.direction && e.memory == c.memory && is_called_alike &&
           e.is_host_timed == (c.timing == Timing::host) && e.cache == c.cache;
  });
  return found == entries.end() ? std::nullopt : std::optional(found->question);
}

TransferCase case_of(CopyQuestion question, const std::string& module, const std::string& device) {
  const Entry& e = *std::ranges::find(entries, question, &Entry::question);
  TransferCase c = case_on(module, device, e.direction);
  c.pattern = e.pattern;
  c.memory = e.memory;
  c.async = e.is_async;
  c.timing = e.is_host_timed ? Timing::host : Timing::gated;
  c.cache = e.cache;
  return c;
}

std::optional<ProbeQuestion> question_of(const ProbeCase& c) {
  const auto question = description_of(c).question;
  const auto stands_for_it = [&] {
    switch (*question) {
      case ProbeQuestion::computing_power: return c.operation == Operation::fma;
      case ProbeQuestion::memory_bandwidth: return c.space == Space::global && c.form == Form::streaming;
      case ProbeQuestion::memory_latency: return c.space == Space::global && c.operation == Operation::chase;
      case ProbeQuestion::matrix_products: return c.space != Space::host;
      case ProbeQuestion::tensor_power:
      case ProbeQuestion::migration:
      case ProbeQuestion::bank_conflicts:
      case ProbeQuestion::ladder: break;
    }
    return true;
  };
  return question && stands_for_it() ? question : std::nullopt;
}

std::optional<CallQuestion> question_of(const CallCase& c) {
  if (is_beside(c)) return std::nullopt;
  const bool is_alone = c.spacing == Spacing::alone;
  if (c.call == Call::launch) return is_alone ? CallQuestion::launch : CallQuestion::launch_in_a_row;
  if (c.call == Call::signal && is_alone) return CallQuestion::signal;
  return std::nullopt;
}

}  // namespace npgpu
