#include "netpipe/devices/opencl/inventory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "netpipe/devices/host/memory.hpp"
#include "netpipe/devices/host/pci.hpp"
#include "netpipe/devices/opencl/handles.hpp"
#include "netpipe/devices/polled_meter.hpp"
#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/load.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::opencl {

namespace {

struct Inventory {
  std::vector<Found> all;
  std::string why_none;
};

// More than any node has: a driver that says so is not believed.
constexpr cl_uint most_of_a_kind = 4096;

// A platform whose driver fails hides no other's devices.
std::vector<cl_device_id> devices_of(cl_platform_id platform) {
  cl_uint count = 0;
  if (library().clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS ||
      count > most_of_a_kind)
    return {};
  std::vector<cl_device_id> devices(count);
  if (library().clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr) != CL_SUCCESS) return {};
  return devices;
}

Inventory take_inventory() {
  Inventory it;
  const Library& l = library();
  if (!l.why_not.empty()) return {{}, l.why_not};
  cl_uint count = 0;
  const cl_int result = l.clGetPlatformIDs(0, nullptr, &count);
  if (result == CL_SUCCESS && count == 0)
    return {{}, l.file + " is there, but no driver: none is in OpenCL's list of vendors"};
  constexpr cl_int no_platform = -1001;  // cl_khr_icd
  if (result != CL_SUCCESS)
    return {
        {},
        result == no_platform
            ? fmt::format("{} is there, but no OpenCL driver: install one (Debian: pocl-opencl-icd for the processor), "
                          "or name its folder in OCL_ICD_VENDORS",
                          l.file)
            : fmt::format("{} does not list its platforms: {}", l.file, name_of(result))};
  if (count > most_of_a_kind) return {{}, fmt::format("{} claims {} platforms", l.file, count)};
  std::vector<cl_platform_id> platforms(count);
  if (const cl_int listed = l.clGetPlatformIDs(count, platforms.data(), nullptr); listed != CL_SUCCESS)
    return {{}, fmt::format("{} does not list its platforms: {}", l.file, name_of(listed))};
  std::string names;
  for (const cl_platform_id platform : platforms) {
    names += (names.empty() ? "" : ", ") + text_of(platform, CL_PLATFORM_NAME).value_or("a platform without a name");
    for (const cl_device_id device : devices_of(platform)) {
      Found found{platform, device, describe(platform, device)};
      found.info.id = fmt::format("opencl:{}", it.all.size());
      it.all.push_back(std::move(found));
    }
  }
  if (it.all.empty()) it.why_none = fmt::format("OpenCL is there, but none of its platforms has a device: {}", names);
  return it;
}

const Inventory* made = nullptr;

const Inventory& found_once() {
  static const Inventory one = take_inventory();
  made = &one;
  return one;
}

template <class Of, class What, class Ask> std::optional<std::string> text_by(Ask ask, Of of, What what) {
  std::size_t bytes = 0;
  if (ask(of, what, 0, nullptr, &bytes) != CL_SUCCESS || bytes == 0 || bytes > MiB) return std::nullopt;
  std::string text(bytes, '\0');
  if (ask(of, what, bytes, text.data(), nullptr) != CL_SUCCESS) return std::nullopt;
  text.resize(std::min(text.size(), text.find('\0')));
  while (text.ends_with(' ')) text.pop_back();  // some platforms pad
  text.erase(0, text.find_first_not_of(' '));
  return text;
}

}  // namespace

const std::vector<Found>& inventory() { return found_once().all; }

std::string why_no_device() { return found_once().why_none; }

const Found& find_or_throw(const std::string& id) {
  const auto& all = inventory();
  if (all.empty()) throw Error(ErrorKind::nothing, fmt::format("--device {}: {}", id, why_no_device()));
  const auto found = std::ranges::find(all, id, [](const Found& one) { return one.info.id; });
  if (found != all.end()) return *found;
  throw Error(ErrorKind::usage, fmt::format("--device {} is not there: OpenCL shows {}{}", id, all.front().info.id,
                                            all.size() > 1 ? " to " + all.back().info.id : ""));
}

std::uint64_t last_cache_bytes(const DeviceInfo& info) {
  // NVIDIA's OpenCL calls the first level of all multiprocessors the cache.
  const double most = std::fmax(number_fact(info.facts, "cache_bytes"), number_fact(info.facts, "l2_bytes"));
  return most > 0 ? static_cast<std::uint64_t>(most) : 0;
}

std::uint64_t free_memory(const std::string& id) {
  const Found& found = find_or_throw(id);
  const std::uint64_t all = found.info.memory_bytes;
  if (text_fact(found.info.facts, "device_type") == "CPU") return std::min(all, host::free_host_memory());
  // AMD's own question: KiB, first what is free in all.
  const auto amd_kib = value_of<std::array<std::size_t, 2>>(found.device, CL_DEVICE_GLOBAL_FREE_MEMORY_AMD);
  return amd_kib ? std::min(all, std::uint64_t{(*amd_kib)[0]} * KiB) : all;
}

host::Binding binding_near(const std::string& id) {
  const DeviceInfo& info = find_or_throw(id).info;
  if (!info.pci_bus_id.empty()) return host::Binding::near_device(info.pci_bus_id);
  return host::Binding::none(id + " has no place on the PCI bus");
}

std::optional<std::string> device_that_left() {
  if (!made) return std::nullopt;
  for (const Found& one : made->all)
    if (value_of<cl_bool>(one.device, CL_DEVICE_AVAILABLE).value_or(CL_FALSE) == CL_FALSE) return one.info.id;
  return std::nullopt;
}

std::optional<std::string> text_of(cl_device_id device, cl_device_info what) {
  return text_by(library().clGetDeviceInfo, device, what);
}

std::optional<std::string> text_of(cl_platform_id platform, cl_platform_info what) {
  return text_by(library().clGetPlatformInfo, platform, what);
}

bool has_extension(cl_device_id device, std::string_view name) {
  const std::string all = " " + text_of(device, CL_DEVICE_EXTENSIONS).value_or("") + " ";
  return all.find(fmt::format(" {} ", name)) != std::string::npos;
}

// The devices of OpenCL as a family. What another family knows of the same device is asked of that one: NVML's counters
// of a GPU, who else computes on the host.

namespace {

class OpenclDevices final : public DeviceFamily {
 public:
  std::string_view kind() const override { return "opencl"; }
  // Measured only when the user names them: most are a GPU or the host, which other families measure by default.
  bool has_gpus() const override { return false; }
  std::vector<DeviceInfo> list() const override {
    std::vector<DeviceInfo> all;
    for (const Found& one : inventory()) all.push_back(one.info);
    return all;
  }
  std::string why_none() const override { return why_no_device(); }
  DeviceInfo find(const std::string& id) const override { return find_or_throw(id).info; }
  std::unique_ptr<DeviceWatch> watch(const std::string& id) const override { return devices::watch(twin(id)); }
  Facts counters(const std::string& id) const override { return devices::counters(twin(id)); }
  LinkState link_state(const std::string& id) const override {
    const std::string other = twin(id);
    return other.empty() ? host::pci_link(place(id), host::LinkAt::now) : devices::link_state(other);
  }
  Telemetry telemetry(const std::string& id) const override {
    const std::string other = twin(id);
    return other.empty() ? sysfs_telemetry(place(id)) : devices::telemetry(other);
  }
  std::unique_ptr<EnergyMeter> energy_meter(const std::string& id, std::string& why) const override {
    if (const std::string other = twin(id); !other.empty()) return devices::energy_meter(other, why);
    const std::string at = place(id);
    devices::PolledSource source{.power_w = [at] { return sysfs_telemetry(at).power_w; },
                                 .state = [at] { return sysfs_telemetry(at); }};
    if (std::isfinite(sysfs_joules(at))) {
      source.name = "the energy counter of its driver's sensors";
      source.joules = [at]() -> std::optional<double> {
        const double joules = sysfs_joules(at);
        return std::isfinite(joules) ? std::optional(joules) : std::nullopt;
      };
    } else if (std::isfinite(source.power_w())) {
      source.name = "the power of its driver's sensors, read every 20 ms";
    } else {
      return DeviceFamily::energy_meter(id, why);
    }
    return devices::polled_meter(std::move(source));
  }
  void reset_context(const std::string& id) const override { forget_context(id); }
  void settle(const std::string& id) const override { devices::settle(twin(id)); }

 private:
  static std::string place(const std::string& id) { return find_or_throw(id).info.pci_bus_id; }
  // Empty, which is a device of no family, where there is none.
  static std::string twin(const std::string& id) { return text_fact(find_or_throw(id).info.facts, "same_as"); }
};

}  // namespace

}  // namespace npgpu::opencl

NPGPU_REGISTERED(DeviceFamily, npgpu::opencl::OpenclDevices)
