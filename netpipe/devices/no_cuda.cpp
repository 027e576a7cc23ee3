// Stands for the GPUs of a build without the CUDA toolkit.
#include "npgpu/vocabulary/device.hpp"

namespace npgpu {

namespace {

class NoCuda final : public DeviceFamily {
 public:
  std::string_view kind() const override { return "cuda"; }
  bool has_gpus() const override { return true; }
  std::vector<DeviceInfo> list() const override { return {}; }
  std::string why_none() const override {
    return "this program was built without CUDA (" NPGPU_CUDA_WHY "): build it with the CUDA toolkit";
  }
};

}  // namespace

}  // namespace npgpu

NPGPU_REGISTERED(DeviceFamily, npgpu::NoCuda)
