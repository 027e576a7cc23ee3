// The traces that a fleet is made of.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "npgpu/fleet.hpp"

namespace npgpu::cli {

struct FoundTraces {
  std::vector<std::filesystem::path> traces;  // by path, each file once
  std::vector<FleetFile> unreadable;          // folders that cannot be listed, files that are not there
};
// A folder stands for the traces (*.h5) in it and in its folders. Throws Error(usage) where a folder has none.
FoundTraces find_traces(const std::vector<std::string>& words);

struct FleetRuns {
  std::vector<FleetRun> runs;
  std::vector<FleetFile> unreadable;
};
// Reads them in several processes.
FleetRuns read_fleet(const FoundTraces&);

}  // namespace npgpu::cli
