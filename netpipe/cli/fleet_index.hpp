// What was read of the traces of a folder before: FOLDER/npgpu-fleet.index. A trace is known by its size and time, and
// where only the time is another one, by a hash of its content.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "netpipe/cli/fleet_codec.hpp"

namespace npgpu::cli {

inline constexpr const char* index_name = "npgpu-fleet.index";

struct IndexEntry {
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  FleetRun run;  // with the hash of the file's content
};
using IndexEntries = std::map<std::string, IndexEntry>;  // by name within the folder

// Empty where there is none, it is of another version of the program, or damaged; `book` gets its questions.
IndexEntries load_index(const std::filesystem::path& folder, QuestionBook& book);
// What is to be kept, by name. The runs live as long as it does.
struct KeptTrace {
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  const FleetRun* run = nullptr;
};
using KeptTraces = std::map<std::string, KeptTrace>;
// Replaces it whole. Returns why it could not be written; empty if it was.
std::string save_index(const std::filesystem::path& folder, const KeptTraces&);

std::uint64_t content_hash(std::string_view bytes);
// Of a whole file; empty where it cannot be read.
std::string content_of(const std::filesystem::path&);

}  // namespace npgpu::cli
