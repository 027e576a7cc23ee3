// What a table calls the case of a row: the name that it has on the screen, without its device.
#pragma once

#include <string>
#include <string_view>

#include "npgpu/kinds.hpp"

namespace npgpu {

// "H2D pinned, async", "cuMemcpy: H2D pinned, blocking". Cases of one device that differ have different names.
std::string case_name(const TransferCase&);

// The title without its device: "bandwidth read fp32", "calls launch back-to-back".
template <class Case> std::string case_name(const Case& question) {
  std::string text = title(question);
  const std::string device = ' ' + device_of(question);
  if (const std::size_t at = text.find(device + ' '); at != std::string::npos) text.erase(at, device.size());
  return text;
}

}  // namespace npgpu
