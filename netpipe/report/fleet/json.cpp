#include <cmath>

#include "netpipe/report/fleet/values_json.hpp"

namespace npgpu {

Json item_json(const FleetItem& item) {
  Json one{entry("of", item.of),       entry("kind", item.kind),
           entry("title", item.title), entry("lane", item.lane),
           entry("third", item.third), entry("unit", item.unit),
           entry("gpus", item.gpus),   entry("median", item.median),
           entry("sigma", item.sigma), entry("tolerance", item.tolerance)};
  one["class"] = item.of == FleetMeasure::curve ? name(item.time_class) : name(item.figure);
  one["at"] = or_null(item.at);
  one["judged"] = item.judged;
  if (std::isfinite(item.host_tolerance)) one["host_tolerance"] = json_of(item.host_tolerance);
  if (std::isfinite(item.reference)) one["reference"] = json_of(item.reference);
  return one;
}

Json case_json(const FleetCase& of) {
  Json one{entry("kind", of.question.kind), entry("title", of.question.title), entry("lane", of.question.lane),
           entry("class", of.question.time_class)};
  Json& points = one["points"] = Json::array();
  for (std::size_t i = 0; i < of.us.size(); ++i)
    points.push_back({entry("at", of.question.axes[i]), entry("bytes", of.question.sizes[i]), entry("us", of.us[i]),
                      entry("low_us", of.low_us[i]), entry("high_us", of.high_us[i]), entry("gpus", of.gpus[i])});
  return one;
}

namespace {

Json facts_json(const FleetFacts& facts) {
  Json all = Json::object();
  for (std::size_t i = 0; i < facts.size(); ++i) all[std::string(name(static_cast<FleetFact>(i)))] = json_of(facts[i]);
  return all;
}

Json finding_json(const FleetFinding& finding) {
  Json its{entry("suspicion", finding.suspicion), entry("measure", finding.of), entry("what", finding.what)};
  its["at"] = or_null(finding.at);
  its["text"] = finding.text;
  its["confirmed"] = finding.confirmed;
  its["value"] = json_of(finding.value);
  its["others"] = json_of(finding.others);
  its["share"] = json_of(finding.share);
  its["low"] = json_of(finding.low);
  its["z"] = json_of(finding.z);
  return its;
}

Json suspect_json(const FleetSuspect& suspect, const FleetMember& member) {
  Json one{entry("host", member.host), entry("device", member.id), entry("uuid", member.uuid),
           entry("date", member.date), entry("traces", member.traces)};
  one["facts"] = facts_json(member.facts);
  one["confirmed"] = suspect.confirmed();
  one["findings"] = array_of(suspect.findings, finding_json);
  one["causes"] = array_of(suspect.causes, [](const FleetCause& cause) {
    return Json({entry("cause", cause.cause), entry("text", cause.text)});
  });
  return one;
}

Json group_json(const FleetGroup& group) {
  Json one{entry("model", group.model), entry("driver", group.driver), entry("link", group.link)};
  one["simulated"] = group.simulated;
  one["gpus"] = group.members.size();
  one["judged"] = group.judged;
  one["judged_by_reference"] = group.judged_by_reference;
  one["reference_date"] = or_null(group.reference_date);
  one["notes"] = group.notes;
  one["suspects"] = array_of(group.suspects, [&](const FleetSuspect& suspect) {
    return suspect_json(suspect, group.members[suspect.member]);
  });
  one["hosts"] = array_of(group.hosts, [](const FleetHost& host) {
    Json its{entry("host", host.host), entry("gpus", host.gpus)};
    its["findings"] = array_of(host.findings, finding_json);
    return its;
  });
  one["drifts"] = array_of(group.drifts, [](const FleetDrift& drift) {
    return Json({entry("what", drift.what), entry("at", drift.at), entry("unit", drift.unit),
                 entry("before", drift.before), entry("now", drift.now), entry("change", drift.change),
                 entry("tolerance", drift.tolerance)});
  });
  one["slow_alone"] = group.slow_alone;
  one["splits"] = array_of(group.splits, [](const FleetSplit& split) {
    return Json({entry("what", split.what), entry("at", split.at), entry("unit", split.unit),
                 entry("faster", split.faster), entry("fast", split.fast), entry("slower", split.slower),
                 entry("slow", split.slow)});
  });
  one["items"] = array_of(group.items, [](const FleetItem& item) { return item_json(item); });
  return one;
}

}  // namespace

void fleet_json(std::ostream& out, const Fleet& fleet) {
  Json all{{"document", "npgpu-fleet"}, {"version", 3}};
  all["files"] = fleet.files;
  all["hosts"] = fleet.hosts;
  all["gpus"] = fleet.gpus();
  all["suspects"] = fleet.suspects();
  all["confirmed"] = fleet.confirmed();
  all["slow_hosts"] = fleet.slow_hosts();
  all["broken_hosts"] = array_of(fleet.broken_hosts, [](const FleetBrokenHost& broken) {
    return Json({entry("host", broken.host), entry("metric", broken.defect.metric), entry("text", broken.defect.text),
                 entry("remedy", broken.defect.remedy)});
  });
  all["notes"] = fleet.notes;
  all["first_date"] = fleet.first_date;
  all["last_date"] = fleet.last_date;
  all["duplicates"] = fleet.duplicates;
  all["without_gpu"] = fleet.without_gpu;
  all["incomplete"] = fleet.incomplete;
  all["exclude"] = fleet.excluded_hosts();
  all["unreadable"] = array_of(fleet.unreadable, [](const FleetFile& file) {
    return Json({entry("path", file.path), entry("why", file.why)});
  });
  all["groups"] = array_of(fleet.groups, group_json);
  write_json(out, all, 1);
}

}  // namespace npgpu
