// A row for each GPU and item, for data frames; data/TABLES.md describes the columns.
#include "netpipe/report/csv_rows.hpp"
#include "npgpu/fleet.hpp"

namespace npgpu {

void fleet_csv(std::ostream& out, const Fleet& fleet) {
  csv::Row()
      .add("host", "device", "device_uuid", "device_name", "driver", "link", "simulated", "date", "traces", "measure",
           "kind", "title", "lane", "third", "at", "value", "unit", "group_median", "share", "z", "tolerance",
           "disturbed", "suspect", "low", "host_share", "confirmed", "judged", "undecided")
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
        const std::string_view unit =
            item.of == FleetMeasure::scatter || item.of == FleetMeasure::trend ? "share" : name(item.unit);
        csv::Row(front)
            .add(item.of, item.kind, item.title, item.lane, item.third, item.at, value.value, unit, item.median,
                 value.share, value.z, item.tolerance, value.disturbed, static_cast<bool>(is_suspect[m]), value.low,
                 value.host, static_cast<bool>(is_confirmed[m]), group.judged && item.judged, group.is_undecided(item))
            .end(out);
      }
    }
  }
}

}  // namespace npgpu
