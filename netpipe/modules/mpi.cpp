// mpi: messages between the memories of two processes, on one node or two: mpirun -n 2 npgpu transfer --module mpi.
//
// A message leaves the source's memory as it is and lands in the target's, or is staged: npgpu takes it through host
// memory in chunks (netpipe/ranks/pipeline.hpp), which is how a GPU's memory is sent where the MPI library takes none.
// Blocking: MPI_Send and MPI_Recv; asynchronous: the receive is posted before the message can come, as NetPIPE does.
// Times are those of each rank's own clock around the repeats; a stream ends with a word from the target. Both ranks
// write what they saw.
#include <fmt/format.h>

#include "netpipe/devices/host/memory.hpp"
#include "netpipe/ranks/company.hpp"
#include "netpipe/ranks/ends.hpp"
#include "netpipe/ranks/runner.hpp"
#include "npgpu/error.hpp"
#include "npgpu/module.hpp"

namespace npgpu {

namespace {

class Mpi final : public Module {
 public:
  std::string_view name() const override { return "mpi"; }
  std::string_view summary() const override { return "messages between two processes: mpirun -n 2 npgpu transfer"; }
  std::string_view device_kind() const override { return "ranks"; }
  Executor executor() const override { return Executor::cpu; }

  std::optional<std::string> refuses_case(const TransferCase& c) const override {
    const auto source = ranks::parse_place(c.source), target = ranks::parse_place(c.target);
    if (!source || !target) return "module mpi: it measures between ranks: mpirun -n 2 npgpu transfer --module mpi";
    if (source->rank == target->rank) return "module mpi: both ends are on " + c.source;
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
    if (!on_hosts && c.access == Access::write && !ranks::company().world().takes_device_memory())
      return "--access write: this MPI library does not say that it takes a GPU's memory: use --access staged, or an "
             "MPI that was built with CUDA";
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
    ranks::Company& all = ranks::company();
    return &all.with(source->rank == all.rank() ? target->rank : source->rank);
  }

  std::unique_ptr<Channel> open_lane(const TransferCase&, std::uint64_t) const override {
    throw Error(ErrorKind::failed, "module mpi: a lane between ranks has no channel of one process");
  }
  std::unique_ptr<Runner<Transfers>> open(std::span<const Step<Transfers>> steps) const override {
    ranks::Company& all = ranks::company();
    if (steps.empty()) throw Error(ErrorKind::usage, "no transfer to open a runner for");
    return ranks::rank_runner(all.world(), static_cast<ranks::Group&>(*consensus(steps.front().question)), steps);
  }
};

}  // namespace

}  // namespace npgpu

NPGPU_REGISTERED(Module, npgpu::Mpi)
