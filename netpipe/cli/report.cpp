// npgpu report: a trace in the terminal.
#include "npgpu/report.hpp"

#include <iostream>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/how_to_predict.hpp"
#include "netpipe/cli/sweep_choice.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

int report(const Arguments& arguments) {
  Options options("report", "npgpu report TRACE [options]",
                  "Shows a trace: every sweep as a table with intervals and percent of the limit, and its curve in a\n"
                  "few numbers; probes; jobs in streams; and what is derived from them.",
                  {"TRACE"});
  auto& shown = options.group("What is shown");
  declare_choice(shown);
  shown.add_options()
      ("overview", po::bool_switch(), "a line a sweep")
      ("json", po::bool_switch(), "as JSON");
  if (!options.read(arguments)) return exit_code::done;
  Trace trace = read_trace(options.place("TRACE"));
  choose_sweeps(options, trace);
  if (options.on("json")) {
    report_json(std::cout, trace);
    return exit_code::done;
  }
  options.on("overview") ? report_overview(std::cout, trace, terminal_style())
                         : report_text(std::cout, trace, terminal_style());
  const std::string next = how_to_predict(trace, options.place("TRACE"));
  if (!next.empty()) std::cout << '\n' << next;
  return exit_code::done;
}

}  // namespace npgpu::cli
