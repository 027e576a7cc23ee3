// The overview as a page to send, and the style sheet of all pages.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "netpipe/model/run_facts.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/html/html.hpp"
#include "netpipe/report/matrix_sections.hpp"
#include "netpipe/report/overview/sections.hpp"
#include "netpipe/report/record_text.hpp"
#include "netpipe/report/series_text.hpp"

namespace npgpu::html {

// Text has a contrast of 7 to 1 and more to its background, lines of figures one of 4.5 and more. Curves differ in
// marker and dash as well as in colour.
std::string_view style_sheet() {
  return R"(:root{color-scheme:light dark;--paper:#fff;--ink:#1b1f24;--soft:#4b535c;--rule:#d0d7de;--wash:#f3f5f7;
--pass:#0b5a26;--warn:#6b4200;--fail:#9b0a21;--link:#0a4b91;
--c0:#0b62a4;--c1:#b04a00;--c2:#00703f;--c3:#8b2f97;--c4:#7a5c00;--c5:#a8003b;--c6:#006d77;--c7:#4a4a4a;
--q0:#fff4e0;--q1:#fbe3b8;--q2:#dcebf7;--q3:#b3d4ee;--q4:#2b6ca3;--q5:#0b3d68;--on-low:#1b1f24;--on-high:#fff}
@media(prefers-color-scheme:dark){:root{--paper:#0d1117;--ink:#e6edf3;--soft:#aeb8c2;--rule:#3a424c;--wash:#171d25;
--pass:#5ddb85;--warn:#f0b95a;--fail:#ff9b9b;--link:#8ec2ff;
--c0:#6db3f2;--c1:#ff9e64;--c2:#4fd1a1;--c3:#d9a0e0;--c4:#e5c04b;--c5:#ff8fb0;--c6:#5fd0dc;--c7:#c8c8c8;
--q0:#4a3300;--q1:#5c4415;--q2:#15293d;--q3:#1d4468;--q4:#8ec2ff;--q5:#cfe5ff;--on-low:#e6edf3;--on-high:#0d1117}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
header,main,footer,nav{max-width:76rem;margin:0 auto;padding:0 1rem}
header{padding-top:1.5rem}
h1{font-size:1.6rem;line-height:1.2;margin:0 0 .3rem}
h2{font-size:1.3rem;margin:2.2rem 0 .6rem;padding-top:.8rem;border-top:1px solid var(--rule)}
h3{font-size:1.05rem;margin:1.6rem 0 .4rem}
a{color:var(--link)}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-99rem}
.skip:focus{left:1rem;top:.5rem;background:var(--paper);padding:.4rem .8rem}
nav ul{list-style:none;margin:.8rem 0 0;padding:0;display:flex;flex-wrap:wrap;gap:.2rem 1.1rem}
p{margin:.4rem 0}
.soft{color:var(--soft)}
.alarm,.fail{color:var(--fail)}
.pass{color:var(--pass)}
.warn{color:var(--warn)}
.skipped{color:var(--soft)}
.verdict{font-size:1.5rem;font-weight:700;border-left:.5rem solid;padding:.4rem .9rem;background:var(--wash);margin:1rem 0}
.findings{list-style:none;padding:0;margin:.6rem 0}
.findings>li{border-left:.25rem solid;padding:.1rem .8rem;margin:.6rem 0}
.findings strong{margin-right:.5rem}
.findings ul{margin:.2rem 0 .4rem;padding-left:1.2rem;color:var(--ink)}
.findings span{color:var(--ink)}
.scroll{overflow-x:auto;margin:.8rem 0}
table{border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--soft);padding:.2rem 0}
th,td{padding:.25rem .7rem .25rem 0;text-align:left;border-bottom:1px solid var(--rule);vertical-align:top;
overflow-wrap:normal}
td.wrap{overflow-wrap:anywhere;min-width:11rem}
thead th{border-bottom:2px solid var(--soft);vertical-align:bottom}
tbody th{font-weight:600}
.n{text-align:right;white-space:nowrap}
.bar{display:inline-block;vertical-align:middle;height:.7rem;background:var(--c0);margin-right:.4rem;print-color-adjust:exact}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;margin:.6rem 0}
dt{font-weight:600}
dd{margin:0}
pre{background:var(--wash);padding:.6rem .8rem;white-space:pre-wrap;margin:.5rem 0}
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,30rem),1fr));gap:1rem 2rem}
figure{margin:0;min-width:0}
figure svg{width:100%;height:auto;display:block}
figcaption{color:var(--soft);font-size:.92rem}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.1rem 1rem;padding:0;margin:.2rem 0;color:var(--ink)}
.legend svg{width:1.6rem;height:.8rem;display:inline-block;vertical-align:middle;margin-right:.35rem}
svg text{font:12px system-ui,sans-serif;fill:var(--soft)}
svg text.x{text-anchor:middle}
svg text.y,svg text.end{text-anchor:end}
svg text.limit{fill:var(--ink);paint-order:stroke;stroke:var(--paper);stroke-width:3px}
.grid path{stroke:var(--rule);stroke-width:.6}
.axis{fill:none;stroke:var(--soft)}
path.limit{stroke:var(--ink);stroke-dasharray:6 4;stroke-width:1.2}
.line{fill:none;stroke:var(--c);stroke-width:1.6;stroke-linejoin:round}
.band{fill:var(--c);fill-opacity:.25;stroke:none}
.m{fill:var(--c);stroke:var(--c)}
.m.hollow{fill:var(--paper)}.m.unseen{opacity:0}
.s0{--c:var(--c0)}.s1{--c:var(--c1)}.s2{--c:var(--c2)}.s3{--c:var(--c3)}.s4{--c:var(--c4)}.s5{--c:var(--c5)}
.s6{--c:var(--c6)}.s7{--c:var(--c7)}
.s1 .line{stroke-dasharray:7 3}.s2 .line{stroke-dasharray:2 2}.s3 .line{stroke-dasharray:9 3 2 3}
.s5 .line{stroke-dasharray:4 2}.s6 .line{stroke-dasharray:1 3}.s7 .line{stroke-dasharray:12 4}
figure.node{max-width:46rem;margin:.6rem 0}
figure.node .scroll svg{min-width:44rem}
circle.other{fill:var(--c7);fill-opacity:.45}
.own{fill:var(--c0);stroke:var(--c0);stroke-width:2}
rect.node{fill:var(--wash);stroke:var(--rule)}
rect.gpu{fill:var(--paper);stroke:var(--soft)}
.link{fill:none;stroke:var(--soft);stroke-width:2}
.link.bad{stroke:var(--fail);stroke-width:3;stroke-dasharray:6 3}
svg text.bad{fill:var(--fail);font-weight:700}
svg text.strong{fill:var(--ink);font-weight:700}
table.heat caption{white-space:nowrap;width:0}
table.heat td,table.heat th{padding:.25rem .55rem}
table.heat td{border:1px solid var(--paper)}
.span{fill:var(--c);stroke:var(--paper);stroke-width:.6;print-color-adjust:exact}.waits{--c:var(--rule)}
svg text.inside{fill:var(--paper);font-size:11px}.waits text.inside{fill:var(--ink)}
.q0,.q1,.q2,.q3{color:var(--on-low)}.q4,.q5{color:var(--on-high)}
.q0{background:var(--q0)}.q1{background:var(--q1)}.q2{background:var(--q2)}.q3{background:var(--q3)}
.q4{background:var(--q4)}.q5{background:var(--q5)}
table.heat td.off{outline:2px solid var(--fail);outline-offset:-2px;font-weight:700}
.legend.heat{gap:0;margin-top:.4rem;font-size:.85rem}
.legend.heat li{padding:.1rem .6rem}
.heat *{print-color-adjust:exact}
footer{padding:1.5rem 1rem 2.5rem;color:var(--soft)}
.on-paper{display:none}
@media(max-width:30rem){body{font-size:15px}h1{font-size:1.3rem}.verdict{font-size:1.2rem}svg text{font-size:16px}
figure.node .scroll svg text{font-size:12px}
svg .odd{display:none}dl{grid-template-columns:1fr}dd{margin:0 0 .4rem .8rem}}
@media print{:root{--paper:#fff;--ink:#000;--soft:#333;--rule:#bbb;--wash:#fff;--pass:#0b5a26;--warn:#6b4200;--fail:#9b0a21;
--link:#000;--c0:#0b62a4;--c1:#b04a00;--c2:#00703f;--c3:#8b2f97;--c4:#7a5c00;--c5:#a8003b;--c6:#006d77;--c7:#4a4a4a;
--q0:#fff4e0;--q1:#fbe3b8;--q2:#dcebf7;--q3:#b3d4ee;--q4:#2b6ca3;--q5:#0b3d68;--on-low:#1b1f24;--on-high:#fff}
html{font-size:11px}body{font-size:8pt;line-height:1.3}nav,.skip,#provenance .scroll,#checks{display:none}h1{font-size:14pt}
h2{font-size:11pt;margin:.9rem 0 .2rem;padding-top:.3rem}h3{font-size:9pt;margin:.5rem 0 .1rem}.verdict{font-size:12pt}
th,td{padding:.08rem .5rem .08rem 0}.scroll{margin:.3rem 0}.on-paper{display:block}figure.node{max-width:30rem}
.figures{gap:.4rem 1.2rem}header,main,footer{max-width:none}.scroll{overflow:visible}
svg text{font-size:16px}
figure.node .scroll svg text{font-size:12px}svg .odd{display:none}figure,tr,.findings>li{break-inside:avoid}h2,h3,caption{break-after:avoid}.figures{grid-template-columns:1fr 1fr 1fr}}
)";
}

}  // namespace npgpu::html

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

Document step_part(const AppForecastReport& of) {
  Document doc;
  doc.add(Document::Paragraph{answer_of(of)});
  doc.draw(html::timeline_figure(of.forecast), false);
  doc.add(Document::Rows{step_kernels_table(of.forecast.kernels), {}, "Kernels of the step", "Kernels of the step"});
  doc.add(
      Document::Paragraph{fmt::format("Played by the costs of {}. npgpu predict has the intervals, and what each "
                                      "change needs.",
                                      of.source)});
  return doc;
}

Document page_of(const TraceResults& of, const Overview& all, std::span<const AmongOthers> among,
                 const AppForecastReport* application) {
  std::vector<const DeviceOverview*> devices;
  for (const DeviceOverview& gpu : all.gpus) devices.push_back(&gpu);
  if (all.host) devices.push_back(&*all.host);
  Document doc;
  doc.add(Document::Head{headline_of(all), run_text(all), who_of(all), is_simulated(all)});
  doc.part({"Verdict", "verdict", "Verdict"}, verdict_part(all));
  if (application) doc.part({"A step, as it is and as it could be", "step", "A step"}, step_part(*application));
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
  doc.add(Document::Foot{
      "Written by npgpu from a trace. Hollow markers: the point is unsteady, was disturbed, or is no better "
      "known than to 50 %. Bands and intervals are of 95 %.",
      "Every check, and the facts of the machine, are on the page as a browser shows it."});
  return doc;
}

}  // namespace

void report_html(std::ostream& out, const TraceResults& of, const Overview& all, std::span<const AmongOthers> among,
                 const AppForecastReport* application) {
  out << to_html(page_of(of, all, among, application));
}

}  // namespace npgpu
