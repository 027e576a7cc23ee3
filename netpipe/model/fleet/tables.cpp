#include "netpipe/model/fleet/tables.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <tuple>

#include "netpipe/engine/sort_stably.hpp"
#include "netpipe/model/medians.hpp"
#include "netpipe/model/siblings.hpp"

namespace npgpu::model {

namespace {

using CaseKey = std::tuple<std::string, std::string, std::uint32_t>;  // kind, title, lane

double median_or_none(const std::vector<double>& values) { return values.empty() ? not_measured : median(values); }

// Which columns the points of a question are; of points that the table lacks it is no_column.
constexpr std::size_t no_column = static_cast<std::size_t>(-1);
using Columns = std::vector<std::size_t>;

// The points of all questions of a case that at least half of those who asked it have. Their order is that of the
// question that was asked most, and of sizes.
FleetQuestion common_question(const std::map<FleetQuestion, std::size_t>& asked) {
  std::vector<std::pair<const FleetQuestion*, std::size_t>> most_first;
  std::map<std::string, std::size_t> have;
  std::size_t all = 0;
  for (const auto& [question, count] : asked) {
    most_first.emplace_back(&question, count);
    all += count;
    for (const std::string& axes : question.axes) have[axes] += count;
  }
  sort_stably(most_first, std::ranges::greater{}, &std::pair<const FleetQuestion*, std::size_t>::second);
  std::vector<std::pair<double, std::string>> points;
  for (const auto& [question, count] : most_first)
    for (std::size_t i = 0; i < question->axes.size(); ++i) {
      const auto known = have.find(question->axes[i]);
      if (known == have.end()) continue;
      if (2 * known->second >= all) points.emplace_back(question->sizes[i], question->axes[i]);
      have.erase(known);
    }
  sort_stably(points, {}, &std::pair<double, std::string>::first);
  FleetQuestion common = *most_first.front().first;
  common.axes.clear();
  common.sizes.clear();
  for (const auto& [size, axes] : points) {
    common.sizes.push_back(size);
    common.axes.push_back(axes);
  }
  return common;
}

Columns columns_in(const FleetQuestion& common, const FleetQuestion& question) {
  Columns columns;
  for (const std::string& axes : question.axes) {
    const auto found = std::ranges::find(common.axes, axes);
    columns.push_back(found == common.axes.end() ? no_column : static_cast<std::size_t>(found - common.axes.begin()));
  }
  return columns;
}

void set_row(CaseRow& row, const std::vector<const FleetCurve*>& curves, const CaseTable& table,
             std::map<const FleetQuestion*, Columns>& known_columns) {
  const std::size_t points = table.of.question.axes.size();
  std::vector<std::vector<double>> us(points);
  std::size_t measured = 0, disturbed = 0;
  for (const FleetCurve* curve : curves) {
    const auto [columns, is_new] = known_columns.try_emplace(curve->question.get());
    if (is_new) columns->second = columns_in(table.of.question, *curve->question);
    for (std::size_t i = 0; i < curve->us.size(); ++i) {
      const std::size_t column = columns->second[i];
      if (column == no_column) continue;
      if (std::isfinite(curve->us[i])) us[column].push_back(curve->us[i]);
    }
    measured += curve->us.size();
    disturbed += curve->disturbed;
  }
  row.there = true;
  row.disturbed = 2 * disturbed > measured;
  row.us.clear();
  for (const std::vector<double>& all : us) row.us.push_back(median_or_none(all));
}

// Medians over the GPUs that nobody disturbed, or over all where too few are left.
void set_medians(CaseTable& table) {
  constexpr double outside = 0.025;
  const bool quiet = 2 * std::ranges::count_if(table.rows, [](const CaseRow& r) { return r.there && !r.disturbed; }) >=
                     std::ranges::count_if(table.rows, &CaseRow::there);
  for (std::size_t i = 0; i < table.of.question.axes.size(); ++i) {
    std::vector<double> values;
    for (const CaseRow& row : table.rows)
      if (row.there && !(quiet && row.disturbed) && std::isfinite(row.us[i])) values.push_back(row.us[i]);
    std::ranges::sort(values);
    const auto cut = static_cast<std::size_t>(outside * static_cast<double>(values.size()));
    table.of.us.push_back(median_or_none(values));
    table.of.low_us.push_back(values.empty() ? not_measured : values[cut]);
    table.of.high_us.push_back(values.empty() ? not_measured : values[values.size() - 1 - cut]);
    table.of.gpus.push_back(values.size());
  }
}

}  // namespace

std::vector<CaseTable> tables_of(const std::vector<Sightings>& members) {
  struct CaseAnswers {
    std::map<FleetQuestion, std::size_t> asked;
    std::map<const FleetQuestion*, std::size_t> by_address;  // most are shared, and comparing them takes long
    std::map<std::size_t, std::vector<const FleetCurve*>> of_member;
  };
  std::map<CaseKey, CaseAnswers> all;
  std::map<const FleetQuestion*, CaseAnswers*> known;
  for (std::size_t m = 0; m < members.size(); ++m)
    for (const Sighting& seen : members[m])
      for (const FleetCurve& curve : seen.gpu->curves) {
        CaseAnswers*& gathered = known[curve.question.get()];
        if (!gathered) gathered = &all[{curve.question->kind, curve.question->title, curve.question->lane}];
        ++gathered->by_address[curve.question.get()];
        gathered->of_member[m].push_back(&curve);
      }
  std::vector<CaseTable> tables;
  for (auto& [key, gathered] : all) {
    for (const auto& [question, count] : gathered.by_address) gathered.asked[*question] += count;
    CaseTable table;
    table.of.question = common_question(gathered.asked);
    table.rows.resize(members.size());
    std::map<const FleetQuestion*, Columns> columns;
    for (const auto& [m, curves] : gathered.of_member) set_row(table.rows[m], curves, table, columns);
    set_medians(table);
    tables.push_back(std::move(table));
  }
  return tables;
}

std::vector<FigureColumn> figures_of(const std::vector<Sightings>& members) {
  struct Values {
    std::vector<double> value, near, far;
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
        values.far.push_back(is_rate(figure.unit) ? figure.low : figure.high);
        values.disturbed += figure.disturbed;
      }
  std::vector<FigureColumn> columns;
  for (const auto& [key, seen] : all) {
    FigureColumn& column = columns.emplace_back();
    column.of = *seen.first;
    column.value.assign(members.size(), not_measured);
    column.near = column.far = column.value;
    column.disturbed.assign(members.size(), false);
    for (const auto& [m, values] : seen.of_member) {
      column.value[m] = median(values.value);
      const auto median_if_known = [](const std::vector<double>& ends) {
        return std::ranges::all_of(ends, [](double end) { return std::isfinite(end); }) ? median(ends) : not_measured;
      };
      column.near[m] = median_if_known(values.near);
      column.far[m] = median_if_known(values.far);
      column.disturbed[m] = 2 * values.disturbed > values.value.size();
    }
  }
  return columns;
}

namespace {

std::size_t third_of(const std::vector<double>& rounds) {
  constexpr std::size_t least_rounds = 3;
  return rounds.size() < least_rounds ? 0 : (rounds.size() + 2) / 3;
}

// Mean of the last third of the rounds less that of the first.
double trend_of(const std::vector<double>& rounds) {
  const std::size_t third = third_of(rounds);
  if (third == 0) return not_measured;
  const std::span<const double> all(rounds);
  return mean_of(all.last(third)) - mean_of(all.first(third));
}

}  // namespace

std::vector<CourseColumn> courses_of(const std::vector<Sightings>& members) {
  struct Values {
    std::vector<double> scatter, trend;
    std::size_t third = 0;
  };
  std::map<std::pair<FigureKind, std::string>, std::map<std::size_t, Values>> all;
  for (std::size_t m = 0; m < members.size(); ++m)
    for (const Sighting& seen : members[m])
      for (const FleetCourse& course : seen.gpu->courses) {
        Values& values = all[{course.kind, seen.run->plan}][m];
        if (std::isfinite(course.scatter)) values.scatter.push_back(course.scatter);
        if (const double trend = trend_of(course.rounds); std::isfinite(trend)) {
          values.trend.push_back(trend);
          const std::size_t third = third_of(course.rounds);
          values.third = values.third ? std::min(values.third, third) : third;
        }
      }
  std::vector<CourseColumn> columns;
  for (const auto& [key, of_member] : all) {
    CourseColumn& column = columns.emplace_back();
    std::tie(column.kind, column.plan) = key;
    column.scatter.assign(members.size(), not_measured);
    column.trend = column.scatter;
    for (const auto& [m, values] : of_member) {
      column.scatter[m] = median_or_none(values.scatter);
      column.trend[m] = median_or_none(values.trend);
      if (values.third) column.third = column.third ? std::min(column.third, values.third) : values.third;
    }
  }
  return columns;
}

}  // namespace npgpu::model
