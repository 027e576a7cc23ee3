// The overview as a page to send: one file that needs nothing but a browser. No script, no request: its policy forbids
// both.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "netpipe/report/foreign.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/html/among.hpp"
#include "netpipe/report/html/charts.hpp"
#include "netpipe/report/html/elements.hpp"
#include "netpipe/report/html/heat.hpp"
#include "netpipe/report/html/node_picture.hpp"
#include "netpipe/report/numa_section.hpp"
#include "netpipe/report/overview/sections.hpp"
#include "netpipe/report/processes_section.hpp"
#include "netpipe/report/series_text.hpp"

namespace npgpu {

namespace {

using html::figures;
using html::page_head;
using html::plain_part;
using html::scrolling;
using html::text_element;

std::string list_of(const std::vector<Entry>& entries) {
  std::string out;
  for (const Entry& entry : entries) {
    const std::string text = html_text(fmt::format("{}", fmt::join(entry.items, ", ")));
    out +=
        fmt::format("<dt>{}</dt><dd{}>{}</dd>\n", html_text(entry.label), entry.alarm ? " class=\"alarm\"" : "", text);
  }
  return out.empty() ? out : "<dl>\n" + out + "</dl>\n";
}

const char* class_of_health(Health health) {
  switch (health) {
    case Health::pass: return "pass";
    case Health::warn: return "warn";
    case Health::fail: return "fail";
    case Health::undecided:
    case Health::unjudged: return "warn";
    case Health::skip: break;
  }
  return "skipped";
}
std::string upper_word(Health health) { return upper_case(name(health)); }

// Findings that have the same causes: five rates are low because of one link.
using Findings = std::vector<const HealthFinding*>;

bool same_causes(const HealthFinding& a, const HealthFinding& b) {
  const auto same = [](const Explanation& x, const Explanation& y) {
    return x.cause == y.cause && x.what == y.what && x.remedy == y.remedy;
  };
  return a.health == b.health && a.device == b.device && !a.explanations.empty() &&
         std::ranges::equal(a.explanations, b.explanations, same);
}

std::vector<Findings> by_causes(const Overview& all, Health health) {
  std::vector<Findings> groups;
  for (const HealthFinding& f : all.health) {
    if (f.health != health) continue;
    const auto known = std::ranges::find_if(groups, [&](const Findings& g) { return same_causes(*g.front(), f); });
    if (known == groups.end()) groups.push_back({&f});
    else known->push_back(&f);
  }
  return groups;
}

std::string item_of(const Findings& findings) {
  const HealthFinding& first = *findings.front();
  std::string out = fmt::format("<li class=\"{}\">", class_of_health(first.health));
  for (const HealthFinding* f : findings)
    out += fmt::format("<p><strong>{}</strong><span>{}{}</span></p>", upper_word(f->health),
                       f->device.empty() ? "" : html_text(f->device) + ": ", html_text(f->text));
  if (first.explanations.empty()) return out + "</li>\n";
  out += "<ul>";
  for (const Explanation& e : first.explanations) {
    out += "<li>" + html_text(e.what);
    if (!e.evidence.empty()) out += "; seen: " + html_text(e.evidence);
    if (!e.remedy.empty()) out += "; to do: " + html_text(e.remedy);
    out += "</li>";
  }
  return out + "</ul></li>\n";
}

std::string verdict_part(const Overview& all) {
  std::string out = "<section id=\"verdict\" aria-labelledby=\"verdict-h\">\n<h2 id=\"verdict-h\">Verdict</h2>\n";
  out += fmt::format("<p class=\"verdict {}\">{}</p>\n", class_of_health(worst_of(all.health)),
                     html_text(verdict_text(all.health)));
  std::string alarms;
  for (const Health health : {Health::fail, Health::undecided, Health::unjudged, Health::warn})
    for (const Findings& findings : by_causes(all, health)) alarms += item_of(findings);
  if (!alarms.empty()) out += "<h3>What is wrong, and why</h3>\n<ul class=\"findings\">\n" + alarms + "</ul>\n";
  return out + "<p><a href=\"#checks\">Every check, and what decided it</a></p>\n</section>\n";
}

// The worst first.
std::string checks_table(const Overview& all) {
  std::string rows;
  for (const Health health :
       {Health::fail, Health::undecided, Health::unjudged, Health::warn, Health::pass, Health::skip})
    for (const HealthFinding& f : all.health)
      if (f.health == health)
        rows += fmt::format(
            "<tr><th scope=\"row\" class=\"{}\">{}</th><td>{}</td><td class=\"wrap\">{}</td><td class=\"wrap\">{}</td>"
            "</tr>\n",
            class_of_health(health), upper_word(health), html_text(f.device), html_text(f.text), html_text(f.basis));
  if (rows.empty()) return "<p>Nothing in this trace can be judged.</p>\n";
  return scrolling(
      "<table>\n<caption>Every check, and what decided it</caption>\n<thead><tr><th scope=\"col\">verdict</th><th "
      "scope=\"col\">device</th><th scope=\"col\">what was found</th><th scope=\"col\">what decided</th></tr></thead>\n"
      "<tbody>\n" +
          rows + "</tbody>\n</table>\n",
      "Every check");
}

// A section's table, lists and notes.
std::string body_of(const Section& section, const std::string& caption) {
  std::string out;
  if (section.table) out += scrolling(section.table->html(caption), caption);
  out += list_of(section.entries);
  for (const std::string& note : section.notes) out += "<p class=\"soft\">" + html_text(note) + "</p>\n";
  return out;
}

std::string device_part(const Trace& trace, const DeviceOverview& device, std::size_t number) {
  const std::string id = fmt::format("d{}", number), prefix = id + '-';
  std::string out = fmt::format("<section id=\"{}\" aria-labelledby=\"{}-h\">\n<h2 id=\"{}-h\">{}{}</h2>\n", id, id, id,
                                device.simulated ? "SIMULATED " : "", html_text(device_text(device.id, device.name)));
  const auto sections = sections_of(device, Extent::page);
  const auto part = [&](const char* name, const char* heading, const std::string& drawn, const std::string& more = {}) {
    const auto found = std::ranges::find_if(sections, [&](const Section& s) { return s.name == name; });
    if (found == sections.end() && drawn.empty() && more.empty()) return;
    out += text_element("h3", heading) + figures(drawn);
    if (found != sections.end()) out += body_of(*found, std::string(heading) + " of " + device.id);
    out += more;
  };
  part("COPIES", "Copies", html::copy_charts(device, prefix));
  part("MEMORY", "Memory", html::ladder_chart(trace, device, prefix));
  part("COMPUTE", "Computing power", "", scrolling(html::corner_table(trace, device), "Corners of " + device.id));
  if (!device.energy.empty())
    part("", "Energy", "",
         scrolling(energy_table(energy_figures(trace), device.id).html("Energy of " + device.id),
                   "Energy of " + device.id));
  part("CALLS", "Calls of the runtime", "");
  part("STREAMS", "Into how many streams to split a job", html::stream_chart(device, prefix));
  part("", "Clock, power and temperature", html::strip_charts(device, prefix));
  return out + "</section>\n";
}

std::string facts_table(const std::string& group, const Facts& facts) {
  std::string rows;
  for (const auto& [fact, value] : facts)
    rows += fmt::format("<tr><th scope=\"row\">{}</th><td class=\"wrap\">{}</td></tr>\n", html_text(fact),
                        html_text(fact_text(value)));
  return scrolling(
      fmt::format("<table>\n<caption>{}</caption>\n<thead><tr><th scope=\"col\">fact</th><th scope=\"col\">"
                  "value</th></tr></thead>\n<tbody>\n{}</tbody>\n</table>\n",
                  html_text(group), rows),
      group);
}

std::string provenance_part(const Overview& all) {
  std::string out =
      "<section id=\"provenance\" aria-labelledby=\"provenance-h\">\n<h2 id=\"provenance-h\">Where this comes "
      "from</h2>\n";
  if (!all.run.argv.empty())
    out += "<p>The command that measured it, to repeat:</p>\n" + text_element("pre", all.run.argv);
  out += "<dl>\n";
  const std::pair<const char*, std::string> facts[] = {{"run", all.run.run_uuid},
                                                       {"started", all.run.start_time_utc},
                                                       {"host", all.run.hostname},
                                                       {"npgpu", all.run.tool_version},
                                                       {"commit", all.run.git_commit}};
  for (const auto& [label, value] : facts)
    if (!value.empty()) out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", label, html_text(value));
  out += "</dl>\n";
  for (const auto& [group, its] : all.provenance)
    if (group != "plan") out += facts_table(group, its);
  return out + "</section>\n";
}

// What the host's NUMA nodes cost; nothing of a trace that does not say.
std::string numa_part(const NodeMatrix& node) {
  const Section section = numa_section(node);
  std::vector<Entry> wrong;
  for (const MatrixFinding& finding : node.numa.wrong) wrong.push_back({"slow", {finding.text}, true});
  return list_of(wrong) + body_of(section, section.name);
}

// What a second process costs; nothing of a trace that does not say.
std::string processes_part(const NodeMatrix& node) {
  std::string all;
  for (const ProcessGpu& gpu : node.processes) {
    const Section section = processes_section(gpu);
    all += body_of(section, section.name);
  }
  return all;
}

// A section of the page, whole, and its name among the contents.
struct Part {
  std::string id, name, section;
};

std::string contents_of(const std::vector<Part>& parts) {
  std::string out = "<nav aria-label=\"Contents\"><ul>\n";
  for (const Part& part : parts)
    if (!part.section.empty()) out += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", part.id, html_text(part.name));
  return out + "</ul></nav>\n";
}

}  // namespace

void report_html(std::ostream& out, const Trace& trace, const Overview& all, std::span<const AmongOthers> among) {
  std::vector<const DeviceOverview*> devices;
  for (const DeviceOverview& gpu : all.gpus) devices.push_back(&gpu);
  if (all.host) devices.push_back(&*all.host);
  std::string missing;
  for (const std::string& one : all.missing) missing += "<li>" + html_text(one) + "</li>\n";
  const NodeMatrix node = node_matrix(trace);
  const MatrixVerdict verdict = verdict_of(trace, node);

  std::vector<Part> parts;
  const auto add = [&](const char* id, const char* name, const char* heading, const std::string& body) {
    parts.push_back({id, name, plain_part(id, heading, body)});
  };
  parts.push_back({"verdict", "Verdict", verdict_part(all)});
  add("node", "The node", "The node", html::node_picture(all, node, verdict));
  add("gpus", "GPU by GPU", "GPU by GPU", body_of(gpus_section(all, 1), "The GPUs of this node"));
  add("matrix", "Between GPUs", "Copies between GPUs and with the host", html::matrix_tables(node, verdict));
  for (std::size_t i = 0; i < devices.size(); ++i)
    parts.push_back({fmt::format("d{}", i), devices[i]->id, device_part(trace, *devices[i], i)});
  add("among", "Among others", "Beside GPUs of its model elsewhere", html::among_part(among));
  add("numa", "NUMA nodes", "NUMA nodes of the host", numa_part(node));
  add("processes", "A second process", "What a second process costs", processes_part(node));
  add("checks", "Checks", "Every check", checks_table(all));
  add("quality", "Quality", "How far these numbers can be trusted", body_of(quality_section(all, Extent::page, 0), ""));
  add("missing", "Not measured", "What was not measured", missing.empty() ? "" : "<ul>\n" + missing + "</ul>\n");
  parts.push_back({"provenance", "Where this comes from", provenance_part(all)});

  const std::string head = headline_of(all);
  out << page_head(head, "Skip to the verdict") << "<header>\n"
      << fmt::format("<h1{}>{}</h1>\n", is_simulated(all) ? " class=\"alarm\"" : "", html_text(head))
      << "<p class=\"soft\">" << html_text(run_text(all)) << "</p>\n"
      << list_of(who_of(all)) << "</header>\n"
      << contents_of(parts) << "<main id=\"main\">\n";
  for (const Part& part : parts) out << part.section;
  out << "</main>\n<footer><p>Written by npgpu from a trace. Hollow markers: the point is unsteady, or was "
         "disturbed. Bands and intervals are of 95 %.</p><p class=\"on-paper\">Every check, and the facts of the "
         "machine, are "
         "on the page as a browser shows it.</p></footer>\n</body>\n</html>\n";
}

}  // namespace npgpu
