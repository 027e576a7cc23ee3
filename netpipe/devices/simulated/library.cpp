#include "netpipe/devices/simulated/library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "netpipe/engine/copy_cases.hpp"
#include "npgpu/error.hpp"

namespace npgpu::simulated {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kind_of_device = "sim", prefix = "sim:";

std::vector<fs::path> folders() {
  std::vector<fs::path> all;
  if (const char* own = std::getenv("NPGPU_DEVICES")) {
    std::istringstream list(own);
    for (std::string folder; std::getline(list, folder, ':');)
      if (!folder.empty()) all.emplace_back(folder);
  }
  std::error_code none;
  const fs::path program = fs::read_symlink("/proc/self/exe", none);
  if (!none) all.push_back((program.parent_path() / NPGPU_DEVICES_FROM_PROGRAM).lexically_normal());
  all.emplace_back(NPGPU_SOURCE_DEVICES);
  return all;
}

bool is_path(const std::string& name) { return name.find('/') != std::string::npos || name.ends_with(".json"); }

}  // namespace

std::vector<std::string> known_ids() {
  std::vector<std::string> ids;
  for (const fs::path& folder : folders()) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder, none))
      if (entry.path().extension() == ".json") ids.push_back(std::string(prefix) + entry.path().stem().string());
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

std::string why_none() {
  std::vector<std::string> searched;
  for (const fs::path& folder : folders()) searched.push_back(folder.string());
  return fmt::format("no spec is in {}: set NPGPU_DEVICES to their folder", fmt::join(searched, ", "));
}

fs::path spec_file(const std::string& id) {
  if (!id.starts_with(prefix))
    throw Error(ErrorKind::usage,
                fmt::format("--device: '{}' is no simulated device; write sim:NAME or sim:FILE.json", id));
  const std::string name = id.substr(prefix.size());
  if (is_path(name)) return name;
  for (const fs::path& folder : folders()) {
    const fs::path file = folder / (name + ".json");
    std::error_code none;
    if (!name.empty() && fs::exists(file, none)) return file;
  }
  const std::vector<std::string> known = known_ids();
  throw Error(ErrorKind::usage,
              fmt::format("--device: there is no simulated device '{}'; {}", id,
                          known.empty() ? why_none()
                                        : fmt::format("there are {}, or write sim:FILE.json", fmt::join(known, ", "))));
}

Spec spec_of(const std::string& id) { return read_spec(spec_file(id)); }
DeviceInfo device_of(const std::string& id) { return info_of(spec_of(id), id); }

std::vector<DeviceInfo> known_devices() {
  std::vector<DeviceInfo> all;
  for (const std::string& id : known_ids()) try {
      all.push_back(device_of(id));
    } catch (const Error& e) {
      DeviceInfo& unusable = all.emplace_back();
      unusable.id = id;
      unusable.name = std::string("unusable: ") + e.what();
      unusable.simulated = true;
    }
  return all;
}

namespace {

class Simulated final : public DeviceFamily {
 public:
  std::string_view kind() const override { return kind_of_device; }
  bool has_gpus() const override { return false; }
  std::vector<DeviceInfo> list() const override { return known_devices(); }
  std::string why_none() const override { return simulated::why_none(); }
  DeviceInfo find(const std::string& id) const override { return device_of(id); }
};

using Refusal = std::optional<std::string>;

Refusal wrong_lanes(const TransferCase& c) {
  for (const Lane& lane : c.more_lanes) {
    if (!lane.measured)
      return "a lane that is only a load is driven by a host thread of its own, and a simulated device has one thread: "
             "measure that lane too, or use a real device";
    if (const std::string& other = device_of(lane_case(c, lane)); other != device_of(c))
      return fmt::format("lanes on {} and on {}: each simulated device has its own clock: use lanes of one device",
                         device_of(c), other);
  }
  return std::nullopt;
}

Refusal no_link(Direction direction, Memory memory, const Spec& spec) {
  if (spec.link(direction, memory)) return std::nullopt;
  std::string there;
  const auto& links = direction == Direction::h2d ? spec.h2d : spec.d2h;
  if (direction == Direction::h2d || direction == Direction::d2h)
    for (const auto& [kind, link] : links) there += (there.empty() ? "" : ", ") + std::string(name(kind));
  if (there.empty())
    return fmt::format("--direction {}: {} has no such link: add it to its spec, or use another direction",
                       name(direction), spec.name);
  return fmt::format("--memory {}: the spec of {} has no {} link for it: use {}", name(memory), spec.name,
                     name(direction), there);
}

}  // namespace

Refusal why_refused(const TransferCase& c, const Spec& spec) {
  if (c.cache == Cache::cold) return "--cache cold: a simulated device has no caches to miss: use --cache warm";
  if (auto why = why_no_copy(c)) return why;
  const bool from_one_thread = c.timing != Timing::host && only_enqueues(c);
  if (c.pattern == Pattern::duplex && !from_one_thread)
    return fmt::format(
        "--pattern duplex: {} copies of {} memory timed on the {} need two host threads, and a simulated device has "
        "one: use --async --memory pinned --timing gated or event",
        c.async ? "asynchronous" : "blocking", name(c.memory), c.timing == Timing::host ? "host" : "device");
  if (auto why = wrong_lanes(c)) return why;
  if (!c.more_lanes.empty() && !from_one_thread)
    return "lanes that block need a host thread each, and a simulated device has one: use --async --memory pinned "
           "--timing gated or event";
  if (auto why = no_link(c.direction, c.memory, spec)) return why;
  return c.pattern == Pattern::stream ? std::nullopt : no_link(reversed(c.direction), c.memory, spec);
}

}  // namespace npgpu::simulated

NPGPU_DEVICE_FAMILY(npgpu::simulated::Simulated)
