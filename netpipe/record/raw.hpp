// The file that libnpgpu_record.so writes in each process of a recorded application, and npgpu makes a trace of: a
// header, then entries one behind the other, each of which says its sort and its size. It is only appended to, so that
// a process that is killed leaves all but the last moments; an entry that is cut off is the end. Numbers are as the
// machine has them, because the file never leaves it.
//
//   "NPGPUREC"  version 1
//   sort 1 size 60: a copy   sort 5 size 4+n: number and text of a name that later entries mention   ...
#pragma once

#include <cstdint>

namespace npgpu::record {

inline constexpr char magic[8] = {'N', 'P', 'G', 'P', 'U', 'R', 'E', 'C'};
inline constexpr std::uint32_t raw_version = 1;

// In its environment an application finds: the folder for these files; CLOCK_MONOTONIC in ns when npgpu started it;
// after how many ns from then recording begins, and for how many it goes on; and how many bytes a file may have.
inline constexpr char folder_variable[] = "NPGPU_RECORD_FOLDER", began_variable[] = "NPGPU_RECORD_BEGAN",
                      after_variable[] = "NPGPU_RECORD_AFTER", for_variable[] = "NPGPU_RECORD_FOR",
                      most_variable[] = "NPGPU_RECORD_MOST";

struct RawHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t pid;
};

enum class Sort : std::uint32_t { copy = 1, kernel, memset, wait, name, call, device, status, trouble };

struct EntryHead {
  Sort sort;
  std::uint32_t bytes;  // that follow
};

// Times are in ns on CUPTI's clock, which is the same in all processes.
struct RawCopy {
  std::uint64_t start, end, bytes;
  std::uint32_t device, stream, correlation, graph;
  std::uint8_t from, to, unused[6];  // memory, in CUPTI's codes
};
struct RawKernel {
  std::uint64_t start, end;
  std::uint32_t device, stream, correlation, graph, grid[3], block[3], registers, static_shared, dynamic_shared, name;
};
struct RawMemset {
  std::uint64_t start, end, bytes;
  std::uint32_t device, stream, correlation, graph, memory, unused;
};
struct RawWait {
  std::uint64_t start, end;
  std::uint32_t type, stream, correlation, unused;  // of CUPTI's type
};
struct RawCall {
  std::uint64_t start, end;
  std::uint32_t thread, correlation, name, result;
};
// Followed by the text, without a zero at its end.
struct RawName {
  std::uint32_t number;
};
// Followed by its name.
struct RawDevice {
  std::uint32_t number;
  std::uint8_t uuid[16];
  char pci_bus_id[20];
};
// Sums since the beginning, written now and then: the last one counts. `ended`: the process came to its end.
struct RawStatus {
  std::uint64_t dropped, bad, beyond_limit, ended;
};
// What follows Sort::trouble is a text alone: why nothing is recorded, in one sentence.

}  // namespace npgpu::record
