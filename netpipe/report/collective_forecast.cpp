// The predicted time of an all-reduce, as lines for people and as JSON:
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
  if (c.processes == CollectiveProcesses::each_gpu) how += " by a process for each";
  if (c.launch == CollectiveLaunch::graph) how += " in CUDA graphs";
  if (c.buffers != CollectiveBuffers::plain) how += fmt::format(" of {} buffers", name(c.buffers));
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
