// The condition of devices over a run: what their links were trained to while bytes went over them, and what they
// counted until its end.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "npgpu/trace.hpp"

namespace npgpu::campaign {

class Conditions {
 public:
  explicit Conditions(std::vector<DeviceInfo> devices) : devices_(std::move(devices)) {}

  // Right after a visit that copied so many bytes at a time between the host and this device. Looks at the link, but
  // not after each visit: it is not known how long every driver takes for that.
  void copied(const DeviceInfo&, std::uint64_t bytes);
  // Writes gpu0_after, ... into the trace.
  void note(TraceWriter&) const;

 private:
  struct Seen {
    LinkState link;  // the most
    Seconds at{-1e9};
  };
  std::vector<DeviceInfo> devices_;
  std::map<std::string, Seen> seen_;
};

}  // namespace npgpu::campaign
