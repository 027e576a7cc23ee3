// The device's multiprocessors as a server of kernels: one at a time, or several that share it.
//
// serial   A kernel holds the device for gap + time.
// shared   A kernel takes its share of the device, and those started later get what is left. While all get their
//          shares, each lasts gap + time; one that gets half of its share goes at half the speed. The next may start a
//          gap after the last, if anything is left.
// slots    A kernel's blocks take slots as they come free, all blocks of one kernel before those of the next, and each
//          keeps its slot for the same time. Of more chunks than blocks, each has a part of a block, which keeps its
//          slot as long as a whole one. The next may follow after a gap and wait for slots: on an H200, 64 kernels
//          of 480 blocks in as many streams took 0.4 to 1 % longer than one of all their blocks, at gaps of 1.8 us
//          each.
//
//          Where the job says how long a block takes among so many, blocks of several kernels are on the device
//          together, each on a multiprocessor (block_server.hpp). Kernels of many waves are not played block by block:
//          each is granted what slots are left, and goes at the pace that the blocks of all allow.
//
// Without gaps, and where a kernel takes the whole device or fills the slots in whole waves, all three are the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "netpipe/simulate/block_server.hpp"
#include "netpipe/simulate/chunks.hpp"
#include "npgpu/simulate.hpp"

namespace npgpu::model {

class ComputeServer {
 public:
  // Buffers stay, so that a server used again allocates nothing.
  void reset(Compute, const Chunks&, double gap, std::uint64_t all_blocks, std::uint32_t chunks);

  // When the next kernel could start, if nothing happens before that.
  double free_at() const { return by_block_ ? blocks_.free_at() : free_; }
  // A kernel of a chunk, which alone takes `time` and that share of the device. Returns when its first block goes in,
  // less the gap.
  double start(std::size_t operation, std::uint32_t chunk, double time, double share, double now);

  double next_event() const { return by_block_ ? blocks_.next_event() : next_end_; }  // infinity if no kernel runs
  std::optional<std::size_t> advance();  // to next_event(); returns the operation that ends there, if one does

  double busy() const { return busy_; }  // with at least one kernel; up to the last end

 private:
  struct Running {
    std::size_t operation;
    double since, left;  // `left` of its time alone, from `since` on at `speed`
    double speed;
    double end;
    double share;
    double granted;  // slots, where blocks have a pace
  };
  struct Slots {
    double free;
    std::uint64_t count;
  };

  // Kernels go at speeds that change with what else runs, not block by block at times known when they start.
  bool by_speed() const { return kind_ != Compute::slots || chunk_.block_time; }
  void regrant(double now);
  void set_speed(Running&, double speed, double now);
  double regrant_slots(double now);  // returns what is left of them
  double pace(double blocks) const;  // blocks a unit of time, all together
  void find_next_end();
  // Of more chunks than blocks, some have none.
  std::uint64_t whole_blocks(std::uint32_t chunk) const { return blocks_low_ + (chunk < chunks_with_more_ ? 1 : 0); }
  std::uint64_t pass_waves(std::uint64_t blocks, double from);
  double place_blocks(std::uint64_t blocks, double from);

  bool by_block_ = false;
  BlockServer blocks_;
  Compute kind_ = Compute::serial;
  Chunks chunk_;
  double gap_ = 0;
  std::uint64_t blocks_low_ = 0, chunks_with_more_ = 0;
  std::vector<Running> running_;  // in the order of their starts
  std::vector<Slots> slots_;      // heap, the earliest on top
  double free_ = 0, next_end_ = 0, last_start_ = 0, room_since_ = 0;
  std::size_t next_ = 0;  // of running_, the one that ends next
  double busy_ = 0, busy_since_ = 0;
};

}  // namespace npgpu::model
