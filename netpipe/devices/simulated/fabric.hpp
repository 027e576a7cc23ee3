// What happens when on the links of a simulated node: flows of bytes that share links, without bytes.
//
// Each lane is a stream of operations, one at a time. An operation is ready when it was submitted and its gate is open,
// and, if it waits for the one before, when that has ended. With L its latency, g its gap, b its bytes:
//
//     start = max(ready + L, end of the operation before + g),       then b bytes flow
//
// so that latencies of queued operations hide behind transfers, as on one device (timeline.hpp).
//
// The rates of all that flow at a moment are their max-min fair shares (Bertsekas & Gallager 1992, section 6.5.2): each
// link's rate is shared evenly by those it is the bottleneck of, and no flow is faster than its own cap. Whenever one
// begins or ends, all rates are set anew.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "netpipe/devices/simulated/timeline.hpp"

namespace npgpu::simulated {

class Fabric {
 public:
  using Stream = std::size_t;

  struct Operation {
    Time latency = 0, gap = 0;
    double bytes = 0;
    double cap = 0;                  // bytes per second; 0: none
    std::vector<std::size_t> links;  // that it goes over, one direction each
    bool waits = false;              // for the one before
  };

  explicit Fabric(std::vector<double> link_bytes_per_s) : rates_(std::move(link_bytes_per_s)) {}

  Stream add_stream();
  void remove(Stream);
  // The host's time `now` never goes back from one call to the next.
  void submit(Stream, Operation, Time now);
  // A point in the stream's order; its time means something once all before it has ended and its gate is open.
  Mark mark(Stream, Time now);
  Time time_of(Stream, Mark) const;
  void forget_marks(Stream);
  void hold(Stream);
  void release(Stream, Time now);
  // When the last operation of the stream ends; `now` if it has none. Nothing if it waits behind a closed gate.
  std::optional<Time> finish(Stream, Time now);

  struct Flow {
    double cap = 0;
    const std::vector<std::size_t>* links = nullptr;
  };
  // In the order of the flows.
  static std::vector<double> shares(const std::vector<double>& link_bytes_per_s, const std::vector<Flow>&);

 private:
  struct Queued {
    Operation operation;
    Time floor = 0;  // submitted, or released
    bool behind_gate = false;
  };
  struct State : StreamRecord {
    std::deque<Queued> queue;
    bool flows = false;
    double left = 0, rate = 0;  // of the head, while it flows
  };

  std::optional<Time> start_of_head(const State&) const;
  std::optional<Time> end_of_head(const State&) const;
  std::optional<Time> next_event() const;
  void advance(Time to);  // flows only, nobody begins or ends before
  void happen();          // what is due now
  void run_until(Time now);

  std::vector<double> rates_;
  std::vector<State> streams_;
  Time time_ = 0;
};

}  // namespace npgpu::simulated
