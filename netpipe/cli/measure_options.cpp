#include "netpipe/cli/measure_options.hpp"

#include <unistd.h>

#include <algorithm>
#include <random>

#include "netpipe/cli/provenance.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

namespace {

// A visit shares the point's budget with the others, and needs fewer trials than a point that is visited once.
constexpr std::uint32_t usual_rounds = 6;  // the least from which ranks give an interval
// Kernels take the same time in each visit within 0.2 % (H200), and there are many shapes.
constexpr std::uint32_t rounds_of_probes = 4;
// What is saved by fewer points goes into visits: each has fresh streams and buffers, which shift the times of small
// copies by up to 12 % (H200), and the median of few is one of several modes.
constexpr std::uint32_t quick_rounds = 8;

template <class K> const Repetition usual_repetition{.classic = {}, .adaptive = {}, .rounds = usual_rounds};
// A probe's repeats are steps of one kernel.
template <>
const Repetition usual_repetition<Probes>{
    .classic = {.target = Seconds{0.05}}, .adaptive = {}, .rounds = rounds_of_probes};
// A trial is one job.
template <>
const Repetition usual_repetition<Jobs>{
    .classic = {}, .adaptive = {.trial = Seconds{0}, .budget = Seconds{0.02}}, .rounds = usual_rounds};

// A trial is one run.
template <>
const Repetition usual_repetition<Partitions>{
    .classic = {}, .adaptive = {.trial = Seconds{0}, .budget = Seconds{0.02}}, .rounds = usual_rounds};

// Calls are short, and many are timed.
template <>
const Repetition usual_repetition<Calls>{.classic = {.target = Seconds{0.01}},
                                         .adaptive = {.trial = Seconds{0.0005}, .budget = Seconds{0.015}},
                                         .rounds = usual_rounds};

constexpr int least_of_several = 2;

Repetition repetition(const Options& options, Repetition r) {
  const std::string kind = options.text("schedule");
  r.is_classic = kind == "classic";
  if (!r.is_classic && kind != "adaptive")
    throw Error(ErrorKind::usage, "--schedule: '" + kind + "' is none of adaptive, classic");
  for (const char* other :
       r.is_classic ? std::array{"tolerance", "budget", "trial-time"} : std::array{"target-time", "repeats", "repeats"})
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

bool Repetition::wants_visit(std::uint32_t round, const Standing& so_far, Seconds spent) const {
  if (is_classic || rounds == 1) return round < rounds;
  if (round < std::min(rounds, least_visits)) return true;
  if (round < rounds) return spent < much_more * adaptive.budget;
  return so_far.stop == Stop::not_converged && so_far.visits_narrow_it && spent < adaptive.budget;
}

Repetition Repetition::with_trials_from(Seconds least) const {
  Repetition longer = *this;
  longer.adaptive.trial = std::max(adaptive.trial, least);
  longer.adaptive.budget = std::max(adaptive.budget, 4.0 * rounds * least);
  return longer;
}

Repetition::Standing Repetition::standing(Stop last, const ByVisit& each_us, const DriftByTime& drift) const {
  if (is_classic || rounds == 1) return {last, false};
  // Twice as many visits make an interval of visits alone narrower by 1/sqrt(2), and so that with a drift of a third of
  // its square by at least 18 %. In seven runs of characterize on H200s the further visits to such points made
  // intervals a quarter narrower in the middle, and those to all others 2 %.
  constexpr double of_drift = 2;
  const Estimate alone = median_over_visits(each_us, "us");
  const double share = drift.at(alone.value);
  const bool is_narrow =
      each_us.size() >= std::min(rounds, least_visits) && half_width(with_drift(alone, share)) <= adaptive.tolerance;
  const double scatter = half_width(alone), shared = of_95_percent * share;
  const bool narrows = !(scatter * scatter <= of_drift * shared * shared);
  return {is_narrow ? Stop::converged : Stop::not_converged, narrows};
}

std::uint32_t MeasureOptions::most_visits() const {
  std::uint32_t most = 1;
  for_each_kind([&]<class K>() { most = std::max(most, repetition<K>().most_visits()); });
  return most;
}

std::uint32_t MeasureOptions::rounds() const {
  std::uint32_t most = 1;
  for_each_kind([&]<class K>() { most = std::max(most, repetition<K>().rounds); });
  return most;
}

std::string default_output() {
  return "npgpu-" + hostname() + '-' + utc_text("%Y%m%d-%H%M%S") + '-' + fresh_uuid().substr(0, 8) + ".h5";
}

std::vector<OptionGroup> with_measure_options(std::vector<OptionGroup> own) {
  own.push_back({"Repetition",
                 {Option("schedule", "adaptive"), "rounds", "trials",
                  Option("tolerance", {},
                         "adaptive: a point has converged when half the width of its 95 % interval is within it "
                         "(default 1%)."),
                  "trial-time", "budget", "target-time", "repeats"}});
  own.push_back({"Others on this machine", {Option("wait-quiet", "3s"), "require-quiet"}});
  own.push_back({"Output",
                 {Option("output", {}, "Default: npgpu-HOST-TIME-ID.h5."), "force", "resume", "append", "json", "quiet",
                  "progress", "dry-run"}});
  return own;
}

MeasureOptions measure_options(const Options& options) {
  MeasureOptions m;
  m.output = options.maybe("output").value_or(default_output());
  if (m.output.empty()) throw Error(ErrorKind::usage, "--output: the name is empty");
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
  for_each_kind([&]<class K>() {
    static_cast<Repetition&>(std::get<RepetitionOf<K>>(m.repetitions)) = repetition(options, usual_repetition<K>);
  });
  return m;
}

}  // namespace npgpu::cli
