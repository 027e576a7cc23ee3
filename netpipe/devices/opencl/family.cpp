// The devices of OpenCL as a family. What another family can tell of the same device, it is asked for: NVML's counters
// of a GPU, who else computes on the host.
#include "netpipe/devices/opencl/handles.hpp"
#include "netpipe/devices/opencl/inventory.hpp"
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
  LinkState link_state(const std::string& id) const override { return devices::link_state(twin(id)); }
  Telemetry telemetry(const std::string& id) const override { return devices::telemetry(twin(id)); }
  std::unique_ptr<EnergyMeter> energy_meter(const std::string& id, std::string& why) const override {
    const std::string other = twin(id);
    return other.empty() ? DeviceFamily::energy_meter(id, why) : devices::energy_meter(other, why);
  }
  void reset_context(const std::string& id) const override { forget_context(id); }
  void settle(const std::string& id) const override { devices::settle(twin(id)); }

 private:
  // Empty, which is a device of no family, where there is none.
  static std::string twin(const std::string& id) { return text_fact(find_or_throw(id).info.facts, "same_as"); }
};

}  // namespace

}  // namespace npgpu::opencl

NPGPU_REGISTERED(DeviceFamily, npgpu::opencl::OpenclDevices)
