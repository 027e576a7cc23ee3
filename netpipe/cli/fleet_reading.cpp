// Runs from files.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <string_view>
#include <thread>

#include "netpipe/cli/fleet_codec.hpp"
#include "netpipe/cli/fleet_files.hpp"
#include "netpipe/cli/terminal.hpp"

namespace npgpu::cli {

namespace {

namespace fs = std::filesystem;

std::uint64_t content_hash(std::span<const std::byte> bytes) {
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::vector<ReadDigest> read_files(const std::vector<fs::path>& paths) {
  const bool is_shown = takes_escapes(STDERR_FILENO);
  const auto show = [&](std::size_t done) {
    std::cerr << fmt::format("\r\x1b[K{} of {} traces read", done, paths.size()) << std::flush;
  };
  auto digests = read_many(
      paths,
      [](const Trace& trace, std::span<const std::byte> file) {
        FleetRun run = fleet_run(trace);
        run.hash = content_hash(file);
        return to_bytes(run);
      },
      std::max(1u, std::thread::hardware_concurrency()), is_shown ? show : std::function<void(std::size_t)>());
  if (is_shown && !paths.empty()) std::cerr << "\r\x1b[K";
  return digests;
}

}  // namespace

FleetRuns read_fleet(const FoundTraces& found) {
  Questions questions;
  FleetRuns all;
  all.unreadable = found.unreadable;
  const std::vector<ReadDigest> digests = read_files(found.traces);
  for (std::size_t i = 0; i < digests.size(); ++i) {
    std::string why = digests[i].error;
    if (why.empty()) {
      if (auto run = from_bytes(digests[i].bytes, questions)) all.runs.push_back(std::move(*run));
      else why = "is damaged: what HDF5 makes of it is garbled";
    }
    if (!why.empty()) all.unreadable.push_back({found.traces[i].string(), why});
  }
  return all;
}

}  // namespace npgpu::cli
