#include "netpipe/devices/simulated/library.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <sstream>

#include "netpipe/devices/simulated/device.hpp"
#include "netpipe/devices/simulated/json_object.hpp"
#include "netpipe/devices/simulated/node.hpp"
#include "netpipe/files/output.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::simulated {

namespace {

constexpr Seconds step{0.1};

class ManualClock final : public Clock {
 public:
  Seconds now() const override { return time; }
  Seconds time{0};
};

class SimulatedMeter final : public EnergyMeter {
 public:
  explicit SimulatedMeter(const Spec& spec) : spec_(spec) {}
  std::string name() const override { return "the energy counter of the spec"; }
  bool counts_energy() const override { return true; }
  void start(const EnergyCase& question) override {
    question_ = question;
    steps_.clear();
    // Each window of the process has a scatter of its own, whichever meter it is read by.
    static std::uint64_t windows = 0;
    noise_ = NoiseSource({.seed = spec_.noise.seed + 0x9E3779B97F4A7C15 * ++windows, .sigma = sigma()}, 0);
  }
  EnergyRecord stop(Seconds since) override {
    EnergyRecord all;
    std::ranges::copy_if(steps_, std::back_inserter(all.steps), [&](const EnergyReading& r) { return r.at >= since; });
    if (all.steps.size() > 1)
      all.power_w =
          (all.steps.back().joules - all.steps.front().joules) / (all.steps.back().at - all.steps.front().at).count();
    if (spec_.condition.telemetry) all.state = *spec_.condition.telemetry;
    all.state.sm_clock_mhz = number_fact(spec_.hardware, "shader_clock_mhz");
    all.state.power_w = all.power_w;
    return all;
  }
  const Clock& clock() const override { return clock_; }
  void rest(Seconds duration) override {
    pass(duration, question_.work == EnergyWork::no_context ? asleep_w() : idle_w());
  }
  void worked(double work, Seconds took) override {
    const std::string key = energy_key(question_);
    const double pj = number_fact(spec_.hardware, key);
    if (std::isnan(pj)) throw Error(ErrorKind::usage, "the spec of " + question_.device + " does not state " + key);
    if (took > Seconds{0}) pass(took, idle_w() + work * pj * 1e-12 * share_of(question_.operands) / took.count());
  }

 private:
  double stated(std::string_view key, double otherwise) const {
    const double value = number_fact(spec_.hardware, key);
    return std::isnan(value) ? otherwise : value;
  }
  double sigma() const { return stated("energy_sigma", 0); }
  double idle_w() const { return stated("energy_idle_w", 0); }
  double asleep_w() const { return stated("energy_no_context_w", idle_w()); }
  double share_of(Operands operands) const {
    if (operands == Operands::zeros) return stated("energy_zeros_share", 1);
    return operands == Operands::pattern ? stated("energy_pattern_share", 1) : 1;
  }
  void pass(Seconds duration, double watts) {
    watts *= noise_.trial();
    const Seconds end = clock_.time + duration;
    for (Seconds next = step * std::floor(clock_.time / step + 1); next <= end; next += step) {
      joules_ += watts * (next - clock_.time).count();
      clock_.time = next;
      steps_.push_back({next, joules_});
    }
    joules_ += watts * (end - clock_.time).count();
    clock_.time = end;
  }

  const Spec spec_;
  NoiseSource noise_{{}, 0};
  ManualClock clock_;
  std::vector<EnergyReading> steps_;
  double joules_ = 0;
  EnergyCase question_;
};

}  // namespace

std::string energy_key(const EnergyCase& c) {
  std::string key = fmt::format("energy_{}", npgpu::name(c.work));
  if (counts_operations(c.work)) key += fmt::format("_{}", npgpu::name(c.type));
  else if (!is_link_copy(c.work)) key += fmt::format("_{}", npgpu::name(c.space));
  return key + "_pj";
}

std::unique_ptr<EnergyMeter> energy_meter(const std::string& id, std::string& why) {
  const Spec spec = spec_of(id);
  if (std::isnan(number_fact(spec.hardware, "energy_idle_w"))) {
    why = "the spec of " + id + " states no energy (energy_idle_w)";
    return nullptr;
  }
  return std::make_unique<SimulatedMeter>(spec);
}

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
#ifdef NPGPU_SOURCE_DEVICES
  all.emplace_back(NPGPU_SOURCE_DEVICES);
#endif
  return all;
}

bool is_path(const std::string& name) { return name.find('/') != std::string::npos || name.ends_with(".json"); }

// The ids of the files in each folder, or in a folder below each; `front` stands before their names.
std::vector<std::string> ids_in(const std::string& below, const std::string& front = {}) {
  std::vector<std::string> ids;
  for (const fs::path& folder : folders()) {
    std::error_code none;
    for (const fs::path& file : files::entries_of(folder / below, none))
      if (file.extension() == ".json") ids.push_back(std::string(prefix) + front + file.stem().string());
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace

std::vector<std::string> known_ids(const std::string& below) { return ids_in(below, below.empty() ? "" : below + '/'); }

std::string why_none() {
  std::vector<std::string> searched;
  for (const fs::path& folder : folders()) searched.push_back(folder.string());
  return fmt::format("no spec is in {}: set NPGPU_DEVICES to their folder", fmt::join(searched, ", "));
}

NameParts parts_of(const std::string& id) {
  constexpr std::string_view key = "?seed=";
  const std::size_t at = id.rfind('?');
  if (!id.starts_with(prefix) || at == std::string::npos) return {id, std::nullopt};
  std::uint64_t seed = 0;
  const char* const end = id.data() + id.size();
  const std::size_t digits = at + key.size();
  if (id.compare(at, key.size(), key) == 0 && digits < id.size()) {
    const auto [rest, error] = std::from_chars(id.data() + digits, end, seed);
    if (error == std::errc() && rest == end && seed <= std::numeric_limits<std::int64_t>::max())
      return {id.substr(0, at), seed};
  }
  throw Error(ErrorKind::usage,
              fmt::format("--device: {}: behind the question mark stands a seed: {}?seed=7", id, id.substr(0, at)));
}

fs::path spec_file(const std::string& full) {
  const std::string id = parts_of(full).name;
  if (!id.starts_with(prefix))
    throw Error(ErrorKind::usage,
                fmt::format("--device: '{}' is no simulated device; write sim:NAME or sim:FILE.json", id));
  const std::string name = id.substr(prefix.size());
  for (const fs::path& folder : folders()) {  // also twins/h200
    const fs::path file = folder / (name + ".json");
    std::error_code none;
    if (!name.empty() && fs::exists(file, none)) return file;
  }
  if (is_path(name)) return name;
  const std::vector<std::string> known = known_ids();
  throw Error(ErrorKind::usage,
              fmt::format("--device: there is no simulated device '{}'; {}", id,
                          known.empty() ? why_none()
                                        : fmt::format("there are {}, the nodes {}, or write sim:FILE.json",
                                                      fmt::join(known, ", "), fmt::join(ids_in("nodes"), ", "))));
}

std::optional<fs::path> node_file(const std::string& id) {
  if (!id.starts_with(prefix)) return std::nullopt;
  const std::string name = parts_of(id).name.substr(prefix.size());
  if (name.empty()) return std::nullopt;
  std::error_code none;
  if (!is_path(name)) {
    for (const fs::path& folder : folders())
      if (const fs::path file = folder / "nodes" / (name + ".json"); fs::exists(file, none)) return file;
    return std::nullopt;
  }
  fs::path file = name;
  for (const fs::path& folder : folders())  // as soak/node4
    if (fs::exists(folder / (name + ".json"), none)) {
      file = folder / (name + ".json");
      break;
    }
  static ReadOnce<bool> has_gpus;
  const auto read = [](const fs::path& one) { return read_json(one).contains("gpus"); };
  return fs::is_regular_file(file, none) && has_gpus.of(file, read) ? std::optional(file) : std::nullopt;
}

namespace {

// The node that `id` is a GPU of, with its number; null if it is none of any.
std::pair<std::shared_ptr<const Node>, std::size_t> place_of(const std::string& id) {
  const auto member = member_of(id);
  if (!member) return {};
  const auto node = node_of(member->node);
  if (member->gpu < node->gpus()) return {node, member->gpu};
  throw Error(ErrorKind::usage, fmt::format("--device {} is not there: {} has {}:0 to {}:{}", id, member->node,
                                            member->node, member->node, node->gpus() - 1));
}

}  // namespace

Spec spec_of(const std::string& id) {
  if (const auto [node, number] = place_of(id); node) return node->gpu(number);
  if (const auto node = find_node(id))
    throw Error(ErrorKind::usage,
                fmt::format("--device: {} is a node of {} GPUs: name one, as {}:0", id, node->gpus(), id));
  static ReadOnce<Spec> specs;
  Spec spec = specs.of(spec_file(id), [](const fs::path& file) { return read_spec(file); });
  if (const auto seed = parts_of(id).seed) spec.noise.seed = *seed;
  return spec;
}

namespace {

// The neighbour of the spec, who is always there.
class NeighbourWatch final : public DeviceWatch {
 public:
  explicit NeighbourWatch(Neighbour neighbour) : neighbour_(std::move(neighbour)) {}
  void begin() override {}
  Disturbance end() override { return {neighbour_.causes, neighbour_.name}; }

 private:
  Neighbour neighbour_;
};

class Simulated final : public DeviceFamily {
 public:
  std::string_view kind() const override { return kind_of_device; }
  bool has_gpus() const override { return false; }
  // A spec that cannot be read is listed with what is wrong with it.
  std::vector<DeviceInfo> list() const override {
    std::vector<DeviceInfo> all;
    for (const std::string& id : known_ids()) try {
        all.push_back(find(id));
      } catch (const Error& e) {
        DeviceInfo& unusable = all.emplace_back();
        unusable.id = id;
        unusable.name = std::string("unusable: ") + e.what();
        unusable.simulated = true;
      }
    return all;
  }
  std::string why_none() const override { return simulated::why_none(); }
  DeviceInfo find(const std::string& id) const override {
    if (const auto [node, number] = place_of(id); node) return node->info(number, id);
    return info_of(spec_of(id), id);
  }
  std::vector<std::string> node(const std::string& id) const override {
    const auto member = member_of(id);
    const std::string name = member ? member->node : id;
    const auto node = find_node(name);
    std::vector<std::string> all;
    if (!node) {  // a folder stands for the devices in it
      if (id.size() > prefix.size() && id.find_first_of("./") == std::string::npos)
        all = known_ids(id.substr(prefix.size()));
      return all.empty() ? std::vector{id} : all;
    }
    for (std::size_t gpu = 0; gpu < node->gpus(); ++gpu) all.push_back(fmt::format("{}:{}", name, gpu));
    return all;
  }
  std::unique_ptr<EnergyMeter> energy_meter(const std::string& id, std::string& why) const override {
    return simulated::energy_meter(id, why);
  }
  std::unique_ptr<DeviceWatch> watch(const std::string& id) const override {
    const auto neighbour = spec_of(id).condition.neighbour;
    return neighbour ? std::make_unique<NeighbourWatch>(*neighbour) : nullptr;
  }
  // Once the device was opened, they have risen.
  Facts counters(const std::string& id) const override {
    const Condition condition = spec_of(id).condition;
    Facts all = condition.counters;
    for (auto& [name, count] : all)
      if (const double rise = number_fact(condition.rise, name); rise > 0 && openings_of(id) > 0)
        count = std::get<std::int64_t>(count) + static_cast<std::int64_t>(rise);
    if (is_lost(id)) all.emplace_back("unread_device", std::string("lost"));
    return all;
  }
  LinkState link_state(const std::string& id) const override { return spec_of(id).condition.link; }
  Telemetry telemetry(const std::string& id) const override { return telemetry_of(spec_of(id), age_of(id)); }
};

}  // namespace

}  // namespace npgpu::simulated

NPGPU_REGISTERED(DeviceFamily, npgpu::simulated::Simulated)
