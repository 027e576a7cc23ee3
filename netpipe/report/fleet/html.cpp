// A fleet as a page: verdict, suspects with causes, and a small figure for each key figure.
#include "netpipe/report/html/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/report/document.hpp"
#include "netpipe/report/fleet/words.hpp"
#include "netpipe/report/format.hpp"

namespace npgpu {

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

// The GPUs in order of their value: a flat line is a fleet of equals.
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
    curve.points.push_back({100.0 * static_cast<double>(at) / static_cast<double>(values.size() - 1), values[at]});
  }
  Plot plot;
  plot.id = id;
  plot.title = fmt::format("{}, {}", item.title, item.at);
  plot.x = {"% of the GPUs", html::Unit::plain};
  plot.y = {unit, html::Unit::plain};
  plot.markers = false;
  plot.height = 200;
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
  const Health health = is_bad ? Health::fail : fleet.in_doubt() ? Health::undecided : Health::pass;
  doc.add(Document::Verdict{verdict_text(fleet), health});
  if (const std::string exclude = exclude_text(fleet); !exclude.empty()) {
    doc.add(Document::Paragraph{"For Slurm:"});
    doc.add(Document::Lines{exclude});
  }
  for (const FleetBrokenHost& broken : fleet.broken_hosts)
    doc.note("broken: " + broken_text(broken) + (broken.defect.remedy.empty() ? "" : "; " + broken.defect.remedy),
             true);
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
