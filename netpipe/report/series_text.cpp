#include "netpipe/report/series_text.hpp"

#include <fmt/format.h>

#include "netpipe/report/overview/sections.hpp"
#include "npgpu/vocabulary/questions.hpp"

namespace npgpu {

namespace {

struct Throttle {
  std::uint64_t bit;
  const char* what;
};
// NVML's nvmlClocksThrottleReason*; see slowing_reasons.
constexpr std::array<Throttle, 5> throttles{{{0x4, "power cap"},
                                             {0x8, "hardware slowdown"},
                                             {0x20, "temperature (software)"},
                                             {0x40, "temperature (hardware)"},
                                             {0x80, "power brake"}}};

// "SM 1980 MHz, 120 .. 700 W"
template <class K> std::string telemetry_text(const Series<K>& series) {
  std::string text;
  const auto range = [&](const char* format, double Telemetry::*what) {
    double low = not_measured, high = not_measured;
    for (const Visit<K>& visit : series.visits) {
      const double v = visit.telemetry.*what;
      if (!std::isfinite(v)) continue;
      if (!(v >= low)) low = v;
      if (!(v <= high)) high = v;
    }
    if (!std::isfinite(low)) return;
    const std::string values = low == high ? fmt::format("{:.0f}", low) : fmt::format("{:.0f} .. {:.0f}", low, high);
    text += (text.empty() ? "" : ", ") + fmt::format(fmt::runtime(format), values);
  };
  range("SM {} MHz", &Telemetry::sm_clock_mhz);
  range("memory {} MHz", &Telemetry::memory_clock_mhz);
  range("{} W", &Telemetry::power_w);
  range("{} degC", &Telemetry::temperature_c);
  std::uint64_t reasons = 0;
  for (const Visit<K>& visit : series.visits) reasons |= visit.telemetry.throttle_reasons;
  for (const Throttle& t : throttles)
    if (reasons & t.bit) text += (text.empty() ? "" : ", ") + std::string("held back: ") + t.what;
  return text;
}

std::string limit_text(const TransferSeries& series) {
  return rate_text(series.limit.per_s) + (lanes(series.question).size() > 1 ? " each way" : "");
}
std::string limit_text(const ProbeSeries& series) { return probe_rate_text(series.question, series.limit.per_s); }

// "B"; empty where nothing is counted.
std::string work_unit(const CollectiveCase&) { return "B"; }
std::string work_unit(const auto&) { return {}; }

}  // namespace

template <class K> std::string point_text(const Series<K>& series) {
  const auto all = results(series);
  if (all.empty() || !all.front().usable()) return "not usable";
  const Result<K>& r = all.front();
  std::string text = time_text(r.time_us.value);
  if constexpr (std::is_same_v<K, Transfers>) text = rate_text(r.rate.value);
  if constexpr (std::is_same_v<K, Probes>) text = probe_rate_text(series.question, r.rate.value);
  const double half = (r.time_us.high - r.time_us.low) / 2 / r.time_us.value;
  return std::isfinite(half) ? text + fmt::format(" ±{:.2f} %", half * 100) : text;
}

std::string Marks::take(bool unsteady, std::uint32_t causes, bool usable) {
  ++points_;
  unusable_ += !usable;
  unsteady_ += unsteady;
  disturbed_ += causes != 0;
  causes_ |= causes;
  return std::string(usable ? "" : "!") + (unsteady ? "*" : "") + (causes ? "d" : "");
}

void Marks::notes(Document& doc, const std::string& what, double above, std::size_t folded) const {
  if (unsteady_ > 0)
    doc.note(fmt::format("* {} of {} {} unsteady: an interval wider than +-{:.0f} %{}", unsteady_, points_, what,
                         100 * above, folded ? fmt::format(", {} of them folded", folded) : ""));
  if (unusable_ > 0) doc.note("! no usable trial: the results were wrong or not timed", true);
  if (disturbed_ > 0)
    doc.note(fmt::format("d {} of {} {} were disturbed: {}", disturbed_, points_, what,
                         disturbance_text(causes_, disturbers_)),
             true);
  if (void_trials_ > 0) doc.note(fmt::format("{} left out: their gate timed out", counted(void_trials_, "trial")));
}

template <class K> bool heading(Document& doc, const Series<K>& series) {
  doc.title(title(series.question), series.simulated);
  doc.labelled("device", series.device_name.empty() ? device_of(series.question) : series.device_name);
  if constexpr (requires { series.limit; })
    doc.labelled("limit", (series.limit.per_s > 0 ? limit_text(series) + ": " : std::string()) +
                              limit_source_text(series.limit.source));
  const std::pair<const char*, std::string> lines[] = {
      {"bound to", series.binding}, {"schedule", series.schedule}, {"clocks", telemetry_text(series)}};
  for (const auto& [label, text] : lines)
    if (!text.empty()) doc.labelled(label, text);
  const bool any = !series.visits.empty();
  if (!series.error.empty()) doc.labelled(any ? "STOPPED" : "NOT RUN", series.error, true);
  else if (!any) doc.labelled("points", "none were measured");
  return any;
}

template <class K> void series_text(Document& doc, const Series<K>& series, bool) {
  if (!heading(doc, series)) return;
  const auto all = results(series);
  const bool counts = std::ranges::any_of(all, [](const auto& r) { return r.rate.value > 0; });
  std::vector<Column> columns;
  const typename K::Axes none{};
  visit_fields(none, [&](const FieldInfo& f, const auto&) {
    columns.push_back(
        right(f.unit == "1" || f.unit == "B" ? std::string(f.name) : fmt::format("{} {}", f.name, f.unit)));
  });
  columns.insert(columns.end(), {decimal("time us"), right("95 % interval", 1),
                                 decimal(work_unit(series.question) + "/s", 2, counts), right("trials", 3), left("")});
  Table table(std::move(columns));
  Marks marks;
  const auto points = points_by_axes(series);
  for (const Result<K>& r : all) {
    std::vector<std::string> cells;
    visit_fields(r.axes, [&]<class T>(const FieldInfo& f, const T& value) {
      if constexpr (std::is_enum_v<T>) cells.emplace_back(name(value));
      else if constexpr (std::is_floating_point_v<T>) cells.push_back(digits_text(value));
      else if constexpr (std::is_integral_v<T>)
        cells.push_back(f.unit == "B" ? size_text(value) : std::to_string(value));
      else cells.push_back(value);
    });
    cells.insert(cells.end(), {digits_text(r.time_us.value), interval_text(r.time_us), digits_text(r.rate.value),
                               std::to_string(r.trials), marks.take(points.at(r.axes), r.unsteady, r.usable())});
    table.row(std::move(cells));
  }
  doc.gap();
  doc.table(std::move(table));
  marks.notes(doc, "points", series.unsteady_above);
}

NPGPU_FOR_KINDS(&point_text<K>, &heading<K>)

namespace {

// Series of older traces that the tables of their kind leave out.
template <class K> void old_series(Document& doc, const std::vector<Series<K>>& all) {
  const auto is_old = [](const auto& question) {
    if constexpr (requires { is_of_old_ways(question); }) return is_of_old_ways(question);
    else return is_beside(question);
  };
  for (const Series<K>& series : all) {
    if (!is_old(series.question)) continue;
    doc.gap();
    series_text(doc, series, false);
  }
}

// Empty where a kind has a table for each series.
template <class K> KindReport report_of() {
  for (const auto& one : registered<KindReport>())
    if (one->kind == K::name) return *one;
  return {};
}

template <class K> void kind_text(Document& doc, const TraceResults& of, bool every_size) {
  if (const KindReport own = report_of<K>(); own.text) {
    own.text(doc, of);
    return old_series(doc, of.trace.of<K>());
  }
  for (const Series<K>& series : of.trace.of<K>()) {
    doc.gap();
    series_text(doc, series, every_size);
  }
}

void add_part(Document& doc, const Document& part) {
  if (part.blocks.empty()) return;
  doc.gap();
  doc.add(part);
}

}  // namespace

Document studies_document(const TraceResults& of) {
  Document doc;
  for_each_kind([&]<class K>() {
    if (report_of<K>().is_study) kind_text<K>(doc, of, false);
  });
  add_part(doc, partition_document(of));
  return doc;
}

Document lone_series_document(const TraceResults& of, const Overview& all) {
  Document doc;
  const auto has_sections = [](const DeviceOverview& device) { return !sections_of(device, Extent::page).empty(); };
  // The copies that limits of collectives are from are in the table of copies at once.
  if (!of.collectives.empty() || !is_shown_whole(of.trace, all) || std::ranges::any_of(all.gpus, has_sections) ||
      (all.host && has_sections(*all.host)))
    return doc;
  for_each_kind([&]<class K>() {
    if (!report_of<K>().is_study) kind_text<K>(doc, of, false);
  });
  add_part(doc, messages_document(of.messages));
  return doc;
}

std::vector<Section> study_sections(const TraceResults& of) {
  std::vector<Section> all;
  for (const bool of_device : {false, true})
    for_each_kind([&]<class K>() {
      const KindReport own = report_of<K>();
      if (own.sections && K::is_of_device == of_device) std::ranges::move(own.sections(of), std::back_inserter(all));
    });
  return all;
}

bool is_shown_whole(const Trace& trace, const Overview& all) {
  constexpr std::size_t few = 24, many = 300;  // points
  std::size_t points = 0;
  for_each_kind([&]<class K>() {
    if (!report_of<K>().is_study)
      for (const Series<K>& series : trace.of<K>()) points += points_of(series).size();
  });
  if (points <= few && node_matrix(trace).matrices.empty()) return true;
  return points <= many && glance_of(all).empty();
}

void report_text(std::ostream& out, const TraceResults& of, const TextStyle& style) {
  Document doc;
  facts_text(doc, of, style.series_in_trace);
  for_each_kind([&]<class K>() { kind_text<K>(doc, of, style.every_size); });
  add_part(doc, messages_document(of.messages));
  add_part(doc, partition_document(of));
  add_part(doc, parameters_document(of.derived, Detail::brief));
  add_part(doc, matrix_document(of.matrix, table_width(style)));
  if (!of.matrix.devices.empty()) doc.add(matrix_findings_document(of.verdict));
  out << to_text(doc, style);
}

}  // namespace npgpu
