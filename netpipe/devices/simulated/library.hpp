// Where specs are found: "sim:gtx280" is gtx280.json in the first of these folders that has it, "sim:./my.json" (any
// name with a slash or ending in .json) is that file.
//
//   the folders of $NPGPU_DEVICES, separated by ':'
//   the installed ones, ../share/npgpu/devices from the program
//   data/devices of the source tree that the program was built from
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "netpipe/devices/simulated/spec.hpp"
#include "npgpu/transfer.hpp"

namespace npgpu::simulated {

// The file of the device called `id`. Throws Error(usage) naming the devices there are.
std::filesystem::path spec_file(const std::string& id);
Spec spec_of(const std::string& id);

// "sim:gtx280", "sim:gtx480", ...: what the folders hold, by name, each once.
std::vector<std::string> known_ids();
// All of them; a spec that cannot be read is listed with what is wrong with it.
std::vector<DeviceInfo> known_devices();
DeviceInfo device_of(const std::string& id);
// Why there are none: the folders, and what to set.
std::string why_none();

// A simulated device can be asked for the cases of a real one, less what needs a second host thread or a cache, and
// with links that its spec has. Why the case cannot run, and what would make it run, in one sentence that names the
// option; nothing if it can.
std::optional<std::string> why_refused(const TransferCase&, const Spec&);

}  // namespace npgpu::simulated
