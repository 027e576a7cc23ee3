// Where specs are found: "sim:gtx280" is gtx280.json in the first of these folders that has it, "sim:./my.json" (any
// name with a slash or ending in .json) is that file.
//
//   the folders of $NPGPU_DEVICES, separated by ':'
//   the installed ones, ../share/npgpu/devices from the program
//   data/devices of the source tree that the program was built from
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "netpipe/devices/simulated/spec.hpp"

namespace npgpu::simulated {

// The file of the device called `id`. Throws Error(usage) naming the devices there are.
std::filesystem::path spec_file(const std::string& id);
Spec spec_of(const std::string& id);

// "sim:gtx280", "sim:gtx480", ...: what the folders hold, by name, each once.
std::vector<std::string> known_ids();
// Why there are none: the folders, and what to set.
std::string why_none();

}  // namespace npgpu::simulated
