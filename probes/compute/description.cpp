#include "npgpu/probe_description.hpp"

namespace npgpu {

namespace {

class ComputeDescription final : public ProbeDescription {
 public:
  ComputeDescription()
      : ProbeDescription({.name = "compute",
                          .summary = "multiply-adds in registers",
                          .question = ProbeQuestion::computing_power,
                          .has_corners = true}) {}
};

}  // namespace
}  // namespace npgpu

NPGPU_REGISTERED(ProbeDescription, npgpu::ComputeDescription)
