// A recorded application: what it did, by time; and what would make its step faster.
#include "netpipe/report/record_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "netpipe/report/json.hpp"
#include "netpipe/report/layout.hpp"
#include "netpipe/report/series_text.hpp"

namespace npgpu {

namespace {

constexpr std::size_t most_rows = 20;

std::string ms_text(double us) { return us >= 1000 ? digits_text(us * 1e-3, 3) + " ms" : digits_text(us, 3) + " us"; }

struct RecordRow {
  const RecordSeries* series;
  RecordResult result;
};

// All points of one activity, the longest in all first.
std::vector<RecordRow> rows_of(const Trace& trace, Activity activity) {
  std::vector<RecordRow> rows;
  for (const RecordSeries& series : trace.of<Records>())
    if (series.question.activity == activity)
      for (RecordResult& r : results(series)) rows.push_back({&series, std::move(r)});
  std::ranges::stable_sort(rows, std::greater<>(), [](const RecordRow& row) { return row.result.total_us; });
  return rows;
}

std::string where_text(const RecordCase& c) {
  return c.device + (c.process ? fmt::format(", process {}", c.process) : "");
}

// What it is, without its device.
// Names of kernels made from templates have hundreds of letters; JSON and the trace have them whole.
constexpr std::size_t most_name = 72;

std::string record_what(const RecordCase& c) {
  switch (c.activity) {
    case Activity::copy: return fmt::format("{} to {}", name(c.source), name(c.target));
    case Activity::memset: return fmt::format("{} memory", name(c.target));
    default: return cut_to(c.name, most_name);
  }
}

void record_table(Document& doc, const Trace& trace, Activity activity, const std::string& heading) {
  std::vector<RecordRow> rows = rows_of(trace, activity);
  if (rows.empty()) return;
  const bool is_copy = activity == Activity::copy,
             has_shape = is_copy || activity == Activity::kernel || activity == Activity::memset;
  Table table({right("in all"), right("times"), decimal("each us"), right("from", 2), right("to", 2),
               right("GB/s", 1, is_copy), left(is_copy ? "size" : "blocks and threads", 1, has_shape), left(heading),
               left("where", 3)});
  const std::size_t shown = std::min(rows.size(), most_rows);
  for (std::size_t i = 0; i < shown; ++i) {
    const RecordResult& r = rows[i].result;
    const RecordCase& c = rows[i].series->question;
    table.row({ms_text(r.total_us), std::to_string(r.trials), digits_text(r.time_us.value, 3), digits_text(r.min_us, 3),
               digits_text(r.max_us, 3), digits_text(r.work / r.time_us.value * 1e-3, 3), text_of(r.axes),
               record_what(c), where_text(c)});
  }
  doc.gap();
  doc.table(std::move(table));
  if (rows.size() > shown) doc.note(fmt::format("and {} more, which took less", rows.size() - shown));
}

void records_text(Document& doc, const TraceResults& of) {
  const Trace& trace = of.trace;
  if (trace.of<Records>().empty()) return;
  doc.gap();
  doc.title("recorded: what the application did");
  record_table(doc, trace, Activity::copy, "copy");
  record_table(doc, trace, Activity::kernel, "kernel");
  record_table(doc, trace, Activity::memset, "memset");
  record_table(doc, trace, Activity::call, "call");
  record_table(doc, trace, Activity::wait, "wait for");
  for (const auto& [group, facts] : trace.provenance) {
    if (!group.starts_with("process_")) continue;
    const double dropped = number_fact(facts, "dropped"), bad = number_fact(facts, "without_time"),
                 beyond = number_fact(facts, "beyond_limit");
    if (dropped > 0 || beyond > 0)
      doc.note(fmt::format("{}: {} records were dropped by CUPTI, and {} were beyond the limit of --most", group,
                           dropped, beyond),
               true);
    if (bad > 0)
      doc.note(fmt::format("{}: {} without a sensible time left out", group,
                           counted(static_cast<std::size_t>(bad), "record")));
    if (const std::string from = text_fact(facts, "imported_from"); !from.empty())
      doc.note(fmt::format("{} was recorded by {}; its file lacks: {}", group, from, text_fact(facts, "lacks")));
    if (number_fact(facts, "ended") == 0) doc.note(group + " did not end by itself: its last moments may be missing");
  }
}

std::vector<Section> record_sections(const TraceResults& of) {
  if (of.trace.of<Records>().empty()) return {};
  Section section{"RECORDED"};
  for (const Activity activity : {Activity::copy, Activity::kernel}) {
    const auto rows = rows_of(of.trace, activity);
    double total = 0;
    std::size_t times = 0;
    for (const RecordRow& row : rows) total += row.result.total_us, times += row.result.trials;
    if (rows.empty()) continue;
    const RecordRow& first = rows.front();
    section.entries.push_back(
        {activity == Activity::copy ? "copies" : "kernels",
         {fmt::format("{} in all, {} times", ms_text(total), times),
          fmt::format("most of it {}, {}", record_what(first.series->question), text_of(first.result.axes))}});
  }
  section.entries.push_back({"next", {"npgpu predict says what would make a step of it faster"}});
  return {section};
}

const Joined<KindReport> records_report({Records::name, records_text, true, record_sections});

std::string short_text(const AppAdvice& one, bool is_first) {
  switch (one.change) {
    case AppChange::pinned: return is_first ? "Pinned" : "pinned";
    case AppChange::behind: return is_first ? "With copies behind the kernels" : "with copies behind the kernels";
    case AppChange::chunks: return is_first ? "In chunks" : "in chunks";
    case AppChange::side_by_side: return is_first ? "With small kernels at once" : "with small kernels at once";
    case AppChange::batched: return is_first ? "With small copies together" : "with small copies together";
    case AppChange::graph: return is_first ? "As a graph" : "as a graph";
    case AppChange::all: break;
  }
  return is_first ? "Together" : "all together";
}

}  // namespace

std::string answer_of(const AppForecastReport& of) {
  const AppStep& step = *of.step;
  const auto& elsewhere = of.forecast.elsewhere;
  std::string text = elsewhere ? fmt::format("{} a step on {} ({} .. {}), {} times as fast as on {}",
                                             ms_text(elsewhere->step_us.value), of.costs->device_name,
                                             ms_text(elsewhere->step_us.low), ms_text(elsewhere->step_us.high),
                                             digits_text(elsewhere->times.value, 3), step.device_name)
                               : ms_text(step.time_us.value) + " a step";
  if (!std::isnan(of.forecast.unrecorded_us))
    text += fmt::format(" while recorded, about {} without the recorder", ms_text(of.forecast.unrecorded_us));
  if (of.forecast.pageable_us > 0)
    text += fmt::format("; {} of them are pageable copies", ms_text(of.forecast.pageable_us));
  text += ".";
  if (of.forecast.advice.empty()) return text + " Nothing that can be judged from the recording makes it faster.";
  std::vector<const AppAdvice*> in_turn;  // from what is least work
  for (const AppAdvice& one : of.forecast.advice) in_turn.push_back(&one);
  std::ranges::sort(in_turn, {}, &AppAdvice::change);
  for (std::size_t i = 0; i < in_turn.size(); ++i)
    text += fmt::format("{} {}: {} ({} times)", i ? ";" : "", short_text(*in_turn[i], i == 0),
                        ms_text(in_turn[i]->step_us), digits_text(in_turn[i]->times.value, 3));
  return text + ".";
}

std::string item_text(const StepItem& item) {
  switch (item.activity) {
    case Activity::copy:
      return fmt::format("copy {} {} to {}", size_text(item.shape.bytes), name(item.source), name(item.target));
    case Activity::memset: return fmt::format("memset {}", size_text(item.shape.bytes));
    case Activity::wait: return "wait: " + item.name;
    default: return item.name;
  }
}

namespace {

std::string bound_text(const AppKernel& k) {
  if (k.allowed) {
    const double allowed_us = microseconds(k.allowed->likely);
    return fmt::format("{} allows {} us: {} times as long", name(k.allowed->bound), digits_text(allowed_us, 3),
                       digits_text(k.each_us / allowed_us, 3));
  }
  switch (k.bound) {
    case AppBound::launch: return "short: mostly its launch";
    case AppBound::few_blocks:
      return fmt::format("{} for {} multiprocessors", counted(k.shape.blocks(), "block"), k.multiprocessors);
    case AppBound::last_wave:
      return fmt::format("{} waves of blocks: the last fills little of the device", digits_text(k.waves, 3));
    case AppBound::unknown: break;
  }
  return k.multiprocessors ? "its shape does not bound it" : "not known: no costs of this device";
}

}  // namespace

Table step_kernels_table(const std::vector<AppKernel>& kernels) {
  Table table({right("in all"), right("times"), decimal("each us"), left("what its shape says"), left("kernel")});
  for (std::size_t i = 0; i < std::min(kernels.size(), most_rows); ++i) {
    const AppKernel& k = kernels[i];
    table.row({ms_text(k.total_us), std::to_string(k.times), digits_text(k.each_us, 3), bound_text(k),
               cut_to(k.name, most_name)});
  }
  return table;
}

namespace {

// Items that follow each other and say the same are one row.
Table sequence_table(const AppStep& step) {
  Table table({right("times"), decimal("device us"), decimal("host's gap us", 1), decimal("call us", 2),
               right("stream", 1), left("in the order of calls")});
  for (std::size_t i = 0; i < step.items.size();) {
    std::size_t end = i;
    double device = 0, own = 0, call = 0;
    const StepItem& first = step.items[i];
    for (; end < step.items.size() && item_text(step.items[end]) == item_text(first) &&
           step.items[end].stream == first.stream;
         ++end) {
      device += step.items[end].device_us;
      own += step.items[end].gap_us;
      call += step.items[end].call_us;
    }
    const bool is_wait = first.activity == Activity::wait;
    table.row({std::to_string(end - i), is_wait ? "-" : digits_text(device, 3), digits_text(own, 3),
               first.blocks ? "blocks" : digits_text(call, 3),
               first.stream == UINT32_MAX ? "all" : std::to_string(first.stream), cut_to(item_text(first), most_name)});
    i = end;
  }
  return table;
}

}  // namespace

void app_forecast_text(std::ostream& out, const AppForecastReport& of, const TextStyle& style) {
  const AppStep& step = *of.step;
  Document doc;
  doc.title(answer_of(of), false);
  doc.gap();
  doc.labelled("step", fmt::format("{} ({} .. {} in the middle 90 % of {} steps) on {}", ms_text(step.time_us.value),
                                   ms_text(step.shortest_us), ms_text(step.longest_us), step.steps,
                                   device_text(step.device, step.device_name)));
  doc.labelled("device", fmt::format("{} in kernels, {} in copies", ms_text(step.kernels_us), ms_text(step.copies_us)));
  doc.labelled("played", fmt::format("{}: {:+.1f} % off", ms_text((1 + of.forecast.off_by) * step.time_us.value),
                                     100 * of.forecast.off_by));
  if (!std::isnan(of.forecast.unrecorded_us))
    doc.labelled("recorder",
                 fmt::format("launches took longer while they were recorded than on {}: without the recorder "
                             "a step takes about {}, which gains are compared with",
                             of.source, ms_text(of.forecast.unrecorded_us)));
  doc.labelled(
      "costs",
      fmt::format("of {} ({})", of.costs->device_name.empty() ? of.costs->device : of.costs->device_name, of.source));
  if (!of.forecast.advice.empty()) {
    doc.gap();
    Table table({left(""), right("a step"), decimal("times as fast"), left("interval"), left("what")});
    for (const AppAdvice& one : of.forecast.advice)
      table.row({one.needs_independence ? "*" : "", ms_text(one.step_us), digits_text(one.times.value, 3),
                 digits_text(one.times.low, 3) + " .. " + digits_text(one.times.high, 3), one.what});
    doc.table(std::move(table));
    std::set<std::string> said;
    for (const AppAdvice& one : of.forecast.advice)
      if (!one.note.empty() && said.insert(one.note).second)
        doc.note(fmt::format("{}: {}", one.needs_independence ? "*" : one.what, one.note));
  }
  for (const std::string& note : of.forecast.notes) doc.note(note);
  if (const auto& kernels = of.forecast.kernels; !kernels.empty()) {
    doc.gap();
    doc.table(step_kernels_table(kernels));
    if (kernels.size() > most_rows) doc.note(fmt::format("and {} more, which took less", kernels.size() - most_rows));
  }
  doc.gap();
  doc.table(sequence_table(step));
  out << to_text(doc, style);
}

namespace {

// A span with what it is of.
struct SpanOf {
  const StepItem* item;
  AppSpan span;
};
std::vector<SpanOf> spans_of(const AppPlayed& played) {
  std::vector<SpanOf> all;
  for (const AppSpan& span : played.timeline.spans) all.push_back({&played.items[span.item], span});
  return all;
}

}  // namespace

NPGPU_FORM(SpanOf, called<"activity", [](const T& s) { return s.item->activity; }>,
           called<"text", [](const T& s) { return item_text(*s.item); }>,
           called<"source", [](const T& s) { return s.item->source; }>,
           called<"target", [](const T& s) { return s.item->target; }>,
           called<"stream", [](const T& s) { return s.item->stream; }>,
           called<"blocks", [](const T& s) { return s.item->blocks; }>,
           called<"on_host", [](const T& s) { return s.span.on_host; }>,
           called<"start_us", [](const T& s) { return s.span.start_us; }>,
           called<"end_us", [](const T& s) { return s.span.end_us; }>);
NPGPU_FORM(AppPlayed, &T::what, called<"step_us", [](const T& p) { return p.timeline.step_us; }>,
           called<"spans", [](const T& p) { return spans_of(p); }>);
NPGPU_FORM(AppKernel, &T::name, in_place<&T::shape>, &T::times, &T::total_us, &T::each_us, &T::bound, &T::waves,
           called<"allowed_us", [](const T& k) { return k.allowed ? microseconds(k.allowed->likely) : not_measured; }>,
           called<"why", [](const T& k) { return bound_text(k); }>);
NPGPU_FORM(AppAdvice, &T::change, &T::what, &T::step_us, &T::times, &T::needs_independence, known<&T::note>);
NPGPU_FORM(AppElsewhere, &T::step_us, &T::times, &T::kernels_longer);
NPGPU_FORM(StepItem, &T::activity, &T::name, &T::call, &T::source, &T::target, in_place<&T::shape>, &T::stream,
           &T::gap_us, &T::call_us, &T::device_us, &T::shortest_us, &T::longest_us, &T::lag_us, &T::blocks);
NPGPU_FORM(AppForecastReport, called<"device", [](const T& of) { return of.step->device; }>,
           called<"device_name", [](const T& of) { return of.step->device_name; }>,
           called<"costs_of", [](const T& of) { return of.source; }>,
           called<"steps", [](const T& of) { return of.step->steps; }>,
           called<"step_us", [](const T& of) { return of.step->time_us; }>,
           called<"copies_us", [](const T& of) { return of.step->copies_us; }>,
           called<"kernels_us", [](const T& of) { return of.step->kernels_us; }>,
           called<"pageable_us", [](const T& of) { return of.forecast.pageable_us; }>,
           called<"elsewhere", [](const T& of) { return of.forecast.elsewhere; }>,
           called<"played_us", [](const T& of) { return of.forecast.as_it_is_us; }>,
           called<"unrecorded_us", [](const T& of) { return of.forecast.unrecorded_us; }>,
           called<"advice", [](const T& of) { return of.forecast.advice; }>,
           called<"items", [](const T& of) { return of.step->items; }>,
           called<"kernels", [](const T& of) { return of.forecast.kernels; }>,
           called<"played", [](const T& of) { return of.forecast.played; }>,
           called<"notes", [](const T& of) { return of.forecast.notes; }>);

void app_forecast_json(std::ostream& out, const AppForecastReport& of) {
  write_document(out, "npgpu-app-forecast", 1, of);
}

}  // namespace npgpu
