#include <cmath>

#include "netpipe/model/overview/parts.hpp"
#include "npgpu/energy_figures.hpp"

namespace npgpu::model {

std::vector<Figure> energy_costs(const Trace& trace, const OfDevice& device) {
  std::vector<Figure> all;
  for (const EnergyFigure& f : energy_figures(trace)) {
    if (f.question.device != device.id || f.device_uuid != device.uuid) continue;
    Figure figure{.name = work_text(f.question), .clock_mhz = f.full.clock_mhz};
    if (!f.why.empty()) {
      figure.note = f.why;
    } else if (is_idle(f.question.work)) {
      figure.value = f.full.power_w;
    } else {
      figure.value = f.each_pj();
    }
    figure.disturbed = f.full.disturbed;
    all.push_back(std::move(figure));
  }
  return all;
}

}  // namespace npgpu::model
