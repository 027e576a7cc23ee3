#include "netpipe/report/probe_json.hpp"

#include <algorithm>

#include "netpipe/model/probes/probe_rates.hpp"
#include "npgpu/report.hpp"

namespace npgpu {

Json json_of(const ProbeCase& c) {
  return {{"probe", c.probe},         {"device", c.device},   {"operation", name(c.operation)},
          {"type", name(c.type)},     {"form", name(c.form)}, {"space", name(c.space)}};
}

Json json_of(const Shape& s) {
  return {{"blocks", s.blocks}, {"threads", s.threads}, {"ilp", s.ilp}, {"access_bytes", s.access_bytes}, {"bytes", s.bytes},
          {"one_block_per_sm", s.one_block_per_sm != 0}};
}

Json header_json(const ProbeSeries& probe) {
  const Layout& l = probe.layout;
  return {{"title", title(probe.question)},
          {"case", json_of(probe.question)},
          {"simulated", probe.simulated},
          {"schedule", probe.schedule},
          {"device_uuid", probe.device_uuid},
          {"device_name", probe.device_name},
          {"peak_per_s", json_of(probe.limit.per_s)},
          {"peak_source", probe.limit.source},
          {"layout",
           {{"units", l.units},
            {"lanes", l.lanes},
            {"max_threads_per_block", l.max_threads_per_block},
            {"max_threads_per_unit", l.max_threads_per_unit},
            {"max_blocks_per_unit", l.max_blocks_per_unit},
            {"cache_bytes", l.cache_bytes},
            {"near_cache_bytes", l.near_cache_bytes},
            {"memory_bytes", l.memory_bytes},
            {"clock_mhz", json_of(l.clock_mhz)}}},
          {"binding", probe.binding},
          {"error", probe.error.empty() ? Json(nullptr) : Json(probe.error)}};
}

Json summary_json(const ProbeSeries& probe) {
  Json json = header_json(probe);
  json["points"] = Json::array();
  const auto rates = model::rates_of(probe);
  for (const ProbePoint& point : probe.points) {
    const auto found = std::find_if(rates.begin(), rates.end(), [&](const auto& r) { return r.shape == point.axes; });
    const model::PointRate none{};
    const model::PointRate& rate = found == rates.end() ? none : *found;
    json["points"].push_back({{"shape", json_of(point.axes)},
                              {"trials", point.samples},
                              {"stop", name(point.stop)},
                              {"rate_per_s", json_of(rate.rate)},
                              {"rate_per_cycle", json_of(rate.cycle_rate)},
                              {"clock_mhz", json_of(rate.clock_mhz)},
                              {"doubts", rate.doubts}});
  }
  return json;
}

Json json_of(const std::vector<DeviceParameters>& devices) {
  Json all = Json::array();
  for (const DeviceParameters& device : devices) {
    Json one{{"device", device.device},
             {"device_name", device.device_name},
             {"simulated", device.simulated},
             {"parameters", Json::array()},
             {"missing", device.missing}};
    for (const Parameter& p : device.parameters) {
      Json estimate = json_of(p.estimate);
      estimate["unit"] = p.estimate.unit;
      one["parameters"].push_back({{"name", p.name},
                                   {"estimate", std::move(estimate)},
                                   {"meaning", p.meaning},
                                   {"reference", json_of(p.reference)},
                                   {"reference_source", p.reference_source},
                                   {"verdict", name(p.verdict)},
                                   {"note", p.note.empty() ? Json(nullptr) : Json(p.note)}});
    }
    all.push_back(std::move(one));
  }
  return all;
}

void parameters_json(std::ostream& out, const std::vector<DeviceParameters>& devices) {
  write_json(out, {{"document", "npgpu-parameters"}, {"version", 1}, {"devices", json_of(devices)}}, 1);
}

}  // namespace npgpu
