#include "netpipe/model/fleet/items.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>

#include "netpipe/model/compare/parts.hpp"
#include "netpipe/model/compare/tolerances.hpp"
#include "netpipe/model/medians.hpp"

namespace npgpu::model {

namespace {

// Times that scatter twice as much as others' do are noisy. By how much healthy ones scatter differs as well, and by
// more where the host has a part in it.
constexpr KnownScatter scatter_of_device{0.3, 1.0}, scatter_of_host{0.6, 2.0};

KnownScatter known_for(FigureKind kind, const FleetRules& rules) {
  KnownScatter known = known_scatter(kind);
  if (rules.tolerance) known.least = *rules.tolerance;
  return known;
}

// Healthy times scatter from visit to visit, and so the means of a few rounds do: by two thirds of a run the trend
// differs with the standard deviation of a visit times sqrt(2 / rounds of a third). What a visit's is, the median GPU
// of all shows, of whose visits nine tenths are within its scatter.
KnownScatter known_for_trend(const CourseColumn& from, const FleetRules& rules) {
  constexpr double within_nine_tenths = 1.645;  // standard deviations
  KnownScatter known = known_for(from.kind, rules);
  std::vector<double> scatters;
  std::ranges::copy_if(from.scatter, std::back_inserter(scatters), [](double one) { return std::isfinite(one); });
  if (scatters.empty() || from.third == 0) return known;
  const double of_visit = median(scatters) / within_nine_tenths;
  known.sigma = std::max(known.sigma, of_visit * std::sqrt(2 / static_cast<double>(from.third)));
  return known;
}

// A column before it is judged: logarithms by member, of which more is worse.
struct Logs {
  std::vector<double> value, near, far;  // near and far: NaN where there is no interval; far of figures alone
  std::vector<bool> disturbed;
};

// Of the GPUs that nobody disturbed, or of all where too few are left.
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

struct Reference {
  double center = 0, sigma = not_measured;
  std::size_t gpus = 0;
};

// Sets shares, limits and, of what the host has the larger part in, the host's own.
void judge_column(ItemColumn& column, const Logs& logs, const KnownScatter& known, bool of_host,
                  const Machines& machines, const FleetRules& rules, double chance,
                  const std::optional<Reference>& reference) {
  FleetItem& item = column.item;
  const auto from_reference = [&] {
    return standard_of(reference->center, reference->sigma, reference->gpus, known, chance);
  };
  std::vector<double> hosts, own = logs.value;
  if (of_host) {
    hosts = host_parts(logs.value, machines);
    std::map<std::size_t, double> each;
    for (std::size_t m = 0; m < hosts.size(); ++m) {
      if (std::isfinite(hosts[m])) each[machines[m]] = hosts[m];
      own[m] -= hosts[m];
    }
    std::vector<double> parts;
    for (const auto& [machine, log] : each) parts.push_back(log);
    column.hosts = reference ? from_reference() : standard_of(parts, known, chance);
    column.judges_hosts = reference || parts.size() >= rules.least_gpus;
  }
  const Standard standard =
      reference && !of_host ? from_reference() : standard_of(quiet_logs(own, logs.disturbed), known, chance);
  item.sigma = of_host ? column.hosts.sigma : standard.sigma;
  item.tolerance = std::expm1(standard.limit);
  if (column.judges_hosts) item.host_tolerance = std::expm1(column.hosts.limit);
  const double center = standard.center + (hosts.empty() ? 0 : column.hosts.center);
  item.gpus = count_of(logs.value);
  for (std::size_t m = 0; m < logs.value.size(); ++m) {
    FleetValue& value = column.values.emplace_back();
    if (!std::isfinite(logs.value[m])) continue;
    double apart = own[m] - standard.center;
    // Slow among all, and among its host's; NaN where the reference has no median, and so no comparison.
    if (!hosts.empty()) apart = std::min(logs.value[m] - center, apart);
    value.share = std::expm1(apart);
    value.low = std::expm1(apart - (logs.value[m] - logs.near[m]));
    value.z = apart / standard.unit;
    if (!hosts.empty()) value.host = std::expm1(hosts[m] - column.hosts.center);
    value.disturbed = logs.disturbed[m];
  }
  item.median = center;  // a logarithm, which the caller turns into the item's unit
  item.judged = reference || item.gpus >= rules.least_gpus;
}

const FleetItem* item_in(const FleetBaseline::Group& reference, const FleetItem& item) {
  for (const FleetItem& one : reference.items)
    if (is_same_item(one, item)) return &one;
  return nullptr;
}
const FleetCase* case_in(const FleetBaseline::Group& reference, const FleetQuestion& question) {
  for (const FleetCase& one : reference.cases)
    if (is_same_case(one.question, question)) return &one;
  return nullptr;
}

// ---- figures ----

constexpr std::size_t few = 10;

// Where the sorts are far apart, and neither is small, the scatter of all is the distance of both, and nobody is
// beyond it. Then the place between them is empty: at least twice as wide as both sorts scatter, or of few GPUs as wide
// as one healthy group in a thousand shows (drawn from the normal distribution, groups of 8 to 60). Returns the share
// of the first GPU of the slower sort.
std::optional<double> slower_sort_from(std::vector<double> shares, const KnownScatter& known) {
  constexpr std::size_t least_group = 8, least_faster = 3;
  constexpr double least_slower = 0.3, widest_by_chance = 60, least_width = 2;
  const std::size_t all = shares.size();
  if (all < least_group) return std::nullopt;
  std::ranges::sort(shares);
  const double least = std::max(least_width, widest_by_chance / static_cast<double>(all));
  const std::size_t first = std::max(least_faster, (all + few - 1) / few);
  std::vector<double> sums{0}, squares{0};  // of the first shares
  for (const double share : shares) {
    sums.push_back(sums.back() + share);
    squares.push_back(squares.back() + share * share);
  }
  const auto squared_deviations = [&](std::size_t from, std::size_t to) {
    const double sum = sums[to] - sums[from];
    return std::max(0.0, squares[to] - squares[from] - sum * sum / static_cast<double>(to - from));
  };
  const auto middle = [&](std::size_t from, std::size_t to) { return shares[from + (to - from - 1) / 2]; };
  for (std::size_t i = first; static_cast<double>(all - i) >= least_slower * static_cast<double>(all); ++i) {
    const double apart = middle(i, all) - middle(0, i);
    const double scatter =
        std::sqrt((squared_deviations(0, i) + squared_deviations(i, all)) / static_cast<double>(all - 2));
    if (apart > known.least && shares[i] - shares[i - 1] > least * std::max(scatter, known.sigma / 2)) return shares[i];
  }
  return std::nullopt;
}

// Where most GPUs are slow their median is, too, and it is the few that stand out: what is faster than the median by
// more than healthy GPUs differ, with its whole interval, shows that the median is not what this model can do. A tenth
// is enough, as nine tenths are what is usual. The same where half are slower. Which sort is right the traces do not
// say.
std::optional<FleetSplit> split_of(const ItemColumn& column, const Logs& logs, const KnownScatter& known) {
  const double limit = std::log1p(column.item.tolerance);
  std::vector<double> shares;
  for (const FleetValue& value : column.values)
    if (std::isfinite(value.share) && !value.disturbed) shares.push_back(value.share);
  const std::size_t all = shares.size();
  const auto slower_from = slower_sort_from(std::move(shares), known);
  std::vector<double> faster, slower, others;  // by the group's limit
  std::array<std::vector<double>, 2> sorts;    // by the empty place between them
  bool are_found = true;                       // the slower sort is slow by the limit, too
  for (std::size_t m = 0; m < logs.value.size(); ++m) {
    const FleetValue& value = column.values[m];
    if (!std::isfinite(value.share) || value.disturbed) continue;
    Estimate time{1 + value.share, 1 + value.low, (1 + value.share) * std::exp(logs.far[m] - logs.value[m]), {}, {}};
    const bool is_faster = rule(time, Allowed::at_least, std::exp(-limit)) == Ruling::slow;
    const bool is_slower = rule_apart(value.share, value.low, column.item.tolerance) == Ruling::slow;
    (is_faster ? faster : is_slower ? slower : others).push_back(value.value);
    const bool is_of_slower_sort = slower_from && value.share >= *slower_from;
    sorts[is_of_slower_sort].push_back(value.value);
    are_found = are_found && (is_slower || !is_of_slower_sort);
  }
  const auto split_into = [&](const std::vector<double>& fast, const std::vector<double>& slow) {
    FleetSplit split{.what = column.item.title, .at = column.item.at, .unit = column.item.unit};
    split.faster = fast.size();
    split.slower = slow.size();
    if (!fast.empty()) split.fast = median(fast);
    if (!slow.empty()) split.slow = median(slow);
    return split;
  };
  if (few * faster.size() >= all && !faster.empty()) {  // most are slow
    others.insert(others.end(), slower.begin(), slower.end());
    return split_into(faster, others);
  }
  if (2 * slower.size() >= all && all) return split_into(others, slower);
  if (slower_from && !are_found) return split_into(sorts[0], sorts[1]);
  return std::nullopt;
}

void add_figure_item(std::vector<ItemColumn>& all, const FigureColumn& from, const Machines& machines,
                     const FleetRules& rules, double chance, const FleetBaseline::Group* reference) {
  ItemColumn column{{.of = FleetMeasure::figure,
                     .kind = "figures",
                     .title = from.of.name,
                     .at = from.of.at,
                     .figure = from.of.kind,
                     .unit = from.of.unit},
                    {}};
  FleetItem& item = column.item;
  Logs logs;
  logs.disturbed = from.disturbed;
  for (std::size_t m = 0; m < from.value.size(); ++m) {
    logs.value.push_back(log_time(from.value[m], item.unit));
    logs.near.push_back(log_time(from.near[m], item.unit));
    logs.far.push_back(log_time(from.far[m], item.unit));
  }
  std::optional<Reference> known;
  if (reference) {
    const FleetItem* const same = item_in(*reference, item);
    if (!same) return;
    known = {log_time(same->median, item.unit), same->sigma, same->gpus};
  }
  judge_column(column, logs, known_for(item.figure, rules), is_of_host(item.figure), machines, rules, chance, known);
  item.median = std::exp(is_rate(item.unit) ? -item.median : item.median);
  for (std::size_t m = 0; m < column.values.size(); ++m) column.values[m].value = from.value[m];
  if (!reference && item.judged && is_grave(item.figure))
    column.split = split_of(column, logs, known_for(item.figure, rules));
  all.push_back(std::move(column));
}

// ---- how figures scatter and become slower within their runs ----

// "check --level 2": of a plan what its user typed, without the build.
std::string typed_plan(const std::string& plan) { return plan.substr(0, plan.find('\n')); }

void add_course_items(std::vector<ItemColumn>& all, const CourseColumn& from, const Machines& machines,
                      const FleetRules& rules, double chance) {
  const bool of_host = is_of_host(from.kind);
  const auto add = [&](FleetMeasure of, const std::vector<double>& values, const KnownScatter& known, bool is_log) {
    ItemColumn column{{.of = of,
                       .kind = std::string(name(of)),
                       .title = std::string(name(from.kind)),
                       .at = typed_plan(from.plan),
                       .figure = from.kind},
                      {}};
    Logs logs;
    for (const double value : values) logs.value.push_back(is_log ? value : value > 0 ? std::log(value) : not_measured);
    logs.near.assign(values.size(), not_measured);
    logs.disturbed.assign(values.size(), false);
    if (count_of(logs.value) == 0) return;
    judge_column(column, logs, known, of_host && !is_log, machines, rules, chance, {});
    column.item.median = is_log ? std::expm1(column.item.median) : std::exp(column.item.median);
    for (std::size_t m = 0; m < values.size(); ++m) column.values[m].value = is_log ? std::expm1(values[m]) : values[m];
    all.push_back(std::move(column));
  };
  add(FleetMeasure::scatter, from.scatter, of_host ? scatter_of_host : scatter_of_device, false);
  // A host's speed changes as it likes.
  if (!of_host) add(FleetMeasure::trend, from.trend, known_for_trend(from, rules), true);
}

// ---- curves ----

// The reference's medians at a table's points; NaN where it has none.
std::vector<double> medians_at(const FleetCase* reference, const FleetQuestion& question) {
  std::vector<double> us(question.axes.size(), not_measured);
  for (std::size_t i = 0; reference && i < us.size(); ++i) {
    const auto found = std::ranges::find(reference->question.axes, question.axes[i]);
    if (found != reference->question.axes.end())
      us[i] = reference->us[static_cast<std::size_t>(found - reference->question.axes.begin())];
  }
  return us;
}

// The median over the points of how far a row is from the medians; NaN where it has less than half of them.
double residual(const CaseRow& row, const std::vector<double>& medians, const Indices& points) {
  std::vector<double> logs;
  for (const std::size_t i : points)
    if (row.there && std::isfinite(row.us[i])) logs.push_back(std::log(row.us[i] / medians[i]));
  return logs.empty() || 2 * logs.size() < points.size() ? not_measured : median(logs);
}

double curve_tolerance(const FleetItem& item, const FleetRules& rules) {
  static const Tolerances usual = usual_tolerances();
  constexpr double least = 0.02;  // GPUs of one model differ by more than runs of one GPU do
  return rules.tolerance.value_or(std::max(usual[static_cast<std::size_t>(item.time_class)].of(item.third), least));
}

void add_curves(std::vector<ItemColumn>& all, const CaseTable& table, const FleetRules& rules,
                const FleetBaseline::Group* reference) {
  const FleetQuestion& question = table.of.question;
  const std::vector<double> medians = reference ? medians_at(case_in(*reference, question), question) : table.of.us;
  Indices known;
  for (std::size_t i = 0; i < medians.size(); ++i)
    if (medians[i] > 0) known.push_back(i);
  std::vector<bool> disturbed;
  for (const CaseRow& row : table.rows) disturbed.push_back(row.disturbed);
  if (known.empty()) return;
  for (const Part& part : thirds_of(known)) {
    ItemColumn column{{.of = FleetMeasure::curve,
                       .kind = question.kind,
                       .title = question.title,
                       .lane = question.lane,
                       .third = part.third,
                       .time_class = question.time_class},
                      {}};
    FleetItem& item = column.item;
    item.first = part.points.front();
    item.last = part.points.back();
    item.at = question.axes[item.first] + (item.last > item.first ? " .. " + question.axes[item.last] : "");
    item.tolerance = curve_tolerance(item, rules);
    if (reference && !item_in(*reference, item)) continue;
    std::vector<double> logs, of_medians;
    for (const CaseRow& row : table.rows) logs.push_back(residual(row, medians, part.points));
    const std::vector<double> quiet = quiet_logs(logs, disturbed);
    const double center = reference || quiet.empty() ? 0 : median(quiet);
    for (const std::size_t i : part.points) of_medians.push_back(std::log(medians[i]));
    item.median = std::exp(mean_of(of_medians) + center);
    item.sigma = scatter_of(quiet);
    item.gpus = count_of(logs);
    for (std::size_t m = 0; m < logs.size(); ++m) {
      FleetValue& value = column.values.emplace_back();
      if (!std::isfinite(logs[m])) continue;
      value.value = item.median * std::exp(logs[m] - center);
      value.share = std::expm1(logs[m] - center);
      value.disturbed = disturbed[m];
    }
    all.push_back(std::move(column));
  }
}

}  // namespace

bool is_same_item(const FleetItem& a, const FleetItem& b) {
  return a.of == b.of && a.kind == b.kind && a.title == b.title && a.lane == b.lane && a.third == b.third &&
         a.unit == b.unit && (a.of == FleetMeasure::curve || (a.at == b.at && a.figure == b.figure));
}
bool is_same_case(const FleetQuestion& a, const FleetQuestion& b) {
  return a.kind == b.kind && a.title == b.title && a.lane == b.lane;
}

std::vector<ItemColumn> items_of(const std::vector<CaseTable>& tables, const std::vector<FigureColumn>& figures,
                                 const std::vector<CourseColumn>& courses, const Machines& machines,
                                 const FleetRules& rules, const FleetBaseline::Group* reference) {
  // One test for each figure of each GPU, and two for each kind: of all of them together the chance is kept.
  std::size_t tests = 0;
  for (const FigureColumn& one : figures) tests += count_of(one.value);
  for (const CourseColumn& one : courses) tests += 2 * count_of(one.scatter);
  const double chance = rules.chance / static_cast<double>(std::max<std::size_t>(tests, 1));
  std::vector<ItemColumn> all;
  for (const FigureColumn& one : figures) add_figure_item(all, one, machines, rules, chance, reference);
  for (const CourseColumn& one : courses)
    if (!reference) add_course_items(all, one, machines, rules, chance);
  for (const CaseTable& table : tables) add_curves(all, table, rules, reference);
  return all;
}

}  // namespace npgpu::model
