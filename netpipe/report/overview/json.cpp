// The overview as JSON, with all cases and intervals. What is not known is null, never 0. New keys may be added.
//
//   { "document": "npgpu-overview", "version": 3, "headline", "run": {...}, "seconds", "series",
//     "verdict": "pass", "warn", "fail" or "skip",
//     "health": [ { device, metric, health, value, limit, unit, text, basis,
//                   explanations: [ { cause, what, evidence, remedy } ] } ],
//     "devices": [ {                      GPUs first; then the host, if it was measured
//       id, uuid, name, simulated,
//       "copies": [ { name, title, usual (it is on the screen), limit_per_s, limit_source, half_rate_bytes, points,
//                     unsteady, disturbed, unusable, error,
//                     sizes: [ { bytes, time_us, rate_bytes_per_s, percent_of_limit, stop, disturbed } ]: those of the
//                     screen, the largest last; npgpu-report has all } ],
//       "bandwidth", "compute", "tensor", "energy" (W, pJ), "calls", "stream_costs":
//           [ { name, value, low, high, unit, method, percent_of_peak, percent_at_clock, clock_mhz,
//               unsteady (its interval is wide, even for its class), disturbed, note } ],
//       "levels": [ { name, latency_ns, size_bytes: { value, low, high, method, reported, note } or null } ],
//       "advice": [ { name, in_bytes, out_bytes, kernel_us, one_stream_us, enough_streams (the fewest within 1 % of the
//                     best), enough_us, best_streams, best_us, speed_up, bound, bound_us } ],
//       "telemetry": { visits, max_sm_clock_mhz, min_sm_clock_mhz, max_power_w, max_temperature_c, slowed_visits } } ],
//     "differences": [ { device, what, value, low, high, others (their median), worse_by (share) } ],
//     "quality": { points, unsteady, disturbed, unusable, compared, wrong,
//                  classes: [ { time_class, points, unsteady, disturbed, unusable } ],
//                  drift: [ { time_class, points, by_round } ], busy_sibling: { visits, points, adds },
//                  errors: [ { title, error } ] },
//     "not_measured": [ ... ] }
//
// time_us, rate_bytes_per_s and best_us are { value, low, high, method }, as in npgpu-report.
#include "netpipe/report/json.hpp"

#include <algorithm>
#include <cmath>

#include "netpipe/report/overview/sections.hpp"

namespace npgpu {

namespace {

Json curve_json(const CopyCurve& curve, const CopySizes& sizes) {
  Json json({entry("name", curve.name), entry("title", title(curve.question)), entry("usual", curve.is_usual)});
  add_fields(json, curve.limit);
  json["half_rate_bytes"] = json_of(curve.half_bytes);
  add_fields(json, curve.counts);
  json["error"] = or_null(curve.error);
  json["sizes"] = Json::array();
  for (const TransferResult& p : curve.points) {
    const bool shown = p.axes.bytes == sizes.small || std::ranges::find(sizes.rates, p.axes.bytes) != sizes.rates.end();
    if (!shown && &p != curve.largest()) continue;
    json["sizes"].push_back({entry("bytes", p.axes.bytes), entry("time_us", p.time_us),
                             entry("rate_bytes_per_s", p.rate), entry("percent_of_limit", p.percent_of_limit),
                             entry("stop", p.stop), entry("disturbed", or_null(p.disturbed))});
  }
  return json;
}
Json curves_json(const std::vector<CopyCurve>& curves) {
  std::vector<const CopyCurve*> all;
  for (const CopyCurve& curve : curves) all.push_back(&curve);
  return array_of(curves, [sizes = sizes_of(all)](const CopyCurve& curve) { return curve_json(curve, sizes); });
}

Json figure_json(const Figure& f) {
  Json json({entry("name", f.name)});
  json.update(json_of(f.value));
  json["unit"] = f.value.unit;
  json.update(Json({entry("percent_of_peak", f.percent_of_peak), entry("percent_at_clock", f.percent_at_clock),
                    entry("clock_mhz", f.clock_mhz), entry("unsteady", f.unsteady),
                    entry("disturbed", or_null(f.disturbed)), entry("note", or_null(f.note))}));
  return json;
}

Json of_level(const std::optional<Parameter>& p) {
  if (!p) return nullptr;
  Json json = json_of(p->estimate);
  json["reported"] = json_of(p->reference);
  json["note"] = or_null(p->note);
  return json;
}

Json advice_json(const StreamAdvice& a) {
  return Json({entry("name", a.name), entry("in_bytes", a.job.in_bytes), entry("out_bytes", a.job.out_bytes),
               entry("kernel_us", microseconds(a.job.kernel)), entry("one_stream_us", a.one_us),
               entry("enough_streams", a.enough), entry("enough_us", a.enough_us), entry("best_streams", a.best),
               entry("best_us", a.best_us), entry("speed_up", a.speed_up), entry("bound", a.bound),
               entry("bound_us", microseconds(a.bound_time))});
}

Json device_json(const DeviceOverview& device) {
  Json json({entry("id", device.id), entry("uuid", or_null(device.uuid)), entry("name", device.name),
             entry("simulated", device.simulated), entry("copies", curves_json(device.copies)),
             entry("bandwidth", array_of(device.bandwidth, figure_json)),
             entry("compute", array_of(device.compute, figure_json)),
             entry("tensor", array_of(device.tensor, figure_json)),
             entry("energy", array_of(device.energy, figure_json))});
  json["levels"] = array_of(device.levels, [](const MemoryLevel& level) {
    return Json({entry("name", level.name), entry("latency_ns", of_level(level.latency)),
                 entry("size_bytes", of_level(level.size))});
  });
  json["calls"] = array_of(device.calls, figure_json);
  json["stream_costs"] = array_of(device.stream_costs, figure_json);
  json["advice"] = array_of(device.advice, advice_json);
  json["telemetry"] = json_of(range_of(device.telemetry));
  return json;
}

Json quality_json(const Quality& q) {
  Json json = json_of(q.all);
  json["compared"] = q.compared;
  json["wrong"] = q.wrong;
  json["classes"] = array_of(q.classes, [](const auto& one) {
    Json of_class({entry("time_class", one.first)});
    add_fields(of_class, one.second);
    return of_class;
  });
  json["drift"] = array_of(q.drift, [](const Drift& d) {
    return Json({entry("time_class", d.time_class), entry("points", d.points), entry("by_round", d.by_round)});
  });
  json["beside_others"] = array_of(q.beside, [](const BesideOthers& b) {
    return Json(
        {entry("gpu", b.gpu), entry("what", b.what), entry("beside_us", b.beside_us), entry("alone_us", b.alone_us)});
  });
  json["busy_sibling"] = json_of(q.siblings);
  json["errors"] = array_of(q.errors, [](const auto& one) {
    return Json({entry("title", one.first), entry("error", one.second)});
  });
  return json;
}

}  // namespace

void report_overview_json(std::ostream& out, const Overview& all) {
  Json json({entry("document", "npgpu-overview"), entry("version", 3), entry("headline", headline_of(all)),
             entry("run", all.run), entry("seconds", all.seconds), entry("series", all.series),
             entry("verdict", worst_of(all.health)), entry("health", all.health)});
  json["devices"] = array_of(all.gpus, device_json);
  if (all.host) json["devices"].push_back(device_json(*all.host));
  json["differences"] = array_of(all.differences, [](const Difference& d) {
    return Json({entry("device", d.device), entry("what", d.what), entry("value", d.value.value),
                 entry("low", d.value.low), entry("high", d.value.high), entry("others", d.others),
                 entry("worse_by", d.worse_by)});
  });
  json["quality"] = quality_json(all.quality);
  json["not_measured"] = json_of(all.missing);
  write_json(out, json, 1);
}

}  // namespace npgpu
