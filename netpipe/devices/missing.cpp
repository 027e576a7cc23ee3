// Stands for the devices of a build without what they need: the CUDA toolkit, or OpenCL's headers.
#include "npgpu/vocabulary/device.hpp"

namespace npgpu {

namespace {

class MissingFamily : public DeviceFamily {
 public:
  std::vector<DeviceInfo> list() const final { return {}; }
};

#ifdef NPGPU_CUDA_WHY
class NoCuda final : public MissingFamily {
 public:
  std::string_view kind() const override { return "cuda"; }
  bool has_gpus() const override { return true; }
  std::string why_none() const override {
    return "this program was built without CUDA (" NPGPU_CUDA_WHY "): build it with the CUDA toolkit";
  }
};
NPGPU_REGISTERED(DeviceFamily, NoCuda)
#endif

#ifdef NPGPU_OPENCL_WHY
class NoOpencl final : public MissingFamily {
 public:
  std::string_view kind() const override { return "opencl"; }
  bool has_gpus() const override { return false; }
  std::string why_none() const override { return "this program was built without OpenCL (" NPGPU_OPENCL_WHY ")"; }
};
NPGPU_REGISTERED(DeviceFamily, NoOpencl)
#endif

}  // namespace

}  // namespace npgpu
