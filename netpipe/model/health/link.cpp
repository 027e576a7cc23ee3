// What the PCIe link is trained to, against the most that GPU and slot can have together.
#include "netpipe/model/health/findings.hpp"

namespace npgpu::model {

namespace {

std::string link_text(double generation, double lanes) { return fmt::format("PCIe Gen{:g} x{:g}", generation, lanes); }

// What the GPU or the slot could have beyond what they have together.
std::string more_of_one(const DeviceRecord& of, double generation, double lanes) {
  std::string text;
  if (of.fact("gpu_max_pcie_generation") > generation)
    text += fmt::format("; the GPU could have Gen{:g}", of.fact("gpu_max_pcie_generation"));
  if (of.fact("slot_pcie_generation") > generation)
    text += fmt::format("; the slot could have Gen{:g}", of.fact("slot_pcie_generation"));
  if (of.fact("slot_pcie_lanes") > lanes)
    text += fmt::format("; the slot could have x{:g}", of.fact("slot_pcie_lanes"));
  return text;
}

}  // namespace

void judge_link(Findings& findings) {
  const DeviceRecord& of = findings.of;
  constexpr auto metric = "pcie_link";
  const double max_generation = of.fact("max_pcie_generation"), max_lanes = of.fact("max_pcie_lanes");
  double generation = number_fact(of.after, "pcie_generation_copying"),
         lanes = number_fact(of.after, "pcie_lanes_copying");
  const bool is_copying = generation > 0 && lanes > 0;
  if (!is_copying) generation = of.fact("pcie_generation_now"), lanes = of.fact("pcie_lanes_now");
  if (!(max_generation > 0 && max_lanes > 0 && generation > 0 && lanes > 0)) {
    findings.skip(metric, "PCIe link: its generation and width are not in this trace");
    return;
  }
  const std::string is = link_text(generation, lanes), most = link_text(max_generation, max_lanes);
  const bool is_narrow = lanes < max_lanes, is_slow = generation < max_generation;
  const std::string when = is_copying ? "" : ", read before the run";
  if (!is_narrow && !is_slow) {
    findings.pass(metric, fmt::format("{} (its maximum{}{})", is, when, more_of_one(of, max_generation, max_lanes)));
  } else if (!is_narrow && !is_copying) {
    findings.skip(metric, fmt::format("{}{}, where an idle GPU may save power; not read while copying", is, when));
  } else {
    HealthFinding& bad =
        findings.add(metric, Health::fail,
                     fmt::format("{}{}, and GPU and slot can have {}", is, is_copying ? " while copying" : when, most));
    with_value(bad, is_narrow ? lanes : generation, is_narrow ? max_lanes : max_generation,
               is_narrow ? "lanes" : "generation");
    bad.basis = "the most that NVML reports of GPU and slot";
  }
}

}  // namespace npgpu::model
