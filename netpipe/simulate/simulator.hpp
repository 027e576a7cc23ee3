// The simulator of jobs in streams: discrete events on a machine of a host, copy engines and multiprocessors.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>

#include "netpipe/simulate/servers.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::model {

// Discrete events: a job in n chunks played through the host, the copy engines, the multiprocessors and the hardware
// queues. simulate() in npgpu/model/simulate.hpp says what is asked; here is the machine, which keeps its memory from
// one run to the next.
//
// Every operation waits for four things, at most: that the host has issued it, that the one before it in its stream has
// ended (and its latency passed), that the one before it in its hardware queue has gone ahead, and, with implicit
// synchronization, that the kernels issued before it have started or ended. Then its server may take it. At each
// instant first all that ends there ends, then kernels that are launched there get their queues, then operations start,
// the earliest issued first; with hardware queues, as these have it.

class Simulator {
 public:
  // `entries` may be null. Throws Error(usage) as simulate() does.
  StreamRun run(const Job&, std::uint32_t n, const StreamCosts&, Order, std::vector<TimelineEntry>* entries = nullptr,
                std::uint32_t streams = 0);
  // One part of a pipeline; see npgpu/model/simulate.hpp.
  StreamRun run(const PipelinePart&, std::uint32_t n, const StreamCosts&, Order, std::uint32_t streams = 0);
  // All parts, with the host's work between them.
  StreamRun run(const Pipeline&, std::uint32_t n, const StreamCosts&, Order, std::uint32_t streams = 0);
  // In every following run each copy's bytes take so many times as long as they would, asked in the order in which
  // copies start.
  void scatter(std::function<double()> factor) { factor_ = std::move(factor); }
  // In every following run all streams but the last wait that long from the beginning; run() returns the end of the
  // last one's work.
  void hold_others(Seconds until) { held_until_ = until.count(); }

 private:
  using Index = std::uint32_t;  // of an operation: the order of issue
  static constexpr Index none = 0xffffffff;
  static constexpr std::size_t compute_line = 2;

  struct Operation {
    double ready = 0;  // the latest of what is known so far
    Index next_in_stream = none, next_in_queue = none, next_copy = none;
    std::uint32_t chunk = 0, stream = 0, queue = 0;
    std::uint32_t kernel = 0;  // of a kernel: its number in the order of issue
    std::uint16_t kind = 0;    // which of stages_
    bool entered = false;      // of a kernel: nothing of its queue waits for it
    std::uint8_t waits = 0;    // for how many things whose time is not known yet
    Stage stage = Stage::h2d;
    double start = 0, issue_start = 0;
    double issued = 0;  // when the device knows of it
  };
  // Operations of one server that wait for nothing but time, and those that could start.
  struct Line {
    std::vector<std::pair<double, Index>> coming;        // heap, the earliest on top
    std::vector<std::pair<std::uint32_t, Index>> there;  // heap, by turn: the order of issue, or as queues have it
    std::uint32_t queue = 0;                             // of the last that started
  };
  // A hardware queue of kernels.
  struct Channel {
    Index last = none;
    std::uint32_t waiting = 0;  // kernels that have not gone ahead
    double idle_since = 0;      // as the host sees it
  };

  StreamRun play(std::uint64_t blocks, std::uint32_t n, Order, std::vector<TimelineEntry>* entries,
                 std::uint32_t streams);
  StreamRun play_once(std::uint64_t blocks, std::uint32_t n, Order, std::vector<TimelineEntry>* entries,
                      std::uint32_t streams);  // with calls_
  void prepare(std::uint64_t blocks, std::uint32_t n, Order, std::uint32_t streams);
  void issue(Index, std::size_t kind, std::uint32_t chunk, Order, std::uint32_t streams);
  void follow(Index& last, Index Operation::*next, Index);
  void give_queues(double now);  // to kernels that are launched by now
  void enter(Index, double now);
  void come(Line&, std::size_t line, double now);
  void take_turns(Line&, std::uint32_t queues) const;
  double next_event(double now) const;
  void end_all(double now);
  void start_all(double now);
  double free_at(std::size_t line) const { return line == compute_line ? compute_.free_at() : copies_.free_at(line); }
  bool is_ahead_of_kernel(const Operation&) const;  // in its stream
  bool is_behind_kernel(const Operation&) const;
  void start(Index, double now);
  void ended(Index, double now);
  void passed(Index, double when);  // one of the things it waits for, at that time
  void kernel_synchronizes(std::uint32_t kernel, double now);
  std::size_t line_of(Stage stage) const {
    if (stage == Stage::kernel) return compute_line;
    return stage == Stage::d2h && costs_.copy_engines == 2 ? 1 : 0;
  }
  std::uint32_t queues_of(std::size_t line) const {
    return line == 0 ? costs_.queues.h2d : line == 1 ? costs_.queues.d2h : costs_.queues.kernel;
  }
  void record(std::vector<TimelineEntry>&) const;

  std::function<double()> factor_;  // none: always 1
  StreamCosts costs_;
  Chunks chunk_;
  std::vector<ChunkStage> stages_;  // of each chunk
  bool are_independent_ = false;    // no operation waits for another of its chunk
  CopyEngines copies_;
  ComputeServer compute_;
  std::vector<Operation> operations_;
  std::vector<double> ends_;  // only for the list of entries
  Line lines_[3];             // copy in (or both ways), copy out, compute
  std::vector<Index> last_in_stream_, last_in_queue_;
  Index last_copy_ = none;       // where copies go one after the other
  std::vector<Index> launches_;  // kernels in the order of issue, where they get queues
  std::size_t launched_ = 0;
  std::vector<Channel> channels_;
  std::vector<std::uint32_t> least_recent_;  // of channels_
  std::uint32_t entered_ = 0;
  double calls_ = 1;  // how many times as long they take
  double host_ = 0, total_ = 0;
  double held_until_ = 0;
  // Implicit synchronization: kernels 0 .. synchronized_-1 have all started (ended), and copies out before
  // `waiting_` no longer wait for them.
  std::vector<char> synchronizes_;
  std::uint32_t kernels_ = 0;                                // issued
  std::vector<std::pair<Index, std::uint32_t>> copies_out_;  // and for how many kernels each waits
  std::uint32_t synchronized_ = 0;
  std::size_t waiting_ = 0;
};

}  // namespace npgpu::model
