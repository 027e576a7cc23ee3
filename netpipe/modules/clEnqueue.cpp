// clEnqueueWriteBuffer and its kin: copies of OpenCL, blocking and not; with the executor cpu through a mapped buffer.
#include <fmt/format.h>

#include <algorithm>

#include "netpipe/devices/opencl/inventory.hpp"
#include "netpipe/engine/copy_cases.hpp"
#include "netpipe/modules/opencl/copy_channel.hpp"
#include "npgpu/measuring/runner.hpp"

namespace npgpu {

namespace {

class ClEnqueue final : public Module {
 public:
  std::string_view name() const override { return "clEnqueue"; }
  std::string_view summary() const override {
    return "OpenCL copies: clEnqueueWriteBuffer, ReadBuffer, CopyBuffer; mapped buffers with --executor cpu";
  }
  std::string_view device_kind() const override { return "opencl"; }

  std::optional<std::string> refuses_case(const TransferCase& c) const override {
    if (c.direction == Direction::h2h || c.direction == Direction::peer)
      return fmt::format(
          "--direction {}: clEnqueue copies between the host and one device, or within it: use h2d, d2h, d2d",
          npgpu::name(c.direction));
    if (is_of_words(c.pattern) || c.executor == Executor::sm_kernel)
      return "clEnqueue copies by the driver's commands, and has no kernels: use --executor copy-engine, or cpu for a "
             "mapped buffer, and --pattern stream, pingpong or duplex";
    if (auto why = why_no_copy(c)) return why;
    if (c.memory == Memory::write_combined || c.memory == Memory::managed)
      return fmt::format("--memory {}: OpenCL has pageable and pinned memory of the host: use one of them",
                         npgpu::name(c.memory));
    if (auto why = c.executor == Executor::cpu ? why_not_mapped(c) : std::nullopt) return why;
    if (c.direction == Direction::d2d && !c.async)
      return "--direction d2d: clEnqueueCopyBuffer has no blocking form: add --async";
    if (auto why = host::why_not_on_node(c.host_node)) return why;
    opencl::find_or_throw(device_of(c));
    return std::nullopt;
  }

  MemoryNeed needs_lane(const TransferCase& c, std::uint64_t max_bytes) const override {
    const std::uint64_t area = opencl::area_bytes(c, max_bytes);
    MemoryNeed need;
    for (const host::End& end : host::ends_of(c)) {
      const std::uint64_t bytes = host::allocation_bytes(area, end.offset);
      need.host_bytes = saturating_plus(need.host_bytes, bytes);  // device memory's image, too
      if (end.kind == Memory::device) need.device_bytes = saturating_plus(need.device_bytes, bytes);
    }
    return need;
  }
  MemoryNeed available(const TransferCase& c) const override {
    return {host::free_host_memory(), opencl::free_memory(device_of(c))};
  }
  std::unique_ptr<Channel> open_lane(const TransferCase& c, std::uint64_t max_bytes) const override {
    return std::make_unique<opencl::CopyChannel>(c, max_bytes);
  }

 private:
  static std::optional<std::string> why_not_mapped(const TransferCase& c) {
    if (c.direction == Direction::d2d)
      return "--executor cpu: the processor copies between host memory and a mapped buffer: use --direction h2d or d2h";
    if (c.async || c.timing != Timing::host)
      return "--executor cpu: the calling thread copies, which no event sees: use --timing host without --async";
    return std::nullopt;
  }
};

}  // namespace

}  // namespace npgpu

NPGPU_REGISTERED(Module, npgpu::ClEnqueue)
