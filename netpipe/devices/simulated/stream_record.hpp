// What a simulated stream remembers: how many of its operations have ended and when, its gate, and its marks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

}  // namespace npgpu::simulated
