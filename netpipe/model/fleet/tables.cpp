#include "netpipe/model/fleet/tables.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

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
  std::ranges::stable_sort(most_first, std::ranges::greater{}, &std::pair<const FleetQuestion*, std::size_t>::second);
  std::vector<std::pair<double, std::string>> points;
  for (const auto& [question, count] : most_first)
    for (std::size_t i = 0; i < question->axes.size(); ++i) {
      const auto known = have.find(question->axes[i]);
      if (known == have.end()) continue;
      if (2 * known->second >= all) points.emplace_back(question->sizes[i], question->axes[i]);
      have.erase(known);
    }
  std::ranges::stable_sort(points, {}, &std::pair<double, std::string>::first);
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
  std::vector<std::vector<double>> us(points), spread(points);
  std::size_t measured = 0, disturbed = 0;
  for (const FleetCurve* curve : curves) {
    const auto [columns, is_new] = known_columns.try_emplace(curve->question.get());
    if (is_new) columns->second = columns_in(table.of.question, *curve->question);
    for (std::size_t i = 0; i < curve->us.size(); ++i) {
      const std::size_t column = columns->second[i];
      if (column == no_column) continue;
      if (std::isfinite(curve->us[i])) us[column].push_back(curve->us[i]);
      if (std::isfinite(curve->spread[i])) spread[column].push_back(curve->spread[i]);
    }
    measured += curve->us.size();
    disturbed += curve->disturbed;
    if (row.why.empty()) row.why = curve->why;
  }
  row.there = true;
  row.disturbed = 2 * disturbed > measured;
  row.us.clear();
  row.spread.clear();
  for (std::size_t i = 0; i < points; ++i) {
    row.us.push_back(median_or_none(us[i]));
    row.spread.push_back(median_or_none(spread[i]));
  }
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

namespace {

// What a figure is taken from. Runs of other plans take it from other shapes, which have other rates.
class MostAsked {
 public:
  void count(const FleetQuestion* question) { ++counts_[question]; }
  void choose() {
    std::map<FleetQuestion, std::size_t> by_content;
    for (const auto& [question, count] : counts_) by_content[*question] += count;
    const auto most = std::ranges::max_element(by_content, {}, [](const auto& one) { return one.second; });
    for (const auto& [question, count] : counts_)
      if (*question == most->first) chosen_.insert(question);
  }
  bool is(const FleetQuestion* question) const { return chosen_.contains(question); }

 private:
  std::map<const FleetQuestion*, std::size_t> counts_;
  std::set<const FleetQuestion*> chosen_;
};

}  // namespace

std::vector<FigureTable> figures_of(const std::vector<Sightings>& members) {
  using FigureKey = std::tuple<std::string, FigureUnit, TimeClass>;
  struct Seen {
    std::size_t member = 0;
    const FleetFigure* figure = nullptr;
    const FleetQuestion* question = nullptr;
  };
  std::map<FigureKey, std::vector<Seen>> all;
  for (std::size_t m = 0; m < members.size(); ++m)
    for (const Sighting& seen : members[m])
      for (const FleetFigure& figure : seen.gpu->figures)
        all[{figure.name, figure.unit, figure.time_class}].push_back(
            {m, &figure, seen.gpu->curves.at(figure.curve).question.get()});
  std::vector<FigureTable> tables;
  for (const auto& [key, figures] : all) {
    MostAsked most_asked;
    for (const Seen& one : figures) most_asked.count(one.question);
    most_asked.choose();
    std::map<std::pair<std::string, Third>, std::size_t> at;
    std::vector<std::vector<double>> values(members.size());
    std::vector<std::size_t> disturbed(members.size());
    for (const Seen& one : figures) {
      if (!most_asked.is(one.question) || !std::isfinite(one.figure->value)) continue;
      ++at[{one.figure->at, one.figure->third}];
      values[one.member].push_back(one.figure->value);
      disturbed[one.member] += one.figure->disturbed;
    }
    if (at.empty()) continue;
    FigureTable& table = tables.emplace_back();
    std::tie(table.of.name, table.of.unit, table.of.time_class) = key;
    const auto most = std::ranges::max_element(at, {}, [](const auto& one) { return one.second; });
    std::tie(table.of.at, table.of.third) = most->first;
    for (std::size_t m = 0; m < members.size(); ++m) {
      table.values.push_back(median_or_none(values[m]));
      table.disturbed.push_back(2 * disturbed[m] > values[m].size());
    }
  }
  return tables;
}

}  // namespace npgpu::model
