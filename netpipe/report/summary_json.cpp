#include "netpipe/report/summary_json.hpp"

#include <cmath>

namespace npgpu {

Json json_of(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json json_of(const TransferCase& c) {
  return {{"module", c.module},
          {"device", c.device},
          {"pattern", name(c.pattern)},
          {"direction", name(c.direction)},
          {"memory", name(c.memory)},
          {"async", c.async},
          {"timing", name(c.timing)},
          {"cache", name(c.cache)},
          {"source_offset_bytes", c.source_offset},
          {"target_offset_bytes", c.target_offset},
          {"bind", c.bind}};
}

Json json_of(const TraceRoot& root) {
  return {{"run_uuid", root.run_uuid}, {"tool_version", root.tool_version},     {"git_commit", root.git_commit},
          {"argv", root.argv},         {"start_time_utc", root.start_time_utc}, {"hostname", root.hostname},
          {"complete", root.complete}};
}

Json json_of(const Provenance& provenance) {
  Json groups = Json::object();
  for (const auto& [group, facts] : provenance) {
    Json all = Json::object();
    for (const auto& [fact, value] : facts) {
      if (const auto* number = std::get_if<double>(&value))
        all[fact] = json_of(*number);
      else if (const auto* count = std::get_if<std::int64_t>(&value))
        all[fact] = *count;
      else
        all[fact] = std::get<std::string>(value);
    }
    groups[group] = std::move(all);
  }
  return groups;
}

Json json_of(const Estimate& e) {
  return {{"value", json_of(e.value)}, {"low", json_of(e.low)}, {"high", json_of(e.high)}, {"method", e.method}};
}

Json json_of(const PointSummary& p) {
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

Json json_of(const CurveFit& fit) {
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

Json header_json(const TransferSeries& sweep) {
  return {{"title", title(sweep.question)},
          {"case", json_of(sweep.question)},
          {"simulated", sweep.simulated},
          {"schedule", sweep.schedule},
          {"device_uuid", sweep.device_uuid},
          {"device_name", sweep.device_name},
          {"limit_bytes_per_s", json_of(sweep.limit.per_s)},
          {"limit_source", sweep.limit.source},
          {"binding", sweep.binding},
          {"error", sweep.error.empty() ? Json(nullptr) : Json(sweep.error)}};
}

void write_json(std::ostream& out, const Json& json, int indent) {
  out << json.dump(indent, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace npgpu
