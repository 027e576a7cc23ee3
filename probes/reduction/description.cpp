#include "npgpu/probe_description.hpp"

namespace npgpu {

namespace {

class ReductionDescription final : public ProbeDescription {
 public:
  ReductionDescription()
      : ProbeDescription({.name = "reduction",
                          .summary = "the ladder of sums, from the simplest kernel to the best",
                          .question = ProbeQuestion::ladder,
                          .axes = {.rung = true},
                          .is_usual = false}) {}
};

}  // namespace
}  // namespace npgpu

NPGPU_REGISTERED(ProbeDescription, npgpu::ReductionDescription)
