// What GPUs did together as JSON, and the predicted time of an all-reduce, as lines for people and as JSON:
//
//   { "document": "npgpu-collective-forecast", "version": 1, "forecasts": [ { title, case, gpus (how many),
//   device_name,
//     simulated, bytes, time_us (with its interval and method), bus_bytes_per_s } ] }
#include <fmt/format.h>

#include <ostream>

#include "netpipe/report/format.hpp"
#include "netpipe/report/json.hpp"
#include "npgpu/collective_figures.hpp"
#include "npgpu/report.hpp"

namespace npgpu {

namespace {

double bus_rate(const CollectiveForecast& one) {
  return bus_factor(one.figure->question) * static_cast<double>(one.bytes) / one.us.value * 1e6;
}

std::string forecast_line(const CollectiveForecast& one) {
  const CollectiveCase& c = one.figure->question;
  std::string how;
  if (c.launch == CollectiveLaunch::graph) how += " in CUDA graphs";
  if (c.timing != Timing::host) how += fmt::format(", {}", name(c.timing));
  std::string text = fmt::format("{}{} of {} of {} on {} GPUs{} ({}): {}, {} of bus bandwidth; {}",
                                 one.study->simulated ? "SIMULATED " : "", name(c.operation), size_text(one.bytes),
                                 name(c.type), one.study->gpus.size(), how, one.study->device_name,
                                 time_text(one.us.value), rate_text(bus_rate(one)), one.us.method);
  if (one.us.high > one.us.low)
    text += fmt::format("; 95 % interval {} to {}", time_text(one.us.low), time_text(one.us.high));
  return text;
}

}  // namespace

// Null for what the library did not say.
Json chosen_json(const CollectiveResult& r) {
  const auto name_of = [](std::int32_t code, const auto& names) {
    const auto at = static_cast<std::size_t>(code);
    return code >= 0 && at < names.size() ? Json(std::string(names[at])) : Json(nullptr);
  };
  return Json({entry("algorithm", name_of(r.algorithm, collective_algorithms)),
               entry("protocol", name_of(r.protocol, collective_protocols)),
               entry("channels", r.channels > 0 ? Json(r.channels) : Json(nullptr)),
               entry("path", name_of(r.path, collective_paths))});
}

Json collective_json(const CollectiveStudy& study) {
  const auto figure = [](const CollectiveFigure& f) {
    return Json({entry("title", title(f.question)), entry("case", f.question), entry("smallest_us", f.smallest_us),
                 entry("best_bus_bytes_per_s", f.best), entry("half_rate_bytes", f.half_bytes),
                 entry("limit_bus_bytes_per_s", f.limit), entry("limit_source", f.limit_source),
                 entry("tree_limit_bus_bytes_per_s", f.tree_limit), entry("share_of_limit", f.share),
                 entry("verdict", f.verdict), entry("why", or_null(f.why)), entry("slowed_by", or_null(f.cause))});
  };
  const auto link = [](const SlowLink& one) {
    return Json({entry("devices", one.devices), entry("share", one.share), entry("text", one.text)});
  };
  return Json({entry("gpus", study.gpus), entry("device_name", study.device_name), entry("simulated", study.simulated),
               entry("library", or_null(study.library)), entry("verdict", study.verdict),
               entry("operations", array_of(study.figures, figure)), entry("links_judged_by", study.links_judged_by),
               entry("slow_links", array_of(study.slow_links, link))});
}

void collective_forecast_text(std::ostream& out, const std::vector<CollectiveForecast>& all) {
  for (const CollectiveForecast& one : all) out << one_line(forecast_line(one)) << '\n';
}

void collective_forecast_json(std::ostream& out, const std::vector<CollectiveForecast>& all) {
  const auto forecast = [](const CollectiveForecast& one) {
    return Json({entry("title", title(one.figure->question)), entry("case", one.figure->question),
                 entry("gpus", one.study->gpus.size()), entry("device_name", one.study->device_name),
                 entry("simulated", one.study->simulated), entry("bytes", one.bytes), entry("time_us", one.us),
                 entry("bus_bytes_per_s", bus_rate(one))});
  };
  Json json({entry("document", "npgpu-collective-forecast"), entry("version", 1)});
  json["forecasts"] = array_of(all, forecast);
  write_json(out, json, 1);
}

}  // namespace npgpu
