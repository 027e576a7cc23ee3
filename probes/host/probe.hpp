// What the host's probes share: how the system describes the host, and what its vendor's documents promise.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "netpipe/devices/host/facts.hpp"
#include "netpipe/devices/host/memory.hpp"
#include "netpipe/engine/algorithms.hpp"
#include "probes/compute/chains.hpp"
#include "probes/host/threads.hpp"
#include "probes/runner.hpp"

namespace npgpu {

// What goes beyond the caches is this many times larger than the last level; its size where the system does not say.
constexpr std::uint64_t far_beyond = 4;
constexpr std::uint64_t assumed_cache = 32 * MiB;

// Its blocks are pinned threads, of which there are as many as the shape has blocks.
class HostRunner : public ProbeRunner {
 public:
  using ProbeRunner::ProbeRunner;

 protected:
  void take_threads() {
    if (threads_ && threads_->size() == shape().blocks) return;
    threads_ = std::make_unique<PinnedThreads>(std::vector<unsigned>(cpus_.begin(), cpus_.begin() + shape().blocks));
  }
  const std::vector<unsigned>& cpus() const { return cpus_; }  // one of each core
  std::unique_ptr<PinnedThreads> threads_;

 private:
  std::vector<unsigned> cpus_ = host::core_cpus();
};

// One probe on the host: const Host compute_on_host({{.name = "compute", .open = runs<HostComputeRunner>, ...}});
class HostProbe final : public DescribedProbe {
 public:
  HostProbe(const ProbeParts& parts) : DescribedProbe(parts) {}
  std::string_view device_kind() const override { return "host"; }
  MemoryNeed available(const ProbeCase&) const override { return {host::free_host_memory(), UINT64_MAX}; }

 private:
  std::optional<std::string> why_not_there(const std::string&) const override { return std::nullopt; }
  Layout layout(const ProbeCase&) const override;
  std::optional<std::string> why_no_grid(const ProbeCase&, const Shape&) const override;
  MemoryNeed needs_of_sets(std::span<const ProbeStep> steps) const override { return {max_bytes_of(steps), 0}; }
};
using Host = Joined<Probe, HostProbe>;

// Cores of the affinity mask, caches, clock; `lanes` are those of the widest registers for this type. The clock is the
// frequency driver's highest or, where there is none, the one measured now on the first core.
Layout host_layout(DataType);

// The instruction set with the widest registers, where there is any.
std::optional<Isa> widest_isa();
// That which a shape asks for: scalars for one lane.
Isa isa_for(const Shape&);

// Vector instructions x = x*a + b that one core starts in a cycle.
struct Ports {
  double per_cycle = not_measured;  // NaN: not known
  std::string source;               // the document, or why not
};
Ports documented_ports(const host::Processor&, Isa, DataType);
// Operations per second of all cores of this host; NaN with a reason where a factor is not known.
Limit multiply_add_limit(DataType, const Layout&);

// Why there is no core for each block; nothing if there is.
std::optional<std::string> refuses_blocks(const Shape&);
// 1, 2, 3, ... up to 16, then ever larger steps, and `units` itself.
std::vector<std::uint32_t> cores_one_by_one(std::uint32_t units);

}  // namespace npgpu
