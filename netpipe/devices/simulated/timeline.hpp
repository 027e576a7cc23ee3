// What happens when on a simulated device's copy engines, and what its streams remember: how many of its operations
// have ended and when, its gate, and its marks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace npgpu::simulated {

using Time = long double;  // seconds
using Mark = std::size_t;

struct StreamRecord {
  std::uint64_t submitted = 0, ended = 0;
  Time last_end = -1e30L;
  bool held = false;  // what is submitted from now on waits for a gate

  // A point in the stream's order. Its time means something once all before it has ended and its gate is open.
  Mark mark(Time now) {
    marks_.push_back({submitted, now, last_end, held});
    return marks_.size() - 1;
  }
  Time time_of(Mark mark) const { return std::max(marks_.at(mark).floor, marks_.at(mark).end); }
  void forget_marks() { marks_.clear(); }

  void end_one(Time when) {
    ++ended;
    last_end = when;
    for (Marked& marked : marks_)
      if (marked.after == ended) marked.end = when;
  }
  void open_gate(Time now) {
    held = false;
    for (Marked& marked : marks_)
      if (std::exchange(marked.behind_gate, false)) marked.floor = now;
  }

 private:
  struct Marked {
    std::uint64_t after = 0;  // operations before it
    Time floor = 0, end = -1e30L;
    bool behind_gate = false;
  };
  std::vector<Marked> marks_;
};

// What happens when on a simulated device's copy engines: a discrete-event simulation, without bytes.
//
// An operation is ready when it has been submitted, its gate is open, and the operation before it in its stream has
// ended, if that ran on another engine (on the same engine the order of the queue is enough). An engine takes its
// operations in the order of their submission. With L the latency, g the gap, b the bytes and B the rate:
//
//     start = max(ready + L, end of the engine's last operation + g)
//     end   = start + b / B                  alone
//
// so that n equal operations that are all ready at 0 end at L + n b/B + (n-1) g, and latencies of queued operations
// hide behind transfers. While the other copy engine has a ready operation too, bytes flow slower, at B / sl. Two
// operations that begin together, with t_i = L_i + sl_i b_i/B_i and t_1 < t_2, end at
//
//     t_1   and   t_1 (1 - 1/sl_2) + b_2/B_2 + L_2/sl_2
//
// With one copy engine both directions queue for it. Copies within the device have an engine of their own and slow
// nobody.
//
// Times are long double: a trial adds up a million operations, and doubles would lose ten digits of them.

class Timeline {
 public:
  enum class Engine { h2d, d2h, d2d };
  using Stream = std::size_t;

  struct Operation {
    Engine engine = Engine::h2d;
    Time latency = 0;
    Time gap = 0;
    Time transfer = 0;  // b / B
  };

  Timeline(int copy_engines, Time duplex_slowdown_h2d, Time duplex_slowdown_d2h);

  Stream add_stream();

  // The host's time `now` never goes back from one call to the next.
  void submit(Stream, const Operation&, Time now);

  // A point in the stream's order. Its time means something once all before it has ended and its gate is open.
  Mark mark(Stream, Time now);
  Time time_of(Stream, Mark) const;
  void forget_marks(Stream);

  // What is submitted from now on waits for release().
  void hold(Stream);
  void release(Stream, Time now);
  bool held(Stream) const;

  // When the last operation of the stream ends; `now` if it has none. Nothing if something it waits for is behind a
  // closed gate.
  std::optional<Time> finish(Stream, Time now);

 private:
  struct Queued {
    Operation operation;
    Stream stream = 0;
    std::uint64_t number = 0;  // in its stream, from 1
    Time floor = 0;            // submitted, or released
    bool behind_gate = false;
    bool after_other = false;  // the one before it in its stream ran on another engine
  };
  struct Server {
    std::deque<Queued> queue;
    Time free = -1e30L;  // end of the last operation
    Time slow = 1;       // how much longer while the other one works
    int other = -1;
    bool flows = false;  // the head has started: what is left of it was `left` at `since`, and lasts `factor` longer
    Time left = 0, since = 0, factor = 1;
  };
  struct StreamState : StreamRecord {
    int last_server = -1;
  };

  int server_of(Engine) const;
  std::optional<Time> ready(const Server&) const;  // when the head is; nothing while that is unknown
  bool at_work(int server) const;
  struct Event {
    Time when = 0;
    bool ends = false;  // the head; else it becomes ready or starts
  };
  std::optional<Event> next_event(Server&);
  void end_head(Server&, Time when);
  bool step(Time limit);  // to the next event; false if there is none up to `limit`
  void run_until(Time now);

  std::vector<Server> servers_;
  std::vector<StreamState> streams_;
  int copy_engines_;
  Time time_ = 0;
};

}  // namespace npgpu::simulated
