// export --format json: the whole trace, nothing derived. Names and units are those of data/TRACE_FORMAT.md; a table
// is an object of columns. null is what was not measured.
//
//   { "document": "npgpu-trace", "version": "1.0", "run": {...}, "provenance": {...},
//     "sweeps": [ { title, case, simulated, schedule, ..., "points": { "bytes": [...], ... },
//                   "samples": { "point": [...], ... } } ] }
#include "netpipe/report/summary_json.hpp"
#include "npgpu/report.hpp"

namespace npgpu {

namespace {

template <class Rows, class Get>
Json column(const Rows& rows, Get get) {
  Json values = Json::array();
  for (const auto& row : rows) {
    if constexpr (std::is_same_v<decltype(get(row)), double>)
      values.push_back(json_of(get(row)));
    else
      values.push_back(get(row));
  }
  return values;
}

Json points_json(const std::vector<Point>& rows) {
  return {{"bytes", column(rows, [](const Point& p) { return p.bytes; })},
          {"first_sample", column(rows, [](const Point& p) { return p.first_sample; })},
          {"samples", column(rows, [](const Point& p) { return p.samples; })},
          {"stop", column(rows, [](const Point& p) { return name(p.stop); })},
          {"wall_us", column(rows, [](const Point& p) { return p.wall_us; })},
          {"sm_clock_mhz", column(rows, [](const Point& p) { return p.telemetry.sm_clock_mhz; })},
          {"memory_clock_mhz", column(rows, [](const Point& p) { return p.telemetry.memory_clock_mhz; })},
          {"power_w", column(rows, [](const Point& p) { return p.telemetry.power_w; })},
          {"temperature_c", column(rows, [](const Point& p) { return p.telemetry.temperature_c; })},
          {"throttle_reasons", column(rows, [](const Point& p) { return p.telemetry.throttle_reasons; })}};
}

Json samples_json(const std::vector<Sample>& rows) {
  return {{"point", column(rows, [](const Sample& s) { return s.point; })},
          {"trial", column(rows, [](const Sample& s) { return s.trial; })},
          {"lane", column(rows, [](const Sample& s) { return s.lane; })},
          {"intact", column(rows, [](const Sample& s) { return s.intact; })},
          {"repeats", column(rows, [](const Sample& s) { return s.repeats; })},
          {"host_us", column(rows, [](const Sample& s) { return s.host_us; })},
          {"device_us", column(rows, [](const Sample& s) { return s.device_us; })}};
}

}  // namespace

void export_json(std::ostream& out, const Trace& trace) {
  Json json{{"document", "npgpu-trace"},
            {"version", std::to_string(trace.version_major) + '.' + std::to_string(trace.version_minor)},
            {"run", json_of(trace.root)},
            {"provenance", json_of(trace.provenance)},
            {"sweeps", Json::array()}};
  for (const Sweep& sweep : trace.sweeps) {
    Json one = header_json(sweep);
    one["points"] = points_json(sweep.points);
    one["samples"] = samples_json(sweep.samples);
    json["sweeps"].push_back(std::move(one));
  }
  write_json(out, json, -1);
}

}  // namespace npgpu
