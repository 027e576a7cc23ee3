// nccl: collectives on this machine's GPUs, by NCCL.

#include <algorithm>

#include "netpipe/collectives/nccl_runner.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::nccl {

namespace {

// What NCCL itself takes of a GPU: buffers for each of its channels.
constexpr std::uint64_t own_bytes = GiB;

class CudaNccl final : public Backend<Collectives> {
 public:
  std::string_view name() const override { return "nccl"; }
  std::string_view device_kind() const override { return "cuda"; }
  std::string_view summary() const override { return "what GPUs do together, by NCCL: all-reduce and its like"; }

  std::optional<std::string> refuses(const Step<Collectives>& step) const override {
    if (auto why = why_no_collective(step)) return why;
    if (!library().why_not.empty()) return library().why_not;
    for (const std::string& id : devices_of(step.question))
      if (auto why = cuda::why_not_there(id)) return why;
    return std::nullopt;
  }
  CollectiveContext context(const CollectiveCase&) const override { return {library().text}; }
  MemoryNeed needs(std::span<const Step<Collectives>> steps) const override {
    std::uint64_t most = 0;
    for (const auto& step : steps) most = std::max(most, step.axes.bytes);
    return {16 * MiB, 2 * most + own_bytes};
  }
  MemoryNeed available(const CollectiveCase& c) const override {
    MemoryNeed least{UINT64_MAX, UINT64_MAX};
    for (const std::string& id : devices_of(c))
      least.device_bytes = std::min(least.device_bytes, cuda::free_memory(cuda::ordinal_or_throw(id)));
    return least;
  }
  // NCCL keeps memory and streams on the device that outlive a communicator.
  bool allows_context_reset() const override { return false; }
  std::unique_ptr<Runner<Collectives>> open(std::span<const Step<Collectives>> steps) const override {
    return std::make_unique<NcclRunner>(steps);
  }
};

}  // namespace

}  // namespace npgpu::nccl

NPGPU_REGISTERED(Backend<npgpu::Collectives>, npgpu::nccl::CudaNccl)
