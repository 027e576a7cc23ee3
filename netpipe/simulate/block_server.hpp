// Kernels whose blocks share the device, block by block. Each block is placed on a multiprocessor and stays there; how
// long it takes depends on how many are on its multiprocessor, and on the whole device.
//
// Blocks are placed as room comes free, all of one kernel before those of the next, each on a multiprocessor that has
// the fewest. On an H200 (132 multiprocessors) kernels of `increment` with one block on each took 27 ms, and 61 to 66
// ms as soon as they were cut into 133 blocks and more, so that a multiprocessor had two; the other blocks still
// took 27.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <vector>

#include "npgpu/simulate.hpp"

namespace npgpu::model {

class BlockServer {
 public:
  // `time`: see Job::block_time; it must live as long as kernels are started. `slots`: blocks that the device holds.
  // `abreast`: of a multiprocessor's blocks so many go at once, the oldest; 0: all of them.
  void reset(const Curve& time, std::uint64_t slots, std::uint64_t multiprocessors, std::uint64_t abreast, double gap);

  double free_at() const { return free_; }  // when the next kernel could start, if nothing happens before that
  // Its blocks go in a gap later; at once where it waited for room, and its gap passed meanwhile. Of 2.25 blocks, the
  // third has a quarter of the threads.
  void start(std::size_t operation, double blocks, double now);

  double next_event() const { return next_; }  // infinity if no kernel runs
  std::optional<std::size_t> advance();        // to next_event(); returns a kernel that ends there, if one does

  // How long a job's kernel takes alone; 0 where it has too many blocks to be played.
  static double time_alone(const Job&);
  static constexpr std::uint64_t max_waves = 8;  // of more, a kernel is near enough to one that never lacks a block

  bool idle() const { return kernels_.empty(); }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();
  struct Kernel {
    std::size_t operation;
    double waiting;         // blocks that have no place yet
    std::uint64_t running;  // blocks
    bool has_ended() const { return waiting == 0 && running == 0; }
  };
  struct Block {
    std::size_t operation;
    double left;    // of the time that it takes alone on the device, in those of a whole block
    double weight;  // its threads, in those of a whole block
  };
  using Multiprocessor = std::vector<Block>;  // the blocks on it, the oldest first

  void pass(double now);  // until `now` all go at the pace that they have
  void fill(double now);
  void place(Kernel&);
  void set_paces();
  void find_next(double now);
  std::uint64_t abreast(const Multiprocessor& m) const { return std::min<std::uint64_t>(m.size(), abreast_); }

  const Curve* time_ = nullptr;
  std::uint64_t slots_ = 0, resident_ = 0, abreast_ = 0, there_ = 0;  // there: blocks on the device
  double gap_ = 0, alone_ = 0, at_ = 0;
  double entering_ = never;  // when the last kernel's blocks go in
  double free_ = 0, room_since_ = -never, next_ = never;
  std::deque<Kernel> kernels_;  // in the order of their starts
  std::vector<Multiprocessor> multiprocessors_;
  std::vector<double> paces_;  // of a block on a multiprocessor where so many go abreast
};

}  // namespace npgpu::model
