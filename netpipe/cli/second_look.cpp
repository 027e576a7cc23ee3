#include "netpipe/cli/second_look.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "netpipe/cli/campaign.hpp"
#include "npgpu/clock.hpp"
#include "npgpu/trace.hpp"

namespace npgpu::cli {

namespace {

bool is_unsettled(const HealthFinding& finding) {
  if (finding.of_case.empty()) return false;
  if (finding.health == Health::fail) return finding.if_failed == CheckVerdict::slow;
  if (finding.health == Health::unjudged) return !std::isnan(finding.limit);
  return finding.health == Health::undecided;
}

}  // namespace

PointNames doubtful_points(const std::vector<HealthFinding>& findings) {
  PointNames names;
  for (const HealthFinding& finding : findings)
    if (is_unsettled(finding)) names.emplace(finding.of_case, finding.of_point);
  return names;
}

Plan only_these(const Plan& plan, const PointNames& names) {
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
  std::uint32_t first = 0;
  for_each_kind([&]<class K>() { first = std::max(first, how.repetition<K>().most_visits()); });
  constexpr std::uint32_t least_rounds = 8;
  std::uint32_t rounds = least_rounds, done = 0;
  std::map<std::pair<std::string, std::string>, std::uint32_t> looked;
  how.if_exists = IfExists::resume;  // the same schedule, or they were series of their own
  how.side_by_side = false;
  how.fresh_contexts = false;
  how.patience = Seconds{0};
  for (;; first += rounds, done += rounds) {
    look.wall = steady_clock().now() - begin;
    if (look.stopped) return look;
    if (done > 0) {  // twice as many as before, as far as the time goes
      const double left = (time - look.wall) / look.wall * done;
      if (left < least_rounds) return look;
      rounds = static_cast<std::uint32_t>(std::min(2.0 * rounds, left));
    }
    PointNames names;
    for (const HealthFinding& finding : health_of(read_trace(how.output, Guard::child), rules)) {
      if (!is_unsettled(finding)) continue;
      const std::pair name{finding.of_case, finding.of_point};
      if (finding.health == Health::undecided || looked[name] == 0) names.insert(name);
    }
    if (names.empty()) return look;
    const Plan some = only_these(plan, names);
    if (some.points() == 0) return look;
    how.first_round = first;
    how.end_round = first + rounds;
    for (const auto& name : names) look.points += looked[name]++ == 0;
    ++look.passes;
    look.stopped = run_campaign(some, how).stopped;
  }
}

}  // namespace npgpu::cli
