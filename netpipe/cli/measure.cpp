#include "netpipe/cli/measure.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <random>

#include "netpipe/campaign/guess.hpp"
#include "netpipe/campaign/provenance.hpp"
#include "netpipe/cli/characterize.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/output_file.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/side_by_side.hpp"
#include "netpipe/cli/terminal.hpp"
#include "netpipe/process/descriptor.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/json.hpp"
#include "netpipe/report/layout.hpp"
#include "npgpu/model/figures.hpp"
#include "npgpu/report/report.hpp"

namespace npgpu {

struct PlannedBatch {
  std::string title{}, device{}, schedule{};
  double about_s = 0;
  MemoryNeed need{};
  std::vector<std::string> points{};
};
NPGPU_FORM(PlannedBatch, &T::title, &T::device, &T::schedule, &T::about_s, within<&T::need, &MemoryNeed::host_bytes>,
           within<&T::need, &MemoryNeed::device_bytes>, &T::points);
struct PlanDocument {
  ByWord<Kinds::names, std::vector<PlannedBatch>> kinds{};
  double about_s = 0;
  std::vector<std::string> left_out{};
};
NPGPU_FORM(PlanDocument, in_place<&T::kinds>, &T::about_s, &T::left_out);

}  // namespace npgpu

namespace npgpu::cli {

namespace {

// What is saved by fewer points goes into visits: each has fresh streams and buffers, which shift the times of small
// copies by up to 12 % (H200), and the median of few is one of several modes.
constexpr std::uint32_t quick_rounds = 8;

constexpr int least_of_several = 2;

Repetition repetition(const Options& options, Repetition r) {
  const std::string kind = options.text("schedule");
  r.is_classic = kind == "classic";
  if (!r.is_classic && kind != "adaptive") refuse_word("schedule", kind, {"adaptive", "classic"});
  const std::vector<const char*> others =
      r.is_classic ? std::vector{"tolerance", "budget", "trial-time"} : std::vector{"target-time", "repeats"};
  for (const char* other : others)
    if (options.has(other))
      throw Error(ErrorKind::usage,
                  std::string("--") + other + " belongs to --schedule " + (r.is_classic ? "adaptive" : "classic"));
  if (r.is_classic) r.rounds = 1;
  else if (options.on("quick")) r.rounds = quick_rounds;
  if (const auto text = options.maybe("rounds"))
    r.rounds = static_cast<std::uint32_t>(parse_count("rounds", *text, 1, 1000));
  if (r.rounds > 1) r.adaptive.min_trials = least_of_several;
  if (const auto text = options.maybe("trials")) {
    r.classic.trials = static_cast<int>(parse_count("trials", *text, r.is_classic || r.rounds > 1 ? 1 : 6, 100'000));
    r.adaptive.min_trials = r.classic.trials;
  }
  if (const auto text = options.maybe("target-time")) r.classic.target = parse_duration("target-time", *text);
  if (const auto text = options.maybe("repeats"))
    r.classic.fixed_repeats = parse_count("repeats", *text, 1, 1'000'000'000'000);
  if (const auto text = options.maybe("tolerance")) r.adaptive.tolerance = parse_fraction("tolerance", *text);
  if (const auto text = options.maybe("budget")) r.adaptive.budget = parse_duration("budget", *text);
  if (const auto text = options.maybe("trial-time")) r.adaptive.trial = parse_duration("trial-time", *text);
  r.adaptive.visits = static_cast<int>(r.rounds);
  return r;
}

}  // namespace

// Where traces lie that nobody gave a place.
constexpr const char* default_folder = "npgpu-traces";

std::string default_output() {
  return std::string(default_folder) + '/' + process::host_name() + '-' + campaign::utc_text("%Y%m%d-%H%M%S") + '-' +
         campaign::fresh_uuid().substr(0, 8) + ".h5";
}

void make_default_folder(const std::string& output) {
  std::error_code ignored;  // who writes the trace says what is wrong
  if (std::filesystem::path(output).parent_path() == default_folder)
    std::filesystem::create_directory(default_folder, ignored);
}

const std::vector<OptionGroup>& options_of_all() {
  static const std::vector<OptionGroup> all{
      {"Repetition",
       {Option("schedule", "adaptive"), "rounds", "trials",
        Option("tolerance", {},
               "adaptive: a point has converged when half the width of its 95 % interval is within it (default 1%; "
               "energies 2%)."),
        "trial-time", "budget", "target-time", "repeats"},
       true},
      {"Others on this machine", {Option("wait-quiet", "3s"), "require-quiet"}, true},
      {"Output",
       {Option("output", {}, "Default: HOST-TIME-ID.h5 in the folder npgpu-traces."), "force", "resume", "append",
        "json", "quiet", "progress", "dry-run"},
       true}};
  return all;
}

std::vector<OptionGroup> with_measure_options(std::vector<OptionGroup> own) {
  own.insert(own.end(), options_of_all().begin(), options_of_all().end());
  return own;
}

std::string help_measuring(std::size_t width) {
  std::vector<std::string> names;
  for (const Command& command : commands())
    if (std::ranges::any_of(command.groups, &OptionGroup::of_all)) names.push_back(command.name);
  std::string text = wrapped(
      fmt::format("Options of every command that measures: {}. `npgpu help COMMAND` says where a command differs.",
                  fmt::join(names, ", ")),
      width);
  text += '\n';
  for (const OptionGroup& group : options_of_all()) {
    text += fmt::format("\n{}:\n", group.title);
    for (const Option& option : group.options) text += help_of(option, width);
  }
  return text;
}

MeasureOptions measure_options(const Options& options) {
  MeasureOptions m;
  m.output = options.maybe("output").value_or(default_output());
  check_trace_output(m.output);
  m.plan = options.plan();
  const struct {
    const char* option;
    IfExists if_exists;
  } ways[] = {{"force", IfExists::replace}, {"resume", IfExists::resume}, {"append", IfExists::append}};
  std::string given;
  for (const auto& way : ways) {
    if (!options.on(way.option)) continue;
    if (!given.empty())
      throw Error(ErrorKind::usage, "--" + given + " and --" + way.option + " do different things: give one of them");
    given = way.option;
    m.if_exists = way.if_exists;
    if (m.if_exists != IfExists::replace && !options.has("output"))
      throw Error(ErrorKind::usage, "--" + given + " needs --output, the trace to continue");
  }
  m.seed = std::random_device()();
  const bool continues = m.if_exists == IfExists::resume || m.if_exists == IfExists::append;
  m.side_by_side = std::ranges::find(options.names(), "one-by-one") != options.names().end() &&
                   !options.on("one-by-one") && !continues;
  m.quiet = options.on("quiet");
  m.json = options.on("json");
  m.dry_run = options.on("dry-run");
  m.patience = parse_duration("wait-quiet", options.text("wait-quiet"), Seconds{0});
  m.require_quiet = options.on("require-quiet");
  if (const auto word = options.maybe("progress")) m.progress = parse_name<ProgressForm>("progress", *word);
  else m.progress = takes_escapes(STDERR_FILENO) ? ProgressForm::bar : ProgressForm::cases;
  if (m.quiet) m.progress = ProgressForm::none;
  for_each_kind(
      [&]<class K>() { static_cast<Repetition&>(m.repetition<K>()) = repetition(options, m.repetition<K>()); });
  return m;
}

namespace {

std::string memory_text(std::uint64_t bytes) {
  return bytes ? fmt::format("{:.0f} MiB", std::ceil(static_cast<double>(bytes) / static_cast<double>(MiB))) : "-";
}

template <class K> Seconds time_of(const Batch<K>& batch, const MeasureOptions& options) {
  const Repetition how = campaign::repetition_of(batch, options);
  Seconds sum = campaign::guess_set_up(batch) * how.rounds;
  for (const Step<K>& step : batch.steps) sum += campaign::guess(batch, step, how);
  return sum;
}

std::string plan_text(const Plan& plan, const MeasureOptions& options, std::size_t width) {
  const std::size_t titles = width - 42;
  const auto row = [&](const std::string& what, const auto& points, const std::string& time, const std::string& host,
                       const std::string& device) {
    return fmt::format("{:<{}} {:>6} {:>9} {:>11} {:>11}\n", cut_to(what, titles), titles, points, time, host, device);
  };
  std::string text = row("what", "points", "about", "host mem", "device mem");
  for_each_kind([&]<class K>() {
    for (const Batch<K>& batch : plan.of<K>())
      text += row(title_of(batch), batch.steps.size(), fmt::format("{:.1f} s", time_of(batch, options).count()),
                  memory_text(batch.need.host_bytes), memory_text(batch.need.device_bytes));
  });
  text += fmt::format("{}, {}, about {:.0f} s\n", counted(plan.cases(), "case"), counted(plan.points(), "point"),
                      guess(plan, options).count());
  for_each_kind([&]<class K>() {
    if (!plan.of<K>().empty())
      text += wrapped(fmt::format("schedule of {}: {}", K::name,
                                  campaign::repetition_of(plan.of<K>().front(), options).schedule()->text()),
                      width, 2) +
              '\n';
  });
  for (const std::string& why : plan.left_out) text += wrapped("left out: " + why, width, 2) + '\n';
  return text;
}

}  // namespace

void plan_json(std::ostream& out, const Plan& plan, const MeasureOptions& options) {
  PlanDocument all{{}, guess(plan, options).count(), plan.left_out};
  auto kind = all.kinds.all.begin();
  for_each_kind([&]<class K>() {
    for (const Batch<K>& batch : plan.of<K>()) {
      PlannedBatch& one = kind->emplace_back(PlannedBatch{title_of(batch),
                                                          batch.device.id,
                                                          campaign::repetition_of(batch, options).schedule()->text(),
                                                          time_of(batch, options).count(),
                                                          batch.need,
                                                          {}});
      for (const Step<K>& step : batch.steps) one.points.push_back(text_of(step.axes));
    }
    ++kind;
  });
  write_document(out, "npgpu-plan", 1, all, 2);
}

std::vector<std::string> gpu_ids(const Options& options, const std::string& what) {
  const auto given = options.maybe("device");
  if (!given && devices::gpus().empty())
    throw Error(ErrorKind::nothing, what + " need a GPU: " + devices::why_no_gpu());
  return ids_named(given.value_or(devices::default_device()));
}

std::vector<std::string> ids_named(const std::string& list) {
  std::vector<std::string> all;
  for (const std::string& id : split_names("device", list)) {
    const std::vector<std::string> node = devices::node(id);
    if (std::ranges::find(node, id) != node.end()) all.push_back(id);
    else all.insert(all.end(), node.begin(), node.end());
  }
  return all;
}

std::vector<DeviceInfo> devices_named(const std::string& list) {
  std::vector<DeviceInfo> all;
  for (const std::string& id : ids_named(list)) all.push_back(devices::find(id));
  return all;
}

void refuse_targets_without_peers(const Options& options) {
  const auto directions = names_or(options, "direction", Direction::h2d);
  if (options.has("to") && std::ranges::find(directions, Direction::peer) == directions.end())
    throw Error(ErrorKind::usage, "--to: only copies between devices go to another one: --direction peer");
}

std::vector<std::string> targets_of(const Options& options, const std::string& source) {
  if (const auto named = options.maybe("to")) return split_names("to", *named);
  std::vector<std::string> all = devices::node(source);
  std::erase(all, source);
  if (all.empty()) throw Error(ErrorKind::nothing, "--direction peer needs two GPUs, and there is none but " + source);
  return all;
}

const Module& module_named(const std::string& name) {
  if (const Module* module = find_module(name)) return *module;
  for (const MissingModule& missing : missing_modules())
    if (missing.name == name)
      throw Error(ErrorKind::usage, fmt::format("--module: {} is not in this build: it {}", name, missing.reason));
  std::vector<std::string> names;
  for (const auto& module : modules()) names.emplace_back(module->name());
  refuse_word("module", name, names);
}

// The whole of a measuring command, and what is printed at its end.

std::string rest_of(const Tally& tally) {
  std::string text;
  if (tally.kept) text += fmt::format(", {} kept from before", tally.kept);
  if (tally.disturbed)
    text += fmt::format(", {} disturbed ({})", tally.disturbed, disturbance_text(tally.causes, tally.disturbers));
  return text;
}

int exit_code_of(const CampaignResult& campaign) {
  if (campaign.stopped && !(campaign.rank_lost && !stop_asked())) return exit_code::stopped;
  return campaign.failures.empty() && campaign.reported_by_other_ranks == 0 ? exit_code::done : exit_code::failed;
}

CampaignResult run_campaign(const Plan& plan, const MeasureOptions& options) {
  Settings settings = options;
  settings.argv = typed();
  if (!settings.stop) settings.stop = stop_asked;
  settings.save = save_asked;
  settings.host_turn = turns_of_several();
  settings.ready = [] { begin_with_parent(stop_asked); };
  if (settings.side_by_side && !settings.processes) settings.processes = std::make_shared<SideBySide>(options.output);
  make_default_folder(options.output);
  Progress progress(options.progress);
  std::cout << std::flush;
  const process::OutputToErrors libraries;
  try {
    return measure(plan, settings, progress);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::busy) throw;
    throw Error(ErrorKind::busy, std::string("--require-quiet: ") + e.what());
  }
}

void refuse_empty(const Plan& plan) {
  if (plan.points() == 0)
    throw Error(ErrorKind::usage, plan.left_out.empty() ? "nothing to run" : plan.left_out.front());
}

int print_plan(const Plan& plan, const MeasureOptions& options) {
  const auto width = static_cast<std::size_t>(std::min(terminal_style().width, 120));
  if (options.json) plan_json(std::cout, plan, options);
  else std::cout << plan_text(plan, options, width);
  return exit_code::done;
}

int measure(const Options& given, Plan (*plan_of)(const Options&), const Summary& summary) {
  return measure(given, measure_options(given), plan_of,
                 [&](const CampaignResult& campaign, const MeasureOptions& options) {
                   print_summary(campaign, options, summary);
                   return exit_code_of(campaign);
                 });
}

int measure(const Options& given, const MeasureOptions& options, Plan (*plan_of)(const Options&),
            const CampaignEnd& end, CampaignMore again) {
  if (!options.dry_run) {  // a plan looks at devices, which takes a while
    catch_signals();
    stop_with_parent();
  }
  const Plan plan = plan_of(given);
  refuse_empty(plan);
  if (options.dry_run) return print_plan(plan, options);
  CampaignResult campaign = run_campaign(plan, options);
  if (again && !campaign.stopped) again(plan, options, campaign);
  return end(campaign, options);
}

void say_how_to_continue(const std::string& output, const char* who) {
  std::cerr << "npgpu: stopped by a signal, trace saved; continue" << who << " with: " << resuming(output) << '\n';
}

void print_summary(const CampaignResult& campaign, const MeasureOptions& options, const Summary& summary) {
  // Who stops a run may be in a hurry: npgpu report shows what it has.
  if (options.json) report_json(std::cout, TraceResults(read_trace(options.output)));
  else if (!options.quiet && !campaign.stopped) summary(read_trace(options.output), options.output);
  if (!options.json) {
    const std::string verdict = campaign.stopped            ? "stopped"
                                : campaign.failures.empty() ? "done"
                                                            : fmt::format("{} failed", campaign.failures.size());
    std::cout << fmt::format("{}: {} measured in {}{}; trace: {}\n", verdict, counted(campaign.measured, "point"),
                             clock_text(campaign.wall), rest_of(campaign), one_line(options.output));
  }
  if (options.quiet || options.json)
    for (const std::string& failure : campaign.failures) complain(failure);
  else if (!campaign.failures.empty())
    std::cerr << fmt::format("npgpu: {} failed, see above\n", campaign.failures.size());
  if (!campaign.stopped || campaign.rank_lost) return;
  if (options.ranks.everyone) say_how_to_continue(options.ranks.output, ", in a job of as many ranks,");
  else say_how_to_continue(options.output);
}

}  // namespace npgpu::cli
