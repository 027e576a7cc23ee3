#include <algorithm>
#include <regex>

#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/device.hpp"
#include "npgpu/vocabulary/load.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

DeviceInfo DeviceFamily::find(const std::string& id) const {
  const std::vector<DeviceInfo> all = list();
  if (all.empty()) throw Error(ErrorKind::nothing, "--device " + id + ": " + why_none());
  std::string ids;
  for (const DeviceInfo& one : all) {
    if (one.id == id) return one;
    ids += (ids.empty() ? "" : ", ") + one.id;
  }
  throw Error(ErrorKind::usage, "--device " + id + " is not there: this machine has " + ids);
}

std::vector<std::string> DeviceFamily::node(const std::string& id) const {
  if (!has_gpus()) return {id};
  std::vector<std::string> all;
  for (const DeviceInfo& one : list()) all.push_back(one.id);
  // One that is not there has no node: whoever asks for it learns that, and does not get the others in its place.
  return std::ranges::find(all, id) == all.end() ? std::vector{id} : all;
}

std::unique_ptr<DeviceWatch> DeviceFamily::watch(const std::string&) const { return nullptr; }

Facts DeviceFamily::counters(const std::string&) const { return {}; }

LinkState DeviceFamily::link_state(const std::string&) const { return {}; }

Telemetry DeviceFamily::telemetry(const std::string&) const { return {}; }

std::unique_ptr<EnergyMeter> DeviceFamily::energy_meter(const std::string& id, std::string& why) const {
  why = id + " has no energy counter that this program knows";
  return nullptr;
}

std::unique_ptr<DeviceTimer> DeviceFamily::stream_timer(const std::string&, void*) const { return nullptr; }

void DeviceFamily::reset_context(const std::string&) const {}

void DeviceFamily::settle(const std::string&) const {}

namespace devices {

std::string_view kind_of(std::string_view id) { return id.substr(0, id.find(':')); }

namespace {

// Null for a device of no family, as tests make them.
const DeviceFamily* maybe_family_of(const std::string& id) {
  for (const auto& family : families())
    if (family->kind() == kind_of(id)) return family.get();
  return nullptr;
}

// What a name of other tools means here: 0, gpu0, GPU:0 and /dev/nvidia0; UUIDs and PCI addresses as nvidia-smi has
// them.
std::string as_others_name_it(const std::string& id) {
  std::smatch found;
  if (std::regex_match(id, found, std::regex(R"((?:/dev/)?(?:nvidia|gpu|cuda)?:?([0-9]{1,3}))", std::regex::icase)))
    return "; did you mean 'cuda:" + found[1].str() + "'?";
  if (std::regex_match(id, std::regex("(GPU|MIG)-[0-9a-f-]+", std::regex::icase)))
    return "; CUDA_VISIBLE_DEVICES=" + id + " makes this GPU the only one, cuda:0";
  if (std::regex_match(id, std::regex(R"((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])", std::regex::icase)))
    return "; npgpu info shows which GPU is at which PCI address";
  return id == "all" ? "; without --device all GPUs are measured" : "";
}

}  // namespace

const DeviceFamily& family_of(const std::string& id) {
  if (const DeviceFamily* const family = maybe_family_of(id)) return *family;
  std::string kinds;
  for (const auto& family : families()) kinds += (kinds.empty() ? "" : ", ") + std::string(family->kind());
  throw Error(ErrorKind::usage, "--device: '" + id + "' is no device; a device's name begins with one of " + kinds +
                                    " (npgpu info --words shows all)" + as_others_name_it(id));
}

DeviceInfo find(const std::string& id) { return family_of(id).find(id); }

std::vector<std::string> node(const std::string& id) { return family_of(id).node(id); }

std::unique_ptr<DeviceWatch> watch(const std::string& id) {
  const DeviceFamily* const family = maybe_family_of(id);
  return family ? family->watch(id) : nullptr;
}

Facts counters(const std::string& id) {
  const DeviceFamily* const family = maybe_family_of(id);
  return family ? family->counters(id) : Facts{};
}

LinkState link_state(const std::string& id) {
  const DeviceFamily* const family = maybe_family_of(id);
  return family ? family->link_state(id) : LinkState{};
}

Telemetry telemetry(const std::string& id) {
  const DeviceFamily* const family = maybe_family_of(id);
  return family ? family->telemetry(id) : Telemetry{};
}

std::unique_ptr<EnergyMeter> energy_meter(const std::string& id, std::string& why) {
  const DeviceFamily* const family = maybe_family_of(id);
  why = id + " is of no family of devices";
  return family ? family->energy_meter(id, why) : nullptr;
}

std::unique_ptr<DeviceTimer> stream_timer(const std::string& id, void* stream) {
  const DeviceFamily* const family = maybe_family_of(id);
  return family ? family->stream_timer(id, stream) : nullptr;
}

void reset_context(const std::string& id) {
  if (const DeviceFamily* const family = maybe_family_of(id)) family->reset_context(id);
}

void settle(const std::string& id) {
  if (const DeviceFamily* const family = maybe_family_of(id)) family->settle(id);
}

std::vector<DeviceInfo> list() {
  std::vector<DeviceInfo> all;
  for (const auto& family : families()) std::ranges::move(family->list(), std::back_inserter(all));
  return all;
}

Facts census() {
  Facts all;
  for (const auto& family : families()) std::ranges::move(family->census(), std::back_inserter(all));
  return all;
}

std::vector<DeviceInfo> gpus() {
  std::vector<DeviceInfo> all;
  for (const auto& family : families())
    if (family->has_gpus()) std::ranges::move(family->list(), std::back_inserter(all));
  return all;
}

std::vector<std::string> likely_gpus() {
  std::vector<std::string> all;
  for (const auto& family : families())
    if (family->has_gpus()) std::ranges::move(family->likely(), std::back_inserter(all));
  return all;
}

std::string why_no_gpu() {
  if (!gpus().empty()) return {};
  std::string why;
  for (const auto& family : families())
    if (family->has_gpus()) why += (why.empty() ? "" : "; ") + family->why_none();
  return why;
}

std::optional<int> serve_as_second_process() {
  for (const auto& family : families())
    if (const auto exit_code = family->serve_as_second_process()) return exit_code;
  return std::nullopt;
}

std::string default_device() {
  const std::vector<DeviceInfo> all = gpus();
  return all.empty() ? "host" : all.front().id;
}

}  // namespace devices

}  // namespace npgpu
