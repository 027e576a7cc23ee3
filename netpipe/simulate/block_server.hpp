// Kernels whose blocks share the device, block by block: how long a block takes depends on how many are there.
//
// Blocks take slots as they come free, all of one kernel before those of the next. All blocks that are there go at the
// same pace, that of so many blocks: on an H200 (132 multiprocessors) 64 iterations of `increment` took 18 us with 480
// blocks, and 2 us with 120. Blocks that start together are one wave: 535 blocks in 528 slots take two, the second of 7
// blocks, and so do two kernels of 268.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>

#include "npgpu/simulate.hpp"

namespace npgpu::model {

class BlockServer {
 public:
  // `block_time` must live as long as kernels are started.
  void reset(const Curve& block_time, std::uint64_t slots, double gap);

  double free_at() const { return free_; }  // when the next kernel could start, if nothing happens before that
  // Its blocks, each of which takes that part of a block's time, go in a gap later; at once where it waited for room,
  // and its gap passed meanwhile. All kernels have blocks of the same part.
  void start(std::size_t operation, std::uint64_t blocks, double part, double now);

  double next_event() const { return next_; }  // infinity if no kernel runs
  std::optional<std::size_t> advance();        // to next_event(); returns the kernel that ends there, if one does

  bool idle() const { return kernels_.empty(); }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();
  struct Kernel {
    std::size_t operation;
    std::uint64_t waiting, running;  // blocks
  };
  // Blocks of one kernel that started together. They end when a block that was there from the beginning would have done
  // the work of `end` blocks.
  struct Wave {
    double end;
    std::size_t operation;
    std::uint64_t blocks;
  };

  void pass(double now);  // until `now` all go at the pace of those that are there
  void fill(double now);
  void find_next(double now);

  const Curve* block_time_ = nullptr;
  std::uint64_t slots_ = 0, room_ = 0;
  double gap_ = 0, pace_ = 0;  // work a second of each block
  double part_ = 1;            // of a block's time
  double done_ = 0, at_ = 0;   // work of a block that was there from the beginning, and until when that is known
  double entering_ = never;    // when the last kernel's blocks go in
  std::uint64_t entering_blocks_ = 0;
  double free_ = 0, room_since_ = -never, next_ = never;
  std::deque<Kernel> kernels_;  // in the order of their starts
  std::deque<Wave> waves_;      // in the order of their ends, which is that of their starts
};

}  // namespace npgpu::model
