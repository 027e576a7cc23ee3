// What calls cost: a row a call, alone and in a row; then graphs against the same kernels launched one by one.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "netpipe/model/calls/calls.hpp"
#include "netpipe/report/series_text.hpp"

namespace npgpu {

namespace {

using model::CallSummary;

struct CallRow {
  Call call;
  CallShape shape;
  CallSummary alone, in_a_row;
};

std::string marks(const CallRow& row) {
  const bool open = row.alone.stop == Stop::not_converged || row.in_a_row.stop == Stop::not_converged;
  return std::string(row.alone.wrong || row.in_a_row.wrong ? "!" : "") + (open ? "*" : "");
}

void single_calls(Page& page, const std::vector<CallSeries>& all, const std::string& device) {
  std::map<std::pair<Call, CallShape>, CallRow> rows;
  for (const CallSeries& series : all) {
    const CallCase& c = series.question;
    if (c.device != device || c.form != GraphForm::none) continue;
    for (const CallSummary& s : model::summarize(series)) {
      CallRow& row = rows[{c.call, s.shape}];
      row.call = c.call;
      row.shape = s.shape;
      (c.manner == Manner::alone ? row.alone : row.in_a_row) = s;
    }
  }
  if (rows.empty()) return;
  Table table;
  table.column("us per call", Align::left);
  table.column("alone: returns", Align::point);
  table.column("work done", Align::point);
  table.column("back to back: returns", Align::point, 1);
  table.column("work done", Align::point, 2);
  table.column("", Align::left);
  bool open = false, wrong = false;
  for (const auto& [key, row] : rows) {
    std::string name(npgpu::name(row.call));
    if (const std::string text = text_of(row.shape); text != "-") name += ", " + text;
    table.row({"  " + name, digits_text(row.alone.host_us.value), digits_text(row.alone.done_us.value),
               digits_text(row.in_a_row.host_us.value), digits_text(row.in_a_row.done_us.value), marks(row)});
    open |= marks(row).find('*') != std::string::npos;
    wrong |= marks(row).find('!') != std::string::npos;
  }
  page.text += '\n';
  page.rows(table);
  page.note("alone: the device is idle before each call; work done: until the host knows that it is");
  if (open) page.note("* the interval did not converge to the tolerance");
  if (wrong) page.note("! the call's work was checked and was wrong");
}

void graphs(Page& page, const std::vector<CallSeries>& all, const std::string& device) {
  const auto rows = model::graph_rows(all, device);
  if (rows.empty()) return;
  Table table;
  table.column("empty kernels", Align::left);
  table.column("one by one us", Align::point);
  table.column("graph us", Align::point);
  table.column("per kernel us", Align::point, 2);
  table.column("call returns us", Align::point, 1);
  table.column("instantiate us", Align::point);
  table.column("update us", Align::point, 3);
  table.column("pays after", Align::right);
  for (const auto& row : rows)
    table.row(
        {fmt::format("  {} of {}", name(row.form), row.nodes), digits_text(row.launches_us.value),
         digits_text(row.graph_us.value), digits_text(row.graph_us.value / row.nodes, 3),
         digits_text(row.graph_host_us.value), digits_text(row.instantiate_us.value), digits_text(row.update_us.value),
         row.pays_after ? fmt::format("{:.0f} launch{}", *row.pays_after, *row.pays_after == 1 ? "" : "es") : "never"});
  page.text += '\n';
  page.rows(table);
  page.note("one by one, graph: alone, until the work is done; a chain's kernels wait for each other, a fork's do not");
  page.note(
      "pays after: launches of the graph that save what instantiating it took; never: its interval is not below that "
      "of "
      "the launches one by one");
  for (const GraphForm form : {GraphForm::chain, GraphForm::fork})
    if (std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return row.form == form; })) {
      const auto from = model::pays_from(rows, form);
      page.note(from ? fmt::format("a {} is done sooner as a graph from {} kernel{} on", name(form), *from,
                                   *from == 1 ? "" : "s")
                     : fmt::format("a {} is not reliably done sooner as a graph, whatever its length", name(form)));
    }
}

}  // namespace

void all_text(Page& page, const std::vector<CallSeries>& all) {
  std::vector<std::string> devices;
  for (const CallSeries& series : all) {
    const std::string& device = series.question.device;
    if (std::find(devices.begin(), devices.end(), device) != devices.end()) continue;
    devices.push_back(device);
    page.text += '\n';
    page.title(fmt::format("calls {}{}", device, series.device_name.empty() ? "" : " (" + series.device_name + ')'),
               series.simulated);
    single_calls(page, all, device);
    graphs(page, all, device);
  }
  for (const CallSeries& series : all)
    if (!series.error.empty()) page.note(title(series.question) + ": " + series.error, true);
}

}  // namespace npgpu
