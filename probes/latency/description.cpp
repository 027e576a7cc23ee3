#include <fmt/format.h>

#include "npgpu/probe_description.hpp"

namespace npgpu {

namespace {

class LatencyDescription final : public ProbeDescription {
 public:
  LatencyDescription()
      : ProbeDescription({.name = "latency",
                          .summary = "loads that wait for each other, over growing sets",
                          .question = ProbeQuestion::memory_latency}) {}
  Counted counted(const ProbeCase&) const override { return {"loads", "time of a load", "load"}; }
  std::vector<FigureChoice> key_figures(const ProbeCase& c) const override {
    if (c.operation != Operation::chase) return {};
    if (c.space == Space::global || c.space == Space::host)
      return {{fmt::format("{}latency of memory", where_of(c)), Among::largest, FigureUnit::us_a_load},
              {fmt::format("{}latency of the first cache", where_of(c)), Among::smallest, FigureUnit::us_a_load}};
    return {{fmt::format("{}latency, {}", where_of(c), npgpu::name(c.space)), Among::smallest, FigureUnit::us_a_load}};
  }
};

}  // namespace
}  // namespace npgpu

NPGPU_REGISTERED(ProbeDescription, npgpu::LatencyDescription)
