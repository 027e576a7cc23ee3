// Discrete events: a job in n chunks played through the host, the copy engines, the multiprocessors and the hardware
// queues. simulate() in npgpu/streams.hpp says what is asked; here is the machine, which keeps its memory from one run
// to the next.
//
// Every operation waits for four things, at most: that the host has issued it, that the one before it in its stream has
// ended (and its latency passed), that the one before it in its hardware queue has started, and, with implicit
// synchronization, that the kernels issued before it have started or ended. Then its server may take it. At each
// instant first all that ends there ends, then operations start, the earliest issued first.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "netpipe/streams/chunks.hpp"
#include "netpipe/streams/compute_server.hpp"
#include "netpipe/streams/copy_engines.hpp"
#include "npgpu/streams.hpp"

namespace npgpu::model {

class Simulator {
 public:
  // `entries` may be null. Throws Error(usage) as simulate() does.
  StreamRun run(const Job&, std::uint32_t n, const StreamCosts&, Order, std::vector<TimelineEntry>* entries,
                std::uint32_t streams = 0);
  // In every following run each copy's bytes take so many times as long as they would, asked in the order in which
  // copies start.
  void scatter(std::function<double()> factor) { factor_ = std::move(factor); }

 private:
  using Index = std::uint32_t;  // of an operation: the order of issue
  static constexpr Index none = 0xffffffff;

  struct Operation {
    double ready = 0;  // the latest of what is known so far
    Index next_in_stream = none, next_in_queue = none;
    std::uint32_t chunk = 0, stream = 0;
    std::uint8_t waits = 0;  // for how many things whose time is not known yet
    Stage stage = Stage::h2d;
    double start = 0, issue_start = 0;
  };
  // Operations of one server that wait for nothing but time, and those that could start.
  struct Line {
    std::vector<std::pair<double, Index>> coming;  // heap, the earliest on top
    std::vector<Index> there;                      // heap, the first issued on top
  };

  void prepare(const Job&, std::uint32_t n, Order, std::uint32_t streams);
  void issue(Index, Stage, std::uint32_t chunk);
  void link_streams(std::uint32_t streams);
  void link_queues(std::uint32_t streams);
  double next_event(double now) const;
  void end_all(double now);
  void start_all(double now);
  void start(Index, double now);
  void ended(Index, double now);
  void passed(Index, double when);  // one of the things it waits for, at that time
  void kernel_synchronizes(std::uint32_t chunk, double now);
  std::size_t line_of(Stage) const;
  bool server_free(std::size_t line, double now) const;
  void record(std::vector<TimelineEntry>&) const;

  std::function<double()> factor_;  // none: always 1
  StreamCosts costs_;
  Chunks chunk_;
  CopyEngines copies_;
  ComputeServer compute_;
  std::vector<Operation> operations_;
  std::vector<double> ends_;  // only for the list of entries
  Line lines_[3];             // copy in (or both ways), copy out, compute
  std::vector<Index> last_in_stream_, last_in_queue_;
  double host_ = 0, total_ = 0;
  // Implicit synchronization: kernels of chunks 0 .. synchronized_-1 have all started (ended), and copies out before
  // `waiting_` no longer wait for them.
  std::vector<char> synchronizes_;
  std::vector<std::pair<Index, std::uint32_t>> copies_out_;  // and for how many kernels each waits
  std::uint32_t synchronized_ = 0;
  std::size_t waiting_ = 0;
};

}  // namespace npgpu::model
