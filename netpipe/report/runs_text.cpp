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

void runs_json(std::ostream& out, const std::string& file, const std::vector<Trace>& runs) {
  Json all = Json::array();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Json one{{"number", i}};
    one.update(json_of(runs[i].root));
    one["slurm_job"] = or_null(job_of(runs[i]));
    one["slurm_rank"] = or_null(rank_of(runs[i]));
    one["devices"] = array_of(devices_of(runs[i]), [](const MeasuredDevice& device) {
      return Json(
          {entry("name", device.name), entry("uuid", or_null(device.uuid)), entry("simulated", device.simulated)});
    });
    one["series"] = series_of(runs[i]);
    all.push_back(std::move(one));
  }
  write_json(
      out, Json{entry("document", "npgpu-runs"), entry("version", 1), entry("file", file), Json::array({"runs", all})},
      1);
}

}  // namespace npgpu
