// Others on the machine: waited for before a run, and watched around its visits.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "npgpu/device.hpp"

namespace npgpu::campaign {

class NeighbourWatch {
 public:
  // Of these devices and of the host; simulated devices have those that their specs name.
  explicit NeighbourWatch(const std::vector<DeviceInfo>&);

  // Who is there now: looks for a quarter of a second, again and again until all is quiet, `patience` is over or
  // `interrupted` says so. "" if it became quiet, else what was seen last, as "host: others used ...".
  std::string wait(Seconds patience, const std::function<bool()>& interrupted);

  // Around a visit to a point of this device.
  void begin(const std::string& device, bool is_host_timed);
  Disturbance end();
  // After end(), once for each device: "cuda:0: ..." where some of what others do cannot be seen; else empty.
  std::string cannot_see();

 private:
  std::map<std::string, std::unique_ptr<DeviceWatch>> watches_;
  std::vector<DeviceWatch*> active_;
  std::set<std::string> said_;
};

}  // namespace npgpu::campaign
