#include "netpipe/model/matching.hpp"

namespace npgpu::model {

DeviceSlots device_slots(const Trace& trace) {
  DeviceSlots places;
  std::map<std::string, int> met;
  const auto add = [&](const std::string& device) {
    if (places.contains(device)) return;
    const std::string kind = device.substr(0, device.find(':'));  // "cuda" of "cuda:1"
    places[device] = kind + '#' + std::to_string(met[kind]++);
  };
  for (const TransferSeries& sweep : trace.of<Transfers>()) add(sweep.question.device);
  for (const ProbeSeries& probe : trace.of<Probes>()) add(probe.question.device);
  for (const JobSeries& streams : trace.of<Jobs>()) add(streams.question.device);
  return places;
}

std::string name_in_a(const DeviceSlots& a, const DeviceSlots& b, const std::string& device_of_b) {
  for (const auto& [device, place] : a)
    if (place == b.at(device_of_b)) return device;
  return device_of_b;
}

}  // namespace npgpu::model
