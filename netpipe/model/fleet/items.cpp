#include "netpipe/model/fleet/items.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "netpipe/model/compare/tolerances.hpp"
#include "netpipe/model/medians.hpp"

namespace npgpu::model {

namespace {

// GPUs of one model differ by more than runs of one GPU do.
constexpr double least_tolerance = 0.02;
// The median absolute deviation of normal values is this part of their standard deviation.
constexpr double of_sigma = 0.6745;
// Times that scatter twice as much as others' do are noisy.
constexpr double noisy_by = 1;
constexpr std::size_t least_for_scatter = 5;  // points of a class

double tolerance_of(const FleetItem& item, const FleetRules& rules) {
  static const Tolerances usual = usual_tolerances();
  const double own = usual[static_cast<std::size_t>(item.time_class)].of(item.third);
  return rules.tolerance.value_or(std::max(own, least_tolerance));
}

struct Standard {
  double center = 0, sigma = not_measured;  // of logarithms
};

Standard standard_of(const std::vector<double>& logs, const std::vector<bool>& disturbed) {
  std::vector<double> known, quiet;
  for (std::size_t m = 0; m < logs.size(); ++m) {
    if (!std::isfinite(logs[m])) continue;
    known.push_back(logs[m]);
    if (!disturbed[m]) quiet.push_back(logs[m]);
  }
  if (are_enough(quiet.size(), known.size())) known = std::move(quiet);
  if (known.empty()) return {};
  Standard is{median(known)};
  for (double& log : known) log = std::abs(log - is.center);
  is.sigma = median(known) / of_sigma;
  return is;
}

// `logs`: of how much time each takes, or how much it scatters; `least`: what a fifth of counts as scatter.
ItemColumn column_of(FleetItem item, const std::vector<double>& logs, const std::vector<bool>& disturbed,
                     const Standard& standard, double least, const FleetRules& rules) {
  ItemColumn column{std::move(item), {}};
  column.item.sigma = standard.sigma;
  const double unit = std::fmax(standard.sigma, std::log1p(least) / rules.z);
  const double sign = column.item.of == FleetItem::Of::figure && is_rate(column.item.unit) ? -1 : 1;
  for (std::size_t m = 0; m < logs.size(); ++m) {
    FleetValue& value = column.values.emplace_back();
    if (!std::isfinite(logs[m])) continue;
    const double apart = logs[m] - standard.center;
    value.value = column.item.median * std::exp(sign * apart);
    value.share = std::expm1(apart);
    value.z = apart / unit;
    value.disturbed = disturbed[m];
    ++column.item.gpus;
  }
  return column;
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
    FleetItem item{.of = FleetItem::Of::curve,
                   .kind = question.kind,
                   .title = question.title,
                   .lane = question.lane,
                   .third = part.third,
                   .time_class = question.time_class};
    item.first = part.points.front();
    item.last = part.points.back();
    item.at = question.axes[item.first] + (item.last > item.first ? " .. " + question.axes[item.last] : "");
    item.tolerance = tolerance_of(item, rules);
    const FleetItem* const known_item = reference ? item_in(*reference, item) : nullptr;
    if (reference && !known_item) continue;
    std::vector<double> logs, of_medians;
    for (const CaseRow& row : table.rows) logs.push_back(residual(row, medians, part.points));
    const Standard standard = known_item ? Standard{0, known_item->sigma} : standard_of(logs, disturbed);
    for (const std::size_t i : part.points) of_medians.push_back(std::log(medians[i]));
    item.median = std::exp(mean_of(of_medians) + standard.center);
    const double least = item.tolerance;
    all.push_back(column_of(std::move(item), logs, disturbed, standard, least, rules));
  }
}

void add_figure(std::vector<ItemColumn>& all, const FigureTable& table, const FleetRules& rules,
                const FleetBaseline::Group* reference) {
  FleetItem item{.of = FleetItem::Of::figure,
                 .kind = "figures",
                 .title = table.of.name,
                 .third = table.of.third,
                 .at = table.of.at,
                 .time_class = table.of.time_class,
                 .unit = table.of.unit};
  item.tolerance = tolerance_of(item, rules);
  const double sign = is_rate(item.unit) ? -1 : 1;
  std::vector<double> logs;
  for (const double value : table.values) logs.push_back(value > 0 ? sign * std::log(value) : not_measured);
  const FleetItem* const known = reference ? item_in(*reference, item) : nullptr;
  if (reference && !known) return;
  const Standard standard =
      known ? Standard{sign * std::log(known->median), known->sigma} : standard_of(logs, table.disturbed);
  item.median = std::exp(sign * standard.center);
  const double least = item.tolerance;
  all.push_back(column_of(std::move(item), logs, table.disturbed, standard, least, rules));
}

// The scatter of a GPU's own times, over all points of a class: median over these of the half width of the interval,
// over what is usual at that point.
void add_scatter(std::vector<ItemColumn>& all, const std::vector<CaseTable>& tables, const FleetRules& rules) {
  std::map<TimeClass, std::vector<std::vector<double>>> logs_of;  // by member
  std::map<TimeClass, std::vector<double>> usual_of;              // by point
  for (const CaseTable& table : tables) {
    const TimeClass its = table.of.question.time_class;
    auto& logs = logs_of[its];
    logs.resize(table.rows.size());
    for (std::size_t i = 0; i < table.of.question.axes.size(); ++i) {
      std::vector<double> known;
      for (const CaseRow& row : table.rows)
        if (row.there && row.spread[i] > 0) known.push_back(row.spread[i]);
      if (known.empty()) continue;
      const double usual = median(known);
      usual_of[its].push_back(usual);
      for (std::size_t m = 0; m < table.rows.size(); ++m)
        if (const CaseRow& row = table.rows[m]; row.there && !row.disturbed && row.spread[i] > 0)
          logs[m].push_back(std::log(row.spread[i] / usual));
    }
  }
  for (const auto& [its, logs] : logs_of) {
    if (usual_of[its].size() < least_for_scatter) continue;
    FleetItem item{.of = FleetItem::Of::scatter, .kind = "scatter", .title = std::string(name(its)), .time_class = its};
    item.tolerance = tolerance_of(item, rules);
    std::vector<double> medians;
    for (const auto& own : logs) medians.push_back(own.size() < least_for_scatter ? not_measured : median(own));
    const std::vector<bool> quiet(medians.size());
    const Standard standard = standard_of(medians, quiet);
    item.median = median(usual_of[its]) * std::exp(standard.center);
    all.push_back(column_of(std::move(item), medians, quiet, standard, noisy_by, rules));
  }
}

}  // namespace

bool is_rate(FigureUnit unit) { return unit != FigureUnit::us && unit != FigureUnit::us_a_load; }

bool is_same_item(const FleetItem& a, const FleetItem& b) {
  return a.of == b.of && a.kind == b.kind && a.title == b.title && a.lane == b.lane && a.third == b.third &&
         a.unit == b.unit;
}
bool is_same_case(const FleetQuestion& a, const FleetQuestion& b) {
  return a.kind == b.kind && a.title == b.title && a.lane == b.lane;
}

std::vector<ItemColumn> items_of(const std::vector<CaseTable>& tables, const std::vector<FigureTable>& figures,
                                 const FleetRules& rules, const FleetBaseline::Group* reference) {
  std::vector<ItemColumn> all;
  for (const FigureTable& table : figures) add_figure(all, table, rules, reference);
  for (const CaseTable& table : tables) add_curves(all, table, rules, reference);
  if (!reference) add_scatter(all, tables, rules);
  for (ItemColumn& column : all) column.item.judged = reference || column.item.gpus >= rules.least_gpus;
  return all;
}

}  // namespace npgpu::model
