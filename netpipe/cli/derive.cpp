// npgpu derive: how the devices of a trace are built.
#include <iostream>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/output_file.hpp"
#include "netpipe/cli/predict.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

namespace {

int write_twin(const Options& options, const Trace& trace, const std::string& file) {
  const std::string path = options.place("TRACE");
  const std::string spec = twin_of(trace, costs_of_trace(trace, path, options.maybe("device")), path);
  write_file("twin", file, options.on("force"), [&](std::ostream& out) { out << spec; });
  return exit_code::done;
}

int run_derive(const Options& options) {
  const Trace trace = read_named_trace(options.place("TRACE"));
  if (const auto file = options.maybe("twin")) return write_twin(options, trace, *file);
  const auto devices = derive(trace);
  if (devices.empty())
    throw Error(ErrorKind::usage,
                options.place("TRACE") +
                    " holds no probes and no costs of streams: npgpu probe all, or npgpu characterize, measure the "
                    "first, npgpu streams --experiment overheads the second");
  if (options.on("published")) {
    const auto tables = published(trace, devices);
    if (tables.empty())
      throw Error(ErrorKind::usage, "--published: there are no figures of papers of the devices in " +
                                        options.place("TRACE") + ": they are of compute capability 8.0, 8.9 and 9.0");
    if (options.on("json")) published_json(std::cout, tables);
    else published_text(std::cout, tables, terminal_style());
    return exit_code::done;
  }
  if (options.on("json")) parameters_json(std::cout, devices);
  else parameters_text(std::cout, devices, options.on("all") ? Detail::full : Detail::brief, terminal_style());
  return exit_code::done;
}

}  // namespace

Command derive_parameters() {
  return {
      "derive",
      "infer how a device is built from the probes of a trace",
      "Infers how the devices of a trace are built from its probes, and what streams cost from its jobs, and "
      "compares that with what the drivers and the system report. The first line says how a device is built; each "
      "parameter has a line. Needs no device.",
      {"TRACE"},
      {"npgpu derive node.h5", "npgpu derive node.h5 --all", "npgpu derive node.h5 --published",
       "npgpu derive node.h5 --twin node.json"},
      {{"Output",
        {Option("all", {}, "Each parameter with its formula, its source and what disturbs it; those by time, too."),
         "published", "json", "twin", Option("device", {}, "--twin: needed where the trace has several."), "force"}}},
      run_derive};
}

const Joined<ListedCommand> listed_derive_parameters({Asks::able, 9, derive_parameters});

}  // namespace npgpu::cli
