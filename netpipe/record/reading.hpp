// What the processes of a recorded application left in their raw files, or another profiler in its own, as the series
// of a trace.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "npgpu/vocabulary/record.hpp"
#include "npgpu/vocabulary/trace.hpp"

namespace npgpu::record {

struct RecordedProcess {
  std::uint32_t pid = 0;
  std::uint64_t dropped = 0;       // by CUPTI
  std::uint64_t bad = 0;           // records without a sensible time, which are left out
  std::uint64_t beyond_limit = 0;  // left out because the file was full
  bool ended = false;              // by itself, so that nothing of it is missing
  std::string trouble{};           // why nothing of it was recorded; empty: something may have been
  std::size_t events = 0;
  std::string imported_from{};       // the profiler that recorded it; empty: npgpu
  std::vector<std::string> lacks{};  // what npgpu would have recorded and that profiler's file does not have
};
struct Recording {
  std::vector<RecordedProcess> processes{};  // as RecordCase numbers them
  std::vector<DeviceInfo> devices{};         // each once, by its UUID
  std::vector<RecordSeries> series{};        // with visits and samples, ordered by device, process and activity

  std::size_t events(Activity) const;
};

// Entries behind one that is cut off or of no known sort are left out. Throws Error(failed) naming a file that cannot
// be read or is no raw file.
Recording read_raw_files(std::span<const std::filesystem::path>);

// The file of another profiler, by what it holds: Chrome's trace of torch.profiler, also packed by gzip, or the SQLite
// export of Nsight Systems. Throws Error(usage) naming the file and what is wrong with it, and Error(failed) where a
// library that reads it is not there.
Recording import_recording(const std::filesystem::path&);

// Facts of each process, which a trace keeps as /provenance/process_0 and so on.
Facts facts_of(const RecordedProcess&);

}  // namespace npgpu::record
