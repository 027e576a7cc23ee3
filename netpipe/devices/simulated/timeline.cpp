#include "netpipe/devices/simulated/timeline.hpp"

namespace npgpu::simulated {

namespace {
constexpr Time never = 1e30L;
}

Timeline::Timeline(int copy_engines, Time duplex_slowdown_h2d, Time duplex_slowdown_d2h)
    : servers_(3), copy_engines_(copy_engines) {
  if (copy_engines_ == 1) return;
  servers_[0].slow = duplex_slowdown_h2d;
  servers_[0].other = 1;
  servers_[1].slow = duplex_slowdown_d2h;
  servers_[1].other = 0;
}

int Timeline::server_of(Engine engine) const {
  if (engine == Engine::d2d) return 2;
  return engine == Engine::d2h && copy_engines_ == 2 ? 1 : 0;
}

Timeline::Stream Timeline::add_stream() {
  streams_.emplace_back();
  return streams_.size() - 1;
}

void Timeline::submit(Stream stream, const Operation& operation, Time now) {
  run_until(now);
  StreamState& state = streams_[stream];
  const int server = server_of(operation.engine);
  Queued queued{operation, stream,     ++state.submitted,
                now,       state.held, state.last_server >= 0 && state.last_server != server};
  state.last_server = server;
  servers_[static_cast<std::size_t>(server)].queue.push_back(queued);
}

void Timeline::forget_marks(Stream stream) { streams_[stream].forget_marks(); }

Mark Timeline::mark(Stream stream, Time now) {
  run_until(now);
  return streams_[stream].mark(now);
}

Time Timeline::time_of(Stream stream, Mark mark) const { return streams_[stream].time_of(mark); }

void Timeline::hold(Stream stream) { streams_[stream].held = true; }
bool Timeline::held(Stream stream) const { return streams_[stream].held; }

void Timeline::release(Stream stream, Time now) {
  run_until(now);
  streams_[stream].open_gate(now);
  for (Server& server : servers_)
    for (Queued& queued : server.queue)
      if (queued.stream == stream && std::exchange(queued.behind_gate, false)) queued.floor = now;
}

std::optional<Time> Timeline::finish(Stream stream, Time now) {
  const StreamState& state = streams_[stream];
  while (state.ended < state.submitted)
    if (!step(never)) return std::nullopt;
  return std::max(now, state.last_end);
}

std::optional<Time> Timeline::ready(const Server& server) const {
  if (server.queue.empty()) return std::nullopt;
  const Queued& head = server.queue.front();
  const StreamState& state = streams_[head.stream];
  if (head.behind_gate || state.ended + 1 < head.number) return std::nullopt;
  return head.after_other ? std::max(head.floor, state.last_end) : head.floor;
}

bool Timeline::at_work(int server) const {
  if (server < 0) return false;
  const auto when = ready(servers_[static_cast<std::size_t>(server)]);
  return when && *when <= time_;
}

// Brings the server up to time_, and says when something happens on it next: its head becomes ready, starts or ends.
std::optional<Timeline::Event> Timeline::next_event(Server& server) {
  const auto when = ready(server);
  if (!when) return std::nullopt;
  if (*when > time_) return Event{*when, false};
  const Operation& head = server.queue.front().operation;
  const Time factor = at_work(server.other) ? server.slow : 1;
  if (!server.flows) {
    const Time start = std::max(*when + head.latency, server.free + head.gap);
    if (start > time_) return Event{start, false};
    server.flows = true;
    server.left = head.transfer;
    server.since = start;
    server.factor = factor;
  } else if (factor != server.factor) {
    server.left -= (time_ - server.since) / server.factor;
    server.since = time_;
    server.factor = factor;
  }
  return Event{server.since + server.left * server.factor, true};
}

void Timeline::end_head(Server& server, Time when) {
  const Queued head = server.queue.front();
  server.queue.pop_front();
  server.free = when;
  server.flows = false;
  streams_[head.stream].end_one(when);
}

bool Timeline::step(Time limit) {
  Server* first = nullptr;
  Event event{never, false};
  for (Server& server : servers_)
    if (const auto next = next_event(server); next && next->when < event.when) {
      first = &server;
      event = *next;
    }
  if (!first || event.when > limit) return false;
  time_ = std::max(time_, event.when);
  if (event.ends) end_head(*first, event.when);
  return true;
}

void Timeline::run_until(Time now) {
  while (step(now)) {
  }
  time_ = std::max(time_, now);
}

}  // namespace npgpu::simulated
