#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "netpipe/report/format.hpp"
#include "netpipe/report/layout.hpp"
#include "npgpu/runner.hpp"
#include "npgpu/statistics.hpp"
#include "npgpu/report.hpp"

namespace npgpu {

namespace {

using Points = std::vector<PointComparison>;

std::size_t count(const Points& points, Verdict verdict) {
  return static_cast<std::size_t>(
      std::count_if(points.begin(), points.end(), [&](const auto& p) { return p.verdict == verdict; }));
}

// "54 same, 2 slower": the verdicts that occur.
std::string tally(const Points& points) {
  constexpr std::array order{Verdict::slower, Verdict::faster, Verdict::unclear,
                             Verdict::same,   Verdict::only_a, Verdict::only_b};
  std::string text;
  for (const Verdict verdict : order)
    if (const std::size_t n = count(points, verdict))
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", n, name(verdict));
  return text;
}

std::string change_text(double change) { return std::isfinite(change) ? fmt::format("{:+.1f} %", 100 * change) : "-"; }

std::string times_text(const Points& points) {
  std::vector<double> changes;
  for (const PointComparison& p : points)
    if (std::isfinite(p.change)) changes.push_back(p.change);
  if (changes.empty()) return {};
  const auto [least, most] = std::minmax_element(changes.begin(), changes.end());
  return fmt::format("; times {} in the median, {} .. {}", change_text(median(changes)), change_text(*least),
                     change_text(*most));
}

void one_sweep(std::ostream& out, const Points& points, const TextStyle& style, std::size_t width) {
  const Ink ink(style.color);
  out << '\n' << ink.bold(points.front().title) << '\n';
  out << "  " << wrapped(tally(points) + times_text(points), width, 4, 2) << '\n';
  Table table;
  const bool lanes = std::any_of(points.begin(), points.end(), [](const auto& p) { return p.lane != 0; });
  const PointComparison& first = points.front();
  if (first.shape || first.job)
    table.column(first.shape ? "shape" : "job", Align::left);
  else
    table.column("size", Align::right);
  if (lanes) table.column("lane", Align::right);
  table.column("A us", Align::point);
  table.column("B us", Align::point);
  table.column("change", Align::right);
  table.column("", Align::left);
  bool any = false;
  std::vector<bool> alarming;
  for (const PointComparison& p : points) {
    if (p.verdict != Verdict::slower && p.verdict != Verdict::faster && p.verdict != Verdict::unclear) continue;
    std::vector<std::string> cells{p.axes ? text_of(*p.axes) : p.axes ? text_of(*p.axes) : size_text(p.bytes)};
    if (lanes) cells.push_back(std::to_string(p.lane));
    cells.push_back(digits_text(p.a_us));
    cells.push_back(digits_text(p.b_us));
    cells.push_back(change_text(p.change));
    cells.emplace_back(name(p.verdict));
    table.row(std::move(cells));
    alarming.push_back(p.verdict == Verdict::slower);
    any = true;
  }
  if (!any) return;
  const auto lines = table.lines(width);
  out << ink.dim(lines[0]);
  for (std::size_t i = 1; i < lines.size(); ++i) out << (alarming[i - 1] ? ink.alarm(lines[i]) : lines[i]);
}

}  // namespace

void compare_text(std::ostream& out, const std::vector<PointComparison>& points, double tolerance,
                  const TextStyle& style) {
  const Ink ink(style.color);
  const auto width = static_cast<std::size_t>(std::max(40, style.width));
  std::string summary = fmt::format("B against A, {} point{}: {}", points.size(), points.size() == 1 ? "" : "s",
                                    points.empty() ? "nothing to compare" : tally(points));
  out << (count(points, Verdict::slower) ? ink.alarm(summary) : ink.bold(summary)) << '\n';
  out << "  "
      << wrapped(
             fmt::format("slower or faster: the medians differ by more than {:g} % and their 95 % intervals are apart; "
                         "unclear: more than that, but the intervals overlap or there are none",
                         100 * tolerance),
             width, 2, 2)
      << '\n';
  // A sweep is a run of points with one title that goes up in size, in shape, or in what jobs are told apart by.
  Points sweep;
  const auto goes_on = [](const PointComparison& from, const PointComparison& to) {
    if (from.title != to.title) return false;
    return to.shape ? from.shape < to.shape : to.job ? from.job < to.job : from.bytes <= to.bytes;
  };
  for (const PointComparison& p : points) {
    if (!sweep.empty() && !goes_on(sweep.back(), p)) {
      one_sweep(out, sweep, style, width);
      sweep.clear();
    }
    sweep.push_back(p);
  }
  if (!sweep.empty()) one_sweep(out, sweep, style, width);
}

}  // namespace npgpu
