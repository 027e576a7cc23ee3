#include "netpipe/simulate/servers.hpp"

#include <algorithm>
#include <functional>
#include <span>

namespace npgpu::model {

namespace {

constexpr double rounding = 1e-9;   // of a block
constexpr double shortest = 1e-12;  // seconds: a block of no time would have no pace

constexpr double at_no_time = std::numeric_limits<double>::infinity();
// A remainder of shares that is rounding, not room.
constexpr double no_room = 1e-9;
constexpr std::uint64_t many_waves = 3;  // of fewer, each is played

}  // namespace

void BlockServer::reset(const Curve& time, std::uint64_t slots, std::uint64_t multiprocessors,
                        std::uint64_t active_blocks_per_sm, double gap) {
  time_ = &time;
  const std::uint64_t resident = std::max<std::uint64_t>(1, slots / multiprocessors);
  slots_ = resident * multiprocessors;
  multiprocessors_ = multiprocessors;
  abreast_ = std::min(resident, active_blocks_per_sm ? active_blocks_per_sm : resident);
  groups_.assign(1, {});
  groups_[0].multiprocessors = multiprocessors;
  unused_.clear();
  by_blocks_ = {{0, 0, 0}};
  alike_.assign(abreast_ + 1, {});
  alone_ = std::max(shortest, (*time_)(1).count());
  gap_ = gap;
  at_ = free_ = 0;
  there_ = 0;
  entering_ = next_ = never;
  room_since_ = -never;
  kernels_.clear();
}

void BlockServer::pass(double now) {
  for (Alike& a : alike_) a.done += (now - at_) * a.pace;
  at_ = now;
}

void BlockServer::take(std::size_t group) {
  Group& g = groups_[group];
  const double done = alike_[g.going].done - g.since;
  for (Block& b : std::span(g.blocks).first(g.going)) b.left -= done;
  load(g, -1);
  by_blocks_.erase({g.blocks.size(), g.first, group});
}

// Each of its multiprocessors counts once for the first block that goes there, once for the second, and so on; less for
// parts of blocks.
void BlockServer::load(const Group& g, double sign) {
  double weights = 0;
  for (const Block& b : std::span(g.blocks).first(g.going)) weights += b.weight;
  for (std::size_t k = 1; k <= g.going; ++k)
    alike_[k].load +=
        sign * static_cast<double>(g.multiprocessors) * std::clamp(weights - static_cast<double>(k - 1), 0.0, 1.0);
}

void BlockServer::put_back(std::size_t group) {
  Group& g = groups_[group];
  ++g.changes;
  g.going = std::min<std::size_t>(g.blocks.size(), abreast_);
  if (g.going == 0) join_idle(group);
  by_blocks_.insert({g.blocks.size(), g.first, group});
  g.since = alike_[g.going].done;
  if (g.going == 0) return;
  double least = never;
  for (const Block& b : std::span(g.blocks).first(g.going)) least = std::min(least, b.left);
  load(g, 1);
  std::vector<End>& ends = alike_[g.going].ends;
  ends.push_back({g.since + least, group, g.changes});
  std::ranges::push_heap(ends, std::greater{}, &End::done);
}

// Its neighbours in the order that are idle too become part of it.
void BlockServer::join_idle(std::size_t group) {
  Group& g = groups_[group];
  const auto join = [&](auto neighbour) {
    const std::size_t other = std::get<2>(*neighbour);
    g.first = std::min(g.first, groups_[other].first);
    g.multiprocessors += groups_[other].multiprocessors;
    unused_.push_back(other);
    by_blocks_.erase(neighbour);
  };
  const auto idle = [&](auto at) { return at != by_blocks_.end() && std::get<0>(*at) == 0; };
  auto next = by_blocks_.upper_bound({0, g.first, group});
  if (idle(next) && std::get<1>(*next) == g.first + g.multiprocessors) join(next);
  next = by_blocks_.upper_bound({0, g.first, group});
  if (next == by_blocks_.begin()) return;
  const Group& before = groups_[std::get<2>(*--next)];
  if (idle(next) && before.first + before.multiprocessors == g.first) join(next);
}

// The first so many of a group that was taken, as a group that was taken. The rest is put back.
std::size_t BlockServer::split(std::size_t group, std::uint64_t multiprocessors) {
  if (multiprocessors == groups_[group].multiprocessors) return group;
  if (unused_.empty()) {
    unused_.push_back(groups_.size());
    groups_.emplace_back();
  }
  const std::size_t part = unused_.back();
  unused_.pop_back();
  groups_[part].blocks = groups_[group].blocks;
  groups_[part].multiprocessors = multiprocessors;
  groups_[part].first = groups_[group].first;
  groups_[group].first += multiprocessors;
  groups_[group].multiprocessors -= multiprocessors;
  put_back(group);
  return part;
}

const BlockServer::End* BlockServer::first_end(Alike& a) {
  while (!a.ends.empty() && a.ends.front().changes != groups_[a.ends.front().group].changes) {
    std::ranges::pop_heap(a.ends, std::greater{}, &End::done);
    a.ends.pop_back();
  }
  return a.ends.empty() ? nullptr : &a.ends.front();
}

// Whole blocks, or a part of one.
void BlockServer::place(Kernel& kernel) {
  const double weight = std::min(1.0, kernel.waiting);
  const auto whole = static_cast<std::uint64_t>(kernel.waiting + rounding);
  const std::size_t fewest = std::get<2>(*by_blocks_.begin());
  const std::uint64_t blocks = std::min(std::max<std::uint64_t>(whole, 1), groups_[fewest].multiprocessors);
  take(fewest);
  const std::size_t group = split(fewest, blocks);
  groups_[group].blocks.push_back({kernel.operation, (*time_)(weight).count() / alone_, weight});
  put_back(group);
  const double waiting = kernel.waiting - weight * static_cast<double>(blocks);
  kernel.waiting = waiting > rounding ? waiting : 0;
  kernel.running += blocks;
  there_ += blocks;
}

void BlockServer::fill(double now) {
  for (Kernel& kernel : kernels_) {
    if (entering_ != never && &kernel == &kernels_.back()) break;
    while (kernel.waiting > 0 && there_ < slots_) place(kernel);
  }
  set_paces();
  free_ = there_ == slots_ || entering_ != never ? never : std::min(free_, now);
}

// The curve is of kernels alone on the device: so many blocks that some multiprocessors have k, and all others k - 1,
// which are done sooner. So where k blocks go on a multiprocessor they take as long as the curve has it for as many
// multiprocessors with k, whatever the others have; and a kernel alone takes what the curve says.
void BlockServer::set_paces() {
  const auto all = static_cast<double>(multiprocessors_);
  for (std::size_t k = 1; k < alike_.size(); ++k)
    alike_[k].pace =
        1 /
        std::max(shortest, (*time_)(static_cast<double>(k - 1) * all + std::clamp(alike_[k].load, 1.0, all)).count());
}

void BlockServer::find_next(double now) {
  next_ = entering_;
  for (Alike& a : alike_)
    if (const End* first = first_end(a)) next_ = std::min(next_, std::max(now, at_ + (first->done - a.done) / a.pace));
}

void BlockServer::end_blocks(double now) {
  for (Alike& a : alike_)
    while (const End* first = first_end(a)) {
      const double left = first->done - a.done;
      if (left > rounding && now + left / a.pace > now) break;
      const std::size_t group = first->group;
      take(group);
      const std::uint64_t each = groups_[group].multiprocessors;
      there_ -= each * std::erase_if(groups_[group].blocks, [&](const Block& b) {
                  if (b.left > left + rounding) return false;
                  std::ranges::find(kernels_, b.operation, &Kernel::operation)->running -= each;
                  return true;
                });
      put_back(group);
    }
}

void BlockServer::start(std::size_t operation, double blocks, double now) {
  kernels_.push_back({operation, blocks, 0});
  entering_ = now == room_since_ ? now : now + gap_;
  free_ = never;
  find_next(now);
}

std::optional<std::size_t> BlockServer::advance() {
  const double now = next_;
  pass(now);
  const bool was_full = there_ == slots_;
  if (entering_ <= now) {
    entering_ = never;
  } else {
    end_blocks(now);
  }
  fill(now);
  if (was_full && there_ < slots_) room_since_ = now;
  find_next(now);
  const auto ended = std::ranges::find_if(kernels_, &Kernel::has_ended);
  if (ended == kernels_.end()) return std::nullopt;
  const std::size_t operation = ended->operation;
  kernels_.erase(ended);
  if (std::ranges::any_of(kernels_, &Kernel::has_ended)) next_ = now;  // another one ends at the same time
  return operation;
}

double BlockServer::time_alone(const Job& job) {
  if (job.block_time.empty() || job.blocks == 0 || job.blocks > max_waves * job.slots) return 0;
  BlockServer server;
  server.reset(job.block_time, job.slots, job.multiprocessors ? job.multiprocessors : job.slots,
               job.active_blocks_per_sm, 0);
  server.start(0, static_cast<double>(job.blocks) - 1 + job.last_block, 0);
  double end = 0;
  while (!server.idle()) {
    end = server.next_event();
    server.advance();
  }
  return end;
}

void ComputeServer::reset(Compute kind, const Chunks& chunk, double gap, std::uint64_t all_blocks,
                          std::uint32_t chunks) {
  kind_ = kind == Compute::slots && chunk.slots == 0 ? Compute::shared : kind;
  chunk_ = chunk;
  gap_ = gap;
  blocks_low_ = all_blocks / chunks;
  chunks_with_more_ = all_blocks % chunks;
  running_.clear();
  slots_.clear();
  if (kind_ == Compute::slots) slots_.push_back({0, chunk.slots});
  by_block_ = kind_ == Compute::slots && chunk.block_time && chunk.blocks <= BlockServer::max_waves * chunk.slots;
  if (by_block_) blocks_.reset(*chunk.block_time, chunk.slots, chunk.multiprocessors, chunk.active_blocks_per_sm, gap);
  free_ = busy_ = busy_since_ = 0;
  last_start_ = room_since_ = -at_no_time;
  next_end_ = at_no_time;
}

double ComputeServer::start(std::size_t operation, std::uint32_t chunk, double time, double share, double now) {
  if (by_block_) {
    if (blocks_.idle()) busy_since_ = now;
    // Where each slot is a multiprocessor, a chunk's last block, which may have few threads, makes place for the next
    // chunk's first: those of all chunks together are as many as in the whole.
    const bool as_in_whole = chunk_.multiprocessors == chunk_.slots && blocks_low_ > 0;
    blocks_.start(operation, as_in_whole ? static_cast<double>(whole_blocks(chunk)) : chunk_.own_blocks, now);
    return now;
  }
  if (running_.empty()) busy_since_ = now;
  double begin = now;
  Running kernel{operation, now + gap_, time, 1, 0, share, 0};
  if (!by_speed()) {
    // The next one's gap passes while this one waits for slots.
    free_ = now + gap_;
    begin = std::max(now, slots_.front().free - gap_);
    kernel.end = place_blocks(std::max<std::uint64_t>(1, whole_blocks(chunk)), now + gap_);
    running_.push_back(kernel);
  } else {
    if (now == room_since_) kernel.since = now;  // it waited for room, and its gap passed meanwhile
    kernel.end = kernel.since + kernel.left;
    running_.push_back(kernel);
    last_start_ = now;
    regrant(now);
  }
  find_next_end();
  return begin;
}

std::optional<std::size_t> ComputeServer::advance() {
  const double now = next_event();
  if (by_block_) {
    const auto ended = blocks_.advance();
    if (ended && blocks_.idle()) busy_ += now - busy_since_;
    return ended;
  }
  const std::size_t operation = running_[next_].operation;
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(next_));
  if (running_.empty()) busy_ += now - busy_since_;
  if (by_speed()) regrant(now);
  find_next_end();
  return operation;
}

void ComputeServer::set_speed(Running& kernel, double speed, double now) {
  if (speed == kernel.speed) return;  // nothing to round
  if (now > kernel.since) {
    kernel.left -= (now - kernel.since) * kernel.speed;
    kernel.since = now;
  }
  kernel.speed = speed;
  kernel.end = kernel.since + kernel.left / speed;
}

double ComputeServer::pace(double blocks) const { return blocks / (*chunk_.block_time)(blocks).count(); }

double ComputeServer::regrant_slots(double now) {
  const auto slots = static_cast<double>(chunk_.slots), blocks = static_cast<double>(chunk_.blocks);
  const double alone = blocks / chunk_.kernel;
  // More blocks than slots leave some empty at the beginning and the end.
  const double own = blocks < slots ? blocks : slots * std::min(1.0, alone / pace(slots));
  double room = slots;
  for (Running& kernel : running_) {
    kernel.granted = std::min(room, own);
    room -= kernel.granted;
  }
  const double wanted = alone * (slots - room) / own;
  const double slower = running_.size() == 1 ? 1 : std::min(1.0, pace(slots - room) / wanted);
  for (Running& kernel : running_) set_speed(kernel, kernel.granted / own * slower, now);
  return room;
}

// Shares in the order of starts, and when there is room for one more.
void ComputeServer::regrant(double now) {
  if (kind_ == Compute::serial) {
    free_ = running_.empty() ? now : at_no_time;
    return;
  }
  if (kind_ == Compute::slots) {
    const bool had_none = free_ == at_no_time;
    free_ = running_.empty() ? now : regrant_slots(now) >= 1 ? std::max(now, last_start_ + gap_) : at_no_time;
    if (had_none && free_ != at_no_time) room_since_ = now;
    return;
  }
  double room = 1;
  for (Running& kernel : running_) {
    const double granted = std::min(room, kernel.share);
    room -= granted;
    set_speed(kernel, granted == kernel.share ? 1 : granted / kernel.share, now);
  }
  free_ = room > no_room ? std::max(now, running_.empty() ? now : last_start_ + gap_) : at_no_time;
}

void ComputeServer::find_next_end() {
  const auto next = std::ranges::min_element(running_, {}, &Running::end);
  next_ = static_cast<std::size_t>(next - running_.begin());
  next_end_ = next == running_.end() ? at_no_time : next->end;
}

// Where all slots are free within a block's time, a wave gives each of them one block more. Returns how many blocks all
// waves but the last one have.
std::uint64_t ComputeServer::pass_waves(std::uint64_t blocks, double from) {
  const auto [first, last] = std::ranges::minmax_element(slots_, {}, &Slots::free);
  if (last->free > std::max(first->free, from) + chunk_.block) return 0;
  const std::uint64_t waves = blocks / chunk_.slots - 1;
  // The heap's order stays, or all are free at one time.
  for (Slots& slots : slots_) slots.free = std::max(slots.free, from) + static_cast<double>(waves) * chunk_.block;
  return waves * chunk_.slots;
}

// Returns the end of the last block.
double ComputeServer::place_blocks(std::uint64_t blocks, double from) {
  const auto later = [](const Slots& a, const Slots& b) { return a.free > b.free; };
  double end = from;
  while (blocks > 0) {
    if (blocks > many_waves * chunk_.slots) blocks -= pass_waves(blocks, from);
    std::pop_heap(slots_.begin(), slots_.end(), later);
    Slots& first = slots_.back();
    const std::uint64_t taken = std::min(blocks, first.count);
    end = std::max(first.free, from) + chunk_.block;
    blocks -= taken;
    first.count -= taken;
    if (first.count == 0) slots_.pop_back();
    else std::push_heap(slots_.begin(), slots_.end(), later);
    slots_.push_back({end, taken});
    std::push_heap(slots_.begin(), slots_.end(), later);
  }
  return end;
}

}  // namespace npgpu::model
