#include "netpipe/model/matching.hpp"

namespace npgpu::model {

Places places_of(const Trace& trace) {
  Places places;
  std::map<std::string, int> met;
  const auto add = [&](const std::string& device) {
    if (places.contains(device)) return;
    const std::string kind = device.substr(0, device.find(':'));  // "cuda" of "cuda:1"
    places[device] = kind + '#' + std::to_string(met[kind]++);
  };
  for (const Sweep& sweep : trace.sweeps) add(sweep.question.device);
  for (const ProbeSweep& probe : trace.probes) add(probe.question.device);
  for (const OverlapSweep& streams : trace.streams) add(streams.question.device);
  return places;
}

std::string name_in_a(const Places& a, const Places& b, const std::string& device_of_b) {
  for (const auto& [device, place] : a)
    if (place == b.at(device_of_b)) return device;
  return device_of_b;
}

}  // namespace npgpu::model
