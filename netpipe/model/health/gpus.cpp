#include <algorithm>

#include "npgpu/check.hpp"

namespace npgpu {

std::vector<CheckOf::Gpu> gpus_of(const Trace& trace) {
  std::vector<CheckOf::Gpu> all;
  for_each_kind([&]<class K>() {
    for (const Series<K>& series : trace.of<K>()) {
      const CheckOf::Gpu gpu{device_of(series.question), series.device_name, series.device_uuid, series.simulated};
      const bool is_known =
          std::ranges::any_of(all, [&](const CheckOf::Gpu& one) { return one.id == gpu.id && one.uuid == gpu.uuid; });
      if (gpu.id != "host" && !is_known) all.push_back(gpu);
    }
  });
  return all;
}

}  // namespace npgpu
