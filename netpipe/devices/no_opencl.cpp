// Stands for the devices of a build without OpenCL's headers.
#include "npgpu/vocabulary/device.hpp"

namespace npgpu {

namespace {

class NoOpencl final : public DeviceFamily {
 public:
  std::string_view kind() const override { return "opencl"; }
  bool has_gpus() const override { return false; }
  std::vector<DeviceInfo> list() const override { return {}; }
  std::string why_none() const override { return "this program was built without OpenCL (" NPGPU_OPENCL_WHY ")"; }
};

}  // namespace

}  // namespace npgpu

NPGPU_REGISTERED(DeviceFamily, npgpu::NoOpencl)
