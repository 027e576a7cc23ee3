#include "netpipe/simulate/block_server.hpp"

#include <algorithm>
#include <span>

namespace npgpu::model {

namespace {

constexpr double rounding = 1e-9;   // of a block
constexpr double shortest = 1e-12;  // seconds: a block of no time would have no pace

}  // namespace

void BlockServer::reset(const Curve& time, std::uint64_t slots, std::uint64_t multiprocessors, std::uint64_t abreast,
                        double gap) {
  time_ = &time;
  resident_ = std::max<std::uint64_t>(1, slots / multiprocessors);
  slots_ = resident_ * multiprocessors;
  abreast_ = abreast ? abreast : resident_;
  multiprocessors_.resize(multiprocessors);
  for (Multiprocessor& m : multiprocessors_) m.clear();
  paces_.assign(resident_ + 1, 0);
  alone_ = std::max(shortest, (*time_)(1).count());
  gap_ = gap;
  at_ = free_ = 0;
  there_ = 0;
  entering_ = next_ = never;
  room_since_ = -never;
  kernels_.clear();
}

void BlockServer::pass(double now) {
  for (Multiprocessor& m : multiprocessors_) {
    const std::uint64_t going = abreast(m);
    for (std::uint64_t i = 0; i < going; ++i) m[i].left -= (now - at_) * paces_[going];
  }
  at_ = now;
}

// On the multiprocessor with the fewest blocks.
void BlockServer::place(Kernel& kernel) {
  const double weight = std::min(1.0, kernel.waiting);
  const auto fewer = [](const Multiprocessor& a, const Multiprocessor& b) { return a.size() < b.size(); };
  auto& m = *std::min_element(multiprocessors_.begin(), multiprocessors_.end(), fewer);
  m.push_back({kernel.operation, (*time_)(weight).count() / alone_, weight});
  kernel.waiting = kernel.waiting - weight > rounding ? kernel.waiting - weight : 0;
  ++kernel.running;
  ++there_;
}

void BlockServer::fill(double now) {
  for (Kernel& kernel : kernels_) {
    if (entering_ != never && &kernel == &kernels_.back()) break;
    while (kernel.waiting > 0 && there_ < slots_) place(kernel);
  }
  set_paces();
  free_ = there_ == slots_ || entering_ != never ? never : std::min(free_, now);
}

// Of k blocks on each multiprocessor, as the curve has it for so many on the device: between k - 1 and k on each.
void BlockServer::set_paces() {
  double weights = 0;
  for (const Multiprocessor& m : multiprocessors_)
    for (const std::uint64_t going = abreast(m); const Block& b : std::span(m).first(going)) weights += b.weight;
  const auto all = static_cast<double>(multiprocessors_.size());
  for (std::size_t k = 1; k < paces_.size(); ++k) {
    const auto on_each = static_cast<double>(k);
    const double blocks = k == 1 ? std::min(weights, all) : std::clamp(weights, (on_each - 1) * all + 1, on_each * all);
    paces_[k] = 1 / std::max(shortest, (*time_)(std::max(blocks, 1.0)).count());
  }
}

void BlockServer::find_next(double now) {
  next_ = entering_;
  for (const Multiprocessor& m : multiprocessors_) {
    const std::uint64_t going = abreast(m);
    for (std::uint64_t i = 0; i < going; ++i) next_ = std::min(next_, std::max(now, at_ + m[i].left / paces_[going]));
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
    for (Multiprocessor& m : multiprocessors_) {
      const double pace = paces_[abreast(m)];
      there_ -= std::erase_if(m, [&](const Block& b) {
        if (b.left > rounding && now + b.left / pace > now) return false;
        --std::ranges::find(kernels_, b.operation, &Kernel::operation)->running;
        return true;
      });
    }
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
  server.reset(job.block_time, job.slots, job.multiprocessors ? job.multiprocessors : job.slots, job.abreast, 0);
  server.start(0, static_cast<double>(job.blocks) - 1 + job.last_block, 0);
  double end = 0;
  while (!server.idle()) {
    end = server.next_event();
    server.advance();
  }
  return end;
}

}  // namespace npgpu::model
