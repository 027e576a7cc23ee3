// Where specs are found, and what a file says, read again only after the file has changed: devices and probes ask for a
// spec at every case and shape.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "netpipe/devices/simulated/spec.hpp"
#include "npgpu/vocabulary/load.hpp"

namespace npgpu::simulated {

template <class T> class ReadOnce {
 public:
  // What read(file) gives, or gave. What it throws is thrown, and the next call reads again.
  template <class Read> T of(const std::filesystem::path& file, Read read) {
    std::error_code none;
    const Stamp stamp{std::filesystem::last_write_time(file, none), std::filesystem::file_size(file, none)};
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(file.string());
    if (found != known_.end() && found->second.first == stamp) return found->second.second;
    T value = read(file);
    known_.insert_or_assign(file.string(), std::pair(stamp, value));
    return value;
  }

 private:
  using Stamp = std::pair<std::filesystem::file_time_type, std::uintmax_t>;
  std::mutex mutex_;
  std::map<std::string, std::pair<Stamp, T>> known_;
};

// Where specs are found: "sim:gtx280" is gtx280.json in the first of these folders that has it, "sim:./my.json" (any
// name with a slash or ending in .json) is that file.
//
//   the folders of $NPGPU_DEVICES, separated by ':'
//   the installed ones, ../share/npgpu/devices from the program
//   data/devices of the source tree that the program was built from
//
// A folder below these may stand in the name: "sim:sick/slow-memory". "sim:node8:3" is the fourth GPU of the node in
// nodes/node8.json of these folders, "sim:./my.json:3" that of a file. "sim:h200?seed=7" and "sim:node8?seed=7:3" are
// the same devices with scatter of another seed.

struct NameParts {
  std::string name;  // without the seed: "sim:h200"
  std::optional<std::uint64_t> seed;
};
// Throws Error(usage) where what stands behind the question mark is no seed.
NameParts parts_of(const std::string& id);

// The file of the device called `id`. Throws Error(usage) naming the devices there are.
std::filesystem::path spec_file(const std::string& id);
Spec spec_of(const std::string& id);
// The file of the node called "sim:NODE"; nothing if there is none, or that name is a device's.
std::optional<std::filesystem::path> node_file(const std::string& id);

// "sim:gtx280", "sim:gtx480", ...: what the folders hold, by name, each once; of a folder below these
// "sim:sick/slow-memory".
std::vector<std::string> known_ids(const std::string& below = {});
// Why there are none: the folders, and what to set.
std::string why_none();

// The energy of a simulated device, from what its spec states under "hardware": energy_idle_w, energy_no_context_w, and
// for each kind of work the energy of one operation or byte over idle: energy_fma_fp32_pj, energy_mma_fp16_pj,
// energy_read_global_pj, energy_h2d_pj, ... Operands of zeros take energy_zeros_share of it, one pattern
// energy_pattern_share. A counter steps every 100 ms of its time. energy_sigma is the scatter of a window. Null where
// the spec states no idle power; `why` then says so.
std::unique_ptr<EnergyMeter> energy_meter(const std::string& id, std::string& why);
// The key of a case's energy: "energy_read_l2_pj".
std::string energy_key(const EnergyCase&);

}  // namespace npgpu::simulated
