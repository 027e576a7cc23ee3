// What processes did, event by event, from whichever file tells of it; and the recording that it becomes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "netpipe/record/reading.hpp"

namespace npgpu::record {

// One thing that was done, before it is put where it belongs.
struct Event {
  RecordCase question{};  // without device and process
  RecordShape shape{};
  std::uint64_t start = 0, end = 0;  // ns
  std::uint32_t correlation = 0, stream = 0, thread = 0, graph = 0;
  std::uint32_t device = 0;  // the process's number, of what a device did
};

struct ProcessEvents {
  RecordedProcess process{};
  std::map<std::uint32_t, DeviceInfo> devices{};  // by the process's number
  std::vector<Event> events{};

  Event& add(Activity, std::uint64_t start, std::uint64_t end);
  void drop_flawed_kernel();    // where the last event is one
  std::uint64_t first() const;  // ns; UINT64_MAX of a process without events
};

// The driver's calls within one of the runtime are that one's: what they asked for, it asked for.
Recording recording_of(std::vector<ProcessEvents>);

// As people wrote it, where it is a mangled name.
std::string demangled(const std::string& name);
// cudaMemcpyAsync of cudaMemcpyAsync_v3020, cudaLaunchKernel of cudaLaunchKernel_ptsz_v7000, cuMemFree of cuMemFree_v2.
std::string call_name(std::string name);
// UTF-8 and nothing that a terminal obeys: other bytes become '?'.
std::string sound(std::string text);
// What is waited for, by CUPTI's code of a synchronization.
std::string wait_called(std::uint32_t type);

}  // namespace npgpu::record
