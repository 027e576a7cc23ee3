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

void print(const Trace& trace, const std::string& path, bool overview, const TextStyle& style) {
  overview ? report_overview(std::cout, trace, style) : report_text(std::cout, trace, style);
  const std::string next = next_steps(trace, path);
  if (!next.empty()) std::cout << '\n' << next;
}

int run_report(const Options& options) {
  Trace trace = read_trace(options.place("TRACE"), Guard::child);
  TextStyle style = terminal_style();
  style.every_size = options.on("every-size");
  if (options.has("case")) {
    for_each_kind([&]<class K>() { style.series_in_trace += trace.of<K>().size(); });
    choose_cases(options, trace);
  }
  const bool overview = options.on("overview");
  if (!options.on("json")) print(trace, options.place("TRACE"), overview, style);
  else overview ? report_overview_json(std::cout, trace) : report_json(std::cout, trace);
  return exit_code::done;
}

}  // namespace

void print_report(const Trace& trace, const std::string& path) { print(trace, path, false, terminal_style()); }

Command report() {
  return {
      "report",
      "show a trace in the terminal",
      "Shows a trace: every series as a table with intervals and percent of the limit, the curves in a few numbers, "
      "and what is derived from them. Needs no device.",
      {"TRACE"},
      {"npgpu report node.h5 --overview", "npgpu report node.h5 --case transfers:0,3 probes",
       "npgpu report node.h5 --json > node.json"},
      {{"What is shown", {"case", "every-size", "overview"}}, {"Output", {"json"}}},
      run_report};
}

}  // namespace npgpu::cli
