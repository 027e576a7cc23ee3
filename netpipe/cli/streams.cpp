// npgpu streams: jobs cut into streams, and what their parts cost.
#include <fmt/format.h>

#include <algorithm>

#include "netpipe/cli/campaign.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/quantity.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

namespace {

void declare(Options& options) {
  options.group("What is measured (lists: a,b,c)").add_options()
      ("device", word(), "cuda:N; the first GPU if not given")
      ("experiment", word(), "the first three of these if not given:\n"
                             "fixed: paper 000's 60 MiB each way over cuts\n"
                             "asymmetric: its shares of 24 MiB\n"
                             "overheads: copies, kernels and streams alone\n"
                             "design: many workloads in random order")
      ("workloads", word("210"), "how many of the design")
      ("seed", word(std::to_string(usual_seed)), "of the design: another one is another design");
  options.group("Whole jobs (fixed, asymmetric, and jobs of your own)").add_options()
      ("kernel", word("increment"), "none, increment, memory, compute")
      ("order", word("breadth-first"), "of the host's calls: breadth-first, depth-first, apart")
      ("pool", word("pooled"), "pooled: streams that are there; fresh: made and timed with the job")
      ("bytes-in", word(), "a job of your own instead of an experiment: copied to the device")
      ("bytes-out", word(), "likewise: copied back; the kernel works on the larger of the two")
      ("iterations", word(), "of the kernel's loop")
      ("chunks", word(), "into which the job is cut")
      ("streams", word(), "that the chunks go round; one a chunk if not given")
      ("threads", word("512"), "of a block");
}

template <class E>
std::vector<E> choice(const Options& options, const std::string& option) {
  std::vector<E> chosen;
  for (const std::string& text : split_words(option, options.text(option))) {
    const auto value = named<E>(text);
    if (!value) throw Error(ErrorKind::usage, fmt::format("--{}: '{}' is none of {}", option, text, choices<E>()));
    chosen.push_back(*value);
  }
  return chosen;
}

std::vector<std::uint64_t> counts(const Options& options, const std::string& option, std::uint64_t least, std::uint64_t most) {
  std::vector<std::uint64_t> all;
  if (const auto list = options.maybe(option))
    for (const std::string& text : split_words(option, *list)) all.push_back(parse_count(option, text, least, most));
  return all;
}

std::vector<std::uint64_t> sizes(const Options& options, const std::string& option) {
  const auto list = options.maybe(option);
  return list ? parse_sizes(option, *list) : std::vector<std::uint64_t>{};
}

JobChoice choice_of(const Options& options) {
  JobChoice choice;
  choice.workloads = npgpu::cli::choice<Workload>(options, "kernel");
  choice.orders = npgpu::cli::choice<Order>(options, "order");
  choice.pools = npgpu::cli::choice<StreamPool>(options, "pool");
  choice.bytes_in = sizes(options, "bytes-in");
  choice.bytes_out = sizes(options, "bytes-out");
  choice.iterations = counts(options, "iterations", 0, 1'000'000);
  choice.chunks = counts(options, "chunks", 1, 65'536);
  choice.streams = counts(options, "streams", 1, 4'096);
  choice.threads = static_cast<std::uint32_t>(parse_count("threads", options.text("threads"), 1, 1024));
  return choice;
}

std::vector<PlannedJob> jobs_of(const Options& options, const JobChoice& choice) {
  const bool own = options.has("bytes-in") || options.has("bytes-out");
  if (own && options.has("experiment"))
    throw Error(ErrorKind::usage, "--experiment has sizes of its own: leave it out, or --bytes-in and --bytes-out");
  if (own) return chosen_jobs(choice);
  const auto workloads = static_cast<std::uint32_t>(parse_count("workloads", options.text("workloads"), 1, 100'000));
  const std::uint64_t seed = parse_count("seed", options.text("seed"), 0, ~0ull >> 1);
  std::vector<PlannedJob> all;
  for (const std::string& name :
       split_words("experiment", options.maybe("experiment").value_or("fixed,asymmetric,overheads"))) {
    const auto jobs = name == "fixed"        ? fixed_experiment(choice)
                      : name == "asymmetric" ? asymmetric_experiment(choice)
                      : name == "overheads"  ? overheads_experiment(choice.device)
                      : name == "design"     ? design_experiment(choice.device, workloads, seed)
                                             : std::vector<PlannedJob>{};
    if (jobs.empty())
      throw Error(ErrorKind::usage, "--experiment: '" + name + "' is none of fixed, asymmetric, overheads, design");
    all.insert(all.end(), jobs.begin(), jobs.end());
  }
  return all;
}

std::string first_gpu() {
  const Backend<Jobs>& backend = find_job_backend("cuda:0");
  const auto all = backend.devices();
  if (all.empty()) throw Error(ErrorKind::nothing, "jobs in streams need a GPU: " + backend.why_none());
  return all.front().id;
}

Plan plan_of(const Options& options) {
  JobChoice choice = choice_of(options);
  (void)jobs_of(options, choice);  // what is wrong with the options is wrong on every machine
  const auto devices = options.maybe("device");
  Plan plan;
  for (const std::string& id : devices ? split_words("device", *devices) : std::vector<std::string>{first_gpu()}) {
    const Backend<Jobs>& backend = find_job_backend(id);
    const DeviceInfo device = backend.device(id);
    choice.device = id;
    add(plan, backend, device, jobs_of(options, choice));
  }
  return plan;
}

}  // namespace

int streams(const Arguments& arguments) {
  Options options(
      "streams", "npgpu streams [options]",
      "Times jobs that copy bytes to a GPU, run a kernel and copy bytes back, cut into chunks that are issued\n"
      "to streams; and the small jobs that tell what a stream, a copy and a launch cost. Every result is\n"
      "compared, word by word. On a GPU, host times are those of a core whose other hyperthread leaves it\n"
      "alone; on a busy one calls take 1.3 to 1.5 times as long (an H200's host).");
  declare(options);
  declare_measure_options(options, "adaptive");
  if (!options.read(arguments)) return exit_code::done;
  const MeasureOptions how = measure_options(options);
  return measure(plan_of(options), how, ClosingReport::full_report);
}

}  // namespace npgpu::cli
