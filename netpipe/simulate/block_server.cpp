#include "netpipe/simulate/block_server.hpp"

#include <algorithm>
#include <functional>
#include <span>

namespace npgpu::model {

namespace {

constexpr double rounding = 1e-9;   // of a block
constexpr double shortest = 1e-12;  // seconds: a block of no time would have no pace

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

}  // namespace npgpu::model
