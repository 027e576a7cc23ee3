// A fleet as a page: verdict, suspects with causes, and a small figure for each key figure and each case that a suspect
// stands out in.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "netpipe/report/fleet/words.hpp"
#include "netpipe/report/foreign.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/html/elements.hpp"
#include "netpipe/report/html/plot.hpp"
#include "netpipe/report/layout.hpp"

namespace npgpu {

namespace {

using html::figures;
using html::Plot;
using html::text_element;

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
      if (finding.what == what && finding.suspicion == Suspicion::slow && finding.of == FleetMeasure::figure) {
        all.emplace_back(finding.share, &suspect);
        break;
      }
  std::ranges::stable_sort(all, std::ranges::greater{}, &std::pair<double, const FleetSuspect*>::first);
  std::vector<const FleetSuspect*> suspects;
  for (const auto& [share, suspect] : all) suspects.push_back(suspect);
  return suspects;
}

// Lines that are so near that their names would cover each other become one, with all names.
std::vector<html::Line> apart(std::vector<html::Line> lines, double range) {
  constexpr double near = 0.12;
  std::ranges::stable_sort(lines, {}, &html::Line::at);
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

// Times over the median's, by size: the band holds 95 % of the GPUs.
std::string case_chart(const FleetGroup& group, std::size_t case_at, const std::string& id) {
  const FleetCase& of = group.cases[case_at];
  const auto suspects = standing_out(group, of.question.title);
  const bool has_sizes = std::ranges::all_of(of.question.sizes, [](double size) { return size > 0; });
  if (suspects.empty() || of.us.size() < 2) return {};
  const auto x_of = [&](std::size_t i) { return has_sizes ? of.question.sizes[i] : static_cast<double>(i + 1); };
  Plot plot;
  plot.id = id;
  plot.title = of.question.title;
  plot.x = has_sizes ? html::Axis{"size", html::Unit::bytes, true} : html::Axis{"point", html::Unit::plain};
  plot.y = {"time over the median", html::Unit::plain};
  plot.height = 230;
  html::Curve median{"95 % of the GPUs", {}};
  for (std::size_t i = 0; i < of.us.size(); ++i)
    median.points.push_back({x_of(i), 1, of.low_us[i] / of.us[i], of.high_us[i] / of.us[i], false,
                             fmt::format("{}, median {}", of.question.axes[i], time_text(of.us[i]))});
  plot.curves.push_back(std::move(median));
  for (std::size_t s = 0; s < suspects.size() && s < drawn_suspects; ++s) {
    html::Curve curve{member_text(group.members[suspects[s]->member]), {}};
    const auto& us = suspects[s]->us[case_at];
    for (std::size_t i = 0; i < us.size(); ++i)
      if (std::isfinite(us[i]))
        curve.points.push_back({x_of(i), us[i] / of.us[i], not_measured, not_measured, false,
                                fmt::format("{}, {}", of.question.axes[i], time_text(us[i]))});
    plot.curves.push_back(std::move(curve));
  }
  plot.description = fmt::format(
      "Times of suspects over the median of the group, point by point; the band holds 95 % of the GPUs. {} apart{}.",
      counted(suspects.size(), "suspect"),
      suspects.size() > drawn_suspects ? fmt::format(", the {} slowest drawn", drawn_suspects) : "");
  return figure_of(plot);
}

std::string suspects_list(const FleetGroup& group) {
  std::string out;
  for (std::size_t s = 0; s < group.suspects.size() && s < shown_rows; ++s) {
    const FleetSuspect& suspect = group.suspects[s];
    const FleetMember& member = group.members[suspect.member];
    out += fmt::format("<li class=\"fail\"><p><strong>{}</strong><span>{} {}</span></p><ul>",
                       html_text(suspect_word(suspect)), html_text(member_text(member)), html_text(member.uuid));
    for (const FleetCause& cause : suspect.causes) out += "<li>why: " + html_text(cause.text) + "</li>";
    for (std::size_t i = 0; i < suspect.findings.size(); ++i) {
      if (i == 3 && suspect.findings.size() > 4)
        out += fmt::format("<li><details><summary>and {} more</summary><ul>", suspect.findings.size() - 3);
      out += "<li>" + html_text(finding_text(suspect.findings[i])) + "</li>";
    }
    out += suspect.findings.size() > 4 ? "</ul></details></li></ul></li>\n" : "</ul></li>\n";
  }
  if (group.suspects.size() > shown_rows)
    out += fmt::format("<li class=\"skipped\">and {} more, which --json and --csv have</li>\n",
                       group.suspects.size() - shown_rows);
  return out.empty() ? out : "<ul class=\"findings\">\n" + out + "</ul>\n";
}

std::string hosts_list(const FleetGroup& group) {
  std::string out = "<ul class=\"findings\">\n";
  for (std::size_t i = 0; i < group.hosts.size() && i < shown_rows; ++i) {
    out += "<li class=\"warn\"><p><strong>" + html_text(host_text(group.hosts[i])) + "</strong></p><ul>";
    for (const FleetFinding& finding : group.hosts[i].findings)
      out += "<li>" + html_text(finding_text(finding)) + "</li>";
    out += "</ul></li>\n";
  }
  return out + "</ul>\n";
}

std::string figures_table(const FleetGroup& group) {
  std::vector<const FleetItem*> shown;
  for (const FleetItem& item : group.items)
    if (item.of == FleetMeasure::figure) shown.push_back(&item);
  if (shown.empty()) return {};
  return html::scrolling(items_table(group, shown).html("Key figures of " + group_text(group)), "Key figures");
}

std::string group_part(const FleetGroup& group, std::size_t number) {
  const std::string prefix = fmt::format("g{}", number);
  std::string body = "<p>" + html_text(counted(group.members.size(), "GPU")) + ", " +
                     html_text(group.judged ? counted(group.suspects.size(), "suspect") : "not judged") + "</p>\n";
  for (const std::string& note : group.notes) body += "<p class=\"soft\">" + html_text(note) + "</p>\n";
  body += suspects_list(group);
  if (!group.hosts.empty()) body += text_element("h3", "Hosts that are slow by themselves") + hosts_list(group);
  if (!group.drifts.empty()) {
    body += text_element("h3", "Changed since the reference of " + group.reference_date) + "<ul>\n";
    for (const FleetDrift& drift : group.drifts)
      body += fmt::format("<li{}>{}</li>\n", drift.slower() ? " class=\"fail\"" : "", html_text(drift_text(drift)));
    body += "</ul>\n";
  }
  if (group.judged) {
    std::string of_cases, of_figures;
    for (std::size_t i = 0; i < group.cases.size(); ++i)
      of_cases += case_chart(group, i, fmt::format("{}-c{}", prefix, i));
    for (std::size_t i = 0; i < group.items.size(); ++i)
      if (group.items[i].of == FleetMeasure::figure)
        of_figures += figure_chart(group, i, fmt::format("{}-f{}", prefix, i));
    if (!of_cases.empty()) body += text_element("h3", "Where suspects stand out") + figures(of_cases);
    if (!of_figures.empty()) body += text_element("h3", "Key figures over all GPUs") + figures(of_figures);
    body += figures_table(group);
  }
  return html::plain_part(prefix.c_str(), html_text((group.simulated ? "SIMULATED " : "") + group_text(group)).c_str(),
                          body);
}

}  // namespace

void fleet_html(std::ostream& out, const Fleet& fleet) {
  const std::string title = "Fleet: " + verdict_text(fleet);
  const bool is_bad = fleet.suspects() || fleet.slow_hosts() || fleet.has_slower_group();
  out << html::page_head(title, "Skip to the verdict") << "<header>\n"
      << text_element("h1", title) << "<p class=\"soft\">" << html_text(traces_text(fleet)) << "</p>\n</header>\n"
      << "<main id=\"main\">\n";
  std::string verdict =
      fmt::format("<p class=\"verdict {}\">{}</p>\n", is_bad ? "fail" : "pass", html_text(verdict_text(fleet)));
  if (const std::string exclude = exclude_text(fleet); !exclude.empty())
    verdict += "<p>For Slurm:</p>\n" + text_element("pre", exclude);
  for (const std::string& note : fleet.notes) verdict += "<p class=\"soft\">" + html_text(note) + "</p>\n";
  out << html::plain_part("verdict", "Verdict", verdict);
  for (std::size_t i = 0; i < fleet.groups.size(); ++i) out << group_part(fleet.groups[i], i);
  std::string files;
  for (const FleetFile& file : fleet.unreadable) files += "<li>" + html_text(file.path + ": " + file.why) + "</li>\n";
  out << html::plain_part("unreadable", "What could not be read", files.empty() ? "" : "<ul>\n" + files + "</ul>\n")
      << "</main>\n<footer><p>Written by npgpu from traces. Scatter: 1.4826 times the median absolute deviation of the "
         "logarithms, from GPU to GPU.</p></footer>\n</body>\n</html>\n";
}

}  // namespace npgpu
