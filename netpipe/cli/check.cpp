// npgpu check: measures a little, and says whether each GPU is as it should be.
#include "npgpu/check.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "netpipe/cli/campaign.hpp"
#include "netpipe/cli/characterize.hpp"
#include "netpipe/cli/check_plan.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/output_file.hpp"
#include "netpipe/cli/provenance.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/reference.hpp"
#include "netpipe/cli/signals.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/clock.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

namespace {

namespace fs = std::filesystem;

// The trace of a check that is not to be kept.
class TemporaryTrace {
 public:
  TemporaryTrace() {
    std::string name = (fs::temp_directory_path() / "npgpu-check-XXXXXX").string();
    if (!mkdtemp(name.data()))
      throw Error(ErrorKind::failed, "no temporary folder in " + fs::temp_directory_path().string());
    folder_ = name;
  }
  ~TemporaryTrace() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  TemporaryTrace(const TemporaryTrace&) = delete;
  TemporaryTrace& operator=(const TemporaryTrace&) = delete;
  std::string path() const { return (folder_ / "check.h5").string(); }

 private:
  fs::path folder_;
};

Level level_of(const Options& options) {
  return static_cast<Level>(parse_count("level", options.maybe("level").value_or("2"), 1, 3));
}

struct Rules : HealthRules {
  std::vector<std::string> reference_gpus{};  // names
};

Rules rules_of(const Options& options, bool measured) {
  Rules rules;
  if (const auto path = options.maybe("reference")) {
    const Reference reference = read_reference(*path);
    rules.reference = reference.name;
    rules.figures = reference.figures;
    rules.reference_gpus = reference.gpus;
  }
  if (const auto list = options.maybe("expect")) rules.expected = expectations(*list);
  if (measured || options.has("level")) rules.required = required_metrics(level_of(options));
  return rules;
}

// As monitoring systems count: 0 ok, 1 warning, 2 critical, 3 unknown.
int nagios_code(CheckVerdict verdict, Health worst) {
  switch (verdict) {
    case CheckVerdict::ok: return worst == Health::warn ? 1 : 0;
    case CheckVerdict::slow:
    case CheckVerdict::broken: return 2;
    case CheckVerdict::failed_to_run:
    case CheckVerdict::skipped: break;
  }
  return 3;
}

int own_code(CheckVerdict verdict, bool is_nothing) {
  switch (verdict) {
    case CheckVerdict::ok: return exit_code::done;
    case CheckVerdict::slow: return exit_code::slower;
    case CheckVerdict::broken: return exit_code::broken;
    case CheckVerdict::failed_to_run: return exit_code::failed;
    case CheckVerdict::skipped: break;
  }
  return is_nothing ? exit_code::nothing : exit_code::busy;
}

struct Ending {
  bool is_nothing = false;  // skipped, as there is nothing to measure
  bool is_stopped = false;
};

int end(const Options& options, CheckOf& check, const Ending& ending) {
  const bool nagios = options.text("exit-codes") == "nagios";
  check.exit_code = ending.is_stopped ? exit_code::stopped
                    : nagios          ? nagios_code(check.verdict, worst_of(check.findings))
                                      : own_code(check.verdict, ending.is_nothing);
  if (const auto path = options.maybe("junit"))
    write_file("junit", *path, true, [&](std::ostream& out) { check_junit(out, check); });
  if (const auto path = options.maybe("openmetrics"))
    write_file("openmetrics", *path, true, [&](std::ostream& out) { check_openmetrics(out, check); });
  if (options.on("json")) {
    check_json(std::cout, check);
    return check.exit_code;
  }
  if (!options.on("quiet")) check_text(std::cout, check, options.on("all"), terminal_style());
  std::string line = fmt::format("{}: {}, {} GPU{}", check.root.hostname, name(check.verdict), check.gpus.size(),
                                 check.gpus.size() == 1 ? "" : "s");
  if (!check.decided.empty()) line += "; judged by " + check.decided;
  if (std::isfinite(check.wall_s)) line += fmt::format("; {:.1f} s", check.wall_s);
  if (!check.trace.empty()) line += "; trace: " + check.trace;
  std::cout << line << '\n';
  return check.exit_code;
}

// Nothing was judged.
int end_skipped(const Options& options, const std::string& why, bool is_nothing) {
  CheckOf check;
  check.root = trace_root("");
  check.why_skipped = why;
  Trace empty;
  empty.root = check.root;
  HealthRules rules;
  if (const auto list = options.maybe("expect")) rules.expected = expectations(*list);
  check.findings = health_of(empty, rules);
  check.verdict = verdict_of(check.findings);
  return end(options, check, {.is_nothing = is_nothing});
}

void judge_trace(CheckOf& check, const Trace& trace, const Rules& rules) {
  check.root = trace.root;
  check.gpus = gpus_of(trace);
  for (const CheckOf::Gpu& gpu : check.gpus)
    if (!rules.reference_gpus.empty() &&
        std::ranges::find(rules.reference_gpus, gpu.name) == rules.reference_gpus.end())
      throw Error(ErrorKind::usage, fmt::format("--reference: {} is of {}, and {} is a {}", rules.reference,
                                                rules.reference_gpus.front(), gpu.id, gpu.name));
  check.findings = health_of(trace, rules);
  check.verdict = verdict_of(check.findings);
  check.decided = rules.reference.empty() ? "what link, clocks and widths allow" : "reference " + rules.reference;
}

Plan plan_of(const Options& options, const std::vector<DeviceInfo>& gpus) {
  const Level level = level_of(options);
  return level == Level::all ? characterize_plan(options) : check_plan(gpus, level);
}

int measure_and_judge(const Options& options) {
  const Rules rules = rules_of(options, true);
  const std::vector<DeviceInfo> gpus = [&] {
    if (!options.has("device")) return devices::gpus();
    std::vector<DeviceInfo> all;
    for (const std::string& id : split_words("device", options.text("device"))) all.push_back(devices::find(id));
    return all;
  }();
  if (gpus.empty()) return end_skipped(options, "there is no GPU to check: " + devices::why_no_gpu(), true);
  if (std::ranges::find(gpus, "host", &DeviceInfo::id) != gpus.end())
    throw Error(ErrorKind::usage,
                "--device host: check judges GPUs; npgpu characterize --device host measures the host");

  MeasureOptions how = measure_options(options);
  // Its findings are what is asked for, and in a prolog nobody reads the rest.
  if (!options.has("progress") && how.progress == ProgressForm::cases) how.progress = ProgressForm::none;
  set_repetition(how, options, level_of(options));
  if (!how.dry_run) catch_signals();
  const Plan plan = plan_of(options, gpus);
  if (how.dry_run) return print_plan(plan, how);

  std::optional<TemporaryTrace> temporary;
  if (!options.has("output")) how.output = temporary.emplace().path();
  const Campaign campaign = run_campaign(plan, how);
  CheckOf check;
  judge_trace(check, read_trace(how.output, Guard::child), rules);
  check.wall_s = campaign.wall.count();
  if (!temporary) check.trace = how.output;
  return end(options, check, {.is_stopped = campaign.stopped});
}

int run_check(const Options& options) {
  const bool nagios = options.text("exit-codes") == "nagios";
  if (!nagios && options.text("exit-codes") != "npgpu")
    throw Error(ErrorKind::usage, "--exit-codes: '" + options.text("exit-codes") + "' is none of npgpu, nagios");
  try {
    if (!options.has("trace")) return measure_and_judge(options);
    CheckOf check;
    judge_trace(check, read_trace(options.text("trace"), Guard::child), rules_of(options, false));
    return end(options, check, {});
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::busy || e.kind() == ErrorKind::nothing)
      return end_skipped(options, e.what(), e.kind() == ErrorKind::nothing);
    if (!nagios) throw;
    std::cout << "npgpu: " << e.what() << '\n';
    return nagios_code(CheckVerdict::failed_to_run, Health::fail);
  }
}

}  // namespace

Command check() {
  Command command{
      "check",
      "measure a little, and say whether each GPU is as it should be, and if not, why",
      "Judges every GPU of this machine by what its link, clocks and widths allow, or by a reference: a line for each "
      "GPU, then what is not as it should be, with likely causes and what would mend them. Verdicts and exit codes: "
      "ok 0; slow 3, something is below its limit; broken 6, wrong results, errors counted, parts missing, or not as "
      "expected; failed to run 1, something that was to be measured has no figure; skipped 77, there is no GPU, or 4, "
      "others used it, so that it could not be judged.",
      {},
      {"npgpu check", "npgpu check --level 1 --expect gpus=8,link=gen5x16,driver=580",
       "npgpu check --reference good_node.h5 --junit check.xml --openmetrics /var/lib/node_exporter/npgpu.prom",
       "npgpu check --trace node7.h5 --all"},
      with_measure_options({{"What is checked",
                             {Option("device", {}, "A list. Default: all GPUs."), Option("level", {}, "Default: 2."),
                              Option("trace", {}, "Judge it, and measure nothing."), "reference", "expect"}},
                            {"Verdict", {"all", Option("exit-codes", "npgpu"), "junit", "openmetrics"}}}),
      run_check};
  for (OptionGroup& group : command.groups)
    for (Option& option : group.options) {
      if (option.name == "output") option.note = "Default: the trace is not kept.";
      if (option.name == "rounds") option.note = "Level 1: 3.";
      if (option.name == "progress") option.note = "Here none elsewhere.";
    }
  return command;
}

}  // namespace npgpu::cli
