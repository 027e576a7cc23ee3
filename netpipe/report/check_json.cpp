#include "netpipe/report/json.hpp"
#include "npgpu/check.hpp"

namespace npgpu {

Json json_of(const HealthFinding& finding) {
  Json one{entry("device", finding.device), entry("metric", finding.metric), entry("health", finding.health),
           entry("value", finding.value),   entry("limit", finding.limit),   entry("unit", finding.unit),
           entry("text", finding.text)};
  one["low"] = json_of(finding.low);
  one["high"] = json_of(finding.high);
  one["would_see"] = json_of(finding.would_see);
  one["case"] = or_null(finding.of_case);
  one["point"] = or_null(finding.of_point);
  one["basis"] = or_null(finding.basis);
  one["if_failed"] = name(finding.if_failed);
  one["explanations"] = array_of(finding.explanations, [](const Explanation& why) {
    return Json({entry("cause", why.cause), entry("what", why.what), entry("evidence", why.evidence),
                 entry("remedy", why.remedy)});
  });
  return one;
}

void check_json(std::ostream& out, const CheckOf& of) {
  Json all;
  all["document"] = "npgpu-check";
  all["version"] = 1;
  all["verdict"] = name(of.verdict);
  all["exit_code"] = of.exit_code;
  all["reason"] = or_null(check_reason(of));
  all["hostname"] = of.root.hostname;
  all["start_time_utc"] = of.root.start_time_utc;
  all["tool_version"] = of.root.tool_version;
  all["decided_by"] = of.decided;
  all["not_judged_because"] = or_null(of.why_not_judged);
  all["measured_again"] = of.measured_again;
  all["wall_s"] = json_of(of.wall_s);
  all["trace"] = or_null(of.trace);
  all["gpus"] = array_of(of.gpus, [](const CheckOf::Gpu& gpu) {
    return Json({entry("id", gpu.id), entry("name", gpu.name), entry("uuid", gpu.uuid),
                 Json::array({"simulated", gpu.simulated})});
  });
  all["findings"] = json_of(of.findings);
  all["soak"] = array_of(of.soaks, [](const SoakDevice& d) { return soak_json(d); });
  write_json(out, all, 2);
}

}  // namespace npgpu
