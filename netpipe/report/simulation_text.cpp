// simulate: totals, and the servers' work drawn over the width of the terminal.
//
//   host      :::
//   copy-in   000011112222....
//   compute   ....000111222...
//   copy-out  .......000011112222
//
// A column is a slice of time. It shows the chunk that its server works on for most of the slice (0-9, a-z, A-Z, and
// again from 0), ':' where the server works for less than half of it, '.' where it is idle.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/report/document.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/json.hpp"

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
    const auto last = std::min(saturated<std::size_t>(std::ceil(end) - 1), columns - 1);
    for (auto i = saturated<std::size_t>(start); i <= last && end > start; ++i) {
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

}  // namespace

void simulation_text(std::ostream& out, const Simulation& s, const TextStyle& style) {
  Document doc;
  const auto us = [](Seconds t) { return time_text(microseconds(t)); };
  const Prediction& p = s.prediction;
  const auto one = std::ranges::find(p.candidates, 1u, &StreamTime::streams);
  const double whole_us = one == p.candidates.end() ? not_measured : microseconds(one->run.total);
  doc.title(
      split_time_text(s.job, std::max(s.chunks, s.streams), s.streams, microseconds(s.timeline.run.total), whole_us),
      true);
  doc.labelled("node", s.node);
  doc.labelled("job", fmt::format("{} in, kernel {}, {} out", typed_size_text(s.job.in_bytes), us(s.job.kernel),
                                  typed_size_text(s.job.out_bytes)));
  doc.labelled("total", fmt::format("{}, {}{}", us(s.timeline.run.total), name(s.order),
                                    s.chunks > s.streams ? ", the chunks of a stream take turns in its buffers" : ""));
  doc.labelled("spread", fmt::format("{} with {} and a chunk in each, speed-up {:.3f} over one stream", us(p.time),
                                     counted(p.streams, "stream"), p.speed_up));
  const auto [bound, busy] = busiest(s.timeline.run.busy, s.costs.copy_engines);
  doc.labelled("bottleneck", bottleneck_text(bound, busy, s.timeline.run.total));

  const std::size_t columns = text_width(style) - label_width - 2;
  doc.gap();
  std::string drawn = "  " + std::string(label_width, ' ') + scale(s.timeline.run.total, columns) + '\n';
  // One copy engine has a row for each direction: a chunk's marks are the same both ways.
  struct Row {
    const char* label;
    Server server;
    std::optional<Stage> stage;  // nothing: of all
  };
  const Row rows[] = {{"host", Server::host, {}},
                      {"copy-in", Server::copy_in, Stage::h2d},
                      {"compute", Server::compute, Stage::kernel},
                      {"copy-out", s.costs.copy_engines == 1 ? Server::copy_in : Server::copy_out, Stage::d2h}};
  for (const Row& row : rows) {
    std::vector<TimelineEntry> mine;
    std::ranges::copy_if(s.timeline.entries, std::back_inserter(mine), [&](const TimelineEntry& e) {
      return e.server == row.server && e.stage == row.stage.value_or(e.stage);
    });
    if (!mine.empty() && s.timeline.run.total.count() > 0)
      drawn += fmt::format("  {:<{}}{}\n", row.label, label_width, row_of(mine, s.timeline.run.total, columns));
  }
  doc.add(Document::Lines{drawn});
  doc.gap();
  doc.note("0-9, a-z, A-Z: the chunk at work; ':' for less than half of the column's time; '.' idle" +
           std::string(s.costs.copy_engines == 1 ? "; copies in and out share one engine" : ""));
  out << to_text(doc, style);
}

// simulate --chrome: Chrome's trace event format ("Trace Event Format", the Chromium project), JSON object form:
// metadata (M) that names and orders processes and threads, and complete events (X) with ts and dur in microseconds.
//
// Complete events of one thread must not overlap, or Perfetto drops them (its FAQ says so). So kernels that run
// together get lanes, compute, compute 2, ..., and times are whole nanoseconds, so that the next event never begins
// before the last has ended.

namespace {

constexpr int servers_process = 1, streams_process = 2;
constexpr int lanes_of_server = 1000;  // tids of a server: 1000 * server + lane

Json metadata(const char* what, int process, int thread, Json arguments) {
  return {{"name", what}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", std::move(arguments)}};
}

std::int64_t nanoseconds(Seconds t) { return std::llround(t.count() * 1e9); }

Json event(const TimelineEntry& e, const std::string& title, int process, int thread) {
  const std::int64_t start = nanoseconds(e.start), end = nanoseconds(e.end);
  return {{"name", title},
          {"cat", name(e.stage)},
          {"ph", "X"},
          {"ts", static_cast<double>(start) / 1e3},
          {"dur", static_cast<double>(end - start) / 1e3},
          {"pid", process},
          {"tid", thread},
          {"args", {{"chunk", e.chunk}, {"queue", e.queue}}}};
}

}  // namespace

void simulation_chrome(std::ostream& out, const Simulation& s) {
  Json events = Json::array();
  const auto named = [&](int process, int thread, const std::string& title) {
    events.push_back(metadata("thread_name", process, thread, {{"name", title}}));
    events.push_back(metadata("thread_sort_index", process, thread, {{"sort_index", thread}}));
  };
  events.push_back(metadata("process_name", servers_process, 0, {{"name", "SIMULATED " + s.node}}));
  events.push_back(metadata("process_name", streams_process, 0, {{"name", "streams"}}));
  // Independent: each stream is three, which do not wait for each other.
  const bool independent = s.order == Order::independent;
  const auto stream_thread = [&](std::uint32_t stream, std::size_t stage) {
    return static_cast<int>((independent ? stage * s.streams : 0) + stream) + 1;
  };
  for (std::size_t stage = 0; stage < (independent ? names_of<Stage>.size() : 1); ++stage)
    for (std::uint32_t i = 0; i < s.streams; ++i) {
      const std::string title = fmt::format("stream {}", i);
      named(streams_process, stream_thread(i, stage),
            independent ? fmt::format("{} {}", title, names_of<Stage>[stage]) : title);
    }

  std::array<std::vector<std::int64_t>, names_of<Server>.size()> lanes;  // end of the last event
  for (const TimelineEntry& e : s.timeline.entries) {
    auto& ends = lanes[static_cast<std::size_t>(e.server)];
    std::size_t lane = 0;
    while (lane < ends.size() && ends[lane] > nanoseconds(e.start)) ++lane;
    const int thread = static_cast<int>(e.server) * lanes_of_server + static_cast<int>(lane) + 1;
    if (lane == ends.size()) {
      ends.push_back(0);
      std::string title(name(e.server));
      if (lane > 0) title += fmt::format(" {}", lane + 1);
      named(servers_process, thread, title);
    }
    ends[lane] = nanoseconds(e.end);
    const bool call = e.server == Server::host;
    const std::string title = fmt::format("{}{} {}", call ? "issue " : "", name(e.stage), e.chunk);
    events.push_back(event(e, title, servers_process, thread));
    if (!call)
      events.push_back(
          event(e, title, streams_process, stream_thread(e.chunk % s.streams, static_cast<std::size_t>(e.stage))));
  }
  write_json(out, Json{{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}}, -1);
}

}  // namespace npgpu
