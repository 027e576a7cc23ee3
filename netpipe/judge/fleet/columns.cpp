// Key figures over the GPUs of a group: medians, limits, and how far each GPU is from them.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "netpipe/judge/fleet/group.hpp"
#include "netpipe/judge/judge.hpp"
#include "netpipe/model/medians.hpp"

namespace npgpu::model {

namespace {

// A figure at the same points, by member: medians over its traces, NaN where there is none. `near`: the end of its
// interval at which the GPU is best. Both are logarithms, of which more is worse.
struct FigureColumn {
  FleetFigure of;
  std::vector<double> value, time, near;
  std::vector<bool> disturbed;
};

std::vector<FigureColumn> figures_of(const std::vector<Sightings>& members) {
  struct Values {
    std::vector<double> value, near;
    std::size_t disturbed = 0;
  };
  struct Seen {
    const FleetFigure* first = nullptr;
    std::map<std::size_t, Values> of_member;
  };
  std::map<std::tuple<FigureKind, std::string, std::string>, Seen> all;  // by kind, name, points
  for (std::size_t m = 0; m < members.size(); ++m)
    for (const Sighting& seen : members[m])
      for (const FleetFigure& figure : seen.gpu->figures) {
        if (!std::isfinite(figure.value)) continue;
        Seen& same = all[{figure.kind, figure.name, figure.at}];
        if (!same.first) same.first = &figure;
        Values& values = same.of_member[m];
        values.value.push_back(figure.value);
        values.near.push_back(is_rate(figure.unit) ? figure.high : figure.low);
        values.disturbed += figure.disturbed;
      }
  std::vector<FigureColumn> columns;
  for (const auto& [key, seen] : all) {
    FigureColumn& column = columns.emplace_back();
    column.of = *seen.first;
    column.value.assign(members.size(), not_measured);
    column.time = column.near = column.value;
    column.disturbed.assign(members.size(), false);
    for (const auto& [m, values] : seen.of_member) {
      const bool has_interval = std::ranges::all_of(values.near, [](double end) { return std::isfinite(end); });
      column.value[m] = median(values.value);
      column.time[m] = log_time(column.value[m], column.of.unit);
      column.near[m] = has_interval ? log_time(median(values.near), column.of.unit) : not_measured;
      column.disturbed[m] = 2 * values.disturbed > values.value.size();
    }
  }
  return columns;
}

// Logarithms of the GPUs that nobody disturbed, or of all where too few are left.
std::vector<double> quiet_logs(const std::vector<double>& logs, const std::vector<bool>& disturbed) {
  std::vector<double> known, quiet;
  for (std::size_t m = 0; m < logs.size(); ++m) {
    if (!std::isfinite(logs[m])) continue;
    known.push_back(logs[m]);
    if (!disturbed[m]) quiet.push_back(logs[m]);
  }
  return are_enough(quiet.size(), known.size()) ? quiet : known;
}

// What each member's host takes: the lower median over its GPUs, so that it is never slower than its fastest one.
std::vector<double> host_parts(const std::vector<double>& logs, const Machines& machines) {
  std::map<std::size_t, std::vector<double>> of_machine;
  for (std::size_t m = 0; m < logs.size(); ++m)
    if (std::isfinite(logs[m])) of_machine[machines[m]].push_back(logs[m]);
  std::map<std::size_t, double> part;
  for (auto& [machine, all] : of_machine) part[machine] = lower_median(std::move(all));
  std::vector<double> parts(logs.size(), not_measured);
  for (std::size_t m = 0; m < logs.size(); ++m)
    if (std::isfinite(logs[m])) parts[m] = part[machines[m]];
  return parts;
}

std::size_t count_of(const std::vector<double>& logs) {
  return static_cast<std::size_t>(std::ranges::count_if(logs, [](double log) { return std::isfinite(log); }));
}

// Sets shares, limits and, of what the host has the larger part in, the host's own.
ItemColumn judged_text(const FigureColumn& from, const Machines& machines, const FleetRules& rules, double chance) {
  ItemColumn column{{.figure = from.of.kind, .title = from.of.name, .at = from.of.at, .unit = from.of.unit}, {}};
  FleetItem& item = column.item;
  KnownScatter known = known_scatter(item.figure);
  if (rules.tolerance) known.least = *rules.tolerance;
  std::vector<double> hosts, own = from.time;
  if (is_of_host(item.figure)) {
    hosts = host_parts(from.time, machines);
    std::map<std::size_t, double> each;
    for (std::size_t m = 0; m < hosts.size(); ++m) {
      if (std::isfinite(hosts[m])) each[machines[m]] = hosts[m];
      own[m] -= hosts[m];
    }
    std::vector<double> parts;
    for (const auto& [machine, log] : each) parts.push_back(log);
    column.hosts = standard_of(parts, known, chance);
    column.judges_hosts = parts.size() >= rules.least_gpus;
  }
  const Standard standard = standard_of(quiet_logs(own, from.disturbed), known, chance);
  item.sigma = hosts.empty() ? standard.sigma : column.hosts.sigma;
  item.tolerance = std::expm1(standard.limit);
  if (column.judges_hosts) item.host_tolerance = std::expm1(column.hosts.limit);
  const double center = standard.center + (hosts.empty() ? 0 : column.hosts.center);
  item.median = std::exp(is_rate(item.unit) ? -center : center);
  item.gpus = count_of(from.time);
  item.judged = item.gpus >= rules.least_gpus;
  std::size_t compared = 0, slow = 0;
  for (std::size_t m = 0; m < from.time.size(); ++m) {
    FleetValue& value = column.values.emplace_back();
    value.value = from.value[m];
    if (!std::isfinite(from.time[m])) continue;
    double apart = own[m] - standard.center;
    // Slow among all, and among its host's.
    if (!hosts.empty()) apart = std::min(from.time[m] - center, apart);
    value.share = std::expm1(apart);
    value.low = std::expm1(apart - (from.time[m] - from.near[m]));
    value.z = apart / standard.unit;
    if (!hosts.empty()) value.host = std::expm1(hosts[m] - column.hosts.center);
    value.disturbed = from.disturbed[m];
    if (!std::isfinite(value.share) || value.disturbed) continue;
    ++compared;
    slow += rule_apart(value.share, value.low, item.tolerance) == Ruling::slow;
  }
  column.half_are_slow = 2 * slow >= compared;
  return column;
}

}  // namespace

std::vector<ItemColumn> columns_of(const std::vector<Sightings>& members, const Machines& machines,
                                   const FleetRules& rules) {
  const std::vector<FigureColumn> figures = figures_of(members);
  // One test for each figure of each GPU: of all of them together the chance is kept.
  std::size_t tests = 0;
  for (const FigureColumn& one : figures) tests += count_of(one.value);
  const double chance = rules.chance / static_cast<double>(std::max<std::size_t>(tests, 1));
  std::vector<ItemColumn> all;
  for (const FigureColumn& one : figures) all.push_back(judged_text(one, machines, rules, chance));
  return all;
}

}  // namespace npgpu::model
