#include "netpipe/model/fleet/baseline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "netpipe/engine/sort_stably.hpp"
#include "netpipe/model/fleet/items.hpp"

namespace npgpu {

FleetBaseline baseline_of(const Fleet& fleet) {
  FleetBaseline baseline{fleet.last_date, {}};
  for (const FleetGroup& group : fleet.groups) {
    if (!group.judged || group.judged_by_reference) continue;
    baseline.groups.push_back({group.model, group.driver, group.link, group.members.size(), group.items, group.cases});
  }
  return baseline;
}

namespace model {

const FleetBaseline::Group* group_in(const FleetBaseline& baseline, const FleetGroup& group) {
  const FleetBaseline::Group* best = nullptr;
  const auto rank = [&](const FleetBaseline::Group& one) {
    return std::tuple(one.link == group.link, one.driver == group.driver, one.gpus);
  };
  for (const FleetBaseline::Group& one : baseline.groups)
    if (one.model == group.model && (!best || rank(one) > rank(*best))) best = &one;
  return best;
}

namespace {

// Of the case's points at both times: the median of what their medians have changed by.
double change_of(const FleetItem& item, const FleetGroup& group, const FleetBaseline::Group& before) {
  const FleetQuestion asked{.kind = item.kind, .title = item.title, .lane = item.lane, .axes = {}, .sizes = {}};
  const auto of_item = [&](const FleetCase& one) { return is_same_case(one.question, asked); };
  const auto now = std::ranges::find_if(group.cases, of_item), then = std::ranges::find_if(before.cases, of_item);
  if (now == group.cases.end() || then == before.cases.end()) return not_measured;
  std::vector<double> logs;
  for (std::size_t i = item.first; i <= item.last; ++i) {
    const auto known = std::ranges::find(then->question.axes, now->question.axes[i]);
    if (known == then->question.axes.end()) continue;
    const double us = now->us[i], was = then->us[static_cast<std::size_t>(known - then->question.axes.begin())];
    if (us > 0 && was > 0) logs.push_back(std::log(us / was));
  }
  return logs.empty() ? not_measured : std::expm1(median(logs));
}

}  // namespace

void compare_with(FleetGroup& group, const FleetBaseline::Group& before, std::optional<double> tolerance) {
  for (FleetItem& item : group.items) {
    const auto same = [&](const FleetItem& one) { return is_same_item(one, item); };
    const auto known = std::ranges::find_if(before.items, same);
    const bool is_time = item.of == FleetMeasure::figure || item.of == FleetMeasure::curve;
    if (known == before.items.end() || !is_time || !(item.median > 0)) continue;
    FleetDrift drift{.what = item.title, .at = item.at, .before = known->median, .now = item.median};
    drift.unit = item.unit;
    // Medians of groups are known better than one GPU's figure.
    drift.tolerance =
        item.of == FleetMeasure::curve ? item.tolerance : tolerance.value_or(known_scatter(item.figure).least);
    if (item.of == FleetMeasure::curve) {
      drift.change = change_of(item, group, before);
      drift.before = drift.now / (1 + drift.change);  // at the points of now
    } else {
      drift.change = is_rate(item.unit) ? drift.before / drift.now - 1 : drift.now / drift.before - 1;
    }
    item.reference = drift.before;
    if (std::abs(drift.change) > drift.tolerance) group.drifts.push_back(std::move(drift));
  }
  sort_stably(group.drifts, std::ranges::greater{}, &FleetDrift::change);
}

}  // namespace model

}  // namespace npgpu
