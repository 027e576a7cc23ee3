// One or two copy engines. An operation holds its engine for a gap, which nothing slows, and then for its bytes, which
// flow at 1/slow while the other engine is held. What it does after its end keeps the next one waiting, and nothing
// else.
#pragma once

#include <array>
#include <cstddef>
#include <limits>

namespace npgpu::model {

class CopyEngines {
 public:
  static constexpr double never = std::numeric_limits<double>::infinity();

  void reset() { engines_ = {}; }

  bool at_work(std::size_t engine) const { return engines_[engine].held; }
  // When the next operation may start.
  double free_at(std::size_t engine) const { return engines_[engine].held ? never : engines_[engine].free; }

  // `slow`: of this operation, while the other engine works; `after`: for how long it keeps the engine after its end.
  void start(std::size_t engine, std::size_t operation, double gap, double transfer, double slow, double after,
             double now) {
    Engine& e = engines_[engine];
    Engine& other = engines_[1 - engine];
    const double factor = other.held ? slow : 1;
    e = {operation, true, slow, now + gap, transfer, factor, now + gap + transfer * factor, now, after, 0, e.busy};
    change_pace(other, other.slow, now);
  }

  double next_end(std::size_t engine) const { return engines_[engine].held ? engines_[engine].end : never; }

  // The operation of `engine`, at its end.
  std::size_t end(std::size_t engine) {
    Engine& e = engines_[engine];
    e.held = false;
    e.free = e.end + e.after;
    e.busy += e.end - e.started;
    change_pace(engines_[1 - engine], 1, e.end);
    return e.operation;
  }

  double busy(std::size_t engine) const { return engines_[engine].busy; }

 private:
  struct Engine {
    std::size_t operation = 0;
    bool held = false;
    double slow = 1;
    double since = 0, left = 0, factor = 1;  // from `since` on, what is `left` lasts `factor` times as long
    double end = 0, started = 0;
    double after = 0, free = 0;
    double busy = 0;
  };

  static void change_pace(Engine& e, double factor, double now) {
    if (!e.held || e.factor == factor) return;  // untouched, so that copies without slow-down are exact sums
    if (now > e.since) {
      e.left -= (now - e.since) / e.factor;
      e.since = now;
    }
    if (e.left < 0) e.left = 0;  // rounding, where it ends now
    e.factor = factor;
    e.end = e.since + e.left * e.factor;
  }

  std::array<Engine, 2> engines_;
};

}  // namespace npgpu::model
