#include "netpipe/cli/check_ending.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <iterator>
#include <map>
#include <string_view>
#include <thread>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/output_file.hpp"
#include "netpipe/cli/terminal.hpp"
#include "netpipe/model/medians.hpp"
#include "netpipe/report/format.hpp"
#include "npgpu/vocabulary/device.hpp"
#include "npgpu/vocabulary/trace.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

// ---- a second look ----

namespace {

bool is_unsettled(const HealthFinding& finding) {
  if (finding.of_case.empty()) return false;
  if (finding.health == Health::fail) return finding.if_failed == CheckVerdict::slow;
  if (finding.health == Health::unjudged) return !std::isnan(finding.limit);
  return finding.health == Health::undecided;
}

PointNames points_of(const HealthFinding& finding) {
  PointNames names(finding.more_points.begin(), finding.more_points.end());
  names.emplace(finding.of_case, finding.of_point);
  return names;
}

// How many quiet visits the most disturbed of these points lacks until its figures use those alone.
std::uint32_t lacks_quiet_visits(const Trace& trace, const PointNames& names) {
  std::size_t most = 0;
  for_each_kind([&]<class K>() {
    for (const Series<K>& series : trace.of<K>())
      for (const Point<K>& point : points_of(series)) {
        if (!names.contains({title(series.question), text_of(point.axes)})) continue;
        const auto quiet = static_cast<std::size_t>(std::ranges::count_if(
            point.visits, [](const auto* visit) { return (visit->causes() & ~own_causes) == 0; }));
        const std::size_t disturbed = point.visits.size() - quiet;
        if (disturbed > quiet) most = std::max(most, disturbed - quiet);
      }
  });
  return static_cast<std::uint32_t>(most);
}

void rest_for(Seconds time) {
  constexpr std::chrono::milliseconds between_looks{50};
  for (const Seconds end = steady_clock().now() + time; steady_clock().now() < end && !stop_asked();)
    std::this_thread::sleep_for(between_looks);
}

// The steps of these points; of a case without a point of that name, as where axes are chosen by measuring, all of its
// steps.
Plan restricted_to(const Plan& plan, const PointNames& names) {
  Plan some;
  std::set<std::string> asked;  // cases
  for (const auto& [of_case, point] : names) asked.insert(of_case);
  for_each_kind([&]<class K>() {
    for (const Batch<K>& batch : plan.of<K>()) {
      std::set<std::string> named;  // those of which a step has a name
      const auto is_named = [&](const Step<K>& step) {
        return names.contains({title(step.question), text_of(step.axes)});
      };
      for (const Step<K>& step : batch.steps)
        if (is_named(step)) named.insert(title(step.question));
      Batch<K> kept = batch;
      std::erase_if(kept.steps, [&](const Step<K>& step) {
        const std::string of_case = title(step.question);
        return named.contains(of_case) ? !is_named(step) : !asked.contains(of_case);
      });
      if (!kept.steps.empty()) some.of<K>().push_back(std::move(kept));
    }
  });
  return some;
}

}  // namespace

PointNames doubtful_points(const std::vector<HealthFinding>& findings) {
  PointNames names;
  for (const HealthFinding& finding : findings)
    if (is_unsettled(finding)) names.merge(points_of(finding));
  return names;
}

SecondLook look_on(const Plan& plan, MeasureOptions how, const HealthRules& rules) {
  SecondLook look;
  constexpr std::uint32_t most_rounds = 6;
  const Seconds begin = steady_clock().now();
  PointNames undecided;
  for (const HealthFinding& finding : health_of(read_trace(how.output), rules))
    if (finding.health == Health::undecided) undecided.merge(points_of(finding));
  const Plan some = restricted_to(plan, undecided);
  how.first_round = how.rounds();
  how.end_round = std::min(how.max_visits(), how.first_round + most_rounds);
  if (some.points() == 0 || how.first_round == how.end_round) return look;
  how.if_exists = IfExists::resume;
  how.side_by_side = false;
  how.rounds_per_context = 0;
  how.patience = Seconds{0};
  look.points = undecided.size();
  look.passes = 1;
  look.stopped = run_campaign(some, how).stopped;
  look.wall = steady_clock().now() - begin;
  return look;
}

SecondLook look_again(const Plan& plan, MeasureOptions how, const HealthRules& rules, Seconds time) {
  SecondLook look;
  const Seconds begin = steady_clock().now();
  std::uint32_t first = how.max_visits();
  if (time <= Seconds{0}) return look;
  // Every pass has a context of its own, in which small and middle copies keep one of several speeds.
  constexpr std::uint32_t least_rounds = 8, rounds_of_disturbed = 4, most_rounds = 16, passes_of_slow = 4,
                          fewest_rounds = 3, spare_rounds = 2;
  const std::vector<DeviceInfo> devices = plan.devices();
  const bool is_measured = std::ranges::any_of(devices, [](const auto& device) { return !device.simulated; });
  // What other processes measured has a new context in this one.
  const bool was_elsewhere = how.side_by_side && how.processes && devices.size() > 1;
  std::uint32_t rounds = least_rounds, done = 0;
  std::map<std::pair<std::string, std::string>, std::uint32_t> looked;
  how.if_exists = IfExists::resume;  // the same schedule, or they were series of their own
  how.side_by_side = false;
  how.patience = Seconds{0};
  for (;; first += rounds, done += rounds) {
    look.wall = steady_clock().now() - begin;
    if (look.stopped) return look;
    if (done > 0) {  // as far as the time goes
      const double left = (time - look.wall) / look.wall * done;
      if (left < fewest_rounds) return look;
      rounds = static_cast<std::uint32_t>(std::min<double>(most_rounds, left));
    }
    PointNames names;
    bool is_any_undecided = false, are_all_disturbed = true;
    const Trace trace = read_trace(how.output);
    for (const HealthFinding& finding : health_of(trace, rules)) {
      if (!is_unsettled(finding)) continue;
      // What others disturbed gets one quiet moment more. What is slow has to stay slow for all of the time, or what a
      // host did for a second or two would drain a node.
      const bool is_undecided = finding.health == Health::undecided;
      const std::uint32_t most = finding.health == Health::fail ? passes_of_slow : 1;
      for (const auto& name : points_of(finding))
        if (is_undecided || looked[name] < most) names.insert(name);
      is_any_undecided |= is_undecided;
      are_all_disturbed &= finding.health == Health::unjudged;
    }
    if (names.empty()) return look;
    const Plan some = restricted_to(plan, names);
    if (some.points() == 0) return look;
    // Spread over the time.
    const Seconds due = time / passes_of_slow * look.passes - (steady_clock().now() - begin);
    if (is_measured && !is_any_undecided) rest_for(due);
    if (done == 0)  // as many quiet visits as outweigh those while other GPUs worked
      rounds = std::max(are_all_disturbed ? rounds_of_disturbed : least_rounds,
                        lacks_quiet_visits(trace, names) + spare_rounds);
    how.rounds_per_context = done == 0 && was_elsewhere ? 0 : UINT32_MAX;
    how.first_round = first;
    how.end_round = first + rounds;
    for (const auto& name : names) look.points += looked[name]++ == 0;
    ++look.passes;
    look.stopped = run_campaign(some, how).stopped;
  }
}

void settle(const Plan& plan, const MeasureOptions& how, CampaignResult& campaign) {
  constexpr Seconds most{20};  // some 20 visits, which a median that straddles its limit may need
  const SecondLook look = look_again(plan, how, {}, most);
  campaign.stopped = look.stopped;
  campaign.wall += look.wall;
}

// ---- the verdict ----

namespace {

// A plugin's figures have few units: time is one, a rate is none.
struct Scale {
  std::string_view unit, name_ends, unit_after;
  double by;
  bool is_floor;  // critical below the limit, not above it
};
constexpr Scale scales[] = {{"B/s", "_gb_s", "", 1e-9, true},
                            {"FLOP/s", "_tflop_s", "", 1e-12, true},
                            {"OP/s", "_top_s", "", 1e-12, true},
                            {"MHz", "_mhz", "", 1, true},
                            {"us", "", "us", 1, false}};

std::string figure(const HealthFinding& finding) {
  const auto* const scale = std::ranges::find(scales, std::string_view(finding.unit), &Scale::unit);
  if (scale == std::end(scales) || !std::isfinite(finding.value) || !std::isfinite(finding.limit)) return {};
  std::string label =
      finding.device + (finding.device.empty() ? "" : " ") + finding.metric;  // of the node, or of a device
  std::ranges::replace(label, '\'', '_');
  std::ranges::replace(label, '=', '_');
  return fmt::format(" '{}{}'={:.5g}{};;{:.5g}{}", label, scale->name_ends, finding.value * scale->by,
                     scale->unit_after, finding.limit * scale->by, scale->is_floor ? ":" : "");
}

}  // namespace

int nagios_code(CheckVerdict verdict, Health worst) {
  switch (verdict) {
    case CheckVerdict::ok: return worst == Health::warn ? 1 : 0;
    case CheckVerdict::slow:
    case CheckVerdict::broken: return 2;
    case CheckVerdict::undecided: return 1;
    case CheckVerdict::failed_to_run:
    case CheckVerdict::not_judged: break;
  }
  return 3;
}

int exit_code_of_verdict(CheckVerdict verdict, bool is_nothing) {
  switch (verdict) {
    case CheckVerdict::ok: return exit_code::done;
    case CheckVerdict::slow: return exit_code::slower;
    case CheckVerdict::broken: return exit_code::broken;
    case CheckVerdict::failed_to_run: return exit_code::failed;
    case CheckVerdict::undecided: return exit_code::undecided;
    case CheckVerdict::not_judged: break;
  }
  return is_nothing ? exit_code::nothing : exit_code::busy;
}

int end_with_verdict(const CampaignResult& campaign, const MeasureOptions& options, const Trace& trace,
                     CheckVerdict verdict, const std::string& said) {
  if (verdict == CheckVerdict::ok && !campaign.failures.empty()) verdict = CheckVerdict::failed_to_run;
  if (!options.json)
    std::cout << fmt::format("{}: {}{}; {} in {}{}; trace: {}\n", printable(trace.root.hostname),
                             campaign.stopped ? "stopped" : name(verdict), said, counted(campaign.measured, "point"),
                             clock_text(campaign.wall), rest_of(campaign), options.output);
  if (campaign.stopped) say_how_to_continue(options.output);
  return campaign.stopped ? exit_code_of(campaign) : exit_code_of_verdict(verdict);
}

namespace {

// "NPGPU CRITICAL - cuda:0 PCIe x8/x16 ...|'cuda:0 h2d_rate_gb_s'=27.5;;52.74:": the status, what is said of it, and
// each figure that was compared with a limit, with the range beyond which it is critical.
std::string nagios_line(const CheckReport& check, int code, std::string said) {
  constexpr std::array<std::string_view, 4> words{"OK", "WARNING", "CRITICAL", "UNKNOWN"};
  std::ranges::replace(said, '|', '/');  // which begins the figures
  std::string figures;
  for (const HealthFinding* finding : worst_of_each_metric(check.findings)) figures += figure(*finding);
  if (!figures.empty()) figures[0] = '|';
  return fmt::format("NPGPU {} - {}{}", words[static_cast<std::size_t>(std::clamp(code, 0, 3))], one_line(said),
                     one_line(figures));
}

// The first failure that the verdict rests on, in a sentence.
std::string worst_text(const CheckReport& check) {
  for (const HealthFinding& finding : check.findings)
    if (finding.health == Health::fail && finding.if_failed == check.verdict) return finding.text;
  return {};
}

// What is wrong and the verdict, in as many characters as a pager shows: what is wrong is cut, and not the verdict. The
// worst of it is there in a sentence, too, where that leaves room for what follows the line.
std::string short_line(const CheckReport& check, const std::string& verdict) {
  constexpr std::size_t most = 160;
  constexpr std::string_view cut = " ...; ";
  std::string reason = check_reason(check);
  if (reason.empty()) return verdict;
  if (const std::size_t size = reason.size() + 2 + verdict.size(); size <= most) {
    constexpr std::size_t follows = 10;
    const std::string worst = worst_text(check);
    const bool has_room = !worst.empty() && size + 2 + worst.size() + follows <= most;
    return reason + "; " + verdict + (has_room ? ": " + worst : "");
  }
  const std::size_t left = most > verdict.size() + cut.size() ? most - verdict.size() - cut.size() : 0;
  reason.resize(std::min(reason.size(), std::max<std::size_t>(left, 40)));
  reason.resize(std::min(reason.size(), reason.find_last_of(",; ")));
  return reason + std::string(cut) + verdict;
}

// A figure that has a limit was disturbed; without a limit nothing is known that it could be compared with.
std::string why_unjudged(const CheckReport& check) {
  const HealthFinding* first = nullptr;
  for (const HealthFinding& finding : check.findings) {
    if (finding.health != Health::unjudged) continue;
    if (std::isfinite(finding.limit)) return "others used it, so that it could not be judged";
    if (!first) first = &finding;
  }
  if (!first) return "nothing was measured that could be judged";
  return first->device + (first->device.empty() ? "" : ": ") + first->text;
}

void print_check(const Options& options, const CheckReport& check, const Ending& ending, bool nagios) {
  if (options.on("json")) {
    check_json(std::cout, check);
    return;
  }
  const bool quiet = options.on("quiet");
  std::string line;
  const std::string verdict = fmt::format("{}: {}, {} GPU{}", check.root.hostname, name(check.verdict),
                                          check.gpus.size(), check.gpus.size() == 1 ? "" : "s");
  // A line by itself is often cut after some twenty characters: by sinfo, by a pager.
  line = quiet || nagios ? short_line(check, verdict) : verdict;
  if (check.verdict == CheckVerdict::not_judged && check.why_not_judged.empty()) line += "; " + why_unjudged(check);
  else if (!check.decided.empty() && !quiet) line += "; judged by " + check.decided;
  if (ending.is_stopped) line += "; stopped by a signal before its end";
  if (std::isfinite(check.wall_s)) line += fmt::format("; {:.1f} s", check.wall_s);
  if (!check.trace.empty()) line += "; trace: " + check.trace;
  if (nagios) std::cout << nagios_line(check, check.exit_code, line) << '\n';  // first of all, as plugins do
  if (!quiet) check_text(std::cout, check, options.on("all"), terminal_style());
  if (!nagios) std::cout << one_line(line) << '\n';
}

// Whoever drains a node by the verdict goes by the exit code. False if something could not be written.
bool write_reports(const Options& options, const CheckReport& check) {
  const bool junit = write_if_asked(options, "junit", true, [&](std::ostream& out) { check_junit(out, check); });
  return write_if_asked(options, "openmetrics", true, [&](std::ostream& out) { check_openmetrics(out, check); }) &&
         junit;
}

}  // namespace

int end_check(const Options& options, CheckReport& check, const Ending& ending) {
  const bool nagios = options.text("exit-codes") == "nagios";
  check.verdict = check.why_not_judged.empty() || worst_of(check.findings) == Health::fail ? verdict_of(check.findings)
                                                                                           : CheckVerdict::not_judged;
  constexpr int unknown_to_nagios = 3;
  check.exit_code = nagios && !ending.is_stopped ? nagios_code(check.verdict, worst_of(check.findings))
                    : nagios                     ? unknown_to_nagios
                    : ending.is_stopped          ? exit_code::stopped
                                                 : exit_code_of_verdict(check.verdict, ending.is_nothing);
  // The first line of a plugin and its exit code have to agree.
  if (!nagios) print_check(options, check, ending, nagios);
  if (!write_reports(options, check) && check.exit_code == exit_code::done)
    check.exit_code = nagios ? unknown_to_nagios : exit_code::failed;
  if (nagios) print_check(options, check, ending, nagios);
  return check.exit_code;
}

}  // namespace npgpu::cli
