// What NCCL chooses for an operation, as its own log says it: algorithm, protocol and channels
// (NCCL_DEBUG_SUBSYS=TUNING), and the path between the GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "netpipe/collectives/nccl.hpp"
#include "netpipe/process/descriptor.hpp"

namespace npgpu::nccl {

// As in CollectiveSample; -1 where the log does not say.
struct Choice {
  std::int32_t algorithm = -1, protocol = -1, channels = -1, path = -1;
};
// Of the last operation in the log. The path is the slowest one of all connections.
Choice choice_in(std::string_view log);

// NCCL logs into memory of this process while this lives. Not if the library is older than 2.24, or the user asked for
// more than warnings, or for a log in a file: then text() is empty.
class Log {
 public:
  explicit Log(const Library& = library());
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  std::string text() const;

 private:
  const Library& library_;
  process::Descriptor file_;
  std::optional<std::string> level_, subsystems_, path_;  // as they were
};

}  // namespace npgpu::nccl
