// npgpu fleet: which GPUs of many traces are not like the others of their kind.
#include "npgpu/fleet.hpp"

#include <fmt/format.h>

#include <iostream>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/fleet_baselines.hpp"
#include "netpipe/cli/fleet_files.hpp"
#include "netpipe/cli/output_file.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

namespace {

// The latest that is not after these runs; else the first.
FleetBaseline baseline_before(std::vector<FleetBaseline> all, const std::vector<FleetRun>& runs) {
  std::string last;
  for (const FleetRun& run : runs) last = std::max(last, run.date);
  std::size_t best = 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].date < last) best = i;
  return std::move(all[best]);
}

// The verdict first. False if a file could not be written.
bool write(const Options& options, const Fleet& fleet) {
  if (options.on("json")) fleet_json(std::cout, fleet);
  else if (options.on("csv")) fleet_csv(std::cout, fleet);
  else fleet_text(std::cout, fleet, options.on("all"), terminal_style());
  bool are_written = true;
  if (const auto path = options.maybe("openmetrics"))
    are_written &= is_written(
        [&] { write_file("openmetrics", *path, true, [&](std::ostream& out) { fleet_openmetrics(out, fleet); }); });
  if (const auto path = options.maybe("html"))
    are_written &= is_written(
        [&] { write_file("html", *path, options.on("force"), [&](std::ostream& out) { fleet_html(out, fleet); }); });
  if (const auto path = options.maybe("keep"))
    are_written &= is_written([&] { keep_baseline("keep", *path, baseline_of(fleet)); });
  return are_written;
}

int exit_code_of(const Fleet& fleet) {
  if (fleet.suspects() || !fleet.broken_hosts.empty() || fleet.slow_hosts() || fleet.has_slower_group())
    return exit_code::slower;
  if (fleet.splits() || fleet.in_doubt()) return exit_code::undecided;
  for (const FleetGroup& group : fleet.groups)
    if (group.judged) return exit_code::done;
  return exit_code::nothing;
}

int run_fleet(const Options& options) {
  if (options.on("json") && options.on("csv"))
    throw Error(ErrorKind::usage, "--json and --csv are two forms of one report: choose one");
  FleetRules rules;
  if (const auto text = options.maybe("tolerance")) rules.tolerance = parse_fraction("tolerance", *text);
  std::vector<FleetBaseline> baselines;
  if (const auto path = options.maybe("reference")) baselines = read_baselines("reference", *path);

  // Before thousands of traces are read.
  if (const auto path = options.maybe("openmetrics")) check_output("openmetrics", *path, true);
  if (const auto path = options.maybe("html")) check_output("html", *path, options.on("force"));
  if (const auto path = options.maybe("keep")) baselines_to_keep("keep", *path);
  const FoundTraces found = find_traces(options.places("DIR|FILES..."));
  const FleetRuns read = read_fleet(found);
  const auto refuse = [&](const char* why) {
    for (const FleetFile& file : read.unreadable) std::cerr << one_line(file.path + ": " + file.why) << '\n';
    throw Error(ErrorKind::usage, why);
  };
  if (read.runs.empty()) refuse("none of these can be read as a trace");
  FleetBaseline reference;
  if (!baselines.empty()) {
    reference = baseline_before(std::move(baselines), read.runs);
    rules.reference = &reference;
  }
  Fleet fleet = judge_fleet(read.runs, rules);
  fleet.files = found.traces.size();
  fleet.unreadable = read.unreadable;
  if (fleet.groups.empty()) refuse("none of these traces has a series of a GPU");
  const bool are_written = write(options, fleet);
  const int code = exit_code_of(fleet);
  return are_written || code != exit_code::done ? code : exit_code::failed;
}

}  // namespace

Command fleet() {
  return {
      "fleet",
      "which GPUs of thousands of traces differ from the others, and why",
      "Compares the GPUs of many traces with each other by key figures: links each way, memory, computing power, "
      "latencies, calls. A group is what has the same model, driver and link. A GPU is a suspect if a key figure takes "
      "more time than the group's median by more than healthy GPUs of a model differ; if its own times scatter, or "
      "grow within its run, as others' do not; if its own plan had a figure and it has no valid one; if it has fewer "
      "multiprocessors, a lesser link or a lower clock; or if it is broken. Confirmed, and so on the line for Slurm, "
      "is what is broken, and links, memory and computing power of which the whole interval is beyond the limit: all "
      "else is to be looked at. A group is undecided, as it cannot be known which of its GPUs are right, if half of "
      "them "
      "are slow, if a tenth is faster than its median, or if half are slow by their own limits and yet like the "
      "others. "
      "A GPU of a group that is too small is judged alone, by what its own link, memory and "
      "clocks allow. Calls that are slow on all GPUs of a host are the host's. "
      "What several traces say of a GPU (by its host and UUID) is one "
      "value. A folder stands for the traces (*.h5) in it and below it. The last line is for Slurm. Exit codes: 0 "
      "nothing found, 3 suspects, slow hosts, or medians slower than in the reference, 8 undecided: two "
      "sorts of GPUs, or a group that is slow by its own limits, 2 bad input, 77 no group is large enough to be "
      "judged. Traces that cannot be read are listed, "
      "and the others are judged.",
      {"DIR|FILES..."},
      {"npgpu fleet traces/", "npgpu fleet traces/ --html fleet.html --openmetrics /var/lib/node_exporter/fleet.prom",
       "npgpu fleet traces/2026-11 --keep baselines.json", "npgpu fleet traces/2026-12 --reference baselines.json",
       "npgpu fleet traces/ --csv > fleet.csv"},
      {{"How it is judged",
        {Option("tolerance", {}, "The least share that counts. Default: by kind of figure, 2 % to 40 %."),
         Option("reference", {},
                "FILE is what --keep wrote: says which medians have changed since, and judges groups that are too "
                "small to be judged by their own."),
         "keep"}},
       {"Output", {"all", "csv", "json", "openmetrics", Option("html", {}, "Here of the fleet."), "force"}}},
      run_fleet};
}

}  // namespace npgpu::cli
