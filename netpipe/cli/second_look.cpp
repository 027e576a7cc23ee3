#include "netpipe/cli/second_look.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <thread>

#include "netpipe/cli/measure.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/vocabulary/device.hpp"
#include "npgpu/vocabulary/trace.hpp"

namespace npgpu::cli {

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
        const auto quiet = static_cast<std::size_t>(
            std::ranges::count_if(point.visits, [](const auto* visit) { return visit->causes() == 0; }));
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

}  // namespace

PointNames doubtful_points(const std::vector<HealthFinding>& findings) {
  PointNames names;
  for (const HealthFinding& finding : findings)
    if (is_unsettled(finding)) names.merge(points_of(finding));
  return names;
}

Plan restricted_to(const Plan& plan, const PointNames& names) {
  Plan some;
  for_each_kind([&]<class K>() {
    for (const Batch<K>& batch : plan.of<K>()) {
      Batch<K> kept = batch;
      kept.steps.clear();
      for (const typename K::Case& question : batch.cases()) {
        std::vector<Step<K>> all, named;
        std::ranges::copy_if(batch.steps, std::back_inserter(all),
                             [&](const Step<K>& step) { return step.question == question; });
        const std::string case_title = title(question);
        std::ranges::copy_if(all, std::back_inserter(named), [&](const Step<K>& step) {
          return names.contains({case_title, text_of(step.axes)});
        });
        const bool is_asked = std::ranges::any_of(names, [&](const auto& name) { return name.first == case_title; });
        if (is_asked) std::ranges::copy(named.empty() ? all : named, std::back_inserter(kept.steps));
      }
      if (!kept.steps.empty()) some.of<K>().push_back(std::move(kept));
    }
  });
  return some;
}

SecondLook look_again(const Plan& plan, MeasureOptions how, const HealthRules& rules, Seconds time) {
  SecondLook look;
  const Seconds begin = steady_clock().now();
  std::uint32_t first = how.max_visits();
  if (time <= Seconds{0}) return look;
  // Every pass has a context of its own, in which small and middle copies keep one of several speeds.
  constexpr std::uint32_t least_rounds = 8, rounds_of_disturbed = 4, most_rounds = 16, passes_of_slow = 4,
                          fewest_rounds = 3, spare_rounds = 2;
  const bool is_measured = std::ranges::any_of(plan.devices(), [](const auto& device) { return !device.simulated; });
  std::uint32_t rounds = least_rounds, done = 0;
  std::map<std::pair<std::string, std::string>, std::uint32_t> looked;
  how.if_exists = IfExists::resume;  // the same schedule, or they were series of their own
  how.side_by_side = false;
  how.rounds_per_context = 0;
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
    if (done == 0)  // as many quiet visits as outweigh those beside other GPUs
      rounds = std::max(are_all_disturbed ? rounds_of_disturbed : least_rounds,
                        lacks_quiet_visits(trace, names) + spare_rounds);
    how.first_round = first;
    how.end_round = first + rounds;
    for (const auto& name : names) look.points += looked[name]++ == 0;
    ++look.passes;
    look.stopped = run_campaign(some, how).stopped;
  }
}

}  // namespace npgpu::cli
