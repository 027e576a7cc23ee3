// Where a trace was taken, and the runs of a merged file.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "netpipe/model/run_facts.hpp"
#include "netpipe/report/document.hpp"
#include "netpipe/report/json.hpp"
#include "netpipe/report/series_text.hpp"

namespace npgpu {

namespace {

// What a line says of some facts: "before VALUE unit", the unit in the plural where the value is not 1.
struct Part {
  std::string_view fact, before = {}, unit = {};
};
constexpr Part host_parts[] = {{"cpu_model"},
                               {"sockets", "", " socket"},
                               {"cores", "", " core"},
                               {"cpu_quota", "CPU quota "},
                               {"numa_nodes", "", " NUMA node"},
                               {"kernel"}};
constexpr Part device_parts[] = {
    {"name"}, {"id"}, {"pci_bus_id", "PCI "}, {"driver_version", "driver "}, {"cuda_runtime", "CUDA runtime "}};
// A run that continued the trace, maybe elsewhere and with another build.
constexpr Part resume_parts[] = {
    {"start_time_utc"}, {"hostname", "on "}, {"tool_version", "npgpu "}, {"git_commit", "commit "}};

void add(std::string& line, const std::string& part) {
  if (!part.empty()) line += (line.empty() ? "" : ", ") + part;
}

std::string line_of(const Facts& facts, std::span<const Part> parts) {
  std::string line;
  for (const Part& p : parts)
    if (const std::string value = fact_text(facts, p.fact); !value.empty())
      add(line, fmt::format("{}{}{}{}", p.before, value, p.unit, p.unit.empty() || value == "1" ? "" : "s"));
  return line;
}

std::string host_line(const Facts& facts) {
  std::string line = line_of(facts, host_parts);
  add(line, fact_text(facts, "in_virtual_machine") == "1" ? "in a virtual machine" : "");
  return line;
}

// gpu0, gpu1, ...: whatever other groups there are is not for this doc.
bool is_device(const std::string& group) {
  return group.size() > 3 && group.starts_with("gpu") &&
         std::all_of(group.begin() + 3, group.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// "complete; transfers: 19 series, 1045 points; probes: 16 series, 640 points"
std::string state_text(const Trace& trace, std::size_t series_in_trace) {
  std::string text = trace.root.complete ? "complete" : "INCOMPLETE: the run did not reach its end";
  if (const std::string why = fact_text(facts_of(trace.provenance, "ranks_lost"), "why");
      !trace.root.complete && !why.empty())
    text += fmt::format(" ({})", why);
  std::string kinds;
  std::size_t shown = 0;
  for_each_kind([&]<class K>() {
    std::size_t points = 0;
    for (const Series<K>& series : trace.of<K>()) points += points_of(series).size();
    shown += trace.of<K>().size();
    if (!trace.of<K>().empty())
      kinds += fmt::format("; {}: {}, {}", K::name, counted(trace.of<K>().size(), "series"), counted(points, "point"));
  });
  if (series_in_trace > shown) text += fmt::format("; shown are {} of {} series", shown, series_in_trace);
  return text + (kinds.empty() ? "; nothing was measured" : kinds);
}

// "device-copies -0.1 %, calls +4.2 %": how far the round that was furthest off was from the run's median.
std::string drift_text(const std::vector<Drift>& drifts) {
  std::string text;
  for (const Drift& drift : drifts) {
    const double percent = std::round(1000 * drift.most()) / 10;
    add(text,
        fmt::format("{} {}", class_text(drift.time_class), percent == 0 ? "0.0 %" : fmt::format("{:+.1f} %", percent)));
  }
  return text;
}

}  // namespace

void facts_text(Document& doc, const TraceResults& of, std::size_t series_in_trace) {
  const Trace& trace = of.trace;
  const TraceRoot& root = trace.root;
  std::size_t simulated = 0, measured = 0;
  for_each_kind([&]<class K>() {
    for (const Series<K>& series : trace.of<K>()) ++(series.simulated ? simulated : measured);
  });
  const bool all = simulated > 0 && measured == 0;
  if (all) doc.add(Document::Marked{"SIMULATED: no measurement of hardware", Document::Tone::alarm});
  else doc.title("Measured on " + (root.hostname.empty() ? "an unnamed host" : root.hostname));
  if (simulated > 0 && !all) doc.labelled("note", "some of it is SIMULATED: no measurement of hardware", true);

  std::string run = root.start_time_utc;
  std::string tool = root.tool_version.empty() ? "" : "npgpu " + root.tool_version;
  if (!tool.empty() && !root.git_commit.empty()) tool += " (" + root.git_commit + ')';
  add(run, tool);
  if (!run.empty()) doc.labelled("run", run);
  if (!root.argv.empty()) doc.labelled("command", root.argv);
  doc.labelled("state", state_text(trace, series_in_trace), !root.complete);
  if (const std::string drift = drift_text(of.drifts); !drift.empty())
    doc.labelled("drift", "time of the round furthest off the run's median: " + drift);
  std::string at_once;
  for (const BesideOthers& b : of.beside) add(at_once, fmt::format("{} {} {:+.1f} %", b.gpu, b.what, 100 * b.slower()));
  if (!at_once.empty()) doc.labelled("at once", "time with the other GPUs busy over time alone: " + at_once);
  if (const BusySibling& sibling = of.sibling; sibling.points >= 5)
    doc.labelled(
        "siblings",
        fmt::format("a busy hyperthread of the same core added {:+.0f} % to times of the host: {} on such a core, at "
                    "{} also visited on a quiet one",
                    100 * sibling.adds, counted(sibling.visits, "visit"), counted(sibling.points, "point")));
  for (const auto& [group, facts] : trace.provenance) {
    const std::string line = group == "host" ? host_line(facts) : is_device(group) ? line_of(facts, device_parts) : "";
    if (!line.empty()) doc.labelled(group, line);
    if (group.starts_with("resume_") && group.find('/') == std::string::npos)
      doc.labelled("resumed", line_of(facts, resume_parts));
    if (group == "plan")
      for (const auto& [name, why] : facts)
        if (name.starts_with("left_out")) doc.labelled("left out", fact_text(why));
  }
  for (const std::string& doubt : trace.doubts) doc.labelled("not used", doubt + ", which cannot be");
}

// The runs of a merged file: a row for each; and the same as JSON.
//
//   { "document": "npgpu-runs", "version": 1, "file", "runs": [ { "number", run_uuid, tool_version, git_commit, argv,
//     start_time_utc, hostname, complete, "slurm_job": null or "4711_3", "slurm_rank": null or 0,
//     "devices": [ { name, uuid, simulated } ], "series" } ] }

namespace {

// "NVIDIA H200 GPU-1b2c3d4e", "8 NVIDIA H200"
std::string devices_text(const std::set<MeasuredDevice>& all) {
  constexpr std::size_t enough = 12;  // of a UUID
  std::string text;
  for (auto at = all.begin(); at != all.end();) {
    const auto end = std::find_if(at, all.end(), [&](const MeasuredDevice& d) { return d.name != at->name; });
    const auto count = std::distance(at, end);
    text += fmt::format("{}{}{}{}", text.empty() ? "" : ", ", at->simulated ? "SIMULATED " : "",
                        count > 1 ? fmt::format("{} ", count) : "", at->name);
    if (count == 1 && !at->uuid.empty()) text += " " + at->uuid.substr(0, enough);
    at = end;
  }
  return text;
}

}  // namespace

void runs_text(std::ostream& out, const std::string& file, const std::vector<Trace>& runs, const TextStyle& style) {
  std::set<std::string> hosts;
  for (const Trace& run : runs) hosts.insert(run.root.hostname);
  Document doc;
  doc.title(fmt::format("{}: {} run{} of {} host{}", file, runs.size(), runs.size() == 1 ? "" : "s", hosts.size(),
                        hosts.size() == 1 ? "" : "s"));
  const auto any = [&](auto has) { return std::ranges::any_of(runs, has); };
  const auto is_incomplete = [](const Trace& run) { return !run.root.complete; };
  Table table({right("run"), left("host"), left("job", 0, any([](const Trace& r) { return !job_of(r).empty(); })),
               right("rank", 0, any([](const Trace& r) { return !rank_of(r).empty(); })), left("begun, UTC"),
               right("series", 1), left("", 0, any(is_incomplete)), left("devices")});
  for (std::size_t i = 0; i < runs.size(); ++i)
    table.row({std::to_string(i), runs[i].root.hostname, job_of(runs[i]), rank_of(runs[i]), runs[i].root.start_time_utc,
               std::to_string(series_of(runs[i])), runs[i].root.complete ? "" : "not complete",
               devices_text(devices_of(runs[i]))});
  doc.table(std::move(table));
  out << to_text(doc, style);
}

NPGPU_FORM(MeasuredDevice, &T::name, known<&T::uuid>, &T::simulated);
struct NumberedRun {
  std::size_t number = 0;
  TraceRoot root{};
  std::string slurm_job{}, slurm_rank{};
  std::vector<MeasuredDevice> devices{};
  std::size_t series = 0;
};
NPGPU_FORM(NumberedRun, &T::number, in_place<&T::root>, known<&T::slurm_job>, known<&T::slurm_rank>, &T::devices,
           &T::series);
struct MergedRuns {
  std::string file{};
  std::vector<NumberedRun> runs{};
};
NPGPU_FORM(MergedRuns, &T::file, &T::runs);

void runs_json(std::ostream& out, const std::string& file, const std::vector<Trace>& runs) {
  MergedRuns all{file};
  for (const Trace& run : runs) {
    const auto devices = devices_of(run);
    all.runs.push_back(
        {all.runs.size(), run.root, job_of(run), rank_of(run), {devices.begin(), devices.end()}, series_of(run)});
  }
  write_document(out, "npgpu-runs", 1, all);
}

}  // namespace npgpu
