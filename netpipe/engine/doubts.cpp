// Values of a trace that cannot be: a file was damaged or edited, or a driver answered nonsense.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>

#include "npgpu/model/result.hpp"
#include "npgpu/vocabulary/field.hpp"
#include "npgpu/vocabulary/trace.hpp"

namespace npgpu {

namespace {

struct Range {
  double low = 0, high = 0;
  bool holds(double value) const { return value >= low && value <= high; }
};

// Wide: what no machine can say, not what none has said so far.
constexpr double any = 1e30;
constexpr Range of_time_s{0, 1e8};  // three years

// A run of what is repeated takes longer: no clock ticks faster, and no machine does more in a microsecond.
constexpr double least_us = 1e-4, most_in_us = 1e12;
double least_us_of(double work) { return std::isfinite(work) ? std::max(least_us, work / most_in_us) : least_us; }

// For a column with this unit.
Range range_of_unit(std::string_view unit) {
  if (unit == "s") return of_time_s;
  if (unit == "ms") return {0, of_time_s.high * 1e3};
  if (unit == "us") return {0, of_time_s.high * 1e6};
  if (unit == "MHz" || unit == "W") return {0, 1e5};
  if (unit == "degC") return {-300, 1e4};
  if (unit == "J") return {0, 1e10};  // 100 kW for a day
  return {0, any};
}

// A fact's name ends in its unit, or in what it counts.
Range range_of_fact(std::string_view name) {
  constexpr double most_counted = 9007199254740992;  // 2^53
  constexpr std::pair<std::string_view, Range> endings[]{
      {"numa_node", {-1, 1e6}},     {"_per_s", {1, any}},        {"_mhz", {1, 1e5}},
      {"_khz", {1e3, 1e8}},         {"power_limit_w", {1, 1e5}}, {"_w", {0, 1e5}},
      {"_c", {-100, 300}},          {"_bytes", {0, 1e18}},       {"multiprocessors", {1, 1e5}},
      {"compute_units", {1, 1e6}},  {"warp_size", {1, 1024}},    {"_per_multiprocessor", {1, 1e9}},
      {"pcie_generation", {1, 32}}, {"pcie_lanes", {1, 64}},     {"memory_bus_bits", {1, 1e6}},
      {"_generation_now", {0, 32}}, {"_lanes_now", {0, 64}},     {"_generation_copying", {0, 32}},
      {"_lanes_copying", {0, 64}},  {"nvlinks", {0, 1e4}},       {"noise_seed", {-any, any}}};
  for (const auto& [ending, range] : endings)
    if (name.ends_with(ending)) return range;
  return {0, most_counted};
}

bool is_of_device(std::string_view group) {
  const std::string_view last = group.substr(group.rfind('/') + 1);
  return last.starts_with("gpu") || last.starts_with("host");
}

void take_facts(Trace& trace) {
  for (auto& described : trace.provenance) {
    const std::string& group = described.first;
    if (!is_of_device(group)) continue;
    std::erase_if(described.second, [&](const Facts::value_type& fact) {
      const auto& [name, value] = fact;
      if (std::holds_alternative<std::string>(value)) return false;
      const double number = number_fact({fact}, name);
      if (std::isnan(number) && name.ends_with("_per_s")) return false;  // not known
      if (range_of_fact(name).holds(number)) return false;
      if (number == 0 && !name.ends_with("multiprocessors")) return true;  // as drivers answer where they cannot read
      trace.doubts.push_back(fmt::format("{}: {} of {:g}", group, name, number));
      return true;
    });
  }
}

// Values of rows become unknown, and each column of a table has one sentence.
class Columns {
 public:
  template <class Row> void take(Row& row, double least = least_us) {
    visit_fields(row, [&]<class T>(const FieldInfo& info, T& value) {
      if constexpr (std::is_floating_point_v<T>) {
        Range range = range_of_unit(info.unit);
        if (info.name == "work") range.low = 1;
        double share = 1;
        if constexpr (requires { row.repeats; })
          if (info.unit == "us" && value > 0) range.low = least, share = 1 / static_cast<double>(row.repeats);
        if (std::isnan(value) || range.holds(value * share)) return;
        doubt(std::string(info.name), value);
        value = not_measured;
      }
    });
  }
  void doubt(const std::string& column, double value) {
    auto& [first, rows] = doubtful_[column];
    if (rows++ == 0) first = value;
  }
  void tell(const std::string& table, std::vector<std::string>& doubts) const {
    for (const auto& [column, found] : doubtful_)
      doubts.push_back(fmt::format("{}: {} of {:g}{}", table, column, found.first,
                                   found.second > 1 ? fmt::format(" (and {} rows more)", found.second - 1) : ""));
  }

 private:
  std::map<std::string, std::pair<double, std::size_t>> doubtful_;  // the first value, and how many rows
};

}  // namespace

void set_doubts(Trace& trace) {
  take_facts(trace);
  for_each_kind([&]<class K>() {
    for (Series<K>& series : trace.of<K>()) {
      Columns visits, samples;
      for (Visit<K>& visit : series.visits) {
        visits.take(static_cast<VisitInfo&>(visit));
        const double said = K::work(series.question, visit.axes);
        if (std::isfinite(said) && std::isfinite(visit.work) && said != visit.work)
          visit.samples = 0, visits.doubt(text_of(visit.axes) + " with work", visit.work);
      }
      for (auto& sample : series.samples)
        samples.take(sample,
                     sample.visit < series.visits.size() ? least_us_of(series.visits[sample.visit].work) : least_us);
      visits.tell(title(series.question) + ", visits", trace.doubts);
      samples.tell(title(series.question) + ", samples", trace.doubts);
    }
  });
}

std::string doubts_text(const Trace& trace) {
  if (trace.doubts.empty()) return {};
  const std::size_t more = trace.doubts.size() - 1;
  return fmt::format("values that cannot be are not used: {}{}", trace.doubts.front(),
                     more ? fmt::format(", and {} more", more) : "");
}

}  // namespace npgpu
