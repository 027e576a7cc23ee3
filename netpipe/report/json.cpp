#include "netpipe/report/json.hpp"

#include <algorithm>
#include <cmath>

#include "netpipe/model/calls/calls.hpp"
#include "netpipe/model/probes/probe_rates.hpp"
#include "netpipe/report/perturbed_sizes.hpp"
#include "netpipe/report/series_text.hpp"

namespace npgpu {

namespace {

Json point_json(const PointSummary& p) {
  return {{"bytes", p.bytes},
          {"lane", p.lane},
          {"trials", p.trials},
          {"stop", name(p.stop)},
          {"time_us", json_of(p.time_us)},
          {"min_us", json_of(p.min_us)},
          {"max_us", json_of(p.max_us)},
          {"mean_us", json_of(p.mean_us)},
          {"rate_bytes_per_s", json_of(p.rate)},
          {"percent_of_limit", json_of(p.percent_of_limit)}};
}

Json curve_json(const CurveFit& fit) {
  return {{"best_rate_bytes_per_s", json_of(fit.best_rate)},
          {"best_bytes", fit.best_bytes ? Json(fit.best_bytes) : Json(nullptr)},
          {"smallest_sizes_us", json_of(fit.small_us)},
          {"half_rate_bytes", json_of(fit.half_bytes)},
          {"knee_bytes", json_of(fit.knee_bytes)},
          {"fit_latency_us", json_of(fit.latency_us)},
          {"fit_rate_bytes_per_s", json_of(fit.rate)},
          {"fit_worst_residual", json_of(fit.worst_residual)},
          {"notes", fit.notes}};
}

Json lane_json(const std::vector<PointSummary>& points, std::uint32_t lane, const std::string& name) {
  Json json{{"lane", lane}, {"name", name}, {"curve", curve_json(fit_curve(points))}, {"points", Json::array()}};
  std::vector<std::uint64_t> sizes;
  for (const PointSummary& p : points) sizes.push_back(p.bytes);
  const PerturbedSizes perturbed = perturbed_sizes_of(sizes);
  for (const PointSummary& p : points) {
    json["points"].push_back(point_json(p));
    json["points"].back()["perturbed"] = perturbed.folds(p.bytes);
  }
  return json;
}

// ---- what report --json adds to a series, for each kind ------------------------------------------------------------

void add_summary(Json& json, const TransferSeries& series) {
  const auto all = lanes(series.question);
  const auto points = summarize(series);
  json["lanes"] = Json::array();
  for (std::uint32_t lane = 0; lane < all.size(); ++lane) {
    if (!all[lane].measured) continue;
    std::vector<PointSummary> own;
    std::copy_if(points.begin(), points.end(), std::back_inserter(own), [&](const auto& p) { return p.lane == lane; });
    json["lanes"].push_back(lane_json(own, lane, lane_name(series.question, lane)));
  }
  const bool several = json["lanes"].size() > 1;
  json["together"] =
      several ? lane_json(summarize_sum(series), 0, json["lanes"].size() == 2 ? "both" : "all") : Json(nullptr);
}

void add_summary(Json& json, const ProbeSeries& series) {
  const auto rates = model::rates_of(series);
  json["points"] = Json::array();
  for (const ProbePoint& point : series.points) {
    const auto found = std::find_if(rates.begin(), rates.end(), [&](const auto& r) { return r.shape == point.axes; });
    const model::PointRate none{};
    const model::PointRate& rate = found == rates.end() ? none : *found;
    Json& one = json["points"].emplace_back(Json::object());
    add_fields(one, point.axes);
    one.update(Json{{"trials", point.samples},
                    {"stop", name(point.stop)},
                    {"rate_per_s", json_of(rate.rate)},
                    {"rate_per_cycle", json_of(rate.cycle_rate)},
                    {"clock_mhz", json_of(rate.clock_mhz)},
                    {"doubts", rate.doubts}});
  }
}

void add_summary(Json& json, const JobSeries& series) {
  json["points"] = Json::array();
  for (const JobSummary& s : summarize(series)) {
    Json& one = json["points"].emplace_back(Json::object());
    add_fields(one, s.job);
    one.update(Json{{"trials", s.trials},
                    {"stop", name(s.stop)},
                    {"time_us", json_of(s.time_us)},
                    {"issue_us", json_of(s.issue_us)},
                    {"create_us", json_of(s.create_us)},
                    {"destroy_us", json_of(s.destroy_us)},
                    {"speed_up", json_of(s.speed_up)}});
  }
}

void add_summary(Json& json, const CallSeries& series) {
  json["points"] = Json::array();
  for (const model::CallSummary& s : model::summarize(series)) {
    Json& one = json["points"].emplace_back(Json::object());
    add_fields(one, s.shape);
    one.update(Json{{"trials", s.trials},
                    {"stop", name(s.stop)},
                    {"host_us", json_of(s.host_us)},
                    {"done_us", json_of(s.done_us)}});
  }
}

template <class K> void add_summary(Json& json, const Series<K>& series) {
  json["points"] = Json::array();
  for (const PointResult<K>& r : results_of(series)) {
    Json& one = json["points"].emplace_back(Json::object());
    add_fields(one, r.axes);
    one.update(Json{{"trials", r.trials},
                    {"stop", name(r.point->stop)},
                    {"time_us", json_of(r.time_us)},
                    {"rate_per_s", json_of(r.rate)}});
  }
}

// A table as an object of columns.
template <class Row> Json columns(const std::vector<Row>& rows) {
  Json json = Json::object();
  const Row none{};
  visit_fields(none, [&](const FieldInfo& f, const auto&) { json[std::string(f.name)] = Json::array(); });
  for (const Row& row : rows)
    visit_fields(row,
                 [&](const FieldInfo& f, const auto& value) { json[std::string(f.name)].push_back(json_of(value)); });
  return json;
}

Json devices_json(const std::vector<DeviceParameters>& devices) {
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

}  // namespace

Json json_of(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json json_of(const std::vector<Lane>& lanes) { return lanes_text(lanes); }

Json json_of(const TraceRoot& root) {
  return {{"run_uuid", root.run_uuid}, {"tool_version", root.tool_version},     {"git_commit", root.git_commit},
          {"argv", root.argv},         {"start_time_utc", root.start_time_utc}, {"hostname", root.hostname},
          {"complete", root.complete}};
}

Json json_of(const Provenance& provenance) {
  Json groups = Json::object();
  for (const auto& [group, facts] : provenance) {
    Json all = Json::object();
    for (const auto& [fact, value] : facts) all[fact] = std::visit([](const auto& v) { return json_of(v); }, value);
    groups[group] = std::move(all);
  }
  return groups;
}

Json json_of(const Estimate& e) {
  return {{"value", json_of(e.value)}, {"low", json_of(e.low)}, {"high", json_of(e.high)}, {"method", e.method}};
}

void write_json(std::ostream& out, const Json& json, int indent) {
  out << json.dump(indent, ' ', false, Json::error_handler_t::replace) << '\n';
}

// Summaries of every series. Keys are stable; new ones may be added, so readers ignore what they do not know. What was
// not measured or is not carried by the points is null, never 0.
//
//   { "document": "npgpu-report", "version": 2,
//     "run": { run_uuid, tool_version, git_commit, argv, start_time_utc, hostname, complete },
//     "provenance": { "host": { fact: value, ... }, "gpu0": { ... }, ... },
//     "transfers", "probes", "jobs": [ { "title", "case": { fields of the case in a trace }, schedule, device_uuid,
//       device_name, simulated, binding, "error": null, or why the series stopped early, and the fields of its context
//       in a trace (limit_per_s, limit_source; for probes what the device reports of itself),
//       for transfers
//         "lanes": [ { "lane": 0, "name": "h2d",
//           "curve": { best_rate_bytes_per_s, best_bytes, smallest_sizes_us (of blocking copies NetPIPE's latency),
//                      half_rate_bytes (n_1/2), knee_bytes, fit_latency_us, fit_rate_bytes_per_s, fit_worst_residual,
//                      notes: [ why null ] },
//           "points": [ { bytes, lane, trials, stop, time_us, min_us, max_us, mean_us, rate_bytes_per_s,
//                         percent_of_limit, perturbed: a neighbour of the size that was asked for } ] } ],
//         "together": null; for several lanes an object as in "lanes", of all at once: bytes is the size of one copy,
//                     rates count all
//       for probes "points": [ { fields of a shape, trials, stop, rate_per_s, rate_per_cycle, clock_mhz, doubts } ]
//       for jobs   "points": [ { fields of a job, trials, stop, time_us, issue_us, create_us, destroy_us, speed_up } ]
//     } ],
//     "derived": [ { "device", "device_name", "simulated", "parameters": [ { name, estimate, meaning, reference,
//       reference_source, verdict, note } ], "missing": [ ... ] } ] }
//
// time_us, rate_bytes_per_s, fit_latency_us and fit_rate_bytes_per_s are { value, low, high, method }: an estimate with
// its 95 % interval. Times are of one operation, one way.
void report_json(std::ostream& out, const Trace& trace) {
  Json json{{"document", "npgpu-report"},
            {"version", 2},
            {"run", json_of(trace.root)},
            {"provenance", json_of(trace.provenance)}};
  for_each_kind([&]<class K>() {
    Json& all = json[std::string(K::name)] = Json::array();
    for (const Series<K>& series : trace.of<K>()) {
      Json one = header_json(series);
      add_summary(one, series);
      all.push_back(std::move(one));
    }
  });
  json["derived"] = devices_json(derive(trace));
  write_json(out, json, 1);
}

// The whole trace, nothing derived. Names and units are those of data/TRACE_FORMAT.md; a table is an object of columns.
// null is what was not measured.
//
//   { "document": "npgpu-trace", "version": "2.0", "run": {...}, "provenance": {...},
//     "transfers", "probes", "jobs": [ { header as in npgpu-report, "points": { "bytes": [...], ... },
//                                        "samples": { "point": [...], ... } } ] }
void export_json(std::ostream& out, const Trace& trace) {
  Json json{{"document", "npgpu-trace"},
            {"version", std::to_string(trace.version_major) + '.' + std::to_string(trace.version_minor)},
            {"run", json_of(trace.root)},
            {"provenance", json_of(trace.provenance)}};
  for_each_kind([&]<class K>() {
    Json& all = json[std::string(K::name)] = Json::array();
    for (const Series<K>& series : trace.of<K>()) {
      Json one = header_json(series);
      one["points"] = columns(series.points);
      one["samples"] = columns(series.samples);
      all.push_back(std::move(one));
    }
  });
  write_json(out, json, -1);
}

void parameters_json(std::ostream& out, const std::vector<DeviceParameters>& devices) {
  write_json(out, {{"document", "npgpu-parameters"}, {"version", 1}, {"devices", devices_json(devices)}}, 1);
}

}  // namespace npgpu
