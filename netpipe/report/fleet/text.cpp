#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "netpipe/report/fleet/words.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/layout.hpp"

namespace npgpu {

namespace {

constexpr std::size_t shown_findings = 2, shown_drifts = 6, shown_files = 10, shown_suspects = 50;

// Why, and the gravest findings of each sort.
void write_suspect(Page& page, const FleetSuspect& suspect, const FleetMember& member, bool all) {
  const std::string word = suspect_word(suspect);
  page.text +=
      "  " + page.ink.alarm(word) + "  " +
      wrapped(member_text(member) + (member.uuid.empty() ? "" : " " + member.uuid), page.width, 8, word.size() + 4) +
      '\n';
  for (const FleetCause& cause : suspect.causes) page.note("why: " + cause.text, false, 6);
  std::map<Suspicion, std::size_t> shown;
  std::size_t left_out = 0;
  for (const FleetFinding& finding : suspect.findings) {
    if (!all && shown[finding.suspicion]++ >= shown_findings) ++left_out;
    else page.note(finding_text(finding), false, 6);
  }
  if (left_out) page.note(fmt::format("and {} more (--all shows them)", left_out), false, 6);
}

void write_host(Page& page, const FleetHost& host, bool all) {
  page.note(host_text(host) + ":", true);
  std::size_t shown = 0;
  for (const FleetFinding& finding : host.findings)
    if (all || shown++ < shown_findings) page.note(finding_text(finding), false, 6);
  if (!all && host.findings.size() > shown_findings)
    page.note(fmt::format("and {} more (--all shows them)", host.findings.size() - shown_findings), false, 6);
  page.note(host.gpus > 1
                ? "why: the host, not a GPU: look at its power profile, governor, other processes, BIOS"
                : "why: the host, since it has a part in these: power profile, governor, other processes, BIOS",
            false, 6);
}

void write_drifts(Page& page, const FleetGroup& group, bool all) {
  if (group.reference_date.empty() || group.judged_by_reference) return;
  if (group.drifts.empty())
    return page.note("no median changed by more than its tolerance since the reference of " + group.reference_date);
  page.note("changed since the reference of " + group.reference_date + ":");
  const std::size_t shown = all ? group.drifts.size() : std::min(shown_drifts, group.drifts.size());
  for (std::size_t i = 0; i < shown; ++i) page.note(drift_text(group.drifts[i]), group.drifts[i].slower(), 4);
  if (shown < group.drifts.size())
    page.note(fmt::format("and {} more (--all shows them)", group.drifts.size() - shown), false, 4);
}

void write_items(Page& page, const FleetGroup& group, bool all) {
  std::vector<const FleetItem*> shown;
  std::size_t unjudged = 0;
  for (const FleetItem& item : group.items) {
    if (!all && item.of != FleetMeasure::figure) continue;
    if (all || item.judged) shown.push_back(&item);
    else ++unjudged;
  }
  if (unjudged)
    page.note(fmt::format("{} that too few GPUs have for a judgement (--all shows them)", counted(unjudged, "figure")));
  if (shown.empty()) return;
  Table table = items_table(group, shown);
  page.rows(table);
  page.note_left_out(table);
}

void write_group(Page& page, const FleetGroup& group, bool all) {
  page.text += '\n';
  const std::string found = !group.judged            ? "not judged"
                            : group.suspects.empty() ? "no suspect"
                                                     : counted(group.suspects.size(), "suspect");
  page.title(fmt::format("{}: {}, {}", group_text(group), counted(group.members.size(), "GPU"), found),
             group.simulated);
  for (const std::string& note : group.notes) page.note(note);
  const std::size_t shown = all ? group.suspects.size() : std::min(shown_suspects, group.suspects.size());
  for (std::size_t i = 0; i < shown; ++i)
    write_suspect(page, group.suspects[i], group.members[group.suspects[i].member], all);
  if (shown < group.suspects.size())
    page.note(fmt::format("and {} more suspects (--all shows them)", group.suspects.size() - shown));
  const std::size_t hosts = all ? group.hosts.size() : std::min(shown_suspects, group.hosts.size());
  for (std::size_t i = 0; i < hosts; ++i) write_host(page, group.hosts[i], all);
  if (hosts < group.hosts.size())
    page.note(fmt::format("and {} more hosts (--all shows them)", group.hosts.size() - hosts));
  write_drifts(page, group, all);
  if (group.judged) write_items(page, group, all);
}

}  // namespace

void fleet_text(std::ostream& out, const Fleet& fleet, bool all, const TextStyle& style) {
  Page page(style);
  page.text += wrapped(traces_text(fleet), page.width, 2) + '\n';
  std::size_t shown = 0;
  for (const FleetFile& file : fleet.unreadable)
    if (all || shown++ < shown_files) page.note(file.path + ": " + file.why, true);
  if (!all && fleet.unreadable.size() > shown_files)
    page.note(fmt::format("and {} more (--all shows them)", fleet.unreadable.size() - shown_files));
  shown = 0;
  for (const std::string& note : fleet.notes)
    if (all || shown++ < shown_files) page.note(note);
  if (!all && fleet.notes.size() > shown_files)
    page.note(fmt::format("and {} more (--all shows them)", fleet.notes.size() - shown_files));
  for (const FleetGroup& group : fleet.groups) write_group(page, group, all);
  const std::string verdict = verdict_text(fleet);
  page.text += '\n' +
               (fleet.suspects() || fleet.slow_hosts() || fleet.has_slower_group() ? page.ink.alarm(verdict)
                                                                                   : page.ink.bold(verdict)) +
               '\n';
  const std::string exclude = exclude_text(fleet);  // one line, to be copied
  if (!exclude.empty()) page.text += printable(exclude) + '\n';
  out << page.text;
}

}  // namespace npgpu
