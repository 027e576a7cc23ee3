#include "netpipe/report/fleet/words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <set>

#include "netpipe/report/format.hpp"

namespace npgpu {

std::string group_text(const FleetGroup& group) {
  std::string text = group.model.empty() ? "GPUs without a name" : group.model;
  if (!group.driver.empty()) text += ", driver " + group.driver;
  if (!group.link.empty()) text += ", " + group.link;
  return text;
}

std::string member_text(const FleetMember& member) { return member.host + ' ' + member.id; }

std::string finding_text(const FleetFinding& finding) {
  if (finding.suspicion == Suspicion::broken) return finding.text;
  std::string text = finding.what;
  if (!finding.at.empty()) text += " at " + finding.at;
  text += (text.empty() ? "" : ": ") + finding.text;
  if (finding.suspicion == Suspicion::slow && finding.of == FleetMeasure::figure && std::isfinite(finding.value)) {
    constexpr double most_in_percent = 100;
    text += finding.share < most_in_percent ? fmt::format(", {:.1f} % more time", 100 * finding.share)
                                            : fmt::format(", {:.3g} times the time", 1 + finding.share);
    if (!finding.confirmed)
      text += finding.low > 0 ? fmt::format(", its interval from {:.1f} % on", 100 * finding.low) : ", of one visit";
  }
  return text;
}

std::string suspect_word(const FleetSuspect& suspect) {
  if (!suspect.confirmed()) return "LOOK AT";
  return suspect.findings.front().suspicion == Suspicion::slow ? "SLOW" : "BROKEN";
}

std::string host_text(const FleetHost& host) {
  return host.gpus > 1 ? fmt::format("{}, with all of its {} GPUs", host.host, host.gpus)
                       : fmt::format("{}, or its GPU", host.host);
}

std::string broken_text(const FleetBrokenHost& broken) { return broken.host + ": " + broken.defect.text; }

std::string drift_text(const FleetDrift& drift) {
  return fmt::format("{} at {}: {}, and was {} ({:+.1f} % time)", drift.what, drift.at,
                     figure_text(drift.now, drift.unit), figure_text(drift.before, drift.unit), 100 * drift.change);
}

std::string split_text(const FleetSplit& split) {
  return fmt::format(
      "{} at {}: {} GPUs have {}, and {} {}: which of them are as they should be cannot be known from these traces; "
      "npgpu check judges each by what its link, memory and clocks allow",
      split.what, split.at, split.faster, figure_text(split.fast, split.unit), split.slower,
      figure_text(split.slow, split.unit));
}

std::string verdict_text(const Fleet& fleet) {
  std::size_t judged = 0, alone = 0, drifts = 0;
  for (const FleetGroup& group : fleet.groups) {
    (group.judged ? judged : alone) += group.members.size();
    for (const FleetDrift& drift : group.drifts) drifts += drift.slower();
  }
  const std::string gpus = counted(fleet.gpus(), "GPU");
  const std::size_t confirmed = fleet.confirmed(), others = fleet.suspects() - confirmed;
  std::string bad;
  if (confirmed) bad = fmt::format("{} broken or slow", confirmed);
  if (others) bad += fmt::format("{}{} to be looked at", bad.empty() ? "" : ", ", others);
  std::string text = !bad.empty() ? fmt::format("{} of {}: {}", counted(fleet.suspects(), "suspect"), gpus, bad)
                     : judged     ? "no suspect among " + gpus
                                  : gpus + ", and no group is large enough to be judged";
  if (!fleet.broken_hosts.empty()) {
    std::set<std::string> hosts;
    for (const FleetBrokenHost& one : fleet.broken_hosts) hosts.insert(one.host);
    text += fmt::format("; {} broken", counted(hosts.size(), "host"));
  }
  if (judged && alone) text += fmt::format("; {} not compared", alone);
  if (const std::size_t hosts = fleet.slow_hosts())
    text += fmt::format("; {} slow by themselves", counted(hosts, "host"));
  if (const std::size_t splits = fleet.splits())
    text += fmt::format("; undecided: {} of two sorts of GPUs", counted(splits, "figure"));
  if (const std::size_t slow = fleet.in_doubt())
    text += fmt::format("; undecided: {} like the others and slow by their own limits", counted(slow, "GPU"));
  if (drifts) text += fmt::format("; {} slower than in the reference", counted(drifts, "median"));
  return text;
}

std::string traces_text(const Fleet& fleet) {
  const std::string first = fleet.first_date.substr(0, 10), last = fleet.last_date.substr(0, 10);
  std::string text = fmt::format("{} of {} on {}, {}", counted(fleet.files, "trace"), counted(fleet.gpus(), "GPU"),
                                 counted(fleet.hosts, "host"), first);
  if (first != last) text += " to " + last;
  const auto add = [&](std::size_t count, const char* what) {
    if (count) text += fmt::format("; {} {}", count, what);
  };
  add(fleet.unreadable.size(), "could not be read");
  add(fleet.duplicates, "copied from others, not counted");
  add(fleet.without_gpu, "without a series of a GPU");
  add(fleet.incomplete, "did not reach the end");
  return text;
}

Table items_table(const FleetGroup& group, const std::vector<const FleetItem*>& items) {
  const auto value = [](const FleetItem& item, double is) {
    if (item.of == FleetMeasure::figure || item.of == FleetMeasure::curve) return figure_text(is, item.unit);
    return std::isfinite(is) ? fmt::format("{:.2g} %", 100 * is) : "-";
  };
  const bool has_reference = !group.reference_date.empty() && !group.judged_by_reference;
  Table table({left(group.judged_by_reference ? "median of the reference" : "median of the group"), left("at", 3),
               right("value"), right("reference", 0, has_reference), right("scatter", 1), right("limit", 2),
               right("GPUs")});
  for (const FleetItem* item : items)
    table.row({fmt::format("{}{}",
                           item->of == FleetMeasure::scatter ? "scatter of "
                           : item->of == FleetMeasure::trend ? "trend of "
                                                             : "",
                           item->title),
               item->at, value(*item, item->median),
               std::isfinite(item->reference) ? value(*item, item->reference) : "-",
               std::isfinite(item->sigma) ? fmt::format("{:.2f} %", 100 * item->sigma) : "-",
               item->of == FleetMeasure::curve       ? "-"
               : std::isfinite(item->host_tolerance) ? fmt::format("{:.2g} %", 100 * item->host_tolerance)
               : item->judged                        ? fmt::format("{:.2g} %", 100 * item->tolerance)
                                                     : "not judged",
               std::to_string(item->gpus)});
  return table;
}

std::string exclude_text(const Fleet& fleet) {
  const auto hosts = fleet.excluded_hosts();
  return hosts.empty() ? std::string() : fmt::format("--exclude={}", fmt::join(hosts, ","));
}

}  // namespace npgpu
