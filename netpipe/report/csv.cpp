// export --format csv: a header row, then a row for each sample or point. Quoted as RFC 4180 says, lines ended by a
// line feed; an empty field is what was not measured. Times of samples are of all repeats together, exactly as they
// came.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netpipe/report/series_text.hpp"
#include "npgpu/error.hpp"
#include "npgpu/report.hpp"

namespace npgpu {

namespace {

std::string cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}
std::string cell(const std::string& text) { return cell(std::string_view(text)); }
std::string cell(const ShortText& text) { return cell(std::string_view(text)); }
std::string cell(const char* text) { return cell(std::string_view(text)); }
std::string cell(const std::vector<Lane>& lanes) { return cell(lanes_text(lanes)); }
// The shortest text that reads back as the same number.
std::string cell(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }
template <class T>
requires std::is_integral_v<T> std::string cell(T value) { return fmt::format("{:d}", value); }
template <class E>
requires std::is_enum_v<E> std::string cell(E value) { return std::string(name(value)); }

// Where a visit's samples are in the trace's table, which is no property of the visit.
bool is_bookkeeping(const FieldInfo& field) { return field.name == "first_sample" || field.name == "samples"; }

class Row {
 public:
  template <class... Values> Row& add(const Values&... values) {
    ((text_ += (text_.empty() ? "" : ",") + cell(values)), ...);
    return *this;
  }
  template <class Struct> Row& add_fields(const Struct& row) {
    return add_each(row, [](const FieldInfo&, const auto& value) { return cell(value); });
  }
  template <class Struct> Row& add_names() {
    return add_each(Struct{}, [](const FieldInfo& field, const auto&) { return cell(field.name); });
  }
  template <class Struct> Row& add_empty() {
    return add_each(Struct{}, [](const FieldInfo&, const auto&) { return std::string(); });
  }
  void end(std::ostream& out) const { out << text_ << '\n'; }

 private:
  template <class Struct, class Text> Row& add_each(const Struct& row, Text text) {
    visit_fields(row, [&](const FieldInfo& field, const auto& value) {
      if (!is_bookkeeping(field)) text_ += (text_.empty() ? "" : ",") + text(field, value);
    });
    return *this;
  }
  std::string text_;
};

template <class K> Row names_of_case() {
  return Row().add("series").add_names<typename K::Case>().add("device_name", "simulated");
}
template <class K> Row row_of(const Series<K>& series, std::size_t index) {
  return Row().add(index).add_fields(series.question).add(series.device_name, series.simulated);
}

template <class K> void samples(std::ostream& out, const std::vector<Series<K>>& all) {
  names_of_case<K>().template add_names<Visit<K>>().template add_names<typename K::Sample>().end(out);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Row front = row_of(all[i], i);
    for (const auto& sample : all[i].samples) {
      Row row = front;
      if (sample.visit < all[i].visits.size()) row.add_fields(all[i].visits[sample.visit]);
      else row.template add_empty<Visit<K>>();  // its empty fields say that it belongs to no visit
      row.add_fields(sample).end(out);
    }
  }
}

template <class K> void points(std::ostream& out, const std::vector<Series<K>>& all) {
  names_of_case<K>()
      .template add_names<typename K::Axes>()
      .add("lane", "visits", "trials", "stop", "disturbed", "time_us", "time_low_us", "time_high_us", "min_us",
           "max_us", "rate", "rate_low", "rate_high", "rate_unit", "void")
      .end(out);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Row front = row_of(all[i], i);
    for (const PointResult<K>& r : results_of(all[i]))
      Row(front)
          .add_fields(r.axes)
          .add(r.lane, r.point.visits.size(), r.trials, r.point.stop(), disturbance_of(r.point), r.time_us.value,
               r.time_us.low, r.time_us.high, r.min_us, r.max_us, r.rate.value, r.rate.low, r.rate.high, r.rate.unit,
               r.why)
          .end(out);
  }
}

}  // namespace

void export_csv(std::ostream& out, const Trace& trace, const CsvTable& table) {
  if (std::ranges::find(Kinds::names, table.kind) == Kinds::names.end())
    throw Error(ErrorKind::usage,
                fmt::format("--table: '{}' is none of {}", table.kind, fmt::join(Kinds::names, ", ")));
  std::vector<std::string_view> there;
  for_each_kind([&]<class K>() {
    const auto& all = trace.of<K>();
    const bool any = std::ranges::any_of(all, [&](const Series<K>& series) {
      return table.rows == CsvRows::points ? !series.visits.empty() : !series.samples.empty();
    });
    if (any) there.push_back(K::name);
    if (any && table.kind == K::name) table.rows == CsvRows::points ? points(out, all) : samples(out, all);
  });
  if (std::ranges::find(there, table.kind) == there.end())
    throw Error(ErrorKind::usage,
                fmt::format("--table {}: the trace has no {} of this kind; it has {}{}", table.kind, name(table.rows),
                            there.empty() ? "none of any" : "those of ", fmt::join(there, ", ")));
}

}  // namespace npgpu
