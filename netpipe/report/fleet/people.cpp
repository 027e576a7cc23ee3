// A fleet as people read it: as text, and as a page with verdict, suspects with causes, and a small figure for each key
// figure.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/html/html.hpp"
#include "npgpu/judge/fleet.hpp"

namespace npgpu {

namespace {

// ---- the same words in both ----

// "NVIDIA H200, driver 580.159, PCIe Gen5 x16"
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

// The word of npgpu check.
std::string suspect_word(const FleetSuspect& suspect) { return upper_case(name(suspect.verdict())); }

std::string host_text(const FleetHost& host) {
  return host.gpus > 1 ? fmt::format("{}, with all of its {} GPUs", host.host, host.gpus)
                       : fmt::format("{}, or its GPU", host.host);
}

std::string broken_text(const FleetBrokenHost& broken) {
  const FleetDefect& defect = broken.defect;
  return broken.host + ": " + (defect.what.empty() ? defect.text : fmt::format("{} ({})", defect.what, defect.text));
}

// What was read, and what was not.
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

// Medians and scatter of a group.
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

// ---- text ----

constexpr std::size_t shown_findings = 2, shown_files = 10, shown_suspects = 50;

// Shows so many of them, and says how many more there are.
template <class T, class Show>
void each_shown(Document& doc, const std::vector<T>& all, std::size_t most, const char* more, std::size_t indent,
                Show show) {
  for (const T& one : std::span(all).first(std::min(most, all.size()))) show(one);
  if (all.size() > most) doc.note(fmt::format("and {} {} (--all shows them)", all.size() - most, more), false, indent);
}

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
  each_shown(doc, host.findings, all ? host.findings.size() : shown_findings, "more", 6,
             [&](const FleetFinding& finding) { doc.note(finding_text(finding), false, 6); });
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
}

void write_group(Document& doc, const FleetGroup& group, bool all) {
  doc.gap();
  const std::string found = !group.suspects.empty() ? counted(group.suspects.size(), "suspect")
                            : group.judged          ? "no suspect"
                                                    : "not judged";
  doc.title(fmt::format("{}: {}, {}", group_text(group), counted(group.members.size(), "GPU"), found), group.simulated);
  for (const std::string& note : group.notes) doc.note(note);
  each_shown(doc, group.suspects, all ? group.suspects.size() : shown_suspects, "more suspects", 2,
             [&](const FleetSuspect& one) { write_suspect(doc, one, group.members[one.member], all); });
  each_shown(doc, group.hosts, all ? group.hosts.size() : shown_suspects, "more hosts", 2,
             [&](const FleetHost& host) { write_host(doc, host, all); });
  if (group.judged) write_items(doc, group, all);
}

}  // namespace

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
  const auto add_hosts = [&](const std::vector<FleetBrokenHost>& all, const char* what) {
    std::set<std::string> hosts;
    for (const FleetBrokenHost& one : all) hosts.insert(one.host);
    if (!hosts.empty()) text += fmt::format("; {} {}", counted(hosts.size(), "host"), what);
  };
  add_hosts(fleet.broken_hosts, "broken");
  add_hosts(fleet.unjudged_hosts, "not judged");
  if (judged && alone) text += fmt::format("; {} not compared", alone);
  if (const std::size_t hosts = fleet.slow_hosts())
    text += fmt::format("; {} slow by themselves", counted(hosts, "host"));
  if (const std::size_t slow = fleet.in_doubt())
    text += fmt::format("; undecided: {} like the others and slow by their own limits", counted(slow, "GPU"));
  return text;
}

std::string exclude_text(const Fleet& fleet) {
  const auto hosts = fleet.excluded_hosts();
  return hosts.empty() ? std::string() : fmt::format("--exclude={}", fmt::join(hosts, ","));
}

void fleet_text(std::ostream& out, const Fleet& fleet, bool all, const TextStyle& style) {
  Document doc;
  doc.note(traces_text(fleet), false, 0);
  each_shown(doc, fleet.unreadable, all ? fleet.unreadable.size() : shown_files, "more", 2,
             [&](const FleetFile& file) { doc.note(file.path + ": " + file.why, true); });
  each_shown(doc, fleet.notes, all ? fleet.notes.size() : shown_files, "more", 2,
             [&](const std::string& note) { doc.note(note); });
  for (const FleetBrokenHost& broken : fleet.broken_hosts) {
    doc.add(Document::Marked{"BROKEN", Document::Tone::alarm, broken_text(broken), 2, 10});
    if (!broken.defect.remedy.empty()) doc.note("do: " + broken.defect.remedy, false, 10);
  }
  for (const FleetBrokenHost& one : fleet.unjudged_hosts)
    doc.add(Document::Marked{"NOT JUDGED", Document::Tone::alarm, broken_text(one), 2, 14});
  for (const FleetGroup& group : fleet.groups) write_group(doc, group, all);
  doc.gap();
  const bool is_bad = fleet.suspects() || !fleet.broken_hosts.empty() || fleet.slow_hosts() || fleet.in_doubt() ||
                      !fleet.unjudged_hosts.empty();
  doc.add(Document::Marked{verdict_text(fleet), is_bad ? Document::Tone::alarm : Document::Tone::bold});
  const std::string exclude = exclude_text(fleet);  // one line, to be copied
  if (!exclude.empty()) doc.add(Document::Lines{exclude + '\n'});
  out << to_text(doc, style);
}

// ---- a page ----

namespace {

using html::Plot;

constexpr std::size_t drawn_steps = 100, drawn_suspects = 5, shown_rows = 200;

// What a value is drawn in: the axis has its unit in front.
struct Scaled {
  const char* unit;
  double by;
};
Scaled scale_of(FigureUnit unit) {
  switch (unit) {
    case FigureUnit::bytes_per_s: return {"GB/s", 1e-9};
    case FigureUnit::flop_per_s: return {"TFLOP/s", 1e-12};
    case FigureUnit::operations_per_s: return {"TOP/s", 1e-12};
    case FigureUnit::us:
    case FigureUnit::us_a_load: break;
  }
  return {"us", 1};
}

// Suspects that stand out in something, those with the most time first.
std::vector<const FleetSuspect*> standing_out(const FleetGroup& group, const std::string& what) {
  std::vector<std::pair<double, const FleetSuspect*>> all;
  for (const FleetSuspect& suspect : group.suspects)
    for (const FleetFinding& finding : suspect.findings)
      if (finding.what == what && finding.suspicion == Suspicion::slow) {
        all.emplace_back(finding.share, &suspect);
        break;
      }
  sort_stably(all, std::ranges::greater{}, &std::pair<double, const FleetSuspect*>::first);
  std::vector<const FleetSuspect*> suspects;
  for (const auto& [share, suspect] : all) suspects.push_back(suspect);
  return suspects;
}

// Lines that are so near that their names would cover each other become one, with all names.
std::vector<html::Line> apart(std::vector<html::Line> lines, double range) {
  constexpr double near = 0.12;
  sort_stably(lines, {}, &html::Line::at);
  std::vector<html::Line> all;
  for (html::Line& line : lines) {
    if (all.empty() || line.at - all.back().at > near * range) all.push_back(std::move(line));
    else all.back().name += ", " + line.name;
  }
  return all;
}

// The GPUs in order of their value: a flat row of points is a fleet of equals.
std::string figure_chart(const FleetGroup& group, std::size_t item_at, const std::string& id) {
  const FleetItem& item = group.items[item_at];
  const auto [unit, by] = scale_of(item.unit);
  std::vector<double> values;
  for (const FleetMember& member : group.members)
    if (std::isfinite(member.values[item_at].value)) values.push_back(member.values[item_at].value * by);
  if (values.size() < 2) return {};
  std::ranges::sort(values);
  html::Curve curve{counted(values.size(), "GPU") + " in order", {}};
  const std::size_t steps = std::min(drawn_steps, values.size() - 1);
  for (std::size_t i = 0; i <= steps; ++i) {
    const std::size_t at = i * (values.size() - 1) / steps;
    curve.points.push_back(
        {100.0 * static_cast<double>(at) / static_cast<double>(values.size() - 1), values[at], values[at], values[at]});
  }
  Plot plot{.id = id,
            .title = item.title + (item.at.empty() ? "" : ", " + item.at),
            .x = {"% of the GPUs", html::Unit::plain},
            .y = {unit, html::Unit::plain},
            .lines = false,  // one would cross the gap between equals and suspects
            .height = 200};
  const auto suspects = standing_out(group, item.title);
  std::vector<html::Line> lines;
  for (std::size_t i = 0; i < suspects.size() && i < drawn_suspects; ++i)
    lines.push_back({group.members[suspects[i]->member].values[item_at].value * by,
                     member_text(group.members[suspects[i]->member])});
  plot.limits = apart(std::move(lines), values.back() - values.front());
  plot.description =
      fmt::format("{} of all GPUs, from the least to the most: median {}, scatter {:.2f} %; {} apart.", item.title,
                  figure_text(item.median, item.unit), 100 * item.sigma, counted(suspects.size(), "suspect"));
  plot.curves.push_back(std::move(curve));
  return figure_of(plot);
}

// The gravest findings; the others on demand.
Document::Finding suspect_item(const FleetSuspect& suspect, const FleetMember& member) {
  constexpr std::size_t few = 3;
  Document::Finding item{Health::fail, {{suspect_word(suspect), member_text(member) + ' ' + member.uuid}}};
  for (const FleetCause& cause : suspect.causes) item.why.push_back("why: " + cause.text);
  if (suspect.findings.size() > few + 1) {
    item.at_once = suspect.causes.size() + few;
    item.more = fmt::format("and {} more", suspect.findings.size() - few);
  }
  for (const FleetFinding& finding : suspect.findings) item.why.push_back(finding_text(finding));
  return item;
}

void add_suspects(Document& doc, const FleetGroup& group) {
  Document::Findings list;
  for (std::size_t s = 0; s < group.suspects.size() && s < shown_rows; ++s)
    list.items.push_back(suspect_item(group.suspects[s], group.members[group.suspects[s].member]));
  if (group.suspects.size() > shown_rows)
    list.items.push_back(
        {Health::skip,
         {{"", fmt::format("and {} more, which --json and --csv have", group.suspects.size() - shown_rows)}}});
  if (!list.items.empty()) doc.add(std::move(list));
}

void add_hosts(Document& doc, const FleetGroup& group) {
  if (group.hosts.empty()) return;
  doc.heading("Hosts that are slow by themselves");
  Document::Findings list;
  for (std::size_t i = 0; i < group.hosts.size() && i < shown_rows; ++i) {
    Document::Finding& item = list.items.emplace_back();
    item.health = Health::warn;
    item.said.emplace_back(host_text(group.hosts[i]), "");
    for (const FleetFinding& finding : group.hosts[i].findings) item.why.push_back(finding_text(finding));
  }
  doc.add(std::move(list));
}

void add_figures(Document& doc, const FleetGroup& group, const std::string& prefix) {
  std::string charts;
  std::vector<const FleetItem*> shown;
  for (std::size_t i = 0; i < group.items.size(); ++i) {
    charts += figure_chart(group, i, fmt::format("{}-f{}", prefix, i));
    shown.push_back(&group.items[i]);
  }
  if (!charts.empty()) doc.heading("Key figures over all GPUs");
  doc.draw(charts);
  if (!shown.empty())
    doc.add(Document::Rows{items_table(shown), {}, "Key figures of " + group_text(group), "Key figures"});
}

void add_group(Document& doc, const FleetGroup& group, std::size_t number) {
  const std::string prefix = fmt::format("g{}", number);
  doc.add(Document::Heading{(group.simulated ? "SIMULATED " : "") + group_text(group), prefix});
  doc.add(Document::Paragraph{counted(group.members.size(), "GPU") + ", " +
                              (group.judged ? counted(group.suspects.size(), "suspect") : "not judged")});
  for (const std::string& note : group.notes) doc.note(note);
  add_suspects(doc, group);
  add_hosts(doc, group);
  if (group.judged) add_figures(doc, group, prefix);
}

}  // namespace

void fleet_html(std::ostream& out, const Fleet& fleet) {
  const bool is_bad = fleet.suspects() || !fleet.broken_hosts.empty() || fleet.slow_hosts();
  Document doc;
  doc.add(Document::Head{"Fleet: " + verdict_text(fleet), traces_text(fleet)});
  doc.add(Document::Heading{"Verdict", "verdict"});
  const Health health = is_bad                          ? Health::fail
                        : fleet.in_doubt()              ? Health::undecided
                        : !fleet.unjudged_hosts.empty() ? Health::unjudged
                                                        : Health::pass;
  doc.add(Document::Verdict{verdict_text(fleet), health});
  if (const std::string exclude = exclude_text(fleet); !exclude.empty()) {
    doc.add(Document::Paragraph{"For Slurm:"});
    doc.add(Document::Lines{exclude});
  }
  for (const FleetBrokenHost& broken : fleet.broken_hosts)
    doc.note("broken: " + broken_text(broken) + (broken.defect.remedy.empty() ? "" : "; " + broken.defect.remedy),
             true);
  for (const FleetBrokenHost& one : fleet.unjudged_hosts) doc.note("not judged: " + broken_text(one), true);
  for (const std::string& note : fleet.notes) doc.note(note);
  for (std::size_t i = 0; i < fleet.groups.size(); ++i) add_group(doc, fleet.groups[i], i);
  Document unreadable;
  Document::Bullets files;
  for (const FleetFile& file : fleet.unreadable) files.items.emplace_back(file.path + ": " + file.why, false);
  if (!files.items.empty()) unreadable.add(std::move(files));
  doc.part({"What could not be read", "unreadable"}, unreadable);
  doc.add(
      Document::Foot{"Written by npgpu from traces. Scatter: of the median absolute deviation of the "
                     "logarithms, from GPU to GPU."});
  out << to_html(doc);
}

}  // namespace npgpu
