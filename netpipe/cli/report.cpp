// npgpu report: a trace in the terminal.
#include "npgpu/report.hpp"

#include <iostream>

#include "netpipe/cli/campaign.hpp"
#include "netpipe/cli/case_choice.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

namespace {

void declare(Options& options) {
  options.group("What is shown").add("case").add("every-size").add("overview");
  options.group("Output").add("json");
}

int run_report(const Options& options) {
  Trace trace = read_trace(options.place("TRACE"), Guard::child);
  TextStyle style = terminal_style();
  style.every_size = options.on("every-size");
  if (options.has("case")) {
    for_each_kind([&]<class K>() { style.series_in_trace += trace.of<K>().size(); });
    choose_cases(options, trace);
  }
  if (options.on("json")) {
    options.on("overview") ? report_overview_json(std::cout, trace) : report_json(std::cout, trace);
    return exit_code::done;
  }
  options.on("overview") ? report_overview(std::cout, trace, style) : report_text(std::cout, trace, style);
  const std::string next = next_steps(trace, options.place("TRACE"));
  if (!next.empty()) std::cout << '\n' << next;
  return exit_code::done;
}

}  // namespace

void print_report(const Trace& trace, const std::string& path) {
  report_text(std::cout, trace, terminal_style());
  const std::string next = next_steps(trace, path);
  if (!next.empty()) std::cout << '\n' << next;
}

Command report() {
  return {
      "report",
      "show a trace in the terminal",
      "Shows a trace: every series as a table with intervals and percent of the limit, the curves in a few numbers, "
      "and what is derived from them. Needs no device.",
      {"TRACE"},
      {"npgpu report node.h5 --overview", "npgpu report node.h5 --case transfers:0,3 probes",
       "npgpu report node.h5 --json > node.json"},
      declare,
      run_report};
}

}  // namespace npgpu::cli
