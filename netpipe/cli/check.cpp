// npgpu check: measures a little, and says whether each GPU is as it should be.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <map>
#include <set>

#include "netpipe/campaign/provenance.hpp"
#include "netpipe/cli/characterize.hpp"
#include "netpipe/cli/check_ending.hpp"
#include "netpipe/cli/check_plan.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/measure.hpp"
#include "netpipe/cli/options.hpp"
#include "netpipe/cli/output_file.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/side_by_side.hpp"
#include "netpipe/cli/terminal.hpp"
#include "netpipe/devices/nvidia.hpp"
#include "netpipe/judge/health/metrics.hpp"
#include "npgpu/vocabulary/device.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

namespace {

Level level_of(const Options& options) {
  return static_cast<Level>(parse_count("level", options.maybe("level").value_or("2"), 1, 3));
}

bool is_soak(const Options& options) { return options.has("soak") || options.on("memory-test"); }

// A soak judges itself: by what each GPU did at its begin, and by its neighbours.
void refuse_beside_soak(const Options& options) {
  for (const char* other : {"level", "reference", "again", "trace", "rounds"})
    if (options.typed(other))
      throw Error(ErrorKind::usage, fmt::format("--{}: it belongs to a check without --soak and --memory-test, which "
                                                "judge each GPU by what it did at its begin, and by its neighbours",
                                                other));
  if (options.on("one-by-one"))
    throw Error(ErrorKind::usage, "--one-by-one: --soak and --memory-test work on all GPUs at once");
}

Seconds again_time(const Options& options) {
  if (is_soak(options)) return Seconds{0};
  const auto given = options.maybe("again");
  if (given) return parse_duration("again", *given, Seconds{0});
  return level_of(options) == Level::seconds ? Seconds{2} : Seconds{8};
}

struct Rules : HealthRules {
  std::vector<std::string> reference_gpus{};  // names
  std::vector<std::string> unused{};          // figures of the reference that no check measures
  std::string doubt{};                        // of the reference
};

Rules rules_of(const Options& options, bool measured) {
  Rules rules;
  if (const auto path = options.maybe("reference")) {
    const Reference reference = read_reference(*path);
    rules.reference = reference.name;
    rules.figures = reference.figures;
    rules.reference_gpus = reference.gpus;
    rules.unused = reference.unused;
    rules.doubt = reference.doubt;
  }
  if (const auto list = options.maybe("expect")) rules.expected = expectations(*list);
  if (is_soak(options)) rules.required = {"results"};
  else if (measured || options.has("level")) rules.required = required_metrics(level_of(options));
  return rules;
}

// Nothing was judged.
int end_skipped(const Options& options, const std::string& why, bool is_nothing) {
  CheckReport check;
  check.root = campaign::trace_root("", typed());
  check.why_not_judged = why;
  Trace empty;
  empty.root = check.root;
  if (is_nothing) empty.provenance.emplace_back("census", devices::census());  // GPUs may be there and not answer
  HealthRules rules;
  if (const auto list = options.maybe("expect")) rules.expected = expectations(*list);
  // That there is no GPU is known only where a driver could be asked; and GPUs that others use are there.
  if (!is_nothing || !devices::can_ask_for_gpus()) rules.expected.clear();
  check.findings = health_of(empty, rules);
  return end_check(options, check, {.is_nothing = is_nothing});
}

// What a trace that was measured before cannot be asked any more.
void refuse_measuring(const Options& options) {
  constexpr std::array of_any{"json", "quiet", "progress", "force"};
  std::vector<std::string> others{"one-by-one", "again", "ignore-xid"};
  for (const OptionGroup& group : options_of_all())
    for (const Option& option : group.options)
      if (std::ranges::find(of_any, option.name) == of_any.end()) others.push_back(option.name);
  for (const std::string& other : others)
    if (options.typed(other))
      throw Error(ErrorKind::usage, fmt::format("--{}: --trace judges what was measured, and measures nothing", other));
}

// Only these GPUs of the trace are kept, and what is said of the node and of its host.
void keep_devices(CheckReport& check, const std::string& path, const std::string& list) {
  std::vector<std::string> wanted = split_names("device", list), ids;
  for (const std::string& one : wanted) {
    const auto known = std::ranges::find_if(check.gpus, [&](const CheckReport::Gpu& gpu) {
      return gpu.id == one || (!gpu.uuid.empty() && gpu.uuid == one);
    });
    if (known == check.gpus.end()) {
      for (const CheckReport::Gpu& gpu : check.gpus) ids.push_back(gpu.id);
      throw Error(ErrorKind::usage,
                  fmt::format("--device: '{}' is no GPU of {}, which has {}", one, path, fmt::join(ids, ", ")));
    }
    ids.push_back(known->id);
  }
  const auto is_other = [&](const std::string& id) { return std::ranges::find(ids, id) == ids.end(); };
  std::erase_if(check.findings, [&](const HealthFinding& one) {
    return is_other(one.device) && std::ranges::find(check.gpus, one.device, &CheckReport::Gpu::id) != check.gpus.end();
  });
  std::erase_if(check.gpus, [&](const CheckReport::Gpu& gpu) { return is_other(gpu.id); });
  std::erase_if(check.soaks, [&](const SoakDevice& device) { return is_other(device.id); });
}

// "reference good.json (host to GPU, pinned; but not host_device_latency_sm)": which of its figures gave a limit.
std::string used_of_reference(const CheckReport& check, const Rules& rules) {
  std::vector<std::string> used, unused;
  for (const ReferenceFigure& figure : rules.figures) {
    const bool is_used = std::ranges::any_of(check.findings, [&](const HealthFinding& finding) {
      return finding.metric == figure.metric &&
             finding.basis.starts_with(fmt::format("reference {}:", rules.reference));
    });
    (is_used ? used : unused).push_back(model::title_of(figure.metric));
  }
  unused.insert(unused.end(), rules.unused.begin(), rules.unused.end());
  if (used.empty()) return "";
  const std::string name = "reference " + rules.reference;
  constexpr std::size_t most_names = 8;
  if (used.size() + unused.size() > most_names)
    return unused.empty() ? name
                          : fmt::format("{} ({} of its {} figures)", name, used.size(), used.size() + unused.size());
  return fmt::format("{} ({}{}{})", name, fmt::join(used, "; "), unused.empty() ? "" : "; but not ",
                     fmt::join(unused, "; "));
}

// "27 runs of 7 healthy H200s": what the limits come from; empty where nothing had one.
std::string what_decided(const CheckReport& check, const Rules& rules) {
  struct Limits {
    bool are_by_healthy = false, are_of_clocks = true, are_by_reference = false, are_by_own = false;
  };
  std::map<std::string, Limits> models;
  for (const HealthFinding& finding : check.findings)
    for (const CheckReport::Gpu& gpu : check.gpus) {
      if (finding.device != gpu.id || !std::isfinite(finding.limit)) continue;
      Limits& limits = models[gpu.name];
      const bool is_by_reference =
          !rules.reference.empty() && finding.basis.starts_with(fmt::format("reference {}:", rules.reference));
      const bool is_by_healthy = finding.basis.find(" healthy ") != std::string::npos;
      limits.are_by_reference |= is_by_reference;
      limits.are_by_own |= finding.unit.ends_with("/s") && !is_by_reference && !is_by_healthy;
      if (!is_by_healthy) continue;
      limits.are_by_healthy = true;
      limits.are_of_clocks &= finding.metric.ends_with("_clock");
    }
  std::vector<std::string> all;
  if (std::ranges::any_of(models, [](const auto& one) { return one.second.are_by_reference; }))
    all.push_back(used_of_reference(check, rules));
  if (!check.soaks.empty()) all.emplace_back("what each GPU did at the start, and its neighbours");
  std::set<std::string> by_model;
  for (const auto& [model, limits] : models) {
    const std::string healthy = reference_text(model);
    if (limits.are_by_healthy)
      by_model.insert((healthy.empty() ? "what its spec says of a healthy one" : healthy) +
                      (limits.are_of_clocks ? " (clocks only)" : ""));
    else if ((limits.are_by_own || !limits.are_by_reference) && check.soaks.empty())
      by_model.insert(fmt::format("what link, clocks and widths allow{}",
                                  healthy.empty() ? " (only coarse limits for this model)" : ""));
  }
  all.insert(all.end(), by_model.begin(), by_model.end());
  return fmt::format("{}", fmt::join(all, "; "));
}

// A finding about the node: its limits are no better than its reference.
void warn_of_reference(std::vector<HealthFinding>& findings, const Rules& rules) {
  if (rules.doubt.empty()) return;
  HealthFinding finding;
  finding.metric = "reference";
  finding.health = Health::warn;
  finding.text = fmt::format("the reference {} may be no good node: {}", rules.reference, rules.doubt);
  finding.explanations.push_back({"reference", "limits that come from it may be too loose, or of the wrong figures",
                                  finding.text, "take a run that npgpu check calls ok, to its end, as --reference"});
  findings.insert(findings.begin(), std::move(finding));
}

void judge_trace(CheckReport& check, const Trace& trace, const Rules& rules) {
  check.root = trace.root;
  check.gpus = gpus_of(trace);
  for (const CheckReport::Gpu& gpu : check.gpus)
    if (!rules.reference_gpus.empty() &&
        std::ranges::find(rules.reference_gpus, gpu.name) == rules.reference_gpus.end())
      throw Error(ErrorKind::usage, fmt::format("--reference: {} is of {}, and {} is a {}", rules.reference,
                                                rules.reference_gpus.front(), gpu.id, gpu.name));
  check.findings = health_of(trace, rules);
  warn_of_reference(check.findings, rules);
  check.soaks = soak_devices(trace);
  if (check.gpus.empty()) check.why_not_judged = "the trace has no measurement of a GPU";
  check.decided = what_decided(check, rules);
}

// What a signal kept from being measured is no fault of the GPU, nor of the run: the check just cannot say it.
void skip_missing_after_stop(CheckReport& check) {
  for (HealthFinding& finding : check.findings) {
    if (finding.health != Health::fail || finding.if_failed != CheckVerdict::failed_to_run ||
        finding.metric == "errors")
      continue;
    finding.health = Health::skip;
    finding.explanations.clear();
  }
  if (worst_of(check.findings) == Health::fail) return;
  check.why_not_judged = "it was stopped by a signal before its end";
  check.decided.clear();
}

// What a run that was killed did not come to may be slow.
void say_unfinished(CheckReport& check) {
  if (!check.why_not_judged.empty() || worst_of(check.findings) == Health::fail) return;
  check.why_not_judged = "the run of this trace did not reach its end: its command continues it with --resume";
  check.decided.clear();
}

bool has_points_of(const Trace& trace, const std::string& device) {
  bool has_any = false;
  for_each_kind([&]<class K>() {
    for (const Series<K>& series : trace.of<K>()) has_any |= device_of(series.question) == device;
  });
  return has_any;
}

// GPUs that were to be measured, and of which the trace has nothing, or not all, as their process ended: none of them
// is left unsaid.
void add_missing(CheckReport& check, const Trace& trace, const std::vector<DeviceInfo>& gpus, const Plan& plan,
                 const CampaignResult& campaign) {
  for (const DeviceInfo& gpu : gpus) {
    std::string why;
    for (const std::string& failure : campaign.failures)
      if (why.empty() && failure.starts_with(gpu.id + ": ")) why = failure.substr(gpu.id.size() + 2);
    const bool has_points = has_points_of(trace, gpu.id);
    if (has_points && why.empty()) continue;
    if (std::ranges::find(check.gpus, gpu.id, &CheckReport::Gpu::id) == check.gpus.end())
      check.gpus.push_back({gpu.id, gpu.name, gpu.uuid, gpu.simulated});
    if (const Fact* const error = find_fact(gpu.facts, "error")) why = std::get<std::string>(*error);
    for (const std::string& left_out : plan.left_out)
      if (why.empty() && left_out.find(gpu.id) != std::string::npos) why = left_out;
    // What happened stands before what is missing for it.
    for (HealthFinding& one : check.findings)
      if (one.device == gpu.id && one.if_failed == CheckVerdict::failed_to_run) one.explanations.clear();
    const auto first = std::ranges::find(check.findings, gpu.id, &HealthFinding::device);
    HealthFinding& finding = *check.findings.emplace(first);
    finding.device = gpu.id;
    finding.metric = "errors";
    finding.health = Health::fail;
    finding.if_failed = CheckVerdict::failed_to_run;
    finding.text = has_points ? "not all was measured" : "nothing could be measured";
    if (!why.empty()) finding.text += ": " + why;
    if (why.empty() && campaign.stopped) {
      finding.health = Health::skip;
      finding.text = "not measured";
      continue;
    }
    const auto failure = named<Failure>(text_fact(gpu.facts, "failure"));
    if (failure == Failure::lost || failure == Failure::defect) {
      finding.metric = failure == Failure::lost ? "device_lost" : "device_defect";
      finding.if_failed = CheckVerdict::broken;
      finding.explanations.push_back({std::string(name(*failure)), "the GPU fell off the bus or stopped answering",
                                      finding.text, "drain the node and power it off and on; look at dmesg"});
      continue;
    }
    finding.explanations.push_back(
        {"errors", "the device or its driver refused or failed", finding.text, "look at the message, and at dmesg"});
  }
}

Plan plan_of(const Options& options, const std::vector<DeviceInfo>& gpus) {
  constexpr Seconds shortest{1};
  if (const auto text = options.maybe("soak"))
    return soak_plan(gpus, parse_duration("soak", *text, shortest), options.on("memory-test"));
  if (options.on("memory-test")) return memory_test_plan(gpus);
  const Level level = level_of(options);
  if (level != Level::all) return check_plan(gpus, level);
  Plan plan = options.has("device") ? characterize_plan(options, gpus) : characterize_plan(options);
  add_between_gpus(plan, gpus);
  return plan;
}

int measure_and_judge(const Options& options) {
  const Rules rules = rules_of(options, true);
  MeasureOptions how = measure_options(options);
  // Its findings are what is asked for, and in a prolog nobody reads the rest.
  if (!options.has("progress") && how.progress == ProgressForm::cases) how.progress = ProgressForm::none;
  set_repetition(how, options, level_of(options));
  if (is_soak(options)) {
    how.repetitions = default_repetitions();  // a slice is visited once
    how.side_by_side = false;                 // one runner has all GPUs
  }
  std::optional<TemporaryFolder> temporary;
  if (!how.dry_run) {
    catch_signals();
    stop_with_parent();
    if (!options.has("output") && !is_soak(options))
      how.output = (temporary.emplace("check").path() / "check.h5").string();
    const std::vector<std::string> likely =
        options.has("device") ? ids_named(options.text("device")) : devices::likely_gpus();
    if (how.side_by_side && likely.size() > 1) {
      const auto processes = std::make_shared<SideBySide>(how.output);
      processes->prepare(likely);  // they start CUDA while this process does
      how.processes = processes;
      how.rounds_per_context = 0;  // large copies between GPUs are all that is left to this process
    }
  }
  // Contexts that several processes make at once take three times as long each.
  const bool is_of_several = is_one_of_several();
  if (is_of_several) how.rounds_per_context = 3;
  const std::vector<DeviceInfo> gpus = options.has("device") ? devices_named(options.text("device")) : devices::gpus();
  if (gpus.empty()) return end_skipped(options, "there is no GPU to check: " + devices::why_no_gpu(), true);
  if (std::ranges::find(gpus, "host", &DeviceInfo::id) != gpus.end())
    throw Error(ErrorKind::usage,
                "--device host: check judges GPUs; npgpu characterize --device host measures the host");

  how.doubtful = [&](const Trace& trace) { return doubtful_points(health_of(trace, rules)); };
  const Plan plan = plan_of(options, gpus);
  if (how.dry_run) return print_plan(plan, how);

  // No more visits to what has not converged: it is judged by its interval, and what that leaves open is looked at
  // again.
  if (level_of(options) != Level::all) how.end_round = how.rounds();
  CampaignResult campaign = run_campaign(plan, how);
  CheckReport check;
  const auto add = [&](const SecondLook& look) {
    campaign.stopped = look.stopped;
    campaign.wall += look.wall;
    check.measured_again = std::max(check.measured_again, look.points);
  };
  const Seconds time = again_time(options);
  const bool has_measured = !(how.side_by_side && how.processes && gpus.size() > 1);  // not other processes
  if (!campaign.stopped && time > Seconds{0} && has_measured && level_of(options) != Level::all)
    add(look_on(plan, how, rules));
  // What is left of several GPUs is looked at by the process that started these, while all others rest.
  if (!campaign.stopped && !is_of_several) add(look_again(plan, how, rules, time));
  const Trace trace = read_trace(how.output);
  judge_trace(check, trace, rules);
  check.why_not_judged.clear();
  add_missing(check, trace, gpus, plan, campaign);
  if (campaign.stopped) skip_missing_after_stop(check);
  check.wall_s = campaign.wall.count();
  if (!temporary) check.trace = how.output;
  const int code = end_check(options, check, {.is_stopped = campaign.stopped});
  if (campaign.stopped && !temporary) say_how_to_continue(how.output);
  return code;
}

// By a variable, which the processes that measure the GPUs inherit.
void ignore_xids(const std::string& list) {
  constexpr std::uint64_t most = 9999;
  const auto numbers = parse_counts("ignore-xid", list, 1, most);
  ::setenv("NPGPU_IGNORE_XID", fmt::format("{}", fmt::join(numbers, ",")).c_str(), 1);
}

int run_check(const Options& options) {
  if (options.on("demo")) return demonstrate(options);
  if (is_soak(options)) refuse_beside_soak(options);
  const bool nagios = options.text("exit-codes") == "nagios";
  if (!nagios && options.text("exit-codes") != "npgpu")
    refuse_word("exit-codes", options.text("exit-codes"), {"npgpu", "nagios"});
  try {
    for (const char* option : {"junit", "openmetrics"})  // before anything is measured that it could not hold
      if (const auto path = options.maybe(option)) check_output(option, *path, true);
    if (!options.has("trace")) {
      if (const auto list = options.maybe("ignore-xid")) ignore_xids(*list);
      return measure_and_judge(options);
    }
    refuse_measuring(options);
    CheckReport check;
    const Trace trace = read_trace(options.text("trace"), Guard::child);
    judge_trace(check, trace, rules_of(options, false));
    const bool is_nothing = !check.why_not_judged.empty();
    if (!trace.root.complete) say_unfinished(check);
    if (options.typed("device")) keep_devices(check, options.text("trace"), options.text("device"));
    return end_check(options, check, {.is_nothing = is_nothing});
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::busy || e.kind() == ErrorKind::nothing)
      return end_skipped(options, e.what(), e.kind() == ErrorKind::nothing);
    if (!nagios) throw;
    std::cout << "NPGPU UNKNOWN - " << one_line(e.what()) << '\n';
    return nagios_code(CheckVerdict::failed_to_run, Health::fail);
  }
}

}  // namespace

Command check() {
  Command command{
      "check",
      "judge each GPU in seconds: healthy, slow or broken, and why",
      "Judges every GPU of this machine by what its link, clocks and widths allow, or by a reference: a line for each "
      "GPU, then what is wrong, with likely causes and remedies. Verdicts and exit codes: ok 0; slow 3, something is "
      "below its limit; broken 6, wrong results, errors counted, parts missing, or not as expected; undecided 8, the "
      "interval of a figure holds its limit, also after it was measured again; failed to run 1, something that was to "
      "be measured has no figure; not judged 4, others used the GPU or a limit is not known; not judged 77, there is "
      "no GPU.",
      {},
      {"npgpu check", "npgpu check --level 1 --expect gpus=8,link=gen5x16,driver=580",
       "npgpu check --reference good_node.h5 --junit check.xml --openmetrics /var/lib/node_exporter/npgpu.prom",
       "npgpu check --soak 10min --output soak.h5", "npgpu check --trace node7.h5 --all"},
      with_measure_options(
          {{"What is checked",
            {Option("device", {}, "A list. Default: all GPUs."), "one-by-one", Option("level", {}, "Default: 2."),
             "demo", "soak", "memory-test", Option("again", {}, "Default: 2s at level 1, else 8s."),
             Option("trace", {}, "Judge this trace and measure nothing. --device chooses some of its GPUs."),
             Option("reference", {},
                    "FILE is the trace of a good node, what npgpu check --json or nvbandwidth --json printed of it, or "
                    "the -J file of nccl-tests on one of its GPUs. Tolerances: 5 % of rates of copies, 3 % of kernels, "
                    "25 to 30 % of calls, small and pageable copies."),
             "expect", "ignore-xid"}},
           {"Verdict", {"all", Option("exit-codes", "npgpu"), "junit", "openmetrics"}}}),
      run_check};
  for (OptionGroup& group : command.groups)
    for (Option& option : group.options) {
      if (option.name == "output")
        option.note =
            "Default: the trace is not kept, but of --soak and --memory-test, as HOST-TIME-ID.h5 in the folder "
            "npgpu-traces.";
      if (option.name == "rounds") option.note = "Level 1: 3.";
      if (option.name == "progress") option.note = "Here none elsewhere.";
    }
  return command;
}

const Joined<ListedCommand> listed_check({Asks::healthy, 1, check});

}  // namespace npgpu::cli
