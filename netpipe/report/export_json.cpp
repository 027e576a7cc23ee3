// export --format json: the whole trace, nothing derived. Names and units are those of data/TRACE_FORMAT.md; a table
// is an object of columns. null is what was not measured.
//
//   { "document": "npgpu-trace", "version": "1.3", "run": {...}, "provenance": {...},
//     "sweeps": [ { title, case, simulated, schedule, ..., "points": { "bytes": [...], ... },
//                   "samples": { "point": [...], ... } } ],
//     "probes": likewise, "streams": likewise }
#include "netpipe/report/job_json.hpp"
#include "netpipe/report/probe_json.hpp"
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

Json samples_json(const std::vector<TransferSample>& rows) {
  return {{"point", column(rows, [](const TransferSample& s) { return s.point; })},
          {"trial", column(rows, [](const TransferSample& s) { return s.trial; })},
          {"lane", column(rows, [](const TransferSample& s) { return s.lane; })},
          {"intact", column(rows, [](const TransferSample& s) { return s.intact; })},
          {"repeats", column(rows, [](const TransferSample& s) { return s.repeats; })},
          {"host_us", column(rows, [](const TransferSample& s) { return s.host_us; })},
          {"device_us", column(rows, [](const TransferSample& s) { return s.device_us; })}};
}

// The columns that points of sweeps and of probes share.
template <class Row>
void add_common(Json& points, const std::vector<Row>& rows) {
  points["first_sample"] = column(rows, [](const Row& p) { return p.first_sample; });
  points["samples"] = column(rows, [](const Row& p) { return p.samples; });
  points["stop"] = column(rows, [](const Row& p) { return name(p.stop); });
  points["wall_us"] = column(rows, [](const Row& p) { return p.wall_us; });
  points["sm_clock_mhz"] = column(rows, [](const Row& p) { return p.telemetry.sm_clock_mhz; });
  points["memory_clock_mhz"] = column(rows, [](const Row& p) { return p.telemetry.memory_clock_mhz; });
  points["power_w"] = column(rows, [](const Row& p) { return p.telemetry.power_w; });
  points["temperature_c"] = column(rows, [](const Row& p) { return p.telemetry.temperature_c; });
  points["throttle_reasons"] = column(rows, [](const Row& p) { return p.telemetry.throttle_reasons; });
}

Json points_json(const std::vector<TransferPoint>& rows) {
  Json json{{"bytes", column(rows, [](const TransferPoint& p) { return p.bytes; })}};
  add_common(json, rows);
  return json;
}

Json points_json(const std::vector<ProbePoint>& rows) {
  Json json{{"blocks", column(rows, [](const ProbePoint& p) { return p.axes.blocks; })},
            {"threads", column(rows, [](const ProbePoint& p) { return p.axes.threads; })},
            {"ilp", column(rows, [](const ProbePoint& p) { return p.axes.ilp; })},
            {"access_bytes", column(rows, [](const ProbePoint& p) { return p.axes.access_bytes; })},
            {"bytes", column(rows, [](const ProbePoint& p) { return p.axes.bytes; })},
            {"one_block_per_sm", column(rows, [](const ProbePoint& p) { return p.axes.one_block_per_sm; })},
            {"work", column(rows, [](const ProbePoint& p) { return p.work; })}};
  add_common(json, rows);
  return json;
}

Json samples_json(const std::vector<ProbeSample>& rows) {
  return {{"point", column(rows, [](const ProbeSample& s) { return s.point; })},
          {"trial", column(rows, [](const ProbeSample& s) { return s.trial; })},
          {"intact", column(rows, [](const ProbeSample& s) { return s.intact; })},
          {"repeats", column(rows, [](const ProbeSample& s) { return s.repeats; })},
          {"host_us", column(rows, [](const ProbeSample& s) { return s.host_us; })},
          {"device_us", column(rows, [](const ProbeSample& s) { return s.device_us; })},
          {"cycles", column(rows, [](const ProbeSample& s) { return s.cycles; })},
          {"units", column(rows, [](const ProbeSample& s) { return s.units; })},
          {"max_blocks_on_unit", column(rows, [](const ProbeSample& s) { return s.max_blocks_on_unit; })}};
}

Json points_json(const std::vector<JobPoint>& rows) {
  Json json{{"bytes_in", column(rows, [](const JobPoint& p) { return p.axes.bytes_in; })},
            {"bytes_out", column(rows, [](const JobPoint& p) { return p.axes.bytes_out; })},
            {"kernel_bytes", column(rows, [](const JobPoint& p) { return p.axes.kernel_bytes; })},
            {"iterations", column(rows, [](const JobPoint& p) { return p.axes.iterations; })},
            {"chunks", column(rows, [](const JobPoint& p) { return p.axes.chunks; })},
            {"streams", column(rows, [](const JobPoint& p) { return p.axes.streams; })},
            {"threads", column(rows, [](const JobPoint& p) { return p.axes.threads; })}};
  add_common(json, rows);
  return json;
}

Json samples_json(const std::vector<JobSample>& rows) {
  return {{"point", column(rows, [](const JobSample& s) { return s.point; })},
          {"trial", column(rows, [](const JobSample& s) { return s.trial; })},
          {"intact", column(rows, [](const JobSample& s) { return s.intact; })},
          {"number", column(rows, [](const JobSample& s) { return s.number; })},
          {"host_us", column(rows, [](const JobSample& s) { return s.host_us; })},
          {"issue_us", column(rows, [](const JobSample& s) { return s.issue_us; })},
          {"create_us", column(rows, [](const JobSample& s) { return s.create_us; })},
          {"destroy_us", column(rows, [](const JobSample& s) { return s.destroy_us; })},
          {"device_us", column(rows, [](const JobSample& s) { return s.device_us; })}};
}

template <class S>
Json whole(const std::vector<S>& all) {
  Json json = Json::array();
  for (const S& sweep : all) {
    Json one = header_json(sweep);
    one["points"] = points_json(sweep.points);
    one["samples"] = samples_json(sweep.samples);
    json.push_back(std::move(one));
  }
  return json;
}

}  // namespace

void export_json(std::ostream& out, const Trace& trace) {
  Json json{{"document", "npgpu-trace"},
            {"version", std::to_string(trace.version_major) + '.' + std::to_string(trace.version_minor)},
            {"run", json_of(trace.root)},
            {"provenance", json_of(trace.provenance)},
            {"sweeps", whole(trace.of<Transfers>())},
            {"probes", whole(trace.of<Probes>())},
            {"streams", whole(trace.of<Jobs>())}};
  write_json(out, json, -1);
}

}  // namespace npgpu
