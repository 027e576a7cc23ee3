// npgpu export: a trace as something that other programs read.
#include <fmt/format.h>

#include <iostream>
#include <sstream>

#include "netpipe/cli/characterize.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/options.hpp"
#include "netpipe/cli/output_file.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

namespace {

void write(std::ostream& out, const Options& options, const std::vector<Trace>& runs) {
  const std::string format = options.text("format");
  const Trace& trace = runs.front();  // the only one, but for summaries
  if (format != "csv" && (options.has("table") || options.on("summary")))
    throw Error(ErrorKind::usage, fmt::format("--{} chooses what csv holds, and --format is {}",
                                              options.has("table") ? "table" : "summary", format));
  if (format == "csv") {
    const std::string kind = options.maybe("table").value_or(CsvTable{}.kind);
    if (!is_kind(kind)) refuse_word("table", kind, {Kinds::names.begin(), Kinds::names.end()});
    return export_csv(out, runs, {kind, options.on("summary") ? CsvRows::summary : CsvRows::samples});
  }
  if (format == "json") return export_json(out, trace);
  if (format != "npout") refuse_word("format", format, {"csv", "json", "npout"});
  if (trace.of<Transfers>().size() != 1)
    throw ListedError(ErrorKind::usage,
                      "--format npout holds one series of transfers: name it with --case; the trace has",
                      cases_of(trace));
  export_npout(out, trace.of<Transfers>().front());
}

int run_export(const Options& options) {
  const std::string trace = options.place("TRACE");
  std::vector<Trace> runs;
  if (options.on("summary")) runs = read_runs_for_figures(trace);
  else runs.push_back(read_for_figures(trace));
  for (Trace& run : runs) choose_cases(options, run);
  std::ostringstream text;  // whole before the first byte is written
  write(text, options, runs);
  if (const auto path = options.maybe("output"))
    write_file("output", *path, options.on("force"), [&](std::ostream& file) { file << text.str(); });
  else std::cout << text.str();
  return exit_code::done;
}

}  // namespace

Command export_trace() {
  return {
      "export",
      "write a trace as csv, json, or as other tools read it",
      "Writes a trace for other programs: csv (one table), json (everything) or npout (NetPIPE's five columns). Of a "
      "merged file, --summary writes the points of all runs; otherwise FILE:N names one. Needs no device.",
      {"TRACE"},
      {"npgpu export node.h5 --table probes --summary > probes.csv",
       "npgpu export node.h5 --format json --output node.json",
       "npgpu export node.h5 --format npout --case transfers:0 --output np.out"},
      {{"What is written", {"case", Option("format", "csv"), Option("table", {}, "Default: transfers."), "summary"}},
       {"Output", {Option("output", {}, "Default: standard output."), "force"}}},
      run_export};
}

const Joined<ListedCommand> listed_export_trace({Asks::also, 3, export_trace});

}  // namespace npgpu::cli
