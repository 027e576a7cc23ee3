// What the modules have in common that send messages between the memories of two processes. They differ in the library
// whose World (netpipe/ranks/world.hpp) carries the messages.
//
// A message leaves the source's memory as it is and lands in the target's, or is staged: npgpu takes it through host
// memory in chunks (netpipe/ranks/pipeline.hpp), which is how a GPU's memory is sent where the library takes none.
// Times are those of each rank's own clock around the repeats; a stream ends with a word from the target. Both ranks
// write what they saw.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "netpipe/devices/host/memory.hpp"
#include "netpipe/ranks/group.hpp"
#include "netpipe/ranks/rank_set.hpp"
#include "netpipe/ranks/runner.hpp"
#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

class MessageModule : public Module {
 public:
  // Whose messages they are, as a sentence names it: "MPI library".
  virtual std::string_view library() const = 0;

  std::string_view device_kind() const override { return "ranks"; }
  Executor executor() const override { return Executor::cpu; }

  std::optional<std::string> refuses_case(const TransferCase& c) const override {
    const auto source = ranks::parse_place(c.source), target = ranks::parse_place(c.target);
    if (!source || !target)
      return fmt::format("module {0}: it measures between ranks: mpirun -n 2 npgpu transfer --module {0}", name());
    if (source->rank == target->rank) return fmt::format("module {}: both ends are on {}", name(), c.source);
    if (is_of_words(c.pattern))
      return fmt::format("--pattern {}: a kernel does not reach another process: use stream, pingpong or duplex",
                         npgpu::name(c.pattern));
    if (c.timing != Timing::host)
      return fmt::format("--timing {}: messages are timed by the host's clock: use --timing host",
                         npgpu::name(c.timing));
    if (c.cache == Cache::cold) return "--cache cold: messages are measured with warm caches: leave --cache out";
    if (c.access == Access::read) return "--access read: messages are sent: use --access write, or staged";
    const bool on_hosts = c.direction == Direction::h2h;
    if (on_hosts && c.memory != Memory::pageable)
      return fmt::format("--memory {}: messages between hosts are of pageable memory", npgpu::name(c.memory));
    if (!on_hosts && c.access == Access::write && !ranks::rank_set().world().takes_device_memory())
      return fmt::format(
          "--access write: this {} does not say that it takes a GPU's memory: use --access staged, or one that was "
          "built "
          "with CUDA",
          library());
    if (c.access == Access::staged && c.async)
      return "--async: staged messages always begin before they are waited for: leave it out";
    return std::nullopt;
  }

  MemoryNeed needs_lane(const TransferCase& c, std::uint64_t max_bytes) const override {
    const ranks::StagingNeed need = ranks::needs_of(c, max_bytes);
    return {need.host_bytes, need.device_bytes};
  }
  MemoryNeed available(const TransferCase&) const override { return {host::free_host_memory(), UINT64_MAX}; }
  TransferContext context(const TransferCase&) const override {
    return {{not_measured, "unknown: what the network or the memory between the ranks can do is not known"}};
  }

  Consensus* consensus(const TransferCase& c) const override {
    const auto source = ranks::parse_place(c.source), target = ranks::parse_place(c.target);
    ranks::RankSet& all = ranks::rank_set();
    return &all.with(source->rank == all.rank() ? target->rank : source->rank);
  }

  std::unique_ptr<Channel> open_lane(const TransferCase&, std::uint64_t) const override {
    throw Error(ErrorKind::failed, "a lane between ranks has no channel of one process");
  }
  std::unique_ptr<Runner<Transfers>> open(std::span<const Step<Transfers>> steps) const override {
    ranks::RankSet& all = ranks::rank_set();
    if (steps.empty()) throw Error(ErrorKind::usage, "no transfer to open a runner for");
    return ranks::rank_runner(all.world(), static_cast<ranks::Group&>(*consensus(steps.front().question)), steps);
  }
};

}  // namespace npgpu
