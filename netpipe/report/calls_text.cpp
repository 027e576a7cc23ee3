// What calls cost: a row a call, alone and in a row; then graphs against the same kernels launched one by one.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "netpipe/model/calls/calls.hpp"
#include "netpipe/report/series_text.hpp"

namespace npgpu {

namespace {

struct CallRow {
  CallResult alone, in_a_row;
  std::set<char> marks;  // of both
};

void single_calls(Document& doc, const std::vector<CallSeries>& all, const std::string& device) {
  std::map<std::pair<Call, CallShape>, CallRow> rows;
  Marks marks;
  double unsteady_above = least_unsteady;
  for (const CallSeries& series : all) {
    const CallCase& c = series.question;
    if (c.device != device || c.form != GraphForm::none || frees_memory(c.call) || is_beside(c) ||
        c.call == Call::function)
      continue;
    const auto points = points_by_axes(series);
    for (CallResult& result : results(series)) {
      CallRow& row = rows[{c.call, result.axes}];
      const std::string own = marks.take(points.at(result.axes), result.unsteady, result.usable());
      (c.spacing == Spacing::alone ? row.alone : row.in_a_row) = std::move(result);
      unsteady_above = std::max(unsteady_above, series.unsteady_above);
      row.marks.insert(own.begin(), own.end());
    }
  }
  if (rows.empty()) return;
  Table table({left("us per call"), decimal("alone: returns"), decimal("work done"),
               decimal("back to back: returns", 1), decimal("work done", 2), left("")});
  for (const auto& [key, row] : rows) {
    const std::string shape = text_of(key.second);
    table.row({fmt::format("  {}{}", name(key.first), shape == "-" ? "" : ", " + shape),
               digits_text(row.alone.host_us.value), digits_text(row.alone.done_us.value),
               digits_text(row.in_a_row.host_us.value), digits_text(row.in_a_row.done_us.value),
               std::string(row.marks.begin(), row.marks.end())});
  }
  doc.gap();
  doc.table(std::move(table));
  doc.note("alone: the device is idle before each call; work done: until the host knows that it is");
  marks.notes(doc, "times of calls", unsteady_above);
}

// Functions of the user's own, each with its sizes and its interval.
void functions(Document& doc, const std::vector<CallSeries>& all, const std::string& device) {
  Table table({left("us per call"), left(""), decimal("returns"), decimal("work done"), decimal("+-%", 1),
               right("trials", 2), left("")});
  Marks marks;
  double unsteady_above = least_unsteady;
  bool is_any = false;
  for (const CallSeries& series : all) {
    const CallCase& c = series.question;
    if (c.device != device || c.call != Call::function) continue;
    unsteady_above = std::max(unsteady_above, series.unsteady_above);
    const auto points = points_by_axes(series);
    for (const CallResult& r : results(series)) {
      is_any = true;
      const Estimate& time = r.done_us.value > 0 ? r.done_us : r.host_us;
      table.row({fmt::format("  {}{}", c.function, r.axes.bytes ? ", " + size_text(r.axes.bytes) : ""),
                 std::string(name(c.spacing)), digits_text(r.host_us.value), digits_text(r.done_us.value),
                 fmt::format("{:.1f}", 100 * half_width(time)), std::to_string(r.trials),
                 marks.take(points.at(r.axes), r.unsteady, r.usable())});
    }
  }
  if (!is_any) return;
  doc.gap();
  doc.table(std::move(table));
  doc.note("alone: one call, then the wait; back-to-back: many calls, then one wait; gated: the device's own time");
  marks.notes(doc, "times of functions", unsteady_above);
}

// What follows memory that was freed.
void frees(Document& doc, const std::vector<CallSeries>& all, const std::string& device) {
  Table table({left("freed memory"), decimal("returns ms"), decimal("reads as fast again after ms"),
               decimal("reads take meanwhile, times", 1), decimal("GB/s", 2), right("trials", 3), left("")});
  Marks marks;
  double unsteady_above = least_unsteady;
  bool is_any = false;
  for (const CallSeries& series : all) {
    if (series.question.device != device || !frees_memory(series.question.call)) continue;
    unsteady_above = std::max(unsteady_above, series.unsteady_above);
    const auto points = points_by_axes(series);
    for (const CallResult& r : results(series)) {
      is_any = true;
      const bool is_slower = r.slowed.value > 1;
      table.row({fmt::format("  {}, {}", name(series.question.call), text_of(r.axes)),
                 digits_text(r.host_us.value * 1e-3), is_slower ? digits_text(r.done_us.value * 1e-3) : "at once",
                 is_slower ? digits_text(r.slowed.value) : "-",
                 is_slower ? digits_text(static_cast<double>(r.axes.bytes) / r.done_us.value * 1e-3) : "-",
                 std::to_string(r.trials), marks.take(points.at(r.axes), r.unsteady, r.usable())});
    }
  }
  if (!is_any) return;
  doc.gap();
  doc.table(std::move(table));
  doc.note(
      "a kernel reads 256 MiB again and again; the driver clears freed memory, which takes it a part of the memory");
  marks.notes(doc, "times", unsteady_above);
}

void graphs(Document& doc, const std::vector<CallSeries>& all, const std::string& device) {
  const auto rows = model::graph_rows(all, device);
  if (rows.empty()) return;
  const auto is_measured = [](const auto& row) { return std::isfinite(row.graph_us.value); };
  Table table({left("empty kernels"), decimal("one by one us"), decimal("graph us"), decimal("per kernel us", 2),
               decimal("call returns us", 1), decimal("instantiate us"), decimal("update us", 3), right("pays after")});
  for (const auto& row : rows)
    table.row({fmt::format("  {} of {}", name(row.form), row.nodes), digits_text(row.launches_us.value),
               digits_text(row.graph_us.value), digits_text(row.graph_us.value / row.nodes, 3),
               digits_text(row.graph_host_us.value), digits_text(row.instantiate_us.value),
               digits_text(row.update_us.value),
               row.pays_after     ? fmt::format("{:.0f} launch{}", *row.pays_after, *row.pays_after == 1 ? "" : "es")
               : is_measured(row) ? "never"
                                  : "-"});
  doc.gap();
  doc.table(std::move(table));
  doc.note("one by one, graph: alone, until the work is done; a chain's kernels wait for each other, a fork's do not");
  const auto longest = std::ranges::max_element(
      rows, {}, [](const auto& row) { return std::isfinite(row.default_us.value) ? row.nodes : 0; });
  if (std::isfinite(longest->default_us.value))
    doc.note(
        fmt::format("{} of {} with every other launch in the default stream, which waits for the other streams: {} us "
                    "({} to {})",
                    name(longest->form), longest->nodes, digits_text(longest->default_us.value),
                    digits_text(longest->default_us.low), digits_text(longest->default_us.high)));
  if (std::ranges::none_of(rows, is_measured)) return;  // the API has no graphs, or was not asked for them
  doc.note(
      "pays after: launches of the graph that save what instantiating it took; never: its interval is not below that "
      "of "
      "the launches one by one");
  for (const GraphForm form : {GraphForm::chain, GraphForm::fork})
    if (std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return row.form == form; })) {
      const auto from = model::pays_from(rows, form);
      doc.note(from ? fmt::format("a {} is done sooner as a graph from {} on", name(form), counted(*from, "kernel"))
                    : fmt::format("a {} is not reliably done sooner as a graph, whatever its length", name(form)));
    }
}

void calls_text(Document& doc, const TraceResults& of) {
  const std::vector<CallSeries>& all = of.trace.of<Calls>();
  std::vector<std::string> devices;
  for (const CallSeries& series : all) {
    const std::string& device = series.question.device;
    if (std::find(devices.begin(), devices.end(), device) != devices.end()) continue;
    devices.push_back(device);
    doc.gap();
    doc.title("calls " + device_text(device, series.device_name), series.simulated);
    single_calls(doc, all, device);
    functions(doc, all, device);
    frees(doc, all, device);
    graphs(doc, all, device);
  }
  for (const CallSeries& series : all)
    if (!series.error.empty()) doc.note(title(series.question) + ": " + series.error, true);
}

const Joined<KindReport> calls_report({Calls::name, calls_text});

}  // namespace

}  // namespace npgpu
