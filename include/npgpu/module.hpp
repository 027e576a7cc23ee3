// A Module is an API that moves bytes. Each is one file, netpipe/modules/<name>.cpp, which ends with
// NPGPU_REGISTERED(Module, Class). One line of CMake, npgpu_module(<name> REQUIRES ...), adds it to the build.
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
  // The usual executor of copies that involve a GPU.
  virtual Executor executor() const { return Executor::copy_engine; }
  // Why this case cannot run at any size, and what would make it run; nothing if it can. A case of several lanes is
  // checked as a whole, and then each lane but the first alone. REQUIRES: the case is on devices of device_kind().
  virtual std::optional<std::string> refuses_case(const TransferCase&) const = 0;
  // The memory of one lane. REQUIRES: the case is that of lane_case(), and refuses_case() returned nothing.
  virtual MemoryNeed needs_lane(const TransferCase&, std::uint64_t max_bytes) const = 0;
  // Opens the channel of one lane for sizes up to max_bytes. Throws Error. REQUIRES: as needs_lane().
  virtual std::unique_ptr<Channel> open_lane(const TransferCase&, std::uint64_t max_bytes) const = 0;

  // A runner over the channels of all lanes; see netpipe/engine/transfer_runner.hpp. A module between processes has a
  // runner of its own.
  std::optional<std::string> refuses(const Step<Transfers>&) const final;
  TransferContext context(const TransferCase&) const override;
  MemoryNeed needs(std::span<const Step<Transfers>>) const final;
  std::unique_ptr<Runner<Transfers>> open(std::span<const Step<Transfers>>) const override;
};

// All modules of this build, by name.
inline const auto& modules() { return registered<Module>(); }
const Module* find_module(std::string_view name);  // null if this build has none of that name

// A module that is not in this build, with the reason ("needs the CUDA toolkit").
struct MissingModule {
  std::string_view name;
  std::string_view reason;
};
const std::vector<MissingModule>& missing_modules();

}  // namespace npgpu
