#include "netpipe/report/openmetrics.hpp"

#include <cmath>

#include "npgpu/fleet.hpp"

namespace npgpu {

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
      if (group.judged && item.of == FleetMeasure::figure && std::isfinite(item.*which))
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
  family(out, "npgpu_fleet_undecided",
         "GPUs of each of the two sorts that a figure has, of which it cannot be known which is as it should be.");
  for (const FleetGroup& group : fleet.groups)
    for (const FleetSplit& split : group.splits)
      for (const auto& [sort, gpus] : {std::pair{"faster", split.faster}, {"slower", split.slower}})
        out << fmt::format("npgpu_fleet_undecided{{{},figure=\"{}\",at=\"{}\",unit=\"{}\",sort=\"{}\"}} {}\n",
                           of_group(group), label(split.what), label(split.at), npgpu::name(split.unit), sort, gpus);
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
