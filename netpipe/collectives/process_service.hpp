// The process that a node's measuring process starts for each GPU: this program again, with one argument.
#pragma once

#include <optional>
#include <string_view>

namespace npgpu::collectives {

inline constexpr std::string_view process_word = "--collective-process";

// Joins the list of its base where this build has NCCL's backend.
class ProcessService {
 public:
  virtual ~ProcessService() = default;
  virtual int rank() const { return 0; }
  // Does what the first process asks until that closes the pipe. Returns the exit code.
  virtual int serve() const = 0;
};
// For the first lines of main(), where that is the only argument. Nothing where this build has none.
std::optional<int> serve();

}  // namespace npgpu::collectives
