// Kernels whose blocks share the device, block by block. Each block is placed on a multiprocessor and stays there; how
// long it takes depends on how many are on its multiprocessor, and on how many multiprocessors have as many.
//
// Blocks are placed as room comes free, all of one kernel before those of the next, each on the multiprocessor that has
// the fewest; of several, on the first in an order that never changes. On H200s (132 multiprocessors), where each block
// of kernels in up to 64 streams noted its place, 98 % of 23,557 blocks followed one such order; blocks whose times
// were too close to each other are among the rest. So where the first multiprocessors come free just before a kernel
// begins, it may put two blocks on one of them, while others are about to have none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "npgpu/simulate.hpp"

namespace npgpu::model {

class BlockServer {
 public:
  // `time`: see Job::block_time; it must live as long as kernels are started. `slots`: blocks that the device holds.
  // `active_blocks_per_sm`: of a multiprocessor's blocks so many go at once, the oldest; 0: all of them.
  void reset(const Curve& time, std::uint64_t slots, std::uint64_t multiprocessors, std::uint64_t active_blocks_per_sm,
             double gap);

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
  // Multiprocessors with the same blocks, the oldest first, and neighbours in the order. One of them is played.
  struct Group {
    std::vector<Block> blocks;
    std::uint64_t first = 0, multiprocessors = 0;  // their places in the order begin at `first`
    std::size_t going = 0;                         // of the blocks, the first so many
    double since = 0;                              // `done` of those alike, when `left` of the blocks was true
    std::uint64_t changes = 0;
  };
  struct End {
    double done;  // of those alike, when the group's first block ends
    std::size_t group;
    std::uint64_t changes;  // of the group, when this was found
  };
  // Where equally many blocks go, they are at the same pace, and their work is counted for all together.
  struct Alike {
    double done = 0, pace = 0;  // what a block has done that was there from the beginning
    double load = 0;            // multiprocessors where as many or more go
    std::vector<End> ends;      // heap, the first on top; what has changed since does not count
  };

  void pass(double now);  // until `now` all go at the pace that they have
  void end_blocks(double now);
  void fill(double now);
  void place(Kernel&);
  void take(std::size_t group);      // before it changes
  void put_back(std::size_t group);  // afterwards
  void load(const Group&, double sign);
  void join_idle(std::size_t group);
  std::size_t split(std::size_t group, std::uint64_t multiprocessors);
  const End* first_end(Alike&);
  void set_paces();
  void find_next(double now);

  const Curve* time_ = nullptr;
  std::uint64_t slots_ = 0, multiprocessors_ = 0, abreast_ = 0, there_ = 0;  // there: blocks on the device
  double gap_ = 0, alone_ = 0, at_ = 0;
  double entering_ = never;  // when the last kernel's blocks go in
  double free_ = 0, room_since_ = -never, next_ = never;
  std::deque<Kernel> kernels_;  // in the order of their starts
  std::vector<Group> groups_;
  std::vector<std::size_t> unused_;                                          // of the groups
  std::vector<Alike> alike_;                                                 // by the number of blocks that go
  std::set<std::tuple<std::size_t, std::uint64_t, std::size_t>> by_blocks_;  // their number, Group::first, the group
};

}  // namespace npgpu::model
