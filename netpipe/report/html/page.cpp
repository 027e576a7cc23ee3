// The overview as a page to send.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "netpipe/model/run_facts.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/html/drawings.hpp"
#include "netpipe/report/html/elements.hpp"
#include "netpipe/report/matrix_sections.hpp"
#include "netpipe/report/overview/sections.hpp"
#include "netpipe/report/series_text.hpp"

namespace npgpu {

namespace {

constexpr const char* every_check = "Every check, and what decided it";

std::string upper_word(Health health) { return upper_case(name(health)); }

bool same_causes(const HealthFinding& a, const HealthFinding& b) {
  const auto same = [](const Explanation& x, const Explanation& y) {
    return x.cause == y.cause && x.what == y.what && x.remedy == y.remedy;
  };
  return a.health == b.health && a.device == b.device && !a.explanations.empty() &&
         std::ranges::equal(a.explanations, b.explanations, same);
}

std::vector<std::string> why(const HealthFinding& finding) {
  std::vector<std::string> all;
  for (const Explanation& e : finding.explanations)
    all.push_back(e.what + (e.evidence.empty() ? "" : "; seen: " + e.evidence) +
                  (e.remedy.empty() ? "" : "; to do: " + e.remedy));
  return all;
}

// Findings that have the same causes are one: five rates are low because of one link.
void add_by_causes(Document::Findings& to, const Overview& all, Health health) {
  std::vector<const HealthFinding*> firsts;
  const std::size_t before = to.items.size();
  for (const HealthFinding& f : all.health) {
    if (f.health != health) continue;
    const auto known = std::ranges::find_if(firsts, [&](const HealthFinding* g) { return same_causes(*g, f); });
    const auto at = before + static_cast<std::size_t>(known - firsts.begin());
    if (known == firsts.end()) {
      firsts.push_back(&f);
      to.items.push_back({health, {}, why(f)});
    }
    to.items[at].said.emplace_back(upper_word(health), (f.device.empty() ? "" : f.device + ": ") + f.text);
  }
}

Document verdict_part(const Overview& all) {
  Document doc;
  doc.add(Document::Verdict{verdict_text(all),
                            verdict_of(all) == CheckVerdict::not_judged ? Health::unjudged : worst_of(all.health)});
  Document::Findings alarms;
  for (const Health health : {Health::fail, Health::undecided, Health::unjudged, Health::warn})
    add_by_causes(alarms, all, health);
  if (!alarms.items.empty()) {
    doc.heading("What is wrong, and why");
    doc.add(std::move(alarms));
  }
  doc.add(Document::Paragraph{every_check, "checks"});
  return doc;
}

// The worst first.
Document checks_part(const Overview& all) {
  Document doc;
  Table table({left("verdict"), left("device"), prose("what was found"), prose("what decided")});
  for (const Health health :
       {Health::fail, Health::undecided, Health::unjudged, Health::warn, Health::pass, Health::skip})
    for (const HealthFinding& f : all.health)
      if (f.health == health) table.row({upper_word(health), f.device, f.text, f.basis}, health);
  if (all.health.empty()) doc.add(Document::Paragraph{"Nothing in this trace can be judged."});
  else doc.add(Document::Rows{std::move(table), {}, every_check, "Every check"});
  return doc;
}

Section captioned(Section section, std::string caption) {
  section.name = std::move(caption);
  return section;
}

std::string prefix_of(std::size_t number) { return fmt::format("d{}-", number); }

Document device_part(const TraceResults& of, const DeviceOverview& device, const std::string& prefix) {
  Document doc;
  const auto sections = sections_of(device, Extent::page);
  const auto part = [&](const char* name, const std::string& heading, const std::string& drawn,
                        const std::string& more = {}) {
    const auto found = std::ranges::find(sections, name, &Section::name);
    if (found == sections.end() && drawn.empty() && more.empty()) return;
    doc.heading(heading);
    doc.draw(drawn);
    if (found != sections.end()) doc.add(captioned(*found, heading + " of " + device.id));
    doc.draw(more, false);
  };
  part("COPIES", "Copies", html::copy_charts(device, prefix));
  part("MEMORY", "Memory", html::ladder_chart(of.trace, device, prefix));
  part("COMPUTE", "Computing power", "",
       html::scrolling(html::corner_table(of.trace, device), "Corners of " + device.id));
  for (const Roofline& one : of.rooflines) {
    if (one.device != device.id || one.device_uuid != device.uuid) continue;
    const std::string drawn = html::roofline_chart(one, prefix);
    if (drawn.empty()) continue;
    doc.heading("Roofline");
    doc.draw(drawn);
    doc.add(Document::Rows{roof_table(one), {}, "Roofs of " + device.id});
  }
  part("CALLS", "Calls of the runtime", "");
  part("STREAMS", "Into how many streams to split a job", html::stream_chart(device, prefix));
  return doc;
}

Document clocks_part(const std::vector<const DeviceOverview*>& devices) {
  Document doc;
  for (std::size_t i = 0; i < devices.size(); ++i) doc.draw(html::strip_charts(*devices[i], prefix_of(i)));
  return doc;
}

Document provenance_part(const Overview& all) {
  Document doc;
  if (!all.run.argv.empty()) {
    doc.add(Document::Paragraph{"The command that measured it, to repeat:"});
    doc.add(Document::Lines{all.run.argv});
  }
  const std::pair<const char*, std::string> facts[] = {{"run", all.run.run_uuid},
                                                       {"started", all.run.start_time_utc},
                                                       {"host", all.run.hostname},
                                                       {"npgpu", all.run.tool_version},
                                                       {"commit", all.run.git_commit}};
  for (const auto& [label, value] : facts)
    if (!value.empty()) doc.labelled(label, value);
  for (const auto& [group, its] : all.provenance) {
    if (group == "plan") continue;
    Table table({left("fact"), prose("value")});
    for (const auto& [fact, value] : its) table.row({fact, fact_text(value)});
    doc.add(Document::Rows{std::move(table), {}, group});
  }
  return doc;
}

// What the host's NUMA nodes cost; nothing of a trace that does not say.
Document numa_part(const NodeMatrix& node) {
  Document doc;
  for (const MatrixFinding& finding : node.numa.wrong) doc.labelled("slow", finding.text, true);
  if (Section section = numa_section(node); !section.is_empty()) doc.add(std::move(section));
  return doc;
}

Document page_of(const TraceResults& of, const Overview& all, std::span<const AmongOthers> among) {
  std::vector<const DeviceOverview*> devices;
  for (const DeviceOverview& gpu : all.gpus) devices.push_back(&gpu);
  if (all.host) devices.push_back(&*all.host);
  Document doc;
  doc.add(Document::Head{headline_of(all), run_text(all), who_of(all), is_simulated(all)});
  doc.part({"Verdict", "verdict", "Verdict"}, verdict_part(all));
  doc.part({"Results", "results", "Results"}, studies_document(of));
  Document picture, gpus, quality, missing;
  picture.draw(html::node_picture(all, of.matrix, of.verdict), false);
  doc.part({"The node", "node", "The node"}, picture);
  if (Section section = gpus_section(all, 1); !section.is_empty())
    gpus.add(captioned(std::move(section), "The GPUs of this node"));
  doc.part({"GPU by GPU", "gpus", "GPU by GPU"}, gpus);
  doc.part({"Copies between GPUs and with the host", "matrix", "Between GPUs"},
           html::matrix_tables(of.matrix, of.verdict));
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const DeviceOverview& device = *devices[i];
    doc.part({(device.simulated ? "SIMULATED " : "") + device_text(device.id, device.name), fmt::format("d{}", i),
              device.id},
             device_part(of, device, prefix_of(i)));
  }
  doc.part({"Every series", "series", "Every series"}, lone_series_document(of, all));
  doc.part({"Among GPUs of its model elsewhere", "among", "Among others"}, html::among_part(among));
  doc.part({"NUMA nodes of the host", "numa", "NUMA nodes"}, numa_part(of.matrix));
  doc.part({"Clock, power and temperature over the run", "clocks", "Clocks"}, clocks_part(devices));
  doc.part({"Every check", "checks", "Checks"}, checks_part(all));
  quality.add(quality_section(all, Extent::page, 0));
  doc.part({"How far these numbers can be trusted", "quality", "Quality"}, quality);
  Document::Bullets bullets;
  for (const std::string& one : all.missing) bullets.items.emplace_back(one, false);
  if (!bullets.items.empty()) missing.add(std::move(bullets));
  doc.part({"What was not measured", "missing", "Not measured"}, missing);
  doc.part({"Where this comes from", "provenance", "Where this comes from"}, provenance_part(all));
  doc.add(
      Document::Foot{"Written by npgpu from a trace. Hollow markers: the point is unsteady, or was disturbed. "
                     "Bands and intervals are of 95 %.",
                     "Every check, and the facts of the machine, are on the page as a browser shows it."});
  return doc;
}

}  // namespace

void report_html(std::ostream& out, const TraceResults& of, const Overview& all, std::span<const AmongOthers> among) {
  out << to_html(page_of(of, all, among));
}

}  // namespace npgpu
