// The servers of a simulated device: multiprocessors, block by block or by kernels, and copy engines.
//
// BlockServer has kernels whose blocks share the device, block by block. Each block is placed on a multiprocessor and
// stays there; how long it takes depends on how many are on its multiprocessor, and on how many multiprocessors have as
// many.
//
// Blocks are placed as room comes free, all of one kernel before those of the next, each on the multiprocessor that has
// the fewest; of several, on the first in an order that never changes. On H200s (132 multiprocessors), where each block
// of kernels in up to 64 streams noted its place, 98 % of 23,557 blocks followed one such order; blocks whose times
// were too close to each other are among the rest. So where the first multiprocessors come free just before a kernel
// begins, it may put two blocks on one of them, while others are about to have none.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <limits>
#include <optional>
#include <set>
#include <tuple>

#include "npgpu/model/simulate.hpp"

namespace npgpu::model {

// A job in n chunks, in seconds on each server: what the simulator and the closed forms are fed with.
struct Chunks {
  // Times of one chunk on its server, without gap, both directions alone.
  double h2d = 0, kernel = 0, d2h = 0;
  bool has_h2d = false, has_kernel = false, has_d2h = false;
  // Part of the device that a chunk's kernel takes while it runs alone: (whole/n) / kernel, at most 1.
  double share = 1;
  // In blocks, where the job says them: those of the first chunks, which get what does not divide, and how long each
  // stays in its slot.
  std::uint64_t blocks = 0, slots = 0;
  double block = 0;
  const Curve* block_time = nullptr;  // see Job; null: none
  double own_blocks = 0;              // where blocks have a time: of one chunk, in threads of whole blocks
  std::uint64_t multiprocessors = 0, active_blocks_per_sm = 0;  // see Job
  Stages issue{};                                               // the host's times for its calls
};

// Throws Error(usage) as simulate() does.
Chunks chunks_of(const Job&, std::uint32_t n, const StreamCosts&);

// A stage of one chunk: its time on its server, without gap, both directions alone; the host's time for its call; of a
// kernel, its share of the device (see Chunks).
struct ChunkStage {
  Stage stage = Stage::h2d;
  double time = 0, issue = 0, share = 1;
};
// The stages that a chunk has, in order.
std::vector<ChunkStage> stages_of(const Chunks&);
// The same of one part of a pipeline; `chunks` gets what describes its kernel. Throws Error(usage) as simulate() does.
std::vector<ChunkStage> stages_of(const PipelinePart&, std::uint32_t n, const StreamCosts&, Chunks& chunks);

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
//          together, each on a multiprocessor (BlockServer). Kernels of many waves are not played block by block:
//          each is granted what slots are left, and goes at the pace that the blocks of all allow.
//
// Without gaps, and where a kernel takes the whole device or fills the slots in whole waves, all three are the same.

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
  // Where there are more chunks than blocks, some have none.
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

// One or two copy engines. An operation holds its engine for a gap, which nothing slows, and then for its bytes, which
// flow at 1/slow while the other engine is held. What it does after its end keeps the next one waiting, and nothing
// else.

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
