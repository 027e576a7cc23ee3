#include <fmt/format.h>

#include "netpipe/engine/copy_cases.hpp"
#include "npgpu/vocabulary/questions.hpp"

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

std::optional<std::string> why_no_peer_copy(const TransferCase& c) {
  if (c.source == c.target || c.source == "host" || c.target == "host")
    return "--direction peer needs two devices: name the other one with --to";
  if (c.memory != Memory::device)
    return fmt::format("--memory {}: --direction peer copies between the memories of two devices: use --memory device",
                       name(c.memory));
  if (c.access == Access::staged && c.executor == Executor::sm_kernel)
    return "--access staged: a kernel cannot reach memory that its device does not see: use --executor copy-engine, or "
           "--access write or read";
  return std::nullopt;
}

std::optional<std::string> why_no_words(const TransferCase& c) {
  const auto because = [&](std::string_view why) { return fmt::format("--pattern {}: {}", name(c.pattern), why); };
  const bool is_flag = c.pattern == Pattern::flag;
  if (c.executor != Executor::sm_kernel)
    return because("a kernel moves words, no copy engine: use --executor sm-kernel");
  const Access access = is_flag ? Access::write : Access::read;
  const bool peers = c.direction == Direction::peer && c.access == access;
  if (c.direction != Direction::h2d && c.direction != Direction::d2d && !peers)
    return because(
        fmt::format("it is of the host's memory, the device's own, or another device's: use --direction "
                    "h2d, or d2d, or peer with --access {}",
                    name(access)));
  if (is_flag && c.direction == Direction::h2d && c.memory != Memory::pinned)
    return because("host and kernel both look at the word: use --memory pinned");
  if (!c.more_lanes.empty()) return because("a latency is measured alone, with no other lane");
  if (c.source_offset || c.target_offset || c.cache == Cache::cold)
    return because("the words lie where it needs them: leave --source-offset, --target-offset and --cache out");
  return std::nullopt;
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
      case ProbeQuestion::cache_bandwidth: return c.space == Space::l2;
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

std::optional<std::string> why_no_copy(const TransferCase& c) {
  const bool duplex = c.pattern == Pattern::duplex;
  if (c.direction == Direction::peer)
    if (auto why = why_no_peer_copy(c)) return why;
  if (is_of_words(c.pattern))
    if (auto why = why_no_words(c)) return why;
  if (c.direction == Direction::h2h) {
    if (c.memory != Memory::pageable && c.memory != Memory::pinned)  // the CPU would read write-combined uncached
      return fmt::format("--memory {}: --direction h2h copies within the host: use --memory pinned or pageable",
                         name(c.memory));
    if (c.async)
      return "--async: --direction h2h is done by the calling thread, whatever the call's name: leave it out";
    if (c.timing != Timing::host)
      return fmt::format("--timing {}: --direction h2h is done by the CPU, which events do not see: use --timing host",
                         name(c.timing));
    if (duplex || !c.more_lanes.empty())
      return "--pattern duplex: --direction h2h has no link with two directions: use --direction h2d, or --module "
             "memcpy";
    return std::nullopt;
  }
  if (c.direction == Direction::d2d && c.memory != Memory::device)
    return fmt::format("--memory {}: --direction d2d copies within the device: use --memory device", name(c.memory));
  if (c.direction != Direction::d2d && c.direction != Direction::peer && c.memory == Memory::device)
    return fmt::format(
        "--memory device: --direction {} has host memory at its other end: use pinned, pageable, write-combined or "
        "managed, or --direction d2d",
        name(c.direction));
  if (c.timing == Timing::gated && !c.async)
    return "--timing gated: a blocking copy would wait for its own gate: add --async, or use --timing host";
  if (c.timing == Timing::gated && is_staged_peer(c))
    return "--timing gated: a copy that is staged through the host takes more than what fits behind a gate: use "
           "--timing "
           "event or host";
  if (c.executor == Executor::sm_kernel && (c.memory == Memory::pageable || c.memory == Memory::managed))
    return fmt::format("--memory {}: a kernel copies what its device sees in place: use --memory pinned",
                       name(c.memory));
  if (c.executor == Executor::sm_kernel && !c.async)
    return "--executor sm-kernel: a kernel is only enqueued: add --async";
  if (c.timing == Timing::gated && !only_enqueues(c))
    return fmt::format(
        "--timing gated: copies of {} memory are staged by the host and wait for it: use --memory pinned, or --timing "
        "host",
        name(c.memory));
  if (duplex && c.direction == Direction::d2d)
    return "--pattern duplex: --direction d2d has no link with two directions: use --direction h2d or d2h";
  return std::nullopt;
}

}  // namespace npgpu
