#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "netpipe/report/fleet/words.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/layout.hpp"

namespace npgpu {

namespace {

constexpr std::size_t shown_findings = 2, shown_drifts = 6, shown_files = 10, shown_suspects = 50;

std::string capitals(std::string_view word) {
  std::string text(word);
  for (char& c : text) c = static_cast<char>(c - 'a' + 'A');
  return text;
}

// Why, and the gravest findings of each sort.
void write_suspect(Page& page, const FleetSuspect& suspect, const FleetMember& member, bool all) {
  const std::string word = capitals(name(suspect.findings.front().suspicion));
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
  for (const FleetItem& item : group.items)
    if (all || item.of == FleetMeasure::figure) shown.push_back(&item);
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
  for (const FleetGroup& group : fleet.groups) write_group(page, group, all);
  const std::string verdict = verdict_text(fleet);
  page.text +=
      '\n' + (fleet.suspects() || fleet.has_slower_group() ? page.ink.alarm(verdict) : page.ink.bold(verdict)) + '\n';
  const std::string exclude = exclude_text(fleet);  // one line, to be copied
  if (!exclude.empty()) page.text += printable(exclude) + '\n';
  out << page.text;
}

}  // namespace npgpu
