// What the reports of a fleet say in the same words, and a fleet as text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "netpipe/report/document.hpp"
#include "netpipe/report/fleet/words.hpp"
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
  if (finding.suspicion == Suspicion::slow && std::isfinite(finding.value)) {
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

std::string verdict_text(const Fleet& fleet) {
  std::size_t judged = 0, alone = 0;
  for (const FleetGroup& group : fleet.groups) (group.judged ? judged : alone) += group.members.size();
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
  if (const std::size_t slow = fleet.in_doubt())
    text += fmt::format("; undecided: {} like the others and slow by their own limits", counted(slow, "GPU"));
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

Table items_table(const std::vector<const FleetItem*>& items) {
  Table table({left("median of the group"), left("at", 3), right("value"), right("scatter", 1), right("limit", 2),
               right("GPUs")});
  for (const FleetItem* item : items)
    table.row({item->title, item->at, figure_text(item->median, item->unit),
               std::isfinite(item->sigma) ? fmt::format("{:.2f} %", 100 * item->sigma) : "-",
               std::isfinite(item->host_tolerance) ? fmt::format("{:.2g} %", 100 * item->host_tolerance)
               : item->judged                      ? fmt::format("{:.2g} %", 100 * item->tolerance)
                                                   : "not judged",
               std::to_string(item->gpus)});
  return table;
}

std::string exclude_text(const Fleet& fleet) {
  const auto hosts = fleet.excluded_hosts();
  return hosts.empty() ? std::string() : fmt::format("--exclude={}", fmt::join(hosts, ","));
}

namespace {

constexpr std::size_t shown_findings = 2, shown_files = 10, shown_suspects = 50;

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

void write_items(Document& doc, const FleetGroup& group, bool all) {
  std::vector<const FleetItem*> shown;
  std::size_t unjudged = 0;
  for (const FleetItem& item : group.items) {
    if (all || item.judged) shown.push_back(&item);
    else ++unjudged;
  }
  if (unjudged)
    doc.note(fmt::format("{} that too few GPUs have for a judgement (--all shows them)", counted(unjudged, "figure")));
  if (shown.empty()) return;
  doc.table(items_table(shown));
  doc.left_out();
}

void write_group(Document& doc, const FleetGroup& group, bool all) {
  doc.gap();
  const std::string found = !group.suspects.empty() ? counted(group.suspects.size(), "suspect")
                            : group.judged          ? "no suspect"
                                                    : "not judged";
  doc.title(fmt::format("{}: {}, {}", group_text(group), counted(group.members.size(), "GPU"), found), group.simulated);
  for (const std::string& note : group.notes) doc.note(note);
  const std::size_t shown = all ? group.suspects.size() : std::min(shown_suspects, group.suspects.size());
  for (std::size_t i = 0; i < shown; ++i)
    write_suspect(doc, group.suspects[i], group.members[group.suspects[i].member], all);
  if (shown < group.suspects.size())
    doc.note(fmt::format("and {} more suspects (--all shows them)", group.suspects.size() - shown));
  const std::size_t hosts = all ? group.hosts.size() : std::min(shown_suspects, group.hosts.size());
  for (std::size_t i = 0; i < hosts; ++i) write_host(doc, group.hosts[i], all);
  if (hosts < group.hosts.size())
    doc.note(fmt::format("and {} more hosts (--all shows them)", group.hosts.size() - hosts));
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
  const bool is_bad = fleet.suspects() || !fleet.broken_hosts.empty() || fleet.slow_hosts() || fleet.in_doubt();
  doc.add(Document::Marked{verdict_text(fleet), is_bad ? Document::Tone::alarm : Document::Tone::bold});
  const std::string exclude = exclude_text(fleet);  // one line, to be copied
  if (!exclude.empty()) doc.add(Document::Lines{exclude + '\n'});
  out << to_text(doc, style);
}

}  // namespace npgpu
