// Runs from indexes and files.
#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <thread>

#include "netpipe/cli/fleet_files.hpp"
#include "netpipe/cli/fleet_index.hpp"
#include "netpipe/cli/terminal.hpp"

namespace npgpu::cli {

namespace {

namespace fs = std::filesystem;

// What an index has of this file, as it is now.
IndexEntry* known(IndexEntries& index, const FoundTrace& trace) {
  const auto entry = index.find(trace.name);
  if (entry == index.end() || entry->second.bytes != trace.bytes) return nullptr;
  const bool is_known =
      entry->second.modified_ns == trace.modified_ns || content_hash(content_of(trace.path)) == entry->second.run.hash;
  return is_known ? &entry->second : nullptr;
}

std::vector<ReadDigest> read_files(const std::vector<fs::path>& paths) {
  const bool is_shown = takes_escapes(STDERR_FILENO);
  const auto show = [&](std::size_t done) {
    std::cerr << fmt::format("\r{} of {} traces read", done, paths.size()) << std::flush;
  };
  auto digests = read_many(
      paths,
      [](const Trace& trace, std::span<const std::byte> file) {
        FleetRun run = fleet_run(trace);
        run.hash = content_hash({reinterpret_cast<const char*>(file.data()), file.size()});
        return to_bytes(run);
      },
      std::max(1u, std::thread::hardware_concurrency()), is_shown ? show : std::function<void(std::size_t)>());
  if (is_shown && !paths.empty()) std::cerr << "\r\x1b[K";
  return digests;
}

}  // namespace

FleetRuns read_fleet(const FoundTraces& found, bool use_index) {
  QuestionBook book;
  std::vector<IndexEntries> before(found.homes.size());
  for (std::size_t i = 0; use_index && i < found.homes.size(); ++i) before[i] = load_index(found.homes[i].folder, book);
  FleetRuns all;
  all.unreadable = found.unreadable;
  all.runs.reserve(found.traces.size());  // what is kept points into it
  std::vector<KeptTraces> now(found.homes.size());
  std::vector<bool> is_changed(found.homes.size());
  const auto keep = [&](const FoundTrace& trace, FleetRun run) {
    all.runs.push_back(std::move(run));
    now[trace.home][trace.name] = {trace.bytes, trace.modified_ns, &all.runs.back()};
  };
  std::vector<const FoundTrace*> unknown;
  std::vector<fs::path> paths;
  for (const FoundTrace& trace : found.traces)
    if (IndexEntry* const entry = known(before[trace.home], trace)) {
      if (entry->modified_ns != trace.modified_ns) is_changed[trace.home] = true;
      keep(trace, std::move(entry->run));
    } else {
      unknown.push_back(&trace);
      paths.push_back(trace.path);
    }
  all.from_index = all.runs.size();
  const std::vector<ReadDigest> digests = read_files(paths);
  for (std::size_t i = 0; i < digests.size(); ++i) {
    if (!digests[i].error.empty()) {
      all.unreadable.push_back({paths[i].string(), digests[i].error});
      continue;
    }
    keep(*unknown[i], from_bytes(digests[i].bytes, book));
    is_changed[unknown[i]->home] = true;
  }
  for (std::size_t i = 0; use_index && i < found.homes.size(); ++i) {
    // Of a folder of which only files were named the others stay; of a whole one those that are gone go.
    if (!found.homes[i].is_whole)
      for (const auto& [name, entry] : before[i])
        now[i].try_emplace(name, KeptTrace{entry.bytes, entry.modified_ns, &entry.run});
    if (!is_changed[i] && now[i].size() == before[i].size()) continue;
    if (const std::string why = save_index(found.homes[i].folder, now[i]); !why.empty())
      all.notes.push_back(
          fmt::format("{}: {}; the next question reads its traces again", found.homes[i].folder.string(), why));
  }
  return all;
}

}  // namespace npgpu::cli
