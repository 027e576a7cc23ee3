// What GPUs do together: a table an operation, then what the links allow and which is slow.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>

#include "netpipe/report/format.hpp"
#include "netpipe/report/html/html.hpp"
#include "netpipe/report/json.hpp"
#include "netpipe/report/series_text.hpp"
#include "npgpu/model/figures.hpp"
#include "npgpu/report/report.hpp"

namespace npgpu {

namespace {

// One way in which a case can differ from others of its operation. Empty: as by default.
struct Manner {
  std::string text, brief;
};
using Manners = std::array<Manner, 4>;
Manners manners_of(const CollectiveCase& c) {
  Manners all;
  const auto set = [&](std::size_t at, std::string_view text, std::string_view brief) {
    all.at(at) = {std::string(text), std::string(brief)};
  };
  set(0, name(c.type), name(c.type));
  if (c.in_place) set(1, "in place", "in place");
  if (c.timing == Timing::event) set(2, "timed by events", "by events");
  if (c.timing == Timing::gated) set(2, "device time behind gates", "gated");
  if (c.launch == CollectiveLaunch::graph) set(3, "in CUDA graphs", "in graphs");
  return all;
}

}  // namespace

std::string operation_text(const CollectiveCase& c) {
  std::string text(name(c.operation));
  for (const Manner& one : manners_of(c))
    if (!one.text.empty()) text += ", " + one.text;
  return text;
}

OperationNames operation_names(const CollectiveStudy& study) {
  OperationNames names;
  std::vector<Manners> manners;
  for (const CollectiveFigure& f : study.figures) {
    names.each.emplace_back(name(f.question.operation));
    manners.push_back(manners_of(f.question));
  }
  std::string all;
  for (std::size_t at = 0; !manners.empty() && at < manners.front().size(); ++at) {
    const std::string& first = manners.front().at(at).text;
    const bool is_of_all = std::ranges::all_of(manners, [&](const Manners& one) { return one.at(at).text == first; });
    if (is_of_all && !first.empty()) all += (all.empty() ? "" : ", ") + first;
    for (std::size_t i = 0; !is_of_all && i < manners.size(); ++i)
      if (const std::string& brief = manners[i].at(at).brief; !brief.empty()) names.each[i] += ", " + brief;
  }
  if (!all.empty()) names.all = fmt::format(" ({})", all);
  return names;
}

namespace {

// The GPU whose operations take longer than others' by its own events.
std::string slowest_gpu(const CollectiveResult& r, const std::vector<std::string>& gpus) {
  constexpr double apart = 1.05;
  std::vector<double> known;
  for (const double us : r.lanes_us)
    if (us > 0) known.push_back(us);
  if (known.size() < 2) return "-";
  std::ranges::sort(known);
  // With two GPUs each is compared with the other.
  const double usual = known[(known.size() - 1) / 2];
  const auto longest = std::ranges::max_element(r.lanes_us, {}, [](double us) { return us > 0 ? us : 0; });
  const auto lane = static_cast<std::size_t>(longest - r.lanes_us.begin());
  return *longest > apart * usual && lane < gpus.size() ? gpus[lane] : "-";
}

std::string percent_of_limit_text(double share) { return share > 0 ? fmt::format("{:.1f}", 100 * share) : "-"; }

std::string gb_s(double bytes_per_s) { return digits_text(bytes_per_s * 1e-9); }

template <std::size_t n> std::string code_text(std::int32_t code, const std::array<std::string_view, n>& names) {
  return code >= 0 && static_cast<std::size_t>(code) < n ? std::string(names[static_cast<std::size_t>(code)]) : "-";
}
// "ring LL128 x24 P2P": algorithm, protocol, channels and path, as far as the library said them.
std::string choice_text(const CollectiveResult& r) {
  std::string text;
  const auto add = [&](const std::string& word) {
    if (word != "-") text += (text.empty() ? "" : " ") + word;
  };
  add(code_text(r.algorithm, collective_algorithms));
  add(code_text(r.protocol, collective_protocols));
  if (r.channels > 0) add(fmt::format("x{}", r.channels));
  add(code_text(r.path, collective_paths));
  return text.empty() ? "-" : text;
}

bool is_chosen(const CollectiveResult& r) { return choice_text(r) != "-"; }

bool is_bad(CheckVerdict verdict) { return verdict != CheckVerdict::ok && verdict != CheckVerdict::not_judged; }

// The limit is what these links carry, also the slow one.
std::string verdict_text(const CollectiveStudy& study, const CollectiveFigure& f) {
  const bool as_links_allow = f.verdict == CheckVerdict::ok && !study.slow_links.empty();
  return as_links_allow ? "as fast as the links, of which one is slow" : std::string(name(f.verdict));
}

// A row for each operation: its smallest size, and the size of the largest bus bandwidth.
Table summary_table(const CollectiveStudy& study, const std::string& header) {
  const OperationNames names = operation_names(study);
  Table table({left(header + names.all), right("smallest", 3), decimal("time us"), right("± 95 %"),
               decimal("algorithm GB/s", 4), decimal("bus GB/s"), right("± 95 %"), right("at", 2),
               right("% of limit", 1), right("half from", 5), left("verdict")});
  for (std::size_t i = 0; i < study.figures.size(); ++i) {
    const CollectiveFigure& f = study.figures[i];
    const auto best =
        std::ranges::find(f.points, f.best.value, [](const CollectiveResult& r) { return r.bus_rate.value; });
    std::vector<std::string> cells{"  " + names.each[i]};
    if (best == f.points.end()) cells.insert(cells.end(), 9, "-");
    else
      cells.insert(cells.end(), {size_text(f.points.front().axes.bytes), digits_text(f.smallest_us.value, 3),
                                 plus_minus_text(plus_minus(f.smallest_us)), gb_s(best->rate.value), gb_s(f.best.value),
                                 plus_minus_text(plus_minus(f.best)), size_text(best->axes.bytes),
                                 percent_of_limit_text(f.best.value / f.limit), about_size_text(f.half_bytes)});
    cells.push_back(verdict_text(study, f));
    table.row(std::move(cells), is_bad(f.verdict) ? std::optional(Health::fail) : std::nullopt);
  }
  return table;
}

std::string title_of(const CollectiveStudy& study) {
  return fmt::format("collectives of {} GPUs, {} to {} ({})", study.gpus.size(), study.gpus.front(), study.gpus.back(),
                     study.device_name);
}

Section collectives_section(const CollectiveStudy& study) {
  Section section{"COLLECTIVES", summary_table(study, "COLLECTIVES")};
  for (const SlowLink& link : study.slow_links) section.entries.push_back({"slow link", {link.text}, true});
  for (const CollectiveFigure& f : study.figures)
    if (is_bad(f.verdict) && !f.why.empty())
      section.entries.push_back({std::string(name(f.verdict)), {operation_text(f.question) + ": " + f.why}, true});
  return section;
}

std::vector<Section> collective_sections(const TraceResults& of) {
  std::vector<Section> all;
  for (const CollectiveStudy& study : of.collectives) all.push_back(collectives_section(study));
  return all;
}

// A row for each size of one operation.
Table collective_table(const CollectiveFigure& f, const std::vector<std::string>& gpus) {
  const bool stands_out =
      std::ranges::any_of(f.points, [&](const CollectiveResult& r) { return slowest_gpu(r, gpus) != "-"; });
  std::vector<Column> columns{
      right("size"),       decimal("time us"), right("95 % interval", 1), decimal("algorithm GB/s", 2),
      decimal("bus GB/s"), right("% of limit")};
  if (stands_out) columns.push_back(left("slowest GPU"));
  const bool is_any_chosen = std::ranges::any_of(f.points, is_chosen);
  if (is_any_chosen) columns.push_back(left("chosen"));
  columns.insert(columns.end(), {right("trials", 3), left("")});
  Table table(std::move(columns));
  for (const CollectiveResult& r : f.points) {
    std::vector<std::string> cells{size_text(r.axes.bytes),  digits_text(r.time_us.value),
                                   interval_text(r.time_us), gb_s(r.rate.value),
                                   gb_s(r.bus_rate.value),   percent_of_limit_text(r.bus_rate.value / f.limit)};
    if (stands_out) cells.push_back(slowest_gpu(r, gpus));
    if (is_any_chosen) cells.push_back(choice_text(r));
    cells.push_back(std::to_string(r.trials));
    cells.push_back(std::string(r.usable() ? "" : "!") + (r.unsteady ? "*" : "") + (r.causes ? "d" : ""));
    table.row(std::move(cells));
  }
  return table;
}

// Only a trace of npgpu collectives: others leave out much else.
std::vector<std::string> left_out_of(const Trace& trace) {
  std::vector<std::string> all;
  if (!trace.of<Probes>().empty() || !trace.of<Calls>().empty()) return all;
  for (const auto& [name, why] : facts_of(trace.provenance, "plan"))
    if (const auto* text = std::get_if<std::string>(&why); text && name.starts_with("left_out")) all.push_back(*text);
  return all;
}

void collectives_text(Document& doc, const TraceResults& of) {
  for (const CollectiveStudy& study : of.collectives) {
    doc.gap();
    doc.title(title_of(study), study.simulated);
    if (!study.library.empty()) doc.labelled("library", study.library);
    if (!study.links_judged_by.empty()) doc.labelled("links", study.links_judged_by);
    doc.gap();
    doc.add(Document::Rows{summary_table(study, "operation"), {}, "every operation"});
    doc.draw(html::collective_chart(study, fmt::format("collectives{}", &study - of.collectives.data())));
    bool is_any_chosen = false, is_any_unusable = false, is_any_unsteady = false, is_any_disturbed = false;
    for (const CollectiveFigure& f : study.figures) {
      doc.gap();
      doc.labelled("operation", operation_text(f.question));
      std::string limit = f.limit > 0 ? fmt::format("{} GB/s: {}", gb_s(f.limit), f.limit_source) : f.limit_source;
      if (f.tree_limit > 0 && f.tree_limit < f.limit) limit += fmt::format("; of two trees {}", gb_s(f.tree_limit));
      doc.labelled("limit", limit);
      if (!f.error.empty()) doc.labelled("error", f.error, true);
      if (f.points.empty()) continue;
      doc.add(Document::Rows{collective_table(f, study.gpus), {}, operation_text(f.question)});
      for (const CollectiveResult& r : f.points) {
        is_any_chosen |= is_chosen(r);
        is_any_unusable |= !r.usable();
        is_any_unsteady |= r.unsteady;
        is_any_disturbed |= r.causes != 0;
      }
      if (f.verdict != CheckVerdict::ok)
        doc.note(fmt::format("verdict: {}{}", name(f.verdict), f.why.empty() ? "" : ": " + f.why), is_bad(f.verdict));
    }
    doc.gap();
    for (const SlowLink& link : study.slow_links) doc.note("slow link: " + link.text, true);
    for (const std::string& why : left_out_of(of.trace)) doc.note("left out: " + why);
    doc.note(
        "first table: the time of the smallest size, and the largest bus bandwidth; algorithm GB/s: the size over the "
        "time; bus GB/s: what a GPU's link carries for it, as nccl-tests defines it; "
        "limit: of the bus bandwidth, measured by copies of kernels at once; half from: the size from which on half of "
        "the largest bus bandwidth is reached");
    if (is_any_chosen) doc.note("chosen by the library: algorithm, protocol, channels and path between the GPUs");
    if (is_any_unusable) doc.note("! no usable trial: the results were wrong or not timed", true);
    if (is_any_unsteady) doc.note(fmt::format("* unsteady: an interval wider than +-{:.0f} %", 100 * least_unsteady));
    if (is_any_disturbed) doc.note("d disturbed by others");
  }
}

const Joined<KindReport> collectives_report({Collectives::name, collectives_text, true, collective_sections});

}  // namespace

void collectives_text(std::ostream& out, const TraceResults& of, const TextStyle& style) {
  Document doc;
  collectives_text(doc, of);
  out << to_text(doc, style);
}

// What GPUs did together as JSON, and the predicted time of an all-reduce, as lines for people and as JSON:
//
//   { "document": "npgpu-collective-forecast", "version": 1, "forecasts": [ { title, case, gpus (how many),
//   device_name,
//     simulated, bytes, time_us (with its interval and method), bus_bytes_per_s } ] }

namespace {

double bus_rate(const CollectiveForecast& one) {
  return bus_factor(one.figure->question) * static_cast<double>(one.bytes) / one.us.value * 1e6;
}

std::string forecast_line(const CollectiveForecast& one) {
  const CollectiveCase& c = one.figure->question;
  std::string how;
  if (c.launch == CollectiveLaunch::graph) how += " in CUDA graphs";
  if (c.timing != Timing::host) how += fmt::format(", {}", name(c.timing));
  std::string text = fmt::format("{}{} of {} of {} on {} GPUs{} ({}): {}, {} of bus bandwidth; {}",
                                 one.study->simulated ? "SIMULATED " : "", name(c.operation), size_text(one.bytes),
                                 name(c.type), one.study->gpus.size(), how, one.study->device_name,
                                 time_text(one.us.value), rate_text(bus_rate(one)), one.us.method);
  if (one.us.high > one.us.low)
    text += fmt::format("; 95 % interval {} to {}", time_text(one.us.low), time_text(one.us.high));
  return text;
}

}  // namespace

NPGPU_FORM(CollectiveFigure, called<"title", [](const T& f) { return std::string(title(f.question)); }>,
           called<"case", &T::question>, &T::smallest_us, called<"best_bus_bytes_per_s", &T::best>,
           called<"half_rate_bytes", &T::half_bytes>, called<"limit_bus_bytes_per_s", &T::limit>, &T::limit_source,
           called<"tree_limit_bus_bytes_per_s", &T::tree_limit>, called<"share_of_limit", &T::share>, &T::verdict,
           known<&T::why>, called<"slowed_by", known<&T::cause>>);
NPGPU_FORM(SlowLink, &T::devices, &T::share, &T::text);
NPGPU_DEFINE_FORM(CollectiveStudy, &T::gpus, &T::device_name, &T::simulated, known<&T::library>, &T::verdict,
                  called<"operations", &T::figures>, &T::links_judged_by, &T::slow_links);

void collective_forecast_text(std::ostream& out, const std::vector<CollectiveForecast>& all) {
  for (const CollectiveForecast& one : all) out << one_line(forecast_line(one)) << '\n';
}

template <auto At>
inline constexpr auto of_study = [](const CollectiveForecast& one) { return std::invoke(At, *one.study); };
NPGPU_FORM(CollectiveForecast, called<"title", [](const T& f) { return std::string(title(f.figure->question)); }>,
           called<"case", [](const T& f) { return f.figure->question; }>,
           called<"gpus", [](const T& f) { return f.study->gpus.size(); }>,
           called<"device_name", of_study<&CollectiveStudy::device_name>>,
           called<"simulated", of_study<&CollectiveStudy::simulated>>, &T::bytes, called<"time_us", &T::us>,
           called<"bus_bytes_per_s", &bus_rate>);

void collective_forecast_json(std::ostream& out, const std::vector<CollectiveForecast>& all) {
  write_document(out, "npgpu-collective-forecast", 1, Listed<"forecasts", CollectiveForecast>{all});
}

}  // namespace npgpu
