// simulate: totals, and the servers' work drawn over the width of the terminal.
//
//   host      :::
//   copy-in   000011112222....
//   compute   ....000111222...
//   copy-out  .......000011112222
//
// A column is a slice of time. It shows the chunk that its server works on for most of the slice (0-9, a-z, A-Z, and
// again from 0), ':' where it works for less than half of it, '.' where it does not.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "netpipe/report/format.hpp"
#include "netpipe/report/layout.hpp"
#include "netpipe/report/bound_words.hpp"
#include "npgpu/report.hpp"

namespace npgpu {

namespace {

constexpr std::size_t label_width = 10;

char mark_of(std::uint32_t chunk) {
  constexpr std::string_view marks = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  return marks[chunk % marks.size()];
}

std::string row_of(std::span<const TimelineEntry> entries, Seconds total, std::size_t columns) {
  std::string row(columns, '.');
  const double column = total.count() / static_cast<double>(columns);
  std::vector<std::map<std::uint32_t, double>> work(columns);
  for (const TimelineEntry& e : entries) {
    const double start = e.start.count() / column, end = e.end.count() / column;
    const auto last = std::min(static_cast<std::size_t>(std::max(0.0, std::ceil(end) - 1)), columns - 1);
    for (auto i = static_cast<std::size_t>(start); i <= last && end > start; ++i) {
      const auto left = static_cast<double>(i);
      work[i][e.chunk] += std::min(end, left + 1) - std::max(start, left);
    }
  }
  for (std::size_t i = 0; i < columns; ++i) {
    double sum = 0, most = 0;
    for (const auto& [chunk, part] : work[i]) {
      sum += part;
      if (part > most * (1 + 1e-9)) {
        most = part;
        row[i] = mark_of(chunk);
      }
    }
    if (sum > 0 && sum < 0.5) row[i] = ':';
  }
  return row;
}

std::string scale(Seconds total, std::size_t columns) {
  const std::string end = time_text(microseconds(total));
  const std::size_t dashes = columns > end.size() + 3 ? columns - end.size() - 3 : 0;
  return "0 " + std::string(dashes, '-') + " " + end;
}

std::string job_words(const Job& job) {
  return fmt::format("{} in, {} of kernel, {} out", size_text(job.in_bytes), time_text(microseconds(job.kernel)),
                     size_text(job.out_bytes));
}

}  // namespace

void simulation_text(std::ostream& out, const Simulation& s, const TextStyle& style) {
  const Ink ink(style.color);
  const auto us = [](Seconds t) { return time_text(microseconds(t)); };
  const Prediction& p = s.prediction;
  const auto width = static_cast<std::size_t>(std::max(40, style.width));
  out << ink.bold(fmt::format("SIMULATED {}: {}, in {} stream{}, {}", s.node, job_words(s.job), s.streams,
                              s.streams == 1 ? "" : "s", name(s.order)))
      << "\n\n";
  out << labelled("total", us(s.timeline.run.total), width);
  const auto one = std::find_if(p.candidates.begin(), p.candidates.end(), [](const auto& c) { return c.streams == 1; });
  if (one != p.candidates.end() && s.streams != 1)
    out << labelled("in one",
                    fmt::format("{}: {:.3f} times as long", us(one->run.total), one->run.total / s.timeline.run.total),
                    width);
  out << labelled("best",
                  fmt::format("{} in {} stream{}, {:.3f} times as fast as one", us(p.time), p.streams,
                              p.streams == 1 ? "" : "s", p.speed_up),
                  width);
  out << labelled("bound", fmt::format("{} is at work for {} of that", bound_words(p.bound), us(p.bound_time)), width);

  const std::size_t columns = width - label_width - 2;
  out << '\n' << "  " << std::string(label_width, ' ') << scale(s.timeline.run.total, columns) << '\n';
  // One copy engine has a row for each direction: a chunk's marks are the same both ways.
  struct Row {
    const char* label;
    Server server;
    Stage stage;
  };
  const Server out_server = s.costs.copy_engines == 1 ? Server::copy_in : Server::copy_out;
  const Row rows[] = {{"copy-in", Server::copy_in, Stage::h2d},
                      {"compute", Server::compute, Stage::kernel},
                      {"copy-out", out_server, Stage::d2h}};
  const auto draw = [&](const char* label, auto&& wanted) {
    std::vector<TimelineEntry> mine;
    std::copy_if(s.timeline.entries.begin(), s.timeline.entries.end(), std::back_inserter(mine), wanted);
    if (!mine.empty())
      out << fmt::format("  {:<{}}{}\n", label, label_width, row_of(mine, s.timeline.run.total, columns));
  };
  if (s.timeline.run.total.count() > 0) {
    draw("host", [](const TimelineEntry& e) { return e.server == Server::host; });
    for (const Row& row : rows)
      draw(row.label, [&](const TimelineEntry& e) { return e.server == row.server && e.stage == row.stage; });
  }
  const std::string engines = s.costs.copy_engines == 1 ? "; copies in and out share one engine" : "";
  out << "\n  "
      << wrapped("0-9, a-z, A-Z: the chunk at work; ':' for less than half of the column's time; '.' idle" + engines,
                 width, 2, 2)
      << '\n';
}

}  // namespace npgpu
