// The runs of a merged file: a row for each; and the same as JSON.
//
//   { "document": "npgpu-runs", "version": 1, "file", "runs": [ { "number", run_uuid, tool_version, git_commit, argv,
//     start_time_utc, hostname, complete, "slurm_job": null or "4711_3", "slurm_rank": null or 0,
//     "devices": [ { name, uuid, simulated } ], "series" } ] }
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "netpipe/model/run_facts.hpp"
#include "netpipe/report/document.hpp"
#include "netpipe/report/json.hpp"

namespace npgpu {

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
  doc.left_out();
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
