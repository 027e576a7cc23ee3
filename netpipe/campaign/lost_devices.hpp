// Devices that stopped answering during a campaign. They are left alone: each further call may block for seconds in the
// driver, and the other devices are still to be measured.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "npgpu/kinds.hpp"
#include "npgpu/trace.hpp"

namespace npgpu::campaign {

template <class Case> bool takes_part(const Case& c, const std::string& device) {
  if constexpr (requires { devices_of(c); }) {
    const std::vector<std::string> all = devices_of(c);
    return std::ranges::find(all, device) != all.end();
  } else {
    return device_of(c) == device;
  }
}
template <class Case> bool crosses_devices(const Case& c) {
  if constexpr (std::is_same_v<Case, TransferCase>) return c.direction == Direction::peer;
  else if constexpr (requires { devices_of(c); }) return true;
  else return false;
}
inline bool crosses_link(const TransferCase& c) {
  return c.direction == Direction::h2d || c.direction == Direction::d2h;
}

class LostDevices {
 public:
  // Of a failure at `device`, or at the one that the failure names; nothing where it says of no loss.
  void note(const std::string& device, const SeriesError& why) {
    if (why.kind != Failure::lost) return;
    const std::string& id = why.device.empty() ? device : why.device;
    lost_.try_emplace(id, SeriesError{id + " was lost before", Failure::lost, id});
  }
  bool contains(const std::string& device) const { return lost_.contains(device); }
  // The first of them that takes part in all of `what`; null where there is none.
  template <class T, class Question>
  const SeriesError* among(const std::vector<T>& what, const Question& question) const {
    for (const auto& [id, why] : lost_)
      if (std::ranges::all_of(what, [&](const T& one) { return takes_part(question(one), id); })) return &why;
    return nullptr;
  }

 private:
  std::map<std::string, SeriesError> lost_;  // by device
};

}  // namespace npgpu::campaign
