// A Module is the API that moves bytes. One file a module: netpipe/modules/<name>.cpp ends with
// NPGPU_REGISTERED(Module, Class), and one CMake line, npgpu_module(<name> REQUIRES ...), adds it to the build.
//
// Example:
//   const auto copy = npgpu::case_on("memcpy", "host", npgpu::Direction::h2h);
//   for (const npgpu::Module* module : npgpu::reaching(npgpu::modules(), "host"))
//     if (const auto why = module->refuses_case(copy)) std::cout << module->name() << ": " << *why << '\n';
//     else std::cout << module->name() << ": " << module->summary() << '\n';
//   for (const npgpu::MissingModule& left_out : npgpu::missing_modules())
//     std::cout << left_out.name << ' ' << left_out.reason << '\n';
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/channel.hpp"
#include "npgpu/runner.hpp"
#include "npgpu/transfer.hpp"

namespace npgpu {

class Module : public Backend<Transfers> {
 public:
  // Who moves the bytes of copies that a GPU takes part in, if nothing else is asked for.
  virtual Executor executor() const { return Executor::copy_engine; }
  // Why this case cannot run, whatever its size, and what would make it run; nothing if it can. A case of several lanes
  // is asked for as a whole, and then for each lane but the first alone.
  virtual std::optional<std::string> refuses_case(const TransferCase&) const = 0;
  // Of one lane alone: its case is that of lane_case().
  virtual MemoryNeed needs_lane(const TransferCase&, std::uint64_t max_bytes) const = 0;
  // Opens a channel for sizes up to max_bytes. Throws Error.
  virtual std::unique_ptr<Channel> open_lane(const TransferCase&, std::uint64_t max_bytes) const = 0;

  // A runner over the channels of all lanes; see netpipe/engine/transfer_runner.hpp. A module whose lanes end in
  // another process has a runner of its own.
  std::optional<std::string> refuses(const Step<Transfers>&) const final;
  TransferContext context(const TransferCase&) const override;
  MemoryNeed needs(std::span<const Step<Transfers>>) const final;
  std::unique_ptr<Runner<Transfers>> open(std::span<const Step<Transfers>>) const override;
};

// All modules of this build, by name.
inline const auto& modules() { return registered<Module>(); }
const Module* find_module(std::string_view name);

// Modules that this build leaves out, with the reason ("needs the CUDA toolkit").
struct MissingModule {
  std::string_view name;
  std::string_view reason;
};
const std::vector<MissingModule>& missing_modules();

}  // namespace npgpu
