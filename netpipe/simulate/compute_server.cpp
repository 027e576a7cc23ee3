#include "netpipe/simulate/compute_server.hpp"

#include <algorithm>
#include <limits>

namespace npgpu::model {

namespace {

constexpr double at_no_time = std::numeric_limits<double>::infinity();
// A remainder of shares that is rounding, not room.
constexpr double no_room = 1e-9;
constexpr std::uint64_t many_waves = 10'000;  // of fewer, each is played

}  // namespace

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
  const auto sooner = [](const Running& a, const Running& b) { return a.end < b.end; };
  const auto next = std::min_element(running_.begin(), running_.end(), sooner);
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
