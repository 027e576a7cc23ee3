// npgpu streams: jobs cut into streams, and what their parts cost.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/measure.hpp"
#include "netpipe/cli/options.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/terminal.hpp"
#include "netpipe/jobs/experiments.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/layout.hpp"
#include "npgpu/model/advice.hpp"
#include "npgpu/model/result.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

namespace {

std::vector<std::uint64_t> counts(const Options& options, const std::string& option, std::uint64_t min,
                                  std::uint64_t max) {
  const auto list = options.maybe(option);
  return list ? parse_counts(option, *list, min, max) : std::vector<std::uint64_t>{};
}

std::vector<std::uint64_t> sizes(const Options& options, const std::string& option) {
  const auto list = options.maybe(option);
  return list ? parse_sizes(option, *list) : std::vector<std::uint64_t>{};
}

// Chunks of equally many of the items that --items says.
void keep_items_whole(const Options& options, JobChoice& choice) {
  const auto text = options.maybe("items");
  if (!text) return;
  constexpr std::uint64_t most = 65'536, usual = 64, line = 128;
  const std::uint64_t items = parse_count("items", *text, 1, most);
  if (choice.bytes_in.empty() && choice.bytes_out.empty())
    throw Error(ErrorKind::usage, "--items: they are of jobs of your own: give --bytes-in and --bytes-out");
  for (const auto& sizes : {choice.bytes_in, choice.bytes_out})
    for (const std::uint64_t bytes : sizes)
      if (bytes % (items * line))
        throw Error(ErrorKind::usage, fmt::format("--items: {} are not {} of whole lines of {} B",
                                                  typed_size_text(bytes), counted(items, "item"), line));
  for (const std::uint64_t n : choice.chunks)
    if (items % n)
      throw Error(ErrorKind::usage, fmt::format("--chunks: {} chunks would cut {}", n, counted(items, "item")));
  if (choice.chunks.empty())
    for (std::uint64_t n = 1; n <= std::min(items, usual); ++n)
      if (items % n == 0) choice.chunks.push_back(n);
}

JobChoice choice_of(const Options& options) {
  JobChoice choice;
  choice.workloads = parse_names<Workload>("kernel", options.text("kernel"));
  choice.orders = parse_names<Order>("order", options.text("order"));
  if (const auto pools = options.maybe("pool")) choice.pools = parse_names<StreamPool>("pool", *pools);
  choice.issues = parse_names<Issuing>("issue", options.text("issue"));
  choice.bytes_in = sizes(options, "bytes-in");
  choice.bytes_out = sizes(options, "bytes-out");
  choice.iterations = counts(options, "iterations", 0, 1'000'000);
  choice.chunks = counts(options, "chunks", 1, 65'536);
  keep_items_whole(options, choice);
  choice.streams = counts(options, "streams", 1, 4'096);
  choice.threads = static_cast<std::uint32_t>(parse_count("threads", options.text("threads"), 1, 1024));
  return choice;
}

bool own_jobs(const Options& options) { return options.has("bytes-in") || options.has("bytes-out"); }

std::vector<JobStep> jobs_of(const Options& options, const JobChoice& choice, const std::string& device_name = {}) {
  if (own_jobs(options) && options.has("experiment"))
    throw Error(ErrorKind::usage, "--experiment has its own sizes: leave it out, or --bytes-in and --bytes-out");
  if (own_jobs(options)) return chosen_jobs(choice);
  const auto workloads = static_cast<std::uint32_t>(parse_count("workloads", options.text("workloads"), 1, 100'000));
  const std::uint64_t seed = parse_count("seed", options.text("seed"), 0, ~0ull >> 1);
  std::vector<JobStep> all;
  for (const std::string& name :
       split_names("experiment", options.maybe("experiment").value_or("fixed,asymmetric,overheads"))) {
    const auto jobs = name == "fixed"        ? fixed_experiment(choice, device_name)
                      : name == "asymmetric" ? asymmetric_experiment(choice, device_name)
                      : name == "overheads"  ? overheads_experiment(choice.device)
                      : name == "design"     ? design_experiment(choice.device, workloads, seed, choice.issues)
                                             : std::vector<JobStep>{};
    if (jobs.empty()) refuse_word("experiment", name, {"fixed", "asymmetric", "overheads", "design"});
    all.insert(all.end(), jobs.begin(), jobs.end());
  }
  return all;
}

Plan streams_plan(const Options& options) {
  JobChoice choice = choice_of(options);
  (void)jobs_of(options, choice);  // what is wrong with the options is wrong on every machine
  Plan plan;
  for (const std::string& id : gpu_ids(options, "jobs in streams")) {
    choice.device = id;
    const DeviceInfo device = devices::find(id);
    add<Jobs>(plan, find_job_backend(id), device, jobs_of(options, choice, device.name));
  }
  return plan;
}

// For each job that was measured in several cuts: the best of them.
void print_best(const Trace& trace) {
  const auto time = [](const JobResult& cut) { return cut.time_us.value; };
  for (const JobSeries& series : trace.of<Jobs>()) {
    const std::string way = series.question.issue == Issuing::graph ? " as a graph" : "";
    std::map<JobShape, std::vector<JobResult>> jobs;  // by the unsplit job
    for (const JobResult& cut : results(series)) {
      JobShape unsplit = cut.axes;
      unsplit.chunks = unsplit.streams = 1;
      jobs[unsplit].push_back(cut);
    }
    for (const auto& [unsplit, cuts] : jobs) {
      if (cuts.size() == 1) continue;
      const JobResult& best = *std::ranges::min_element(cuts, {}, time);
      std::string line = fmt::format("best of measured{}: {}: {}", way, text_of(best.axes), time_text(time(best)));
      if (best.speed_up > 0) line += fmt::format(", {:.2f} times as fast as unsplit", best.speed_up);
      const double most = (1 + same_time_tolerance) * time(best);
      const JobResult* fewest = &best;
      for (const JobResult& cut : cuts)
        if (time(cut) <= most && cut.axes.streams < fewest->axes.streams) fewest = &cut;
      if (fewest != &best)
        line += fmt::format("; the fewest streams within {:g} %: {}, {}, {:+.1f} %", 100 * same_time_tolerance,
                            fewest->axes.streams, time_text(time(*fewest)), 100 * (time(*fewest) / time(best) - 1));
      std::cout << wrapped(line, static_cast<std::size_t>(terminal_style().width), 2) << '\n';
    }
  }
}

int run_streams(const Options& options) {
  return measure(options, streams_plan, [&](const Trace& trace, const std::string& path) {
    print_report(trace, path);
    if (own_jobs(options)) print_best(trace);
  });
}

}  // namespace

Command streams() {
  return {
      "streams",
      "time jobs cut into streams, and what their parts cost",
      "Times jobs that copy bytes to a GPU, run a kernel and copy bytes back. A job is cut into chunks, which are "
      "issued to streams. The experiment overheads times copies, kernels and streams alone, which npgpu predict needs. "
      "Every word of every result is compared. The host's times are measured on a core with its other hyperthread "
      "idle.",
      {},
      {"npgpu streams --experiment overheads",
       "npgpu streams --bytes-in 64MiB --bytes-out 64MiB --kernel compute --iterations 64 --chunks 1,2,4,8,16"},
      with_measure_options(
          {{"What is measured (lists: a,b,c)",
            {Option("device", {}, "A list. Default: the first GPU."),
             Option("experiment", {},
                    "Default: fixed,asymmetric,overheads. --iterations, --chunks, --pool, --kernel and --order are "
                    "also of fixed and asymmetric."),
             Option("workloads", "210"), Option("seed", std::to_string(usual_seed))}},
           {"Whole jobs (lists: a,b,c; numbers: 8..27, 20..115:5)",
            {Option("bytes-in", {}, "A list; measures jobs of your own in place of an experiment."),
             Option("bytes-out", {}, "A list. The kernel works on the larger of the two."),
             Option("kernel", "increment"), "iterations", "chunks",
             Option("items", {}, "Here all chunks have as many; default of --chunks: up to 64."),
             Option("streams", {}, "Default: one for each chunk."), Option("threads", "512"),
             Option("order", "breadth-first"), Option("pool", {}, "Default: pooled; of fixed and asymmetric both."),
             Option("issue", "streams", "Also of the random design.")}}}),
      run_streams};
}

const Joined<ListedCommand> listed_streams({Asks::able, 5, streams});

}  // namespace npgpu::cli
