// The traces that a fleet is made of: which files, and what an index beside them says of those that were read before.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "netpipe/cli/fleet_codec.hpp"
#include "npgpu/fleet.hpp"

namespace npgpu::cli {

struct FoundTrace {
  std::filesystem::path path;  // as named, or below the folder that was
  std::string name;            // within its home
  std::size_t home = 0;        // whose index it is in
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;  // since 1970
};
struct Home {
  std::filesystem::path folder;
  bool is_whole = false;  // it was named, and not only files in it
};
struct FoundTraces {
  std::vector<Home> homes;
  std::vector<FoundTrace> traces;     // by path, each once
  std::vector<FleetFile> unreadable;  // folders that cannot be listed, files that are not there
};
// A folder stands for the traces (*.h5) in it and in its folders. Throws Error(usage) where a folder has none.
FoundTraces find_traces(const std::vector<std::string>& words);

struct FleetRuns {
  std::vector<FleetRun> runs;
  std::vector<FleetFile> unreadable;
  std::size_t from_index = 0;
  std::vector<std::string> notes;  // what became of the indexes, a sentence each
};
// Takes from the indexes of the homes what they know of files that are as they were, reads the others in several
// processes, and keeps the indexes.
FleetRuns read_fleet(const FoundTraces&, bool use_index);

}  // namespace npgpu::cli
