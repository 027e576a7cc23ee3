// A fleet as programs read it: JSON; CSV, a row for each GPU and item, whose columns data/TABLES.md describes; and
// metrics as Prometheus reads them.
#include <cmath>

#include "netpipe/report/csv_rows.hpp"
#include "netpipe/report/json.hpp"
#include "netpipe/report/openmetrics.hpp"
#include "npgpu/judge/fleet.hpp"

namespace npgpu {

// ---- JSON ----

struct HostTolerance {
  double host_tolerance = not_measured;
};
NPGPU_FORM(HostTolerance, &T::host_tolerance);
NPGPU_FORM(FleetItem, &T::title, &T::unit, &T::gpus, &T::median, &T::sigma, &T::tolerance, called<"class", &T::figure>,
           known<&T::at>, &T::judged, in_place<[](const T& item) {
             return std::isfinite(item.host_tolerance) ? std::optional(HostTolerance{item.host_tolerance})
                                                       : std::nullopt;
           }>);
NPGPU_FORM(FleetFinding, &T::suspicion, &T::what, known<&T::at>, &T::text, &T::confirmed, &T::value, &T::others,
           &T::share, &T::low, &T::z);
NPGPU_FORM(FleetCause, &T::cause, &T::text);
struct SuspectGpu {
  FleetMember gpu{};
  FleetSuspect suspect{};
  ByWord<names_of<FleetFact>, double> facts() const { return {gpu.facts}; }
};
template <auto At> inline constexpr auto of_gpu = within<&SuspectGpu::gpu, At>;
template <auto At> inline constexpr auto of_suspect = within<&SuspectGpu::suspect, At>;
NPGPU_FORM(SuspectGpu, of_gpu<&FleetMember::host>, called<"device", of_gpu<&FleetMember::id>>,
           of_gpu<&FleetMember::uuid>, of_gpu<&FleetMember::date>, of_gpu<&FleetMember::traces>, &T::facts,
           of_suspect<&FleetSuspect::verdict>, of_suspect<&FleetSuspect::confirmed>,
           of_suspect<&FleetSuspect::findings>, of_suspect<&FleetSuspect::causes>);
NPGPU_FORM(FleetHost, &T::host, &T::gpus, &T::findings);
struct HostFigure : KeyFigure {
  std::string host{};
};
NPGPU_FORM(HostFigure, &T::host, in_place<base<KeyFigure>>);
NPGPU_FORM(FleetGroup, &T::model, &T::driver, &T::link, &T::simulated,
           called<"gpus", [](const T& group) { return group.members.size(); }>, &T::judged, &T::notes,
           called<"suspects",
                  [](const T& group) {
                    std::vector<SuspectGpu> all;
                    for (const FleetSuspect& one : group.suspects) all.push_back({group.members[one.member], one});
                    return all;
                  }>,
           &T::hosts, &T::slow_alone, &T::items);
NPGPU_FORM(FleetBrokenHost, &T::host, within<&T::defect, &FleetDefect::metric>, within<&T::defect, &FleetDefect::text>,
           within<&T::defect, &FleetDefect::remedy>);
NPGPU_FORM(FleetFile, &T::path, &T::why);
NPGPU_FORM(Fleet, &T::files, &T::hosts, &T::gpus, &T::suspects, &T::confirmed, &T::slow_hosts, &T::broken_hosts,
           &T::unjudged_hosts, &T::notes, &T::first_date, &T::last_date, &T::duplicates, &T::without_gpu,
           &T::incomplete, called<"exclude", &T::excluded_hosts>, &T::unreadable, &T::groups,
           called<"key_figures", [](const T& fleet) {
             std::vector<HostFigure> all;
             for (const FleetGroup& group : fleet.groups)
               for (const FleetMember& member : group.members)
                 for (const KeyFigure& figure : member.key_figures) all.push_back({figure, member.host});
             return all;
           }>);

void fleet_json(std::ostream& out, const Fleet& fleet) { write_document(out, "npgpu-fleet", 4, fleet); }

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
  const auto add_hosts = [&](const char* name, const char* help, const std::vector<FleetBrokenHost>& hosts) {
    family(out, name, help);
    for (const FleetBrokenHost& one : hosts)
      out << fmt::format("{}{{host=\"{}\",metric=\"{}\"}} 1\n", name, label(one.host), label(one.defect.metric));
  };
  add_hosts("npgpu_fleet_broken_host", "1 for each host that is broken, by what npgpu check calls it.",
            fleet.broken_hosts);
  add_hosts("npgpu_fleet_unjudged_host",
            "1 for each host with a trace that is not judged, by what npgpu check calls it.", fleet.unjudged_hosts);
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
