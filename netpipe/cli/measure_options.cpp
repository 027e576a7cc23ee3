#include "netpipe/cli/measure_options.hpp"

#include <unistd.h>

#include <chrono>
#include <ctime>

#include "netpipe/cli/quantity.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

namespace {

// A name of its own for each run, so that nothing measured is ever in the way of the next.
std::string standard_output() {
  char host[64] = "host";
  gethostname(host, sizeof host - 1);
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &parts);
  return std::string("npgpu-") + host + '-' + stamp + ".h5";
}

// A probe's repeats are steps of one kernel: trials of 1 ms repeat as well as longer ones, and there are many shapes.
const ClassicOptions classic_probe{.target = Seconds{0.05}};
const AdaptiveOptions adaptive_probe{.trial = Seconds{0.001}, .budget = Seconds{0.2}};

const AdaptiveOptions adaptive_job{.trial = Seconds{0}, .budget = Seconds{0.1}};

MakeSchedule schedule_of(const Options& options, ClassicOptions classic, AdaptiveOptions adaptive) {
  const std::string kind = options.text("schedule");
  if (kind == "classic") {
    if (options.has("tolerance") || options.has("budget") || options.has("trial-time"))
      throw Error(ErrorKind::usage, "--tolerance, --budget and --trial-time belong to --schedule adaptive");
    if (const auto text = options.maybe("target-time")) classic.target = parse_duration("target-time", *text);
    if (const auto text = options.maybe("trials"))
      classic.trials = static_cast<int>(parse_count("trials", *text, 1, 100000));
    if (const auto text = options.maybe("repeats"))
      classic.fixed_repeats = parse_count("repeats", *text, 1, 1000000000000);
    return [classic] { return classic_schedule(classic); };
  }
  if (kind == "adaptive") {
    if (options.has("target-time") || options.has("repeats"))
      throw Error(ErrorKind::usage, "--target-time and --repeats belong to --schedule classic");
    if (const auto text = options.maybe("tolerance")) adaptive.tolerance = parse_fraction("tolerance", *text);
    if (const auto text = options.maybe("budget")) adaptive.budget = parse_duration("budget", *text);
    if (const auto text = options.maybe("trial-time")) adaptive.trial = parse_duration("trial-time", *text);
    if (const auto text = options.maybe("trials"))
      adaptive.min_trials = static_cast<int>(parse_count("trials", *text, 6, 100000));
    return [adaptive] { return adaptive_schedule(adaptive); };
  }
  throw Error(ErrorKind::usage, "--schedule: '" + kind + "' is no schedule; there are classic, adaptive");
}

}  // namespace

void declare_measure_options(Options& options, const std::string& schedule) {
  options.group("When to repeat and when to stop").add_options()
      ("schedule", word(schedule), "classic: NetPIPE's fixed trials; adaptive: until the interval of the median is narrow")
      ("trials", word(), "trials of a point: classic 7; adaptive at least 9 (never under 6)")
      ("target-time", word(), "classic: length of a trial, 0.25 s (probes 0.05 s)")
      ("repeats", word(), "classic: repeats of a trial, instead of a length")
      ("tolerance", word(), "adaptive: half width of the 95 % interval over the median, 1 %")
      ("trial-time", word(), "adaptive: length of a trial, 3 ms (probes 1 ms,\njobs in streams one job)")
      ("budget", word(), "adaptive: time a point may take before it is marked not-converged,\n0.15 s (probes 0.2 s, jobs in streams 0.1 s)");
  options.group("Trace").add_options()
      ("output,o", word(), "trace to write; npgpu-HOST-TIME.h5 if not given")
      ("force", po::bool_switch(), "replace an existing trace")
      ("resume", po::bool_switch(), "continue an existing trace: measure only what it lacks");
  options.group("Telling").add_options()
      ("json", po::bool_switch(), "print results as JSON")
      ("quiet", po::bool_switch(), "no progress, errors only")
      ("dry-run", po::bool_switch(), "say what would run, how long and with how much memory");
}

MeasureOptions measure_options(const Options& options) {
  MeasureOptions m;
  m.output = options.maybe("output").value_or(standard_output());
  if (m.output.empty()) throw Error(ErrorKind::usage, "--output: the name is empty");
  if (options.on("force") && options.on("resume"))
    throw Error(ErrorKind::usage, "--force replaces a trace and --resume continues it: give one of them");
  if (options.on("resume") && !options.has("output"))
    throw Error(ErrorKind::usage, "--resume needs --output, the trace to continue");
  m.if_exists = options.on("force")    ? IfExists::replace
                : options.on("resume") ? IfExists::resume
                                       : IfExists::refuse;
  m.quiet = options.on("quiet");
  m.json = options.on("json");
  m.dry_run = options.on("dry-run");
  m.make_schedule = schedule_of(options, {}, {});
  m.make_probe_schedule = schedule_of(options, classic_probe, adaptive_probe);
  m.make_job_schedule = schedule_of(options, {}, adaptive_job);
  return m;
}

}  // namespace npgpu::cli
