// npgpu export: a trace as something that other programs read.
#include <fstream>
#include <iostream>
#include <sstream>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/sweep_choice.hpp"
#include "npgpu/error.hpp"
#include "npgpu/report.hpp"

namespace npgpu::cli {

namespace {

void write(std::ostream& out, const std::string& format, bool probes, bool jobs, const Trace& trace) {
  if ((probes || jobs) && format != "csv")
    throw Error(ErrorKind::usage, "--probes and --jobs choose what csv holds; json holds all, npout only transfers");
  if (probes && jobs) throw Error(ErrorKind::usage, "--probes and --jobs are different tables: give one of them");
  if (format == "csv")
    return probes ? export_probes_csv(out, trace) : jobs ? export_streams_csv(out, trace) : export_csv(out, trace);
  if (format == "json") return export_json(out, trace);
  if (format != "npout")
    throw Error(ErrorKind::usage, "--format: '" + format + "' is none of csv, json, npout");
  if (trace.of<Transfers>().empty()) throw Error(ErrorKind::usage, "--format npout holds a sweep of transfers; the trace has none");
  if (trace.of<Transfers>().size() != 1)
    throw Error(ErrorKind::usage,
                "--format npout holds one sweep: name it with --sweep; the trace has\n" + sweeps_text(trace));
  export_npout(out, trace.of<Transfers>().front());
}

}  // namespace

int export_trace(const Arguments& arguments) {
  Options options("export", "npgpu export TRACE [options]",
                  "Writes a trace as csv (a row a sample), json (everything) or npout (NetPIPE's five columns).", {"TRACE"});
  declare_choice(options.group("What is written"));
  options.group("How").add_options()
      ("format", word("csv"), "csv, json, npout")
      ("probes", po::bool_switch(), "csv: samples of probes instead of transfers")
      ("jobs", po::bool_switch(), "csv: samples of jobs in streams instead of transfers")
      ("output,o", word(), "file to write; standard output if not given")
      ("force", po::bool_switch(), "replace an existing file");
  if (!options.read(arguments)) return exit_code::done;
  Trace trace = read_trace(options.place("TRACE"));
  choose_sweeps(options, trace);
  std::ostringstream text;
  write(text, options.text("format"), options.on("probes"), options.on("jobs"), trace);
  const auto path = options.maybe("output");
  if (!path) {
    std::cout << text.str();
    return exit_code::done;
  }
  if (!options.on("force") && std::ifstream(*path))
    throw Error(ErrorKind::usage, "--output: '" + *path + "' exists; --force replaces it");
  std::ofstream file(*path);
  file << text.str();
  file.close();
  if (!file) throw Error(ErrorKind::failed, "--output: cannot write '" + *path + "'");
  return exit_code::done;
}

}  // namespace npgpu::cli
