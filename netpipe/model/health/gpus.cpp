#include <algorithm>

#include "netpipe/model/health/record.hpp"
#include "npgpu/check.hpp"

namespace npgpu {

std::vector<CheckOf::Gpu> gpus_of(const Trace& trace) {
  std::vector<CheckOf::Gpu> all;
  const auto add = [&](const CheckOf::Gpu& gpu) {
    const bool is_known =
        std::ranges::any_of(all, [&](const CheckOf::Gpu& one) { return one.id == gpu.id && one.uuid == gpu.uuid; });
    if (gpu.id != "host" && !is_known) all.push_back(gpu);
  };
  for_each_kind([&]<class K>() {
    for (const Series<K>& series : trace.of<K>())
      add({device_of(series.question), series.device_name, series.device_uuid, series.simulated});
  });
  for (const model::DeviceRecord& record : model::records_of(trace))
    add({record.id, record.name, record.uuid, record.simulated});
  return all;
}

}  // namespace npgpu
