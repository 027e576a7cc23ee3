#include "netpipe/cli/measure_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "netpipe/campaign/provenance.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/output_file.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/suggestion.hpp"
#include "netpipe/cli/terminal.hpp"
#include "netpipe/report/layout.hpp"
#include "npgpu/error.hpp"

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

std::string default_output() {
  return "npgpu-" + campaign::hostname() + '-' + campaign::utc_text("%Y%m%d-%H%M%S") + '-' +
         campaign::fresh_uuid().substr(0, 8) + ".h5";
}

const std::vector<OptionGroup>& options_of_all() {
  static const std::vector<OptionGroup> all{
      {"Repetition",
       {Option("schedule", "adaptive"), "rounds", "trials",
        Option("tolerance", {},
               "adaptive: a point has converged when half the width of its 95 % interval is within it "
               "(default 1%; energies 2%)."),
        "trial-time", "budget", "target-time", "repeats"},
       true},
      {"Others on this machine", {Option("wait-quiet", "3s"), "require-quiet"}, true},
      {"Output",
       {Option("output", {}, "Default: npgpu-HOST-TIME-ID.h5."), "force", "resume", "append", "json", "quiet",
        "progress", "dry-run"},
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
  std::string text =
      wrapped(fmt::format("Options of every command that measures: {}. `npgpu help COMMAND` says where a "
                          "command differs.",
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

}  // namespace npgpu::cli
