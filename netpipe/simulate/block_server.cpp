#include "netpipe/simulate/block_server.hpp"

#include <algorithm>

namespace npgpu::model {

void BlockServer::reset(const Curve& block_time, std::uint64_t slots, double gap) {
  block_time_ = &block_time;
  slots_ = room_ = slots;
  gap_ = gap;
  pace_ = done_ = at_ = free_ = 0;
  entering_ = next_ = never;
  room_since_ = -never;
  kernels_.clear();
  waves_.clear();
}

void BlockServer::pass(double now) {
  done_ += (now - at_) * pace_;
  at_ = now;
}

// Slots that are free go to the blocks that wait, those of the earliest kernel first.
void BlockServer::fill(double now) {
  for (Kernel& kernel : kernels_) {
    const std::uint64_t taken = std::min(room_, kernel.waiting);
    if (taken == 0) continue;
    kernel.waiting -= taken;
    kernel.running += taken;
    room_ -= taken;
    waves_.push_back({done_ + part_, kernel.operation, taken});
  }
  const std::uint64_t there = slots_ - room_;
  pace_ = there ? 1 / (*block_time_)(static_cast<double>(there)).count() : 0;
  free_ = room_ == 0 || entering_ != never ? never : std::min(free_, now);
}

void BlockServer::find_next(double now) {
  next_ = entering_;
  if (!waves_.empty()) next_ = std::min(next_, std::max(now, at_ + (waves_.front().end - done_) / pace_));
}

void BlockServer::start(std::size_t operation, std::uint64_t blocks, double part, double now) {
  part_ = part;
  kernels_.push_back({operation, 0, 0});
  entering_ = now == room_since_ ? now : now + gap_;
  entering_blocks_ = blocks;
  free_ = never;
  find_next(now);
}

std::optional<std::size_t> BlockServer::advance() {
  const double now = next_;
  pass(now);
  std::optional<std::size_t> ended;
  const bool was_full = room_ == 0;
  if (entering_ <= now) {
    kernels_.back().waiting = entering_blocks_;
    entering_ = never;
  } else {
    const Wave wave = waves_.front();
    waves_.pop_front();
    done_ = wave.end;  // to the digit
    room_ += wave.blocks;
    const auto kernel = std::ranges::find(kernels_, wave.operation, &Kernel::operation);
    kernel->running -= wave.blocks;
    if (kernel->running == 0 && kernel->waiting == 0) {
      ended = kernel->operation;
      kernels_.erase(kernel);
    }
  }
  fill(now);
  if (was_full && room_ > 0) room_since_ = now;
  find_next(now);
  return ended;
}

}  // namespace npgpu::model
