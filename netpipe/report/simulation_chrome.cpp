// simulate --chrome: Chrome's trace event format ("Trace Event Format", the Chromium project), JSON object form:
// metadata (M) that names and orders processes and threads, and complete events (X) with ts and dur in microseconds.
//
// Complete events of one thread must not overlap, or Perfetto drops them (its FAQ says so). So kernels that run
// together get lanes, compute, compute 2, ..., and times are whole nanoseconds, so that the next event never begins
// before the last has ended.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <vector>

#include "netpipe/report/json.hpp"

namespace npgpu {

namespace {

constexpr int servers_process = 1, streams_process = 2;
constexpr int lanes_of_server = 1000;  // tids of a server: 1000 * server + lane

Json metadata(const char* what, int process, int thread, Json arguments) {
  return Json(
      {entry("name", what), entry("ph", "M"), entry("pid", process), entry("tid", thread), entry("args", arguments)});
}

std::int64_t nanoseconds(Seconds t) { return std::llround(t.count() * 1e9); }

Json event(const TimelineEntry& e, const std::string& title, int process, int thread) {
  const std::int64_t start = nanoseconds(e.start), end = nanoseconds(e.end);
  return Json({entry("name", title), entry("cat", e.stage), entry("ph", "X"),
               entry("ts", static_cast<double>(start) / 1e3), entry("dur", static_cast<double>(end - start) / 1e3),
               entry("pid", process), entry("tid", thread),
               entry("args", Json{entry("chunk", e.chunk), entry("queue", e.queue)})});
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
  write_json(out, Json{entry("displayTimeUnit", "ns"), entry("traceEvents", events)}, -1);
}

}  // namespace npgpu
