// What the PCIe link is trained to, against the most that GPU and slot can have together.
#include <algorithm>
#include <iterator>

#include "netpipe/model/health/findings.hpp"
#include "netpipe/model/health/models.hpp"
#include "netpipe/model/health/references.hpp"
#include "npgpu/compare.hpp"

namespace npgpu::model {

namespace {

std::string link_text(double generation, double lanes) { return fmt::format("PCIe Gen{:g} x{:g}", generation, lanes); }

// What the GPU or the slot could have beyond what they have together.
std::string more_of_one(const DeviceRecord& of, double generation, double lanes) {
  std::string text;
  if (of.fact("gpu_max_pcie_generation") > generation)
    text += fmt::format("; the GPU could have Gen{:g}", of.fact("gpu_max_pcie_generation"));
  if (usual_lanes(of) > lanes) text += fmt::format("; the GPU could have x{:g}", usual_lanes(of));
  if (of.fact("slot_pcie_generation") > generation)
    text += fmt::format("; the slot could have Gen{:g}", of.fact("slot_pcie_generation"));
  if (of.fact("slot_pcie_lanes") > lanes)
    text += fmt::format("; the slot could have x{:g}", of.fact("slot_pcie_lanes"));
  return text;
}

// Bytes per second of one direction, at most (PCI Express Base Specification).
double pcie_rate(double generation, double lanes) {
  constexpr double of_a_lane[] = {0.25e9, 0.5e9, 0.985e9, 1.970e9, 3.939e9, 7.563e9};
  const bool is_known = generation >= 1 && generation <= static_cast<double>(std::size(of_a_lane));
  return is_known ? of_a_lane[static_cast<std::size_t>(generation) - 1] * lanes : not_measured;
}

// The best that was measured of copies between host and GPU; 0 where none was.
double best_copy_rate(const DeviceRecord& of) {
  double best = 0;
  for (const TransferSeries* series : of.all<Transfers>()) {
    const Direction direction = series->question.direction;
    if (direction != Direction::h2d && direction != Direction::d2h) continue;
    for (const TransferResult& point : results(*series))
      if (point.lane == 0 && point.usable() && point.time_us.value > 0)
        best = std::max(best, static_cast<double>(point.axes.bytes) / point.time_us.value * 1e6);
  }
  return best;
}

}  // namespace

bool is_reached_over_c2c(const DeviceRecord& of) {
  return of.counter("c2c_links_active") > 0 || of.fact("pageable_memory_access_uses_host_page_tables") > 0;
}

double best_pcie_rate(const DeviceRecord& of) {
  return pcie_rate(of.fact("max_pcie_generation"), of.fact("max_pcie_lanes"));
}

bool copies_go_over_pcie(const DeviceRecord& of) {
  constexpr double surely_beyond = 1.05;
  return !is_reached_over_c2c(of) && !(best_copy_rate(of) > surely_beyond * best_pcie_rate(of));
}

double usual_lanes(const DeviceRecord& of) {
  constexpr double of_all_with_a_reference = 16;
  return reference_of_model(of.name) && !is_part_of_gpu(of) ? of_all_with_a_reference : not_measured;
}

bool is_lesser_slot(const DeviceRecord& of) {
  return copies_go_over_pcie(of) && (of.fact("gpu_max_pcie_generation") > of.fact("max_pcie_generation") ||
                                     usual_lanes(of) > of.fact("max_pcie_lanes"));
}

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
  // Grace Hopper and its like have a PCIe port that nothing goes over: it is as it is.
  if ((is_narrow || is_slow) && !copies_go_over_pcie(of)) {
    findings.skip(metric, fmt::format("PCIe link: {}, over which copies do not go: {}", is,
                                      is_reached_over_c2c(of)
                                          ? std::string("the host is reached over NVLink-C2C")
                                          : fmt::format("they reached {}, and {} carries at most {}",
                                                        figure_text(best_copy_rate(of), "B/s"), most,
                                                        figure_text(pcie_rate(max_generation, max_lanes), "B/s"))));
    return;
  }
  const std::string when = is_copying ? "" : ", read before the run";
  if (!is_narrow && !is_slow) {
    findings.add(metric, is_lesser_slot(of) ? Health::warn : Health::pass,
                 fmt::format("{} (its maximum{}{})", is, when, more_of_one(of, max_generation, max_lanes)));
  } else if (!is_narrow && !is_copying) {
    findings.skip(metric, fmt::format("{}{}, where an idle GPU may save power; not read while copying", is, when));
  } else {
    HealthFinding& bad =
        findings.add(metric, Health::fail,
                     fmt::format("{}{}; GPU and slot support {}", is, is_copying ? " while copying" : when, most));
    with_value(bad, is_narrow ? lanes : generation, is_narrow ? max_lanes : max_generation,
               is_narrow ? "lanes" : "generation");
    bad.basis = "the widest and fastest link of GPU and slot that NVML reports";
  }
}

}  // namespace npgpu::model
