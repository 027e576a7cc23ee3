// The devices of OpenCL as a family. What another family knows of the same device is asked of that one: NVML's counters
// of a GPU, who else computes on the host.
#include <cmath>

#include "netpipe/devices/host/pci.hpp"
#include "netpipe/devices/opencl/handles.hpp"
#include "netpipe/devices/opencl/inventory.hpp"
#include "netpipe/devices/opencl/sysfs.hpp"
#include "netpipe/devices/polled_meter.hpp"
#include "npgpu/channel.hpp"
#include "npgpu/energy.hpp"

namespace npgpu::opencl {

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
