// Devices, the clock of host times, what others did during a measurement, and what this build has. Families of devices
// and backends join the list of their base before main(), in no particular order. A file that defines some ends with
// NPGPU_REGISTERED(Base, Class...).
//
// Example:
//   for (const auto& family : npgpu::registered<npgpu::DeviceFamily>())
//     std::cout << "devices " << family->kind() << '\n';
//   for (const auto& module : npgpu::registered<npgpu::Module>()) std::cout << "module " << module->name() << '\n';
//   for (const auto& probe : npgpu::registered<npgpu::Probe>())
//     std::cout << "probe " << probe->name() << " on " << probe->device_kind() << '\n';
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "npgpu/vocabulary/field.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

// All objects that joined as a Base, in the order of rank(). REQUIRES: main() has begun.
template <class Base> std::vector<std::unique_ptr<Base>>& registered() {
  static std::vector<std::unique_ptr<Base>> all;
  return all;
}

// REQUIRES: main() has not begun, because others hold references into the list after that.
template <class Base> void join(std::unique_ptr<Base> one) {
  auto& all = registered<Base>();
  const auto place = std::ranges::lower_bound(all, one->rank(), {}, [](const auto& other) { return other->rank(); });
  all.insert(place, std::move(one));
}

// Joins an object that needs no class of its own: const Joined<ProbeDescription> it({...}).
template <class Base, class One = Base> struct Joined {
  explicit Joined(One one) { join<Base>(std::make_unique<One>(std::move(one))); }
};

}  // namespace npgpu

#define NPGPU_JOINED_AS(number) joined_##number
#define NPGPU_JOINED(number) NPGPU_JOINED_AS(number)
#define NPGPU_REGISTERED(Base, ...)                                                \
  namespace {                                                                      \
  [[maybe_unused]] const bool NPGPU_JOINED(__COUNTER__) = []<class... Classes>() { \
    (::npgpu::join<::npgpu::Base>(std::make_unique<Classes>()), ...);              \
    return true;                                                                   \
  }.template operator()<__VA_ARGS__>();                                            \
  }

namespace npgpu {

// The clock of host times. Real channels use SteadyClock. Simulated devices have a manual clock of their own, so that
// whole runs are exact and repeatable.
//
// Example:
//   const npgpu::Clock& clock = npgpu::steady_clock();
//   const npgpu::Seconds begin = clock.now();
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");
//   std::cout << "reading a trace: " << npgpu::microseconds(clock.now() - begin) << " us\n";

class Clock {
 public:
  virtual ~Clock() = default;
  // Monotonic; only differences mean anything.
  virtual Seconds now() const = 0;
};

class SteadyClock final : public Clock {
 public:
  Seconds now() const override { return std::chrono::steady_clock::now().time_since_epoch(); }
};

// The one steady clock of the process.
inline const Clock& steady_clock() {
  static const SteadyClock clock;
  return clock;
}

// What other processes and machines did during a measurement.
//
// Example:
//   const auto watch = npgpu::devices::watch("host");  // or cuda:0; null: others cannot be seen
//   watch->begin();
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");  // or what is to be measured
//   const npgpu::Disturbance seen = watch->end();
//   if (seen.causes == 0) std::cout << "undisturbed\n";
//   else std::cout << npgpu::causes_text(seen.causes) << "; most of all by " << seen.by << '\n';

// A disturbance of a visit that could be seen. A visit's `disturbed` is the sum of its causes.
enum class Cause : std::uint32_t {
  host_busy = 1,       // other processes had the processors
  cpu_steal = 2,       // the host of this virtual machine had them
  core_shared = 4,     // no core was found on which nobody else computed
  device_busy = 8,     // another process used the GPU
  link_busy = 16,      // others' bytes went over the link
  throttled = 32,      // the device held its clocks back
  clock_changed = 64,  // the device's clock was another than in the point's other visits
  memory_freed = 128,  // another process freed device memory, which the driver then cleared
  siblings = 256,      // other devices of this node were measured meanwhile
  host_limited = 512   // a CPU quota (cgroup) stopped this process
};
inline constexpr std::string_view cause_codes =
    "sum of 1 others used the host's processors, 2 the virtual machine's host took them, 4 no core of its own, "
    "8 another process used the device, 16 others' bytes on the link, 32 throttled, 64 another clock than in other "
    "visits, 128 another process freed device memory, which the driver cleared, 256 other devices of the node were "
    "measured meanwhile, 512 stopped by a CPU quota";
// What a device does to its own clocks is nobody else's doing.
inline constexpr std::uint32_t own_causes =
    static_cast<std::uint32_t>(Cause::throttled) | static_cast<std::uint32_t>(Cause::clock_changed);
// "others used the host's processors, the device's clock changed"
std::string causes_text(std::uint32_t causes);

// "others used the host's processors; most of all by python3 (4711), migration (2 of them)", with up to three programs.
// Empty where there are no causes.
std::string disturbance_text(std::uint32_t causes, const std::set<std::string>& by);

// What others did while something was measured.
struct Disturbance {
  std::uint32_t causes = 0;
  std::string by{};  // the process that took most: "python3 (4711)"; empty if not known
};

// Looks for others on a device: processes, and users of its link or processors.
class DeviceWatch {
 public:
  virtual ~DeviceWatch() = default;
  virtual void begin() = 0;  // a visit begins
  // The visit has ended: what others did in it, as far as that can be seen. REQUIRES: begin(), and the device is idle
  // again.
  virtual Disturbance end() = 0;
  // Why some of what others do cannot be seen; empty if all of it can. REQUIRES: end().
  virtual std::string cannot_see() const { return {}; }
};

// What is measured, and what it says of itself.
//
// Example:
//   const npgpu::DeviceInfo device = npgpu::devices::find("sim:h200");  // or host, cuda:0
//   std::cout << device.name << ": " << device.memory_bytes / npgpu::GiB << " GiB\n";
//   for (const auto& [name, fact] : device.facts) std::cout << name << '\n';

class DeviceTimer;  // npgpu/measuring/runner.hpp
class EnergyMeter;  // npgpu/vocabulary/load.hpp

// Named facts for the trace's provenance and for `npgpu info`, in the order in which they should be read. Names are
// snake_case and end in their unit (memory_bytes, sm_clock_mhz).
using Fact = std::variant<std::int64_t, double, std::string>;
using Facts = std::vector<std::pair<std::string, Fact>>;

// Null if there is none of that name.
inline const Fact* find_fact(const Facts& facts, std::string_view name) {
  for (const auto& [key, value] : facts)
    if (key == name) return &value;
  return nullptr;
}
// NaN if there is no number of that name.
inline double number_fact(const Facts& facts, std::string_view name) {
  const Fact* const fact = find_fact(facts, name);
  if (!fact) return not_measured;
  if (const auto* whole = std::get_if<std::int64_t>(fact)) return static_cast<double>(*whole);
  if (const auto* number = std::get_if<double>(fact)) return *number;
  return not_measured;
}

// Empty if there is no text of that name.
inline std::string text_fact(const Facts& facts, std::string_view name) {
  const Fact* const fact = find_fact(facts, name);
  const auto* const text = fact ? std::get_if<std::string>(fact) : nullptr;
  return text ? *text : std::string();
}

// A theoretical rate and where it comes from ("PCIe Gen5 x16: 32 GT/s * 16 lanes * 128/130").
struct Limit {
  double per_s = not_measured;  // bytes, operations or loads; NaN: unknown
  std::string source = "unknown";

  bool operator==(const Limit&) const = default;
};
template <>
inline constexpr auto fields_of<Limit> = fields(field("limit_per_s", &Limit::per_s),
                                                field("limit_source", &Limit::source));

struct DeviceInfo {
  std::string id;    // what the user types: host, cuda:0, sim:gtx280
  std::string name;  // what it calls itself: NVIDIA H200
  bool simulated = false;
  std::uint64_t memory_bytes = 0;
  std::string uuid;             // empty where there is none
  std::string pci_bus_id;       // empty where there is none
  int numa_node = -1;           // nearest to it, as the system says; -1: unknown, or the machine has only one
  std::vector<int> host_nodes;  // NUMA nodes of its host that have processors and memory; empty: unknown
  Limit link;                   // host to device, one direction
  Limit memory;                 // the device's own memory, read + write together
  Limit peers;                  // to another device, one direction: all its NVLinks, or its PCIe link
  Facts facts;
};

// State of a device at one moment; NaN is what could not be read.
struct Telemetry {
  double sm_clock_mhz = not_measured;
  double memory_clock_mhz = not_measured;
  double power_w = not_measured;
  double temperature_c = not_measured;
  std::uint64_t throttle_reasons = 0;  // NVML's bit mask, ours raw; 0 where it cannot be read too

  bool operator==(const Telemetry&) const = default;
};

// What a PCIe link is trained to; 0: not known.
struct LinkState {
  std::uint32_t generation = 0, lanes = 0;
};

// ---- the registry ------------------------------------------------------------------------------------------------

// All devices of one kind. Each family is one file, which ends with NPGPU_REGISTERED(DeviceFamily, Class).
class DeviceFamily {
 public:
  virtual ~DeviceFamily() = default;
  virtual std::string_view kind() const = 0;  // what its devices' names begin with: cuda, host, sim
  std::string_view rank() const { return kind(); }
  virtual bool has_gpus() const = 0;  // its devices are GPUs of this machine: what is measured by default
  // The devices that there are now, in order. If there are none, `why_none` says why (no driver, no GPU).
  virtual std::vector<DeviceInfo> list() const = 0;
  virtual std::string why_none() const { return {}; }
  // The names that list() probably has, found without starting the API, which takes longer. Empty: not known.
  virtual std::vector<std::string> likely() const { return {}; }
  // Facts about this machine's devices of the family that list() does not have: how many the bus shows, and which of
  // them do not answer. Names as data/TRACE_FORMAT.md has them for `census`.
  virtual Facts census() const { return {}; }
  // The device called `id`, which is of this family. Throws Error(usage) naming those there are, or Error(nothing) with
  // why_none(). Simulated devices also take the path of a spec here.
  virtual DeviceInfo find(const std::string& id) const;
  // The GPUs of the node that `id` is one of or names, in order: those that can copy to each other. Else `id` alone.
  virtual std::vector<std::string> node(const std::string& id) const;
  // Looks for others on the device. Null where nobody else can use it, or others cannot be seen.
  virtual std::unique_ptr<DeviceWatch> watch(const std::string& id) const;
  // The device's counters now: errors of memory and links, replays. A run reads them before and after, so that errors
  // of the run differ from earlier ones. Empty where nothing is counted.
  virtual Facts counters(const std::string& id) const;
  // The link at this moment. REQUIRES: copies right before, because an idle GPU may train its link down to save power.
  virtual LinkState link_state(const std::string& id) const;
  // Clocks, power and temperature at this moment.
  virtual Telemetry telemetry(const std::string& id) const;
  // A meter of the device's energy. Null where it cannot be read; `why` then says why.
  virtual std::unique_ptr<EnergyMeter> energy_meter(const std::string& id, std::string& why) const;
  // Times on the device what is enqueued into one of its streams, with a gate. `stream` is the API's handle (a
  // cudaStream_t). Null where devices have no streams. Throws Error. REQUIRES: the stream outlives the timer.
  virtual std::unique_ptr<DeviceTimer> stream_timer(const std::string& id, void* stream) const;
  // Frees what this process keeps on the device while it runs (a GPU's context), so that the next measurement finds the
  // device as another process would. REQUIRES: all that was allocated on the device was freed.
  virtual void reset_context(const std::string& id) const;
  // Waits for work that the device still does by itself: a GPU's driver clears memory that was freed. Called right
  // before a measurement. REQUIRES: all of its buffers are allocated.
  virtual void settle(const std::string& id) const;
  // Does the work of the second process, until the first one ends it. Returns the exit code; nothing for a family
  // without second processes.
  virtual std::optional<int> serve_as_second_process() const { return std::nullopt; }
};

namespace devices {

inline const auto& families() { return registered<DeviceFamily>(); }

// "cuda" of "cuda:1".
std::string_view kind_of(std::string_view id);
// Throws Error: usage for a word that is no device, nothing where this build or machine has no such device.
const DeviceFamily& family_of(const std::string& id);
DeviceInfo find(const std::string& id);
std::vector<std::string> node(const std::string& id);
// For a device of no family these do nothing, and return null or what is empty. REQUIRES: as the methods of
// DeviceFamily.
std::unique_ptr<DeviceWatch> watch(const std::string& id);
Facts counters(const std::string& id);
LinkState link_state(const std::string& id);
Telemetry telemetry(const std::string& id);
std::unique_ptr<EnergyMeter> energy_meter(const std::string& id, std::string& why);
std::unique_ptr<DeviceTimer> stream_timer(const std::string& id, void* stream);
void reset_context(const std::string& id);
void settle(const std::string& id);
std::vector<DeviceInfo> list();  // of all families
Facts census();                  // of all families
// The GPUs of this machine; empty where there are none, and why_no_gpu() then says why.
std::vector<DeviceInfo> gpus();
std::string why_no_gpu();
// Their probable names, found without starting the API, which takes longer; empty where they are not known.
std::vector<std::string> likely_gpus();
// The only argument of this program when it runs as its own second process.
inline constexpr std::string_view second_process_word = "--second-process";
// The exit code; nothing where no family of this build needs a second process.
std::optional<int> serve_as_second_process();
// The device that is measured when the user names none: the first GPU, or the host.
std::string default_device();

}  // namespace devices

}  // namespace npgpu
