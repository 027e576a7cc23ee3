#include "npgpu/probe_description.hpp"

namespace npgpu {

namespace {

class StagingDescription final : public ProbeDescription {
 public:
  StagingDescription()
      : ProbeDescription({.name = "staging",
                          .summary = "from global into shared memory by plain loads, asynchronous and bulk copies",
                          .axes = {.rung = true},
                          .is_usual = false}) {}
};

}  // namespace
}  // namespace npgpu

NPGPU_REGISTERED(ProbeDescription, npgpu::StagingDescription)
