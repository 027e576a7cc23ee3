#include <fmt/format.h>

#include "npgpu/probe_description.hpp"

namespace npgpu {

namespace {

class BandwidthDescription final : public ProbeDescription {
 public:
  BandwidthDescription()
      : ProbeDescription({.name = "bandwidth",
                          .summary = "memory, read and written",
                          .question = ProbeQuestion::memory_bandwidth,
                          .has_corners = true}) {}
  std::vector<FigureChoice> key_figures(const ProbeCase& c) const override {
    if (c.form != Form::streaming) return {};
    return {{fmt::format("{}bandwidth {} {}", where_of(c), npgpu::name(c.operation), npgpu::name(c.type)),
             Among::fastest, FigureUnit::bytes_per_s, c.space == Space::global}};
  }
};

}  // namespace
}  // namespace npgpu

NPGPU_REGISTERED(ProbeDescription, npgpu::BandwidthDescription)
