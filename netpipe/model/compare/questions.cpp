#include "netpipe/model/compare/questions.hpp"

namespace npgpu::model {

DeviceSlots device_slots(const Trace& trace) {
  DeviceSlots slots;
  std::map<std::string, int> met;
  for_each_kind([&]<class K>() {
    for (const Series<K>& series : trace.of<K>())
      each_device(series.question, [&](const std::string& device) {
        if (slots.contains(device)) return;
        const std::string kind = device.substr(0, device.find(':'));  // "cuda" of "cuda:1"
        slots[device] = kind + '#' + std::to_string(met[kind]++);
      });
  });
  return slots;
}

std::vector<Run> runs_of(Runs a, Runs b) {
  std::vector<Run> runs;
  for (std::size_t side = 0; side < 2; ++side)
    for (std::size_t i = 0; i < (side ? b : a).size(); ++i) {
      const Trace* trace = (side ? b : a)[i];
      runs.push_back({trace, side, i, device_slots(*trace)});
    }
  return runs;
}

std::map<std::string, std::string> names_of_slots(const std::vector<Run>& runs) {
  std::map<std::string, std::string> names;
  for (const Run& run : runs)
    for (const auto& [device, slot] : run.slots) names.try_emplace(slot, device);
  return names;
}

}  // namespace npgpu::model
