#include "netpipe/report/json.hpp"

#include <algorithm>
#include <cmath>

#include "netpipe/model/calls/calls.hpp"
#include "netpipe/model/probes/probe_rates.hpp"
#include "netpipe/model/transfers/perturbed_sizes.hpp"
#include "netpipe/report/foreign.hpp"
#include "netpipe/report/series_text.hpp"
#include "npgpu/classes.hpp"
#include "npgpu/laws.hpp"

namespace npgpu {

namespace {

Json curve_json(const CurveFit& fit) {
  return Json({entry("best_rate_bytes_per_s", fit.best_rate),
               entry("best_bytes", fit.best_bytes ? Json(fit.best_bytes) : Json(nullptr)),
               entry("smallest_sizes_us", fit.small_us), entry("half_rate_bytes", fit.half_bytes),
               entry("knee_bytes", fit.knee_bytes), entry("fit_latency_us", fit.latency_us),
               entry("fit_rate_bytes_per_s", fit.rate), entry("fit_worst_residual", fit.worst_residual),
               entry("notes", fit.notes)});
}

Json lane_json(const std::vector<TransferResult>& points, std::uint32_t lane, const std::string& name) {
  std::vector<std::uint64_t> sizes;
  for (const TransferResult& p : points) sizes.push_back(p.axes.bytes);
  const PerturbedSizes perturbed = perturbed_sizes_of(sizes);
  const auto point = [&](const TransferResult& p) {
    return Json({entry("bytes", p.axes.bytes), entry("lane", p.lane), entry("trials", p.trials), entry("stop", p.stop),
                 entry("disturbed", or_null(p.disturbed)), entry("time_us", p.time_us), entry("min_us", p.min_us),
                 entry("max_us", p.max_us), entry("mean_us", p.mean_us), entry("rate_bytes_per_s", p.rate),
                 entry("percent_of_limit", p.percent_of_limit), entry("perturbed", perturbed.folds(p.axes.bytes))});
  };
  return Json({entry("lane", lane), entry("name", name), entry("curve", curve_json(fit_curve(points))),
               entry("points", array_of(points, point))});
}

// ---- what report --json adds to a series, for each kind ------------------------------------------------------------

void add_summary(Json& json, const TransferSeries& series) {
  const auto points = results(series);
  json["lanes"] = Json::array();
  for (const std::uint32_t lane : measured_lanes(series.question))
    json["lanes"].push_back(lane_json(of_lane(points, lane), lane, lane_name(series.question, lane)));
  const bool several = json["lanes"].size() > 1;
  json["together"] =
      several ? lane_json(results_of_all_lanes(series), 0, json["lanes"].size() == 2 ? "both" : "all") : Json(nullptr);
}

Json with(Json all, const Json& more) {
  all.update(more);
  return all;
}

// What every result says: the fields of its point, and what it rests on.
template <class R> Json result_json(const R& r) {
  return with(json_of(r.axes),
              {entry("trials", r.trials), entry("stop", r.stop), entry("disturbed", or_null(r.disturbed))});
}

Json points_json(const ProbeSeries& series) {
  const std::optional<Law> law = law_of(series);
  return array_of(points_of(series), [&series, &law, rates = model::rates_of(series)](const ProbePoint& point) {
    const auto found = std::ranges::find(rates, point.axes, &ProbeResult::axes);
    const ProbeResult rate = found == rates.end() ? ProbeResult{} : *found;
    Json lawful = nullptr;
    if (law)
      for (const LawPoint& p : law->points)
        if (p.shape == point.axes)
          lawful = Json({entry("passes", p.passes), entry("times_by_law", p.law), entry("times", p.measured),
                         entry("verdict", p.verdict)});
    return with(json_of(point.axes),
                {entry("trials", trials_of(series, point)), entry("stop", point.stop()),
                 entry("disturbed", or_null(disturbance_of(point))), entry("rate_per_s", rate.rate),
                 entry("rate_per_cycle", rate.cycle_rate), entry("clock_mhz", rate.clock_mhz),
                 entry("doubts", rate.doubts), entry("law", lawful)});
  });
}

Json points_json(const JobSeries& series) {
  return array_of(results(series), [](const JobResult& s) {
    return with(result_json(s),
                {entry("time_us", s.time_us), entry("issue_us", s.issue_us), entry("create_us", s.create_us),
                 entry("destroy_us", s.destroy_us), entry("speed_up", s.speed_up)});
  });
}

Json points_json(const CallSeries& series) {
  return array_of(results(series), [](const CallResult& s) {
    return with(result_json(s), {entry("host_us", s.host_us), entry("done_us", s.done_us), entry("slowed", s.slowed)});
  });
}

Json points_json(const EnergySeries& series) {
  return array_of(results(series), [](const EnergyResult& r) {
    return with(result_json(r),
                {entry("power_w", r.power_w), entry("read_power_w", r.read_power_w), entry("rate_per_s", r.rate),
                 entry("clock_mhz", r.clock_mhz), entry("temperature_c", r.temperature_c)});
  });
}

Json energy_json(const EnergyFigure& f) {
  const char* const counts = is_idle(f.question.work)             ? "rest"
                             : counts_operations(f.question.work) ? "operations"
                                                                  : "bytes";
  return Json({entry("device", f.question.device), entry("device_name", f.device_name), entry("simulated", f.simulated),
               entry("work", work_text(f.question)), entry("counts", counts), entry("counts_energy", f.counts_energy),
               entry("power_w", f.full.power_w), entry("read_power_w", f.full.read_power_w),
               entry("rate_per_s", f.full.rate), entry("each_pj", f.each_pj()),
               entry("half_over_line", f.half_over_line), entry("clock_mhz", f.full.clock_mhz),
               entry("clock_lowered", f.is_clock_lowered()), entry("temperature_c", f.full.temperature_c),
               entry("disturbed", or_null(f.full.disturbed)), entry("error", or_null(f.why))});
}

Json points_json(const SoakSeries& series) {
  return array_of(results(series), [](const SoakResult& r) {
    return with(result_json(r), {entry("busy_us", r.time_us.value), entry("rate_per_s", r.rate.value)});
  });
}

Json points_json(const PieceSeries& series) {
  return array_of(results(series), [](const PieceResult& r) {
    return with(result_json(r),
                {entry("time_us", r.time_us), entry("host_us", r.host_us), entry("rate_per_s", r.rate)});
  });
}

Json points_json(const CollectiveSeries& series) {
  return array_of(results(series), [](const CollectiveResult& r) {
    return with(result_json(r),
                {entry("time_us", r.time_us), entry("algorithm_bytes_per_s", r.rate),
                 entry("bus_bytes_per_s", r.bus_rate), entry("host_us", r.host_us), entry("lanes_us", r.lanes_us),
                 entry("chosen", chosen_json(r)), entry("error", or_null(r.why))});
  });
}

template <class K> Json points_json(const Series<K>& series) {
  return array_of(results(series), [](const Result<K>& r) {
    return with(result_json(r), {entry("time_us", r.time_us), entry("rate_per_s", r.rate)});
  });
}

void add_summary(Json& json, const ProbeSeries& series) {
  const std::optional<Law> law = law_of(series);
  json["law"] = law ? Json({entry("rule", law->rule), entry("counts", law->counts)}) : Json(nullptr);
  const std::optional<RateClasses> classes = classes_of(series);
  json["classes"] = classes ? array_of(classes->classes,
                                       [](const RateClass& c) {
                                         return Json({entry("least_divisor", c.least), entry("largest_divisor", c.most),
                                                      entry("sizes", c.sizes), entry("relative", c.relative),
                                                      entry("rate_per_s", c.rate)});
                                       })
                            : Json(nullptr);
  json["points"] = points_json(series);
}
template <class K> void add_summary(Json& json, const Series<K>& series) { json["points"] = points_json(series); }

// Of every kind its series, each with what add(json, series) adds to its header.
template <class Add> void add_series(Json& json, const Trace& trace, Add add) {
  for_each_kind([&]<class K>() {
    Json& all = json[std::string(K::name)] = Json::array();
    for (const Series<K>& series : trace.of<K>()) add(all.emplace_back(header_json(series)), series);
  });
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

Json parameter_json(const Parameter& p) {
  Json estimate = json_of(p.estimate);
  estimate["unit"] = p.estimate.unit;
  return Json({entry("name", p.name), entry("estimate", estimate), entry("meaning", p.meaning),
               entry("reference", p.reference), entry("reference_source", p.reference_source),
               entry("verdict", p.verdict), entry("note", or_null(p.note))});
}

Json devices_json(const std::vector<DeviceParameters>& devices) {
  return array_of(devices, [](const DeviceParameters& device) {
    return Json({entry("device", device.device), entry("device_name", device.device_name),
                 entry("simulated", device.simulated), entry("parameters", array_of(device.parameters, parameter_json)),
                 entry("missing", device.missing)});
  });
}

Json cell_json(const MatrixCell& cell) {
  return Json({entry("source", cell.source), entry("target", cell.target), entry("access", cell.access),
               entry("bytes", cell.bytes), entry("value", cell.value), entry("doubtful", cell.doubtful)});
}

Json note_json(const MatrixFinding& one) { return Json({entry("devices", one.devices), entry("text", one.text)}); }
Json finding_json(const NodeFinding& one) {
  Json json = json_of(static_cast<const HealthFinding&>(one));
  json["devices"] = one.devices;
  return json;
}

Json numa_json(const NumaMatrix& numa) {
  const auto node_or_null = [](int node) { return node < 0 ? Json(nullptr) : Json(node); };
  const auto cell = [](const NumaCell& one) {
    return Json({entry("host_node", one.host_node), entry("direction", one.direction), entry("bytes", one.bytes),
                 entry("rate_bytes_per_s", one.rate), entry("doubtful", one.doubtful)});
  };
  const auto cost = [](const NumaCost& one) {
    return Json({entry("host_node", one.host_node), entry("direction", one.direction), entry("share", one.share),
                 entry("is_slower", one.is_slower)});
  };
  const auto gpu = [&](const NumaGpu& one) {
    return Json({entry("id", one.id), entry("system_node", node_or_null(one.system_node)),
                 entry("fastest_node", node_or_null(one.fastest_node)), entry("cells", array_of(one.cells, cell)),
                 entry("costs", array_of(one.costs, cost))});
  };
  return Json({entry("host_nodes", numa.host_nodes), entry("gpus", array_of(numa.gpus, gpu)),
               entry("costs", array_of(numa.costs, note_json)), entry("wrong", array_of(numa.wrong, note_json))});
}

Json matrix_json(const NodeMatrix& node, const MatrixVerdict& verdict) {
  if (node.devices.empty()) return nullptr;
  const auto device = [](const NodeMatrix::Device& one) {
    return Json({entry("id", one.id), entry("name", one.name), entry("simulated", one.simulated)});
  };
  std::size_t number = 0;
  const auto matrix = [&](const RateMatrix& one) {
    const std::size_t its = number++;
    const auto cell = [&](const MatrixCell& of) {
      Json json = cell_json(of);
      const CellVerdict* const known = verdict.of(its, &of, node);
      json["limit"] = json_of(known ? known->limit : not_measured);
      json["verdict"] = name(known ? known->verdict : CheckVerdict::not_judged);
      return json;
    };
    return Json({entry("executor", one.executor), entry("access", one.access), entry("both_ways", one.both_ways),
                 entry("pattern", one.pattern), entry("unit", one.is_latency() ? "us" : "bytes per second"),
                 entry("cells", array_of(one.cells, cell))});
  };
  const auto together = [](const LanesTogether& one) {
    return Json({entry("name", one.name), entry("executor", one.executor), entry("access", one.access),
                 entry("bytes", one.bytes), entry("sum", one.sum), entry("fairness", one.fairness),
                 entry("doubtful", one.doubtful), entry("lanes", array_of(one.lanes, cell_json))});
  };
  return Json({entry("verdict", verdict.verdict), entry("devices", array_of(node.devices, device)),
               entry("links", node.links), entry("is_sampled", node.is_sampled),
               entry("matrices", array_of(node.matrices, matrix)), entry("together", array_of(node.together, together)),
               entry("numa", numa_json(node.numa)), entry("findings", array_of(verdict.findings, finding_json))});
}

Json drift_json(const std::vector<Drift>& drifts) {
  return array_of(drifts, [](const Drift& drift) {
    const auto& other = run_to_run(drift.time_class).share;
    return Json({entry("time_class", drift.time_class), entry("points", drift.points),
                 entry("by_round", drift.by_round),
                 entry("in_intervals", std::vector<double>(drift.drift.share.begin(), drift.drift.share.end())),
                 entry("run_to_run", std::vector<double>(other.begin(), other.end()))});
  });
}

}  // namespace

Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json json_of(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json json_of(const std::vector<Lane>& lanes) { return lanes_text(lanes); }

Json json_of(const TraceRoot& root) {
  return Json({entry("run_uuid", root.run_uuid), entry("tool_version", root.tool_version),
               entry("git_commit", root.git_commit), entry("argv", root.argv),
               entry("start_time_utc", root.start_time_utc), entry("hostname", root.hostname),
               entry("complete", root.complete)});
}

Json json_of(const Provenance& provenance) {
  Json groups = Json::object();
  for (const auto& [group, facts] : provenance) {
    Json& all = groups[group] = Json::object();
    for (const auto& [fact, value] : facts) all[fact] = std::visit([](const auto& v) { return json_of(v); }, value);
  }
  return groups;
}

Json json_of(const Estimate& e) {
  return Json({entry("value", e.value), entry("low", e.low), entry("high", e.high), entry("method", e.method)});
}

void write_json(std::ostream& out, const Json& json, int indent) {
  out << json_text(json.dump(indent, ' ', false, Json::error_handler_t::replace)) << '\n';
}

// Summaries of every series. Keys are stable; new ones may be added, so readers ignore what they do not know. What was
// not measured or is not carried by the points is null, never 0.
//
//   { "document": "npgpu-report", "version": 3,
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
//           "points": [ { bytes, lane, trials, stop, disturbed, time_us, min_us, max_us, mean_us, rate_bytes_per_s,
//                         percent_of_limit, perturbed: a neighbour of the size that was asked for } ] } ],
//         "together": null; for several lanes an object as in "lanes", of all at once: bytes is the size of one copy,
//                     rates count all
//       for probes "points": [ { fields of a shape, trials, stop, disturbed, rate_per_s, rate_per_cycle, clock_mhz,
//                                doubts, "law": null or { passes, times_by_law, times, verdict } } ],
//                  "law": null or { rule, counts } (npgpu/laws.hpp)
//       for jobs   "points": [ { fields of a job, trials, stop, disturbed, time_us, issue_us, create_us, destroy_us,
//                                speed_up } ]
//       for calls  "points": [ { fields of a shape, trials, stop, disturbed, host_us, done_us } ]
//       for pieces "points": [ { fields of a shape, trials, stop, disturbed, time_us, host_us, rate_per_s } ]
//       for energies "points": [ { fields of a load, trials, stop, disturbed, power_w, read_power_w (by readings of the
//                                  instantaneous power), rate_per_s, clock_mhz, temperature_c } ]
//       for soaks  "points": [ { fields of a slice, trials, stop, disturbed, busy_us, rate_per_s } ]
//     } ],
//     "drift": [ { time_class, points, by_round (shares, positive: that round was slower), in_intervals and
//                  run_to_run (standard deviations that intervals hold: of this run's rounds, and from run to run; of
//                  times below 10 us, 100 us, 1 ms, and above) } ],
//     "energy_figures": [ { device, device_name, simulated, work, counts ("bytes", "operations" or "rest"),
//       counts_energy, power_w, read_power_w, rate_per_s, each_pj (of one, over idle), half_over_line (what one costs
//       at half work, over what it does at full work), clock_mhz, clock_lowered, temperature_c, disturbed, error } ],
//     "rooflines": [ see roofline_json.cpp ],
//     "soak_figures": [ { device, device_name, simulated, elapsed_s, slices, temperature_c (median of the second half
//     of its
//       slices), highest_temperature_c, "loads": [ { name, part, together, counts, slices, begin_per_s, end_per_s (the
//       first and the last third), lowest_per_s, change (share), clock_mhz, temperature_c, power_w, compared (share of
//       the work), mismatches, "course": { elapsed_s, rate_per_s, clock_mhz, temperature_c, power_w: a number a slice }
//       } ], "throttles": [ { reason, at_s, last_s, slices } ], "wrong_words": [ { address,
//       pattern, expected, found, bits, again } ], errors } ],
//     "piece_tables": [ { title, device, device_name, simulated, direction, layout, other_layout, async, target, error,
//       "rows": [ { pieces, piece_bytes, "ways": [ { way, time_us, host_us, over_fastest (share, with its interval),
//       as_fast (as the first, the fastest) } ], unusable, disturbed, unsteady } ] } ],
//     "busy_sibling": { visits, points, adds (share of the time on a quiet core) },
//     "derived": [ { "device", "device_name", "simulated", "parameters": [ { name, estimate, meaning, reference,
//       reference_source, verdict, note } ], "missing": [ ... ] } ],
//     "matrix": null, or { verdict, "devices": [ { id, name, simulated } ], links, is_sampled, "matrices": [ {
//     executor,
//       access, both_ways, unit (bytes per second; us: of a load), "cells": [ { source, target, access, bytes, value,
//       doubtful, limit, verdict } ] } ], "together": [ { name, executor, access, bytes, sum, fairness, doubtful,
//       failure, "lanes": [ cells ] } ], "numa": { host_nodes (measured, else those that there are), "gpus": [ { id,
//       system_node, fastest_node (null:
//         not known), "cells": [ { host_node, direction, bytes, rate_bytes_per_s, doubtful } ], "costs": [ {
//         host_node, direction, share (of the rate on the fastest node), is_slower } ] } ],
//         "costs", "wrong": [ { devices, text } ] },
//       "findings": [ those of npgpu check --json, and devices ] },
//     "collective_studies": [ { gpus, device_name, simulated, library, verdict, "operations": [ { title, case,
//       smallest_us, best_bus_bytes_per_s, half_rate_bytes, limit_bus_bytes_per_s, limit_source,
//       tree_limit_bus_bytes_per_s (of an all-reduce by two trees), share_of_limit, verdict, why, slowed_by (what of
//       the library's choice can make it slow) } ], links_judged_by, "slow_links": [ { devices, share, text } ] } ],
//     "partition_studies": [ ... ]: see partition_json.cpp,
//     "staged_messages": [ { source, target, pattern, "sizes": [ { bytes, chunk_bytes, predicted_us, taken_chunk_bytes,
//       advised_us, best_chunk_bytes, best_us, regret } ] } ] }
//
// time_us, rate_bytes_per_s, fit_latency_us and fit_rate_bytes_per_s are { value, low, high, method }: an estimate with
// its 95 % interval. Times are of one operation, one way.
void report_json(std::ostream& out, const TraceResults& of) {
  Json json({entry("document", "npgpu-report"), entry("version", 3), entry("run", of.trace.root),
             entry("provenance", of.trace.provenance)});
  add_series(json, of.trace, [](Json& one, const auto& series) { add_summary(one, series); });
  json["drift"] = drift_json(of.drifts);
  json["busy_sibling"] = json_of(of.sibling);
  json["energy_figures"] = array_of(of.energies, energy_json);
  json["rooflines"] = array_of(of.rooflines, [](const Roofline& device) { return json_of(RooflineReport{device}); });
  json["soak_figures"] = array_of(of.soaks, [](const SoakDevice& d) { return soak_json(d, SoakDetail::slices); });
  json["piece_tables"] = array_of(of.pieces, piece_table_json);
  json["derived"] = devices_json(of.derived);
  json["matrix"] = matrix_json(of.matrix, of.verdict);
  json["collective_studies"] = array_of(of.collectives, collective_json);
  json["partition_studies"] = studies_json(of.partitions);
  json["staged_messages"] = messages_json(of.messages);
  write_json(out, json, 1);
}

// The whole trace, nothing derived. Names and units are those of data/TRACE_FORMAT.md; a table is an object of columns.
// null is what was not measured.
//
//   { "document": "npgpu-trace", "version": "3.0", "run": {...}, "provenance": {...},
//     "transfers", "probes", "jobs": [ { header as in npgpu-report, "visits": { "bytes": [...], ... },
//                                        "samples": { "visit": [...], ... } } ] }
void export_json(std::ostream& out, const Trace& trace) {
  Json json({entry("document", "npgpu-trace"),
             entry("version", std::to_string(trace.version_major) + '.' + std::to_string(trace.version_minor)),
             entry("run", trace.root), entry("provenance", trace.provenance)});
  add_series(json, trace, [](Json& one, const auto& series) {
    one["visits"] = columns(series.visits);
    one["samples"] = columns(series.samples);
  });
  write_json(out, json, -1);
}

void parameters_json(std::ostream& out, const std::vector<DeviceParameters>& devices) {
  write_json(out, {entry("document", "npgpu-parameters"), entry("version", 1), entry("devices", devices_json(devices))},
             1);
}

}  // namespace npgpu
