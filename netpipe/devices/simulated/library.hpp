// Where specs are found: "sim:gtx280" is gtx280.json in the first of these folders that has it, "sim:./my.json" (any
// name with a slash or ending in .json) is that file.
//
//   the folders of $NPGPU_DEVICES, separated by ':'
//   the installed ones, ../share/npgpu/devices from the program
//   data/devices of the source tree that the program was built from
//
// "sim:node8:3" is the fourth GPU of the node in nodes/node8.json of these folders, "sim:./my.json:3" that of a file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "netpipe/devices/simulated/spec.hpp"

namespace npgpu::simulated {

// The file of the device called `id`. Throws Error(usage) naming the devices there are.
std::filesystem::path spec_file(const std::string& id);
Spec spec_of(const std::string& id);
// The file of the node called "sim:NODE"; nothing if there is none, or that name is a device's.
std::optional<std::filesystem::path> node_file(const std::string& id);

// "sim:gtx280", "sim:gtx480", ...: what the folders hold, by name, each once.
std::vector<std::string> known_ids();
// Why there are none: the folders, and what to set.
std::string why_none();

}  // namespace npgpu::simulated
