// A Module is the API that moves bytes. One file a module: netpipe/modules/<name>.cpp ends with
// NPGPU_MODULE(Class), and one CMake line, npgpu_module(<name> REQUIRES ...), adds it to the build.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/case.hpp"
#include "npgpu/channel.hpp"
#include "npgpu/device.hpp"

namespace npgpu {

// Bytes a case takes before its first operation, at its largest size.
struct MemoryNeed {
  std::uint64_t host_bytes = 0;
  std::uint64_t device_bytes = 0;
};

class Module {
 public:
  virtual ~Module() = default;
  virtual std::string_view name() const = 0;     // what the user types, what the trace stores
  virtual std::string_view summary() const = 0;  // one line for `npgpu list`

  // The devices it reaches now. Empty is an answer; `why_none` then says why (no driver, no GPU).
  virtual std::vector<DeviceInfo> devices() const = 0;
  virtual std::string why_none() const { return {}; }
  // The device the user called `id`. Throws Error(usage) naming those there are, or Error(nothing) with
  // why_none() where there are none. Simulated devices also take the path of a spec here.
  virtual DeviceInfo device(const std::string& id) const;

  // Why this case cannot run, whatever its size, and what would make it run; nothing if it can.
  virtual std::optional<std::string> refuses(const Case&) const = 0;

  virtual MemoryNeed needs(const Case&, std::uint64_t max_bytes) const = 0;
  // What is free now for a case on that device: checked against needs() before anything is taken.
  virtual MemoryNeed available(const Case&) const = 0;

  // Opens a channel for sizes up to max_bytes. Throws Error.
  virtual std::unique_ptr<Channel> open(const Case&, std::uint64_t max_bytes) const = 0;
};

// All modules of this build, by name.
const std::vector<std::unique_ptr<Module>>& modules();
const Module* find_module(std::string_view name);
void register_module(std::unique_ptr<Module>);

// Modules that this build leaves out, with the reason ("needs the CUDA toolkit").
struct MissingModule {
  std::string_view name;
  std::string_view reason;
};
const std::vector<MissingModule>& missing_modules();

}  // namespace npgpu

#define NPGPU_MODULE(Class)                                     \
  namespace {                                                   \
  [[maybe_unused]] const bool registered = [] {                 \
    ::npgpu::register_module(std::make_unique<Class>());        \
    return true;                                                \
  }();                                                          \
  }
