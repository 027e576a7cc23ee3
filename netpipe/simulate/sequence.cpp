// Discrete events: unlike jobs played one after the other through the host, two copy engines and the multiprocessors.
// An operation waits for its call, for the one before it in its stream, and for its server. Of those that could start
// the one issued first does.
#include "npgpu/sequence.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "netpipe/simulate/call_factors.hpp"
#include "netpipe/simulate/chunks.hpp"
#include "netpipe/simulate/copy_engines.hpp"

namespace npgpu {

namespace {

constexpr double never_ends = std::numeric_limits<double>::infinity();
constexpr double share_rounding = 1e-9;
constexpr std::size_t kernel_line = 2;  // line of the multiprocessors; copies have 0 and 1

// Kernels of unlike jobs at the same time: each takes its share of the device, those started later what is left.
class SharedDevice {
 public:
  SharedDevice(double gap, bool one_at_a_time) : gap_(gap), alone_(one_at_a_time) {}
  void start(std::size_t operation, double time, double share, double now) {
    if (running_.empty()) busy_since_ = now;
    running_.push_back({operation, alone_ ? 1 : share, now + gap_, time, 1, now + gap_ + time});
    last_start_ = now;
    regrant(now);
  }
  double free_at() const { return free_; }
  double next_end() const {
    double next = never_ends;
    for (const Running& one : running_) next = std::min(next, one.end);
    return next;
  }
  std::size_t end_one() {
    const auto first = std::ranges::min_element(running_, {}, &Running::end);
    const double now = first->end;
    const std::size_t operation = first->operation;
    running_.erase(first);
    if (running_.empty()) busy_ += now - busy_since_;
    regrant(now);
    return operation;
  }
  double busy() const { return busy_; }

 private:
  struct Running {
    std::size_t operation;
    double share, since, left, speed, end;
  };
  void regrant(double now) {
    double room = 1;
    for (Running& one : running_) {
      const double granted = std::min(room, one.share), speed = granted / one.share;
      room -= granted;
      if (speed == one.speed) continue;
      if (now > one.since) one.left -= (now - one.since) * one.speed, one.since = now;
      one.speed = speed;
      one.end = speed > 0 ? one.since + std::max(0.0, one.left) / speed : never_ends;
    }
    free_ = room > share_rounding ? std::max(now, running_.empty() ? now : last_start_ + gap_) : never_ends;
  }

  double gap_;
  bool alone_;
  std::vector<Running> running_;  // in the order of their starts
  double free_ = 0, last_start_ = 0, busy_ = 0, busy_since_ = 0;
};

class Sequence {
 public:
  // Calls take so many times as long.
  Sequence(std::span<const PlannedJob> jobs, const StreamCosts& costs, double calls)
      : costs_(costs), calls_(calls), device_(costs.gap.kernel.count(), costs.compute == Compute::serial) {
    copies_.reset();
    result_.ends.resize(jobs.size());
    for (std::size_t j = 0; j < jobs.size(); ++j) issue(jobs[j], j);
  }
  SequenceRun run() {
    for (double now = 0; (now = next_event(now)) != never_ends;) {
      for (std::size_t engine = 0; engine < 2; ++engine)
        if (copies_.next_end(engine) <= now) ended(copies_.end(engine), now);
      while (device_.next_end() <= now) ended(device_.end_one(), now);
      start_all(now);
    }
    result_.total = Seconds{host_};
    for (const Seconds end : result_.ends) result_.total = std::max(result_.total, end);
    result_.busy = {Seconds{host_}, Seconds{copies_.busy(0)}, Seconds{copies_.busy(1)}, Seconds{device_.busy()}};
    return std::move(result_);
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  struct Operation {
    std::size_t job = 0;
    Stage stage = Stage::h2d;
    double time = 0, share = 1;
    double ready = 0;
    std::size_t next = none;  // in its stream
    bool is_ahead_of_kernel = false, is_behind_kernel = false;
  };
  using Waiting =
      std::priority_queue<std::pair<double, std::size_t>, std::vector<std::pair<double, std::size_t>>, std::greater<>>;
  using Ready = std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>>;

  std::size_t line_of(Stage stage) const {
    if (stage == Stage::kernel) return kernel_line;
    return stage == Stage::d2h && costs_.copy_engines == 2 ? 1 : 0;
  }
  void issue(const PlannedJob& planned, std::size_t number) {
    const model::Chunks c = model::chunks_of(planned.job, planned.chunks, costs_);
    host_ += calls_ * costs_.stream_create.count() * planned.chunks;
    std::vector<Stage> stages;
    if (c.has_h2d) stages.push_back(Stage::h2d);
    if (c.has_kernel) stages.push_back(Stage::kernel);
    if (c.has_d2h) stages.push_back(Stage::d2h);
    std::vector<std::size_t> last(planned.chunks, none);
    const auto add = [&](Stage stage, std::size_t chunk) {
      host_ += calls_ * c.issue.of(stage).count();
      const double time = stage == Stage::h2d ? c.h2d : stage == Stage::kernel ? c.kernel : c.d2h;
      const std::size_t index = operations_.size();
      const bool is_behind_kernel =
          stage == Stage::d2h && last[chunk] != none && operations_[last[chunk]].stage == Stage::kernel;
      operations_.push_back({number, stage, time, c.share, host_ + costs_.submit.count(), none,
                             stage == Stage::h2d && c.has_kernel, is_behind_kernel});
      if (last[chunk] != none) operations_[last[chunk]].next = index;
      else coming_[line_of(stage)].emplace(operations_.back().ready, index);
      last[chunk] = index;
    };
    if (planned.order == Order::breadth_first) {
      for (const Stage stage : stages)
        for (std::size_t chunk = 0; chunk < planned.chunks; ++chunk) add(stage, chunk);
    } else {
      for (std::size_t chunk = 0; chunk < planned.chunks; ++chunk)
        for (const Stage stage : stages) add(stage, chunk);
    }
  }
  double next_event(double now) const {
    double next = std::min({copies_.next_end(0), copies_.next_end(1), device_.next_end()});
    for (const Waiting& line : coming_)
      if (!line.empty()) next = std::min(next, line.top().first);
    for (std::size_t line = 0; line < there_.size(); ++line)
      if (!there_[line].empty() && free_at(line) > now) next = std::min(next, free_at(line));
    return std::max(next, now);
  }
  void ended(std::size_t index, double now) {
    const Operation& o = operations_[index];
    const bool last = o.next == none;
    const double reached = now + (last && o.stage != Stage::d2h ? 0 : costs_.latency.of(o.stage).count());
    result_.ends[o.job] = std::max(result_.ends[o.job], Seconds{last ? reached : now});
    if (last) return;
    const Operation& next = operations_[o.next];
    const bool late = costs_.latency_of_waiting_only && next.ready >= now;
    coming_[line_of(next.stage)].emplace(std::max(next.ready, next.stage == o.stage || late ? now : reached), o.next);
  }
  void start_all(double now) {
    for (std::size_t line = 0; line < coming_.size(); ++line) {
      for (; !coming_[line].empty() && coming_[line].top().first <= now; coming_[line].pop())
        there_[line].push(coming_[line].top().second);
      while (!there_[line].empty() && free_at(line) <= now) {
        start(there_[line].top(), line, now);
        there_[line].pop();
      }
    }
  }
  double free_at(std::size_t line) const { return line == kernel_line ? device_.free_at() : copies_.free_at(line); }
  void start(std::size_t index, std::size_t line, double now) {
    const Operation& o = operations_[index];
    if (line == kernel_line) return device_.start(index, o.time, o.share, now);
    const bool in = o.stage == Stage::h2d;
    Seconds gap = costs_.gap.of(o.stage) + (copies_.at_work(1 - line) ? costs_.duplex_extra_gap : Seconds{0});
    if (o.is_behind_kernel) gap += costs_.gap_behind_kernel;
    copies_.start(line, index, gap.count(), o.time, in ? costs_.duplex_slowdown_h2d : costs_.duplex_slowdown_d2h,
                  o.is_ahead_of_kernel ? costs_.gap_ahead_of_kernel.count() : 0, now);
  }

  const StreamCosts& costs_;
  double calls_;
  model::CopyEngines copies_;
  SharedDevice device_;
  std::vector<Operation> operations_;
  std::array<Waiting, 3> coming_;
  std::array<Ready, 3> there_;
  double host_ = 0;
  SequenceRun result_;
};

}  // namespace

SequenceRun simulate_sequence(std::span<const PlannedJob> jobs, const StreamCosts& costs) {
  const auto run_with = [&](double calls) { return Sequence(jobs, costs, calls).run(); };
  return model::middle_run(costs.call_factors, run_with).run;
}

}  // namespace npgpu
