// npgpu merge: several traces in one file.
#include <filesystem>
#include <iostream>

#include "netpipe/campaign/provenance.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/output_file.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

namespace {

int run_merge(const Options& options) {
  const std::string merged = options.place("OUT");
  if (!merged.empty()) check_trace_output(merged);
  const std::vector<std::string> files = trace_files(options.places("TRACE..."));
  const std::vector<std::filesystem::path> traces(files.begin(), files.end());
  merge_traces(merged, traces, campaign::trace_root("", typed()), {options.on("force"), options.on("incomplete")});
  const std::vector<Trace> runs = read_runs(merged, Guard::none, Depth::headers);  // what is shown is what was written
  if (options.on("json")) runs_json(std::cout, merged, runs);
  else if (options.on("quiet"))
    std::cout << one_line(merged) << ": " << runs.size() << (runs.size() == 1 ? " run\n" : " runs\n");
  else runs_text(std::cout, merged, runs, terminal_style());
  return exit_code::done;
}

}  // namespace

Command merge() {
  return {"merge",
          "put several traces into one file: ranks of a job, nodes of an array",
          "Writes the runs of all these traces into the file OUT, each whole: every sample, host, GPU and job. A "
          "folder stands for its traces (*.h5), a merged file for its runs. The same GPU measured twice stays two "
          "runs. npgpu report OUT lists the runs, and every command that reads a trace takes OUT:N, which is run N; "
          "npgpu compare and export --summary take all. Files that are no traces, of a newer version, not complete, or "
          "of a run that is there already are named, and then nothing is written.",
          {"OUT", "TRACE..."},
          {"npgpu merge job.h5 npgpu-4711-*.h5", "npgpu merge cluster.h5 traces/ more_traces/ --incomplete"},
          {{"What is taken", {"incomplete"}}, {"Output", {"force", "json", "quiet"}}},
          run_merge};
}

const Joined<ListedCommand> listed_merge({Asks::also, 4, merge});

}  // namespace npgpu::cli
