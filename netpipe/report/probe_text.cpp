#include "netpipe/report/probe_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netpipe/model/probes/probe_rates.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/layout.hpp"

namespace npgpu {

namespace {

bool touches_memory(const ProbeSeries& probe) {
  return std::any_of(probe.points.begin(), probe.points.end(), [](const ProbePoint& p) { return p.axes.bytes > 0; });
}

std::string interval_text(const Estimate& rate) {
  if (!std::isfinite(rate.low) || !(rate.value > 0)) return "-";
  return fmt::format("{:+.1f} {:+.1f} %", 100 * (rate.low / rate.value - 1), 100 * (rate.high / rate.value - 1));
}

// What one multiplies rates by, and the head of their column.
struct RateColumn {
  double scale;
  const char* head;
};
RateColumn rate_column(const ProbeCase& c) {
  if (c.operation == Operation::fma) return {1e-9, c.type == DataType::int32 ? "GOP/s" : "GFLOP/s"};
  return {1e-9, "GB/s"};
}

std::string rate_cell(const ProbeCase& c, double per_s) {
  if (counts_loads(c)) return digits_text(1e9 / per_s);
  return digits_text(per_s * rate_column(c).scale);
}

std::string header(const ProbeSeries& probe, const Ink& ink, std::size_t width) {
  const std::string name = (probe.simulated ? "SIMULATED " : "") + title(probe.question);
  std::string out = (probe.simulated ? ink.alarm(name) : ink.bold(name)) + '\n';
  out += labelled("device", probe.device_name.empty() ? probe.question.device : probe.device_name, width);
  const bool known = probe.limit.per_s > 0;
  out += labelled("peak", known ? probe_rate_text(probe.question, probe.limit.per_s) + ": " + probe.limit.source : probe.limit.source,
                  width);
  if (!probe.binding.empty()) out += labelled("bound to", probe.binding, width);
  if (!probe.schedule.empty()) out += labelled("schedule", probe.schedule, width);
  return out;
}

}  // namespace

std::string probe_rate_text(const ProbeCase& c, double per_s) {
  if (!std::isfinite(per_s)) return "-";
  if (counts_loads(c)) return time_text(1e6 / per_s);
  const char* unit = c.operation != Operation::fma ? "B/s" : c.type == DataType::int32 ? "OP/s" : "FLOP/s";
  const bool tera = per_s >= 1e12;
  return digits_text(per_s * (tera ? 1e-12 : 1e-9)) + (tera ? " T" : " G") + unit;
}

std::string text_of(const Shape& s) {
  std::string text = fmt::format("{} x {} threads, ilp {}", s.blocks, s.threads, s.ilp);
  if (s.access_bytes > 0) text += fmt::format(", {} B each", s.access_bytes);
  if (s.bytes > 0) text += ", in " + size_text(s.bytes);
  if (s.one_block_per_sm) text += ", alone";
  return text;
}

std::string probe_point_text(const ProbeSeries& probe) {
  const auto rates = model::rates_of(probe);
  if (rates.empty()) return "not usable";
  const Estimate& rate = rates.front().rate;
  std::string text = probe_rate_text(probe.question, rate.value);
  const double half = (rate.high - rate.low) / 2 / rate.value;
  if (std::isfinite(half)) text += fmt::format(" ±{:.2f} %", half * 100);
  return text;
}

std::string probe_text(const ProbeSeries& probe, const TextStyle& style) {
  const Ink ink(style.color);
  const auto width = static_cast<std::size_t>(std::max(40, style.width));
  std::string out = header(probe, ink, width);
  if (!probe.error.empty()) out += ink.alarm(labelled(probe.points.empty() ? "NOT RUN" : "STOPPED", probe.error, width));
  if (probe.points.empty()) {
    if (probe.error.empty()) out += labelled("points", "none were measured", width);
    return out;
  }

  const ProbeCase& c = probe.question;
  const bool memory = touches_memory(probe), chase = counts_loads(c);
  const bool limited = probe.limit.per_s > 0 && !chase;
  Table table;
  table.column("blocks", Align::right);
  table.column("threads", Align::right);
  table.column("ilp", Align::right);
  if (memory) {
    table.column("access B", Align::right, 3);
    table.column("set", Align::right);
  }
  table.column(chase ? "ns a load" : rate_column(c).head, Align::point);
  if (limited) table.column("% of peak", Align::point, 1);
  table.column("95 % interval", Align::right, 1);
  table.column("a cycle", Align::point, 2);
  table.column("trials", Align::right, 4);
  table.column("", Align::left);

  const auto rates = model::rates_of(probe);
  bool never = false, wrong = false, alone = false;
  for (const ProbePoint& point : probe.points) {
    const auto found = std::find_if(rates.begin(), rates.end(), [&](const auto& r) { return r.shape == point.axes; });
    const bool usable = found != rates.end() && found->rate.value > 0;
    const Shape& s = point.axes;
    std::string marks = s.one_block_per_sm ? "a" : "";
    if (!usable) marks += '!';
    if (point.stop == Stop::not_converged) marks += '*';
    alone |= s.one_block_per_sm != 0;
    never |= point.stop == Stop::not_converged;
    wrong |= !usable;
    std::vector<std::string> cells{std::to_string(s.blocks), std::to_string(s.threads), std::to_string(s.ilp)};
    if (memory) {
      cells.push_back(std::to_string(s.access_bytes));
      cells.push_back(size_text(s.bytes));
    }
    const double rate = usable ? found->rate.value : not_measured;
    cells.push_back(rate_cell(c, rate));
    if (limited) cells.push_back(percent_text(100 * rate / probe.limit.per_s));
    cells.push_back(usable ? interval_text(found->rate) : "-");
    cells.push_back(digits_text(usable ? found->cycle_rate.value : not_measured));
    cells.push_back(std::to_string(point.samples));
    cells.push_back(marks);
    table.row(std::move(cells));
  }
  out += '\n';
  const auto lines = table.lines(width);
  for (std::size_t i = 0; i < lines.size(); ++i) out += i == 0 ? ink.dim(lines[i]) : lines[i];
  const auto note = [&](const std::string& text) { out += "  " + wrapped(text, width, 4, 2) + '\n'; };
  if (alone) note("a no two blocks on one unit: forced, and checked");
  if (never) note("* the interval never narrowed to the schedule's tolerance before the budget of the shape was spent");
  if (wrong) note("! no usable trial: results were wrong, or blocks that were to be alone shared a unit");
  std::string names;
  for (const std::string& name : table.left_out()) names += (names.empty() ? "" : ", ") + name;
  if (!names.empty()) note(fmt::format("left out at {} columns: {}", width, names));
  return out;
}

}  // namespace npgpu
