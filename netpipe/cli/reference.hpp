// A node that is known to be good: its trace, what npgpu check --json or nvbandwidth --json printed of it, or
// the -J file of nccl-tests on one of its GPUs.
#pragma once

#include <string>
#include <vector>

#include "npgpu/health.hpp"

namespace npgpu::cli {

struct Reference {
  std::string name;               // of the file, without its folder
  std::vector<std::string> gpus;  // names of its GPUs; empty where they are not known
  std::vector<ReferenceFigure> figures;
  std::string doubt{};  // why it may be no good node: "npgpu check calls it slow"; empty where nothing says so
};
// Throws Error(usage).
Reference read_reference(const std::string& path);

}  // namespace npgpu::cli
