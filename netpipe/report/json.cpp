// report --json: summaries of every sweep. Keys are stable; new ones may be added, so readers ignore what they do not
// know. What was not measured or is not carried by the points is null, never 0.
//
//   { "document": "npgpu-report", "version": 1,
//     "run": { run_uuid, tool_version, git_commit, argv, start_time_utc, hostname, complete },
//     "provenance": { "host": { fact: value, ... }, "gpu0": { ... }, ... },
//     "sweeps": [ {
//       "title", "case": { module, device, pattern, direction, memory, async, timing, cache,
//                          source_offset_bytes, target_offset_bytes, bind },
//       "simulated", "schedule", "device_uuid", "device_name", "limit_bytes_per_s", "limit_source", "binding",
//       "error": null, or why the sweep stopped early,
//       "lanes": [ { "lane": 0, "name": "h2d",
//         "curve": { best_rate_bytes_per_s, best_bytes, smallest_sizes_us (NetPIPE's latency), half_rate_bytes (n_1/2),
//                    knee_bytes, fit_latency_us, fit_rate_bytes_per_s, fit_worst_residual, notes: [ why null ] },
//         "points": [ { bytes, lane, trials, stop, time_us, min_us, max_us, mean_us, rate_bytes_per_s,
//                       percent_of_limit } ] } ],
//       "together": null; for a duplex an object as in "lanes", of both directions at once: bytes is the size of one
//                   copy, rates count both
//     } ],
//     "probes": [ { "title", "case": { probe, device, operation, type, form, space }, "simulated", "schedule",
//       "device_uuid", "device_name", "peak_per_s", "peak_source", "layout": { what the device says of itself },
//       "binding", "error", "points": [ { "shape": { blocks, threads, ilp, access_bytes, bytes, alone }, trials, stop,
//       rate_per_s, rate_per_cycle, clock_mhz, doubts } ] } ],
//     "streams": [ { "title", "case": { device, workload, order, pool, gating }, "simulated", "schedule",
//       "device_uuid", "device_name", "binding", "error", "points": [ { "job": { bytes_in, bytes_out, kernel_bytes,
//       iterations, chunks, streams, threads }, trials, stop, time_us, issue_us, create_us, destroy_us, speed_up } ] }
//       ],
//     "derived": [ { "device", "device_name", "simulated", "parameters": [ { name, estimate, meaning, reference,
//       reference_source, verdict, note } ], "missing": [ ... ] } ] }
//
// time_us, rate_bytes_per_s, fit_latency_us and fit_rate_bytes_per_s are { value, low, high, method }: an estimate with
// its 95 % interval. Times are of one operation, one way.
#include "netpipe/report/job_json.hpp"
#include "netpipe/report/probe_json.hpp"
#include "netpipe/report/sweep_text.hpp"
#include "npgpu/report.hpp"

namespace npgpu {

namespace {

Json lane_json(const std::vector<PointSummary>& points, std::uint32_t lane, const std::string& name) {
  Json json{{"lane", lane}, {"name", name}, {"curve", json_of(fit_curve(points))}, {"points", Json::array()}};
  for (const PointSummary& p : points) json["points"].push_back(json_of(p));
  return json;
}

}  // namespace

void report_json(std::ostream& out, const Trace& trace) {
  Json json{{"document", "npgpu-report"},
            {"version", 1},
            {"run", json_of(trace.root)},
            {"provenance", json_of(trace.provenance)},
            {"sweeps", Json::array()}};
  for (const TransferSeries& sweep : trace.of<Transfers>()) {
    Json one = header_json(sweep);
    one["lanes"] = Json::array();
    const auto all = summarize(sweep);
    const bool duplex = sweep.question.pattern == Pattern::duplex;
    for (std::uint32_t lane = 0; lane < (duplex ? 2 : 1); ++lane) {
      std::vector<PointSummary> points;
      for (const PointSummary& p : all)
        if (p.lane == lane) points.push_back(p);
      one["lanes"].push_back(lane_json(points, lane, lane_name(sweep.question, lane)));
    }
    one["together"] = duplex ? lane_json(summarize_sum(sweep), 0, "both") : Json(nullptr);
    json["sweeps"].push_back(std::move(one));
  }
  json["probes"] = Json::array();
  for (const ProbeSeries& probe : trace.of<Probes>()) json["probes"].push_back(summary_json(probe));
  json["streams"] = Json::array();
  for (const JobSeries& streams : trace.of<Jobs>()) json["streams"].push_back(summary_json(streams));
  json["derived"] = json_of(derive(trace));
  write_json(out, json, 1);
}

}  // namespace npgpu
