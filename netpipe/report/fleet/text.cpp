#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "netpipe/report/document.hpp"
#include "netpipe/report/fleet/words.hpp"
#include "netpipe/report/format.hpp"

namespace npgpu {

namespace {

constexpr std::size_t shown_findings = 2, shown_drifts = 6, shown_files = 10, shown_suspects = 50;

// Why, and the gravest findings of each sort.
void write_suspect(Document& doc, const FleetSuspect& suspect, const FleetMember& member, bool all) {
  doc.add(Document::Marked{suspect_word(suspect), Document::Tone::alarm,
                           member_text(member) + (member.uuid.empty() ? "" : " " + member.uuid), 2, 8});
  for (const FleetCause& cause : suspect.causes) doc.note("why: " + cause.text, false, 6);
  std::map<Suspicion, std::size_t> shown;
  std::size_t left_out = 0;
  for (const FleetFinding& finding : suspect.findings) {
    if (!all && shown[finding.suspicion]++ >= shown_findings) ++left_out;
    else doc.note(finding_text(finding), false, 6);
  }
  if (left_out) doc.note(fmt::format("and {} more (--all shows them)", left_out), false, 6);
}

void write_host(Document& doc, const FleetHost& host, bool all) {
  doc.note(host_text(host) + ":", true);
  std::size_t shown = 0;
  for (const FleetFinding& finding : host.findings)
    if (all || shown++ < shown_findings) doc.note(finding_text(finding), false, 6);
  if (!all && host.findings.size() > shown_findings)
    doc.note(fmt::format("and {} more (--all shows them)", host.findings.size() - shown_findings), false, 6);
  doc.note(host.gpus > 1
               ? "why: the host, not a GPU: look at its power profile, governor, other processes, BIOS"
               : "why: the host, since it has a part in these: power profile, governor, other processes, BIOS",
           false, 6);
}

void write_drifts(Document& doc, const FleetGroup& group, bool all) {
  if (group.reference_date.empty() || !group.judged || group.judged_by_reference) return;
  if (group.drifts.empty())
    return doc.note("no median changed by more than its tolerance since the reference of " + group.reference_date);
  doc.note("changed since the reference of " + group.reference_date + ":");
  const std::size_t shown = all ? group.drifts.size() : std::min(shown_drifts, group.drifts.size());
  for (std::size_t i = 0; i < shown; ++i) doc.note(drift_text(group.drifts[i]), group.drifts[i].slower(), 4);
  if (shown < group.drifts.size())
    doc.note(fmt::format("and {} more (--all shows them)", group.drifts.size() - shown), false, 4);
}

void write_items(Document& doc, const FleetGroup& group, bool all) {
  std::vector<const FleetItem*> shown;
  std::size_t unjudged = 0;
  for (const FleetItem& item : group.items) {
    if (!all && item.of != FleetMeasure::figure) continue;
    if (all || item.judged) shown.push_back(&item);
    else ++unjudged;
  }
  if (unjudged)
    doc.note(fmt::format("{} that too few GPUs have for a judgement (--all shows them)", counted(unjudged, "figure")));
  if (shown.empty()) return;
  Table table = items_table(group, shown);
  doc.table(std::move(table));
  doc.left_out();
}

void write_group(Document& doc, const FleetGroup& group, bool all) {
  doc.gap();
  const std::string found = !group.suspects.empty() ? counted(group.suspects.size(), "suspect")
                            : group.judged          ? "no suspect"
                                                    : "not judged";
  doc.title(fmt::format("{}: {}, {}", group_text(group), counted(group.members.size(), "GPU"), found), group.simulated);
  for (const std::string& note : group.notes) doc.note(note);
  for (const FleetSplit& split : group.splits)
    doc.add(Document::Marked{"UNDECIDED", Document::Tone::alarm, split_text(split), 2, 8});
  const std::size_t shown = all ? group.suspects.size() : std::min(shown_suspects, group.suspects.size());
  for (std::size_t i = 0; i < shown; ++i)
    write_suspect(doc, group.suspects[i], group.members[group.suspects[i].member], all);
  if (shown < group.suspects.size())
    doc.note(fmt::format("and {} more suspects (--all shows them)", group.suspects.size() - shown));
  const std::size_t hosts = all ? group.hosts.size() : std::min(shown_suspects, group.hosts.size());
  for (std::size_t i = 0; i < hosts; ++i) write_host(doc, group.hosts[i], all);
  if (hosts < group.hosts.size())
    doc.note(fmt::format("and {} more hosts (--all shows them)", group.hosts.size() - hosts));
  write_drifts(doc, group, all);
  if (group.judged) write_items(doc, group, all);
}

}  // namespace

void fleet_text(std::ostream& out, const Fleet& fleet, bool all, const TextStyle& style) {
  Document doc;
  doc.note(traces_text(fleet), false, 0);
  std::size_t shown = 0;
  for (const FleetFile& file : fleet.unreadable)
    if (all || shown++ < shown_files) doc.note(file.path + ": " + file.why, true);
  if (!all && fleet.unreadable.size() > shown_files)
    doc.note(fmt::format("and {} more (--all shows them)", fleet.unreadable.size() - shown_files));
  shown = 0;
  for (const std::string& note : fleet.notes)
    if (all || shown++ < shown_files) doc.note(note);
  if (!all && fleet.notes.size() > shown_files)
    doc.note(fmt::format("and {} more (--all shows them)", fleet.notes.size() - shown_files));
  for (const FleetBrokenHost& broken : fleet.broken_hosts) {
    doc.add(Document::Marked{"BROKEN", Document::Tone::alarm, broken_text(broken), 2, 10});
    if (!broken.defect.remedy.empty()) doc.note("do: " + broken.defect.remedy, false, 10);
  }
  for (const FleetGroup& group : fleet.groups) write_group(doc, group, all);
  doc.gap();
  const bool is_bad = fleet.suspects() || !fleet.broken_hosts.empty() || fleet.slow_hosts() ||
                      fleet.has_slower_group() || fleet.splits() || fleet.in_doubt();
  doc.add(Document::Marked{verdict_text(fleet), is_bad ? Document::Tone::alarm : Document::Tone::bold});
  const std::string exclude = exclude_text(fleet);  // one line, to be copied
  if (!exclude.empty()) doc.add(Document::Lines{exclude + '\n'});
  out << to_text(doc, style);
}

}  // namespace npgpu
