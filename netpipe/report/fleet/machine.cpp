// A fleet as programs read it: JSON; CSV, a row for each GPU and item, whose columns data/TABLES.md describes; and
// metrics as Prometheus reads them.
#include <cmath>

#include "netpipe/report/csv_rows.hpp"
#include "netpipe/report/json.hpp"
#include "netpipe/report/openmetrics.hpp"
#include "npgpu/judge/fleet.hpp"

namespace npgpu {

// ---- JSON ----

namespace {

Json item_json(const FleetItem& item) {
  Json one{entry("title", item.title),   entry("unit", item.unit),   entry("gpus", item.gpus),
           entry("median", item.median), entry("sigma", item.sigma), entry("tolerance", item.tolerance),
           entry("class", item.figure)};
  one["at"] = or_null(item.at);
  one["judged"] = item.judged;
  if (std::isfinite(item.host_tolerance)) one["host_tolerance"] = json_of(item.host_tolerance);
  return one;
}

Json facts_json(const FleetFacts& facts) {
  Json all = Json::object();
  for (std::size_t i = 0; i < facts.size(); ++i) all[std::string(name(static_cast<FleetFact>(i)))] = json_of(facts[i]);
  return all;
}

Json suspicion_json(const FleetFinding& finding) {
  Json its{entry("suspicion", finding.suspicion), entry("what", finding.what)};
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
  one["findings"] = array_of(suspect.findings, suspicion_json);
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
  one["notes"] = group.notes;
  one["suspects"] = array_of(group.suspects, [&](const FleetSuspect& suspect) {
    return suspect_json(suspect, group.members[suspect.member]);
  });
  one["hosts"] = array_of(group.hosts, [](const FleetHost& host) {
    Json its{entry("host", host.host), entry("gpus", host.gpus)};
    its["findings"] = array_of(host.findings, suspicion_json);
    return its;
  });
  one["slow_alone"] = group.slow_alone;
  one["items"] = array_of(group.items, item_json);
  return one;
}

}  // namespace

void fleet_json(std::ostream& out, const Fleet& fleet) {
  Json all{{"document", "npgpu-fleet"}, {"version", 4}};
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

// ---- CSV ----

void fleet_csv(std::ostream& out, const Fleet& fleet) {
  csv::Row()
      .add("host", "device", "device_uuid", "device_name", "driver", "link", "simulated", "date", "traces", "title",
           "at", "value", "unit", "group_median", "share", "z", "tolerance", "disturbed", "suspect", "low",
           "host_share", "confirmed", "judged")
      .end(out);
  for (const FleetGroup& group : fleet.groups) {
    std::vector<bool> is_suspect(group.members.size());
    std::vector<bool> is_confirmed = is_suspect;
    for (const FleetSuspect& suspect : group.suspects) {
      is_suspect[suspect.member] = true;
      is_confirmed[suspect.member] = suspect.confirmed();
    }
    for (std::size_t m = 0; m < group.members.size(); ++m) {
      const FleetMember& member = group.members[m];
      csv::Row front;
      front.add(member.host, member.id, member.uuid, group.model, group.driver, group.link, group.simulated,
                member.date, member.traces);
      for (std::size_t i = 0; i < group.items.size(); ++i) {
        const FleetItem& item = group.items[i];
        const FleetValue& value = member.values[i];
        csv::Row(front)
            .add(item.title, item.at, value.value, item.unit, item.median, value.share, value.z, item.tolerance,
                 value.disturbed, static_cast<bool>(is_suspect[m]), value.low, value.host,
                 static_cast<bool>(is_confirmed[m]), group.judged && item.judged)
            .end(out);
      }
    }
  }
}

// ---- OpenMetrics ----

namespace {

using openmetrics::family;
using openmetrics::label;

std::string of_group(const FleetGroup& group) {
  return fmt::format("model=\"{}\",driver=\"{}\",link=\"{}\"", label(group.model), label(group.driver),
                     label(group.link));
}

void of_items(std::ostream& out, const Fleet& fleet, const char* name, const char* help, double FleetItem::*which) {
  family(out, name, help);
  for (const FleetGroup& group : fleet.groups)
    for (const FleetItem& item : group.items)
      if (group.judged && std::isfinite(item.*which))
        out << fmt::format("{}{{{},figure=\"{}\",at=\"{}\",unit=\"{}\"}} {}\n", name, of_group(group),
                           label(item.title), label(item.at), npgpu::name(item.unit), item.*which);
}

}  // namespace

void fleet_openmetrics(std::ostream& out, const Fleet& fleet) {
  family(out, "npgpu_fleet_traces", "Traces that were named.");
  out << fmt::format("npgpu_fleet_traces {}\n", fleet.files);
  family(out, "npgpu_fleet_unreadable", "Traces and folders that could not be read.");
  out << fmt::format("npgpu_fleet_unreadable {}\n", fleet.unreadable.size());
  family(out, "npgpu_fleet_gpus", "GPUs of each group.");
  for (const FleetGroup& group : fleet.groups)
    out << fmt::format("npgpu_fleet_gpus{{{},judged=\"{}\"}} {}\n", of_group(group), group.judged ? "yes" : "no",
                       group.members.size());
  family(out, "npgpu_fleet_suspects", "Suspects of each group.");
  for (const FleetGroup& group : fleet.groups)
    out << fmt::format("npgpu_fleet_suspects{{{}}} {}\n", of_group(group), group.suspects.size());
  family(out, "npgpu_fleet_suspect", "1 for each suspect, with its gravest finding and its likeliest cause.");
  for (const FleetGroup& group : fleet.groups)
    for (const FleetSuspect& suspect : group.suspects) {
      const FleetMember& member = group.members[suspect.member];
      out << fmt::format(
          "npgpu_fleet_suspect{{host=\"{}\",device=\"{}\",gpu=\"{}\",suspicion=\"{}\",cause=\"{}\",confirmed=\"{}\"}} "
          "1\n",
          label(member.host), label(member.id), label(member.uuid), name(suspect.findings.front().suspicion),
          label(suspect.causes.front().cause), suspect.confirmed() ? "yes" : "no");
    }
  family(out, "npgpu_fleet_broken_host", "1 for each host that is broken, by what npgpu check calls it.");
  for (const FleetBrokenHost& broken : fleet.broken_hosts)
    out << fmt::format("npgpu_fleet_broken_host{{host=\"{}\",metric=\"{}\"}} 1\n", label(broken.host),
                       label(broken.defect.metric));
  family(out, "npgpu_fleet_slow_host", "1 for each host that slows all of its GPUs' calls.");
  for (const FleetGroup& group : fleet.groups)
    for (const FleetHost& host : group.hosts)
      out << fmt::format("npgpu_fleet_slow_host{{host=\"{}\",{}}} 1\n", label(host.host), of_group(group));
  of_items(out, fleet, "npgpu_fleet_median", "Median of a key figure over a group's GPUs.", &FleetItem::median);
  of_items(out, fleet, "npgpu_fleet_scatter", "Scatter of its logarithm from GPU to GPU, of the MAD.",
           &FleetItem::sigma);
  out << "# EOF\n";
}

}  // namespace npgpu
