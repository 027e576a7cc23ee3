// The overview as screen, Markdown, JSON and page.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "netpipe/report/html/html.hpp"
#include "netpipe/report/layout.hpp"
#include "netpipe/report/overview/sections.hpp"
#include "npgpu/judge/health.hpp"
#include "npgpu/model/figures.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/trace.hpp"
#include "tests/made_probe.hpp"
#include "tests/made_sweep.hpp"

namespace overview_report_test {

using namespace npgpu;

namespace {

Trace made(int gpus = 1) {
  Trace trace;
  trace.root.hostname = "node17";
  trace.root.start_time_utc = "2026-11-21T06:19:25Z";
  trace.root.tool_version = "0.1.0";
  trace.root.git_commit = "abc";
  trace.root.argv = "npgpu characterize";
  trace.root.complete = true;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    const std::string device = "cuda:" + std::to_string(gpu);
    TransferSeries sweep = sweep_of(Pattern::stream, Timing::gated);
    sweep.question = case_on("cudaMemcpy", device);
    sweep.question.async = true;
    sweep.question.timing = Timing::gated;
    sweep.limit = {63e9, "PCIe Gen5 x16: 32 GT/s * 16 lanes * 128/130"};
    for (std::uint64_t bytes = 8; bytes <= 64 * MiB; bytes *= 2)
      add_point(sweep, bytes, std::vector<double>(9, 2 + static_cast<double>(bytes) / 55e3));
    trace.of<Transfers>().push_back(sweep);
    trace.provenance.emplace_back(
        "gpu" + std::to_string(gpu),
        Facts{{"id", device}, {"multiprocessors", std::int64_t{132}}, {"driver_version", "580"}});
  }
  return trace;
}

template <class Write> std::string written(Write write) {
  std::ostringstream out;
  write(out);
  return out.str();
}
std::string screen(const Trace& trace, int width = 100, bool color = false) {
  return written([&](auto& out) {
    report_overview(out, TraceResults(trace), overview_of(trace), {.color = color, .width = width});
  });
}
std::string markdown(const Trace& trace) {
  return written([&](auto& out) { report_markdown(out, TraceResults(trace), overview_of(trace)); });
}
std::string page(const Trace& trace) {
  return written([&](auto& out) { report_html(out, TraceResults(trace), overview_of(trace)); });
}
nlohmann::json json(const Trace& trace) {
  return nlohmann::json::parse(written([&](auto& out) { report_overview_json(out, overview_of(trace)); }));
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string line_with(const std::string& text, const std::string& part) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (has(line, part)) return line;
  return "no line with " + part;
}

}  // namespace

TEST_CASE("a long text at the end of an axis ends with the figure") {
  html::Plot plot;
  plot.x = {"time", html::Unit::seconds};
  plot.y = {"MHz", html::Unit::plain};
  plot.curves = {{"clock", {{0, 1, 1, 1, false, {}}, {0.15, 2, 2, 2, false, {}}}}};
  const std::string svg = html::figure_of(plot);
  CHECK(svg.find(" end\" x=\"480\"") != std::string::npos);
  CHECK(svg.find(">150 ms</text>") != std::string::npos);
}

TEST_CASE("the screen says who, when and the verdict, then copies at sizes that all cases share") {
  const std::string out = screen(made());
  CAPTURE(out);
  CHECK(out.starts_with("Test GPU on node17"));
  CHECK(has(out.substr(0, 100), "2026-11-21 06:19 UTC"));
  CHECK(has(out, "\n  gpu   cuda:0, 132 SMs, driver 580\n"));
  CHECK(has(out, "\nHEALTH   "));
  CHECK(out.find("HEALTH") < out.find("COPIES"));
  const std::string head = line_with(out, "COPIES (GB/s)"), row = line_with(out, "H2D pinned, async");
  for (const char* column : {"time 8 B", "4 KiB", "64 KiB", "1 MiB", "64 MiB", "of peak", "N1/2"})
    CHECK(has(head, column));
  // 8 B take 2 us; 4 KiB 2.07 us; 64 MiB 1222 us, of 63 GB/s.
  CHECK(has(row, "2.00 us"));
  CHECK(has(row, "1.97"));
  CHECK(has(row, "54.9"));
  CHECK(has(row, "87.2 %"));
  CHECK(has(out, "63.00 GB/s each way (PCIe Gen5 x16)"));
}

TEST_CASE("a figure keeps its marks in every form, and the screen explains them") {
  Trace trace = made();
  auto& visits = trace.of<Transfers>()[0].visits;
  visits.back().stop = Stop::not_converged;
  // From 0.88 to 1.12 times as long, about the same median: +-8 %.
  auto& samples = trace.of<Transfers>()[0].samples;
  for (std::size_t i = 0; i < 9; ++i)
    samples[visits.back().first_sample + i].device_us *= 1 + 0.03 * (static_cast<double>(i) - 4);
  disturb(visits.back(), Cause::link_busy, "python3 (4711)");
  const std::string out = screen(trace);
  CHECK(has(line_with(out, "H2D pinned, async"), "54.9*d"));
  CHECK(has(line_with(screen(trace, 120), "H2D pinned, async"), "1* 1d"));
  CHECK(has(out, "*        1 unsteady: device copies 1\n"));
  CHECK(has(out, "d        1 disturbed by others: device copies 1\n"));
  CHECK(has(markdown(trace), "54.9\\*d"));
  CHECK(has(page(trace), "54.9*d"));
  const auto end = json(trace)["devices"][0]["copies"][0]["sizes"].back();
  CHECK(end["stop"] == "not-converged");
  CHECK(has(end["disturbed"], "python3 (4711)"));
}

TEST_CASE("no line is wider than the terminal, and no column is lost for that") {
  Trace trace = made(3);
  for (const int width : {60, 80, 100, 120, 200}) {
    const std::string out = screen(trace, width);
    std::istringstream in(out);
    for (std::string line; std::getline(in, line);) {
      CAPTURE(line);
      CHECK(display_width(line) <= static_cast<std::size_t>(width));
    }
    CHECK(has(out, "left out at") == false);
  }
  CHECK_FALSE(has(screen(trace), "\x1b"));
  CHECK(has(screen(trace, 100, true), "\x1b[1m"));
}

TEST_CASE("several GPUs have a row each, and what differs between them is said") {
  Trace trace = made(3);
  CHECK(has(screen(trace), "none is more than 3 % worse"));
  for (TransferSample& s : trace.of<Transfers>()[1].samples) s.device_us *= 2;
  std::get<std::string>(trace.provenance[2].second[2].second) = "570";
  const std::string out = screen(trace, 120);
  CAPTURE(out);
  CHECK(out.starts_with("3 x Test GPU on node17"));
  CHECK(has(line_with(out, "  cuda:1 "), "27.4"));
  CHECK(has(line_with(out, "  cuda:2 "), "54.8"));
  CHECK(has(out, "DETAIL   of cuda:0; "));
  CHECK(has(out, "cuda:1: H2D pinned, async at 64 MiB is 50.0 % worse than the median of the others"));
  CHECK(has(line_with(out, "cuda:2 570"), "driver"));
  CHECK(json(trace)["differences"][0]["worse_by"].get<double>() == doctest::Approx(0.5));
  CHECK(json(trace)["devices"].size() == 3);
}

TEST_CASE("of two GPUs the other one is named") {
  Trace trace = made(2);
  CHECK(has(screen(trace), "neither is more than 3 % worse than the other"));
  for (TransferSample& s : trace.of<Transfers>()[1].samples) s.device_us *= 2;
  CHECK(has(screen(trace, 120), "cuda:1: H2D pinned, async at 64 MiB is 50.0 % worse than cuda:0"));
}

HealthFinding finding(const std::string& device, const std::string& metric, Health health, const std::string& text,
                      const std::string& cause = {}) {
  HealthFinding f{.device = device, .metric = metric, .health = health, .text = text};
  if (!cause.empty()) f.explanations.push_back({cause, "the " + cause, "evidence of " + metric, "mend it"});
  return f;
}

TEST_CASE("health: a cause that stands behind several findings is said once, and what passes is folded") {
  const Trace trace = made();
  const TraceResults results(trace);
  Overview all = overview_of(trace);
  all.health = {finding("cuda:0", "pcie_link", Health::fail, "PCIe Gen4 x16 while copying", "link"),
                finding("cuda:0", "h2d_rate", Health::fail, "H2D 28 GB/s", "link"),
                finding("host", "neighbours", Health::warn, "others were there", "neighbour"),
                finding("cuda:0", "ecc", Health::skip, "ECC errors: not in this trace"),
                finding("cuda:0", "nvlink", Health::skip, "NVLink: not in this trace"),
                finding("cuda:0", "xid", Health::skip, "Xid errors: no permission"),
                finding("cuda:0", "sms", Health::pass, "132 of 132 ran")};
  const auto told = [&](int width = 120) {
    return written([&](auto& out) { report_overview(out, results, all, {.color = false, .width = width}); });
  };
  std::string out = told();
  CAPTURE(out);
  CHECK(has(out, "HEALTH   SLOW: 2 failed, 1 warning, 1 passed, 3 not checked\n"));
  CHECK(has(out,
            "         FAIL     PCIe Gen4 x16 while copying\n"
            "          why     the link (evidence of pcie_link); mend it\n"
            "         FAIL     H2D 28 GB/s\n"
            "         WARN     host: others were there\n"
            "          why     the neighbour (evidence of neighbours); mend it\n"
            "         Not checked: ECC errors, NVLink (not in this trace); Xid errors (no permission)\n"));
  CHECK_FALSE(has(out, "132 of 132 ran"));
  const std::string html = written([&](auto& o) { report_html(o, results, all); });
  CHECK(has(html,
            "<span>cuda:0: PCIe Gen4 x16 while copying</span></p><p><strong>FAIL</strong><span>cuda:0: H2D 28 GB/s"
            "</span></p><ul><li>the link; seen: evidence of pcie_link; to do: mend it</li></ul></li>"));
  for (int i = 0; i < 4; ++i) all.health.push_back(finding("cuda:0", "more", Health::fail, "another", "link"));
  CHECK(has(told(), "         and 3 more\n"));
  std::erase_if(all.health, [](const HealthFinding& f) { return f.health != Health::pass; });
  all.health.push_back(finding("cuda:0", "h2d_rate", Health::pass, "H2D 55 GB/s"));
  CHECK(
      has(told(), "HEALTH   OK: 2 passed\n         PASS     132 of 132 ran; 1 figure of rate or time within limits\n"));
  all.health.clear();
  CHECK(has(told(), "HEALTH   NOT JUDGED"));
}

TEST_CASE("health of several GPUs: what all of them share is said once, the rest with its GPU") {
  const Trace trace = made(3);
  const TraceResults results(trace);
  Overview all = overview_of(trace);
  all.health.clear();
  for (const char* device : {"cuda:0", "cuda:1", "cuda:2"})
    all.health.push_back(finding(device, "sms", Health::pass, "132 of 132 ran"));
  all.health.push_back(finding("cuda:1", "h2d_rate", Health::fail, "H2D 28 GB/s", "link"));
  const std::string out = written([&](auto& o) { report_overview(o, results, all, {.color = false, .width = 120}); });
  CAPTURE(out);
  CHECK(has(out, "FAIL     cuda:1: H2D 28 GB/s\n"));
  CHECK(has(line_with(out, "  cuda:1  "), "1 FAIL"));
  CHECK(has(line_with(out, "  cuda:2  "), "PASS"));
  CHECK(has(written([&](auto& o) { report_markdown(o, results, all); }), "132 of 132 ran (all 3)"));
  std::erase_if(all.health, [](const HealthFinding& f) { return f.health == Health::fail; });
  CHECK(has(written([&](auto& o) { report_markdown(o, results, all); }), "132 of 132 ran (all 3)"));
}

TEST_CASE("an unfinished run, wrong results and a series that stopped are alarms") {
  Trace trace = made();
  trace.root.complete = false;
  trace.of<Transfers>()[0].samples.back().intact = 0;
  trace.of<Transfers>()[0].error = "device lost";
  const std::string out = screen(trace);
  CHECK(has(out, "INCOMPLETE"));
  CHECK(has(out, "1 of 1 compared results were WRONG"));
  CHECK(has(out, "cudaMemcpy cuda:0 h2d pinned stream async gated: device lost"));
}

TEST_CASE("a simulated device is SIMULATED in the first line of every form") {
  Trace trace = made();
  trace.of<Transfers>()[0].simulated = true;
  CHECK(screen(trace).starts_with("SIMULATED Test GPU (cuda:0): no measurement of hardware"));
  CHECK(markdown(trace).starts_with("## SIMULATED Test GPU"));
  CHECK(has(page(trace), "<h1 class=\"alarm\">SIMULATED Test GPU"));
  CHECK(json(trace)["devices"][0]["simulated"] == true);
  Trace both = made(2);
  both.of<Transfers>()[0].simulated = true;
  CHECK(has(screen(both), "some of it SIMULATED"));
}

TEST_CASE("what a trace says is text in every form, and never markup or an escape sequence") {
  Trace trace = made();
  trace.root.hostname = trace.root.argv = "<b>&|*x* \x1b[31m\"'";
  trace.of<Transfers>()[0].device_name = trace.of<Transfers>()[0].limit.source = trace.root.argv;
  for (const std::string& out : {screen(trace), markdown(trace), page(trace)}) CHECK_FALSE(has(out, "\x1b"));
  CHECK(has(screen(trace), "<b>&|*x* \\x1b[31m"));
  CHECK(has(markdown(trace), "&lt;b&gt;&amp;\\|\\*x\\* \\\\x1b\\[31m"));
  CHECK_FALSE(has(page(trace), "<b>"));
  CHECK(has(page(trace), "&lt;b&gt;&amp;|*x* \\x1b[31m&quot;&#39;"));
}

TEST_CASE("a table for a browser has a caption, and headers with their scope") {
  Table table({left("a<b"), decimal("GB/s"), left("")});
  table.row({"x&y", "1.5", "3*"});
  CHECK(table.html("of <all>") ==
        "<table>\n<caption>of &lt;all&gt;</caption>\n<thead><tr><th scope=\"col\">a&lt;b</th>"
        "<th scope=\"col\" class=\"n\">GB/s</th><th scope=\"col\">marks</th></tr></thead>\n<tbody>\n"
        "<tr><th scope=\"row\">x&amp;y</th><td class=\"n\">1.5</td><td>3*</td></tr>\n</tbody>\n</table>\n");
}

TEST_CASE("a page has no column of dashes; text keeps it") {
  Table table({left("name"), decimal("GB/s"), decimal("W")});
  table.row({"one", "1.5", "-"});
  table.row({"two", "-", "-"});
  CHECK(has(table.html("of"), "GB/s"));
  CHECK_FALSE(has(table.html("of"), ">W<"));
  CHECK(has(table.markdown(), "W"));
}

TEST_CASE("a band lies within the axes, and an interval of four times the value neither sets the scale nor is drawn") {
  html::Plot plot;
  plot.y = {"GB/s", html::Unit::plain, false, true};
  plot.curves = {{"one", {{0, 10, 6, 14, false, "a"}, {1, 10, 2, 50, false, "b"}, {2, 10, 6, 14, false, "c"}}}};
  const std::string out = html::figure_of(plot);
  CAPTURE(out);
  // From 226 up to 26 for 0 to 14.7: 14 is at 35.5, 10 at 89.9, 6 at 144.4; the point in the middle has no band.
  CHECK(has(out, "class=\"band\" d=\"M64 35.5L260 89.9L456 35.5L456 144.4L260 89.9L64 144.4z\""));
  CHECK(has(out, "class=\"m hollow\""));
}

TEST_CASE("names of limits do not cover each other, and a curve keeps the colour that is asked for") {
  html::Plot plot;
  plot.y = {"GB/s", html::Unit::plain, false, true};
  plot.curves = {{"one", {{0, 1, 1, 1, false, {}}, {1, 1, 1, 1, false, {}}}, 3}};
  plot.limits = {{100, "above"}, {99, "below"}};
  const std::string out = html::figure_of(plot);
  CAPTURE(out);
  // 99 is at 226 - 200 * 99 / 105 = 37.4, and its name 4 above; 100 at 35.5, its name 15 above the other.
  CHECK(has(out, "y=\"33.4\">below"));
  CHECK(has(out, "y=\"18.4\">above"));
  CHECK(has(out, "<g class=\"s3\">"));
}

TEST_CASE("a drawing places points by their logarithm, bands by their interval, and draws doubtful ones hollow") {
  html::Plot plot;
  plot.id = "p";
  plot.title = "a \"title\"";
  plot.description = "what it shows";
  plot.x = {"size", html::Unit::bytes, true};
  plot.y = {"GB/s", html::Unit::plain, false, true};
  plot.curves = {
      {"one", {{1, 0, 0, 0, false, "first"}, {16, 5, 4, 6, false, "second"}, {256, 10, 10, 10, true, "third"}}}};
  plot.limits = {{20, "limit"}};
  const std::string out = html::figure_of(plot);
  CAPTURE(out);
  CHECK(has(out, "aria-labelledby=\"p-t\" aria-describedby=\"p-d\""));
  CHECK(has(out, "<title id=\"p-t\">a &quot;title&quot;</title>"));
  // From 64 to 456: 16 is half of the way from 1 to 256 in logarithms. From 226 up to 26 for 0 to 21.
  CHECK(has(out, "M64 226L260 178.4L456 130.8"));
  CHECK(has(out, "class=\"m hollow\""));
  CHECK(has(out, "<title>one: third</title>"));
  CHECK(has(out, "class=\"limit\" d=\"M64 35.5H456\""));
  CHECK(html::figure_of({}).empty());
  plot.curves[0].points.resize(1);
  CHECK(html::figure_of(plot).empty());
}

}  // namespace overview_report_test
