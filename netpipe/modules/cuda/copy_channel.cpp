#include "netpipe/modules/cuda/copy_channel.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/devices/cuda/peers.hpp"
#include "netpipe/devices/host/payload.hpp"
#include "netpipe/engine/copy_cases.hpp"

namespace npgpu::cuda {

Area::Area(const host::End& end, std::uint64_t bytes, int ordinal, Owner owner) : kind_(end.kind), ordinal_(ordinal) {
  make_current(ordinal);
  if (kind_ == Memory::pageable) {
    pageable_ = host::PageableBuffer(bytes, end.offset);
    first_ = pageable_.data();
  } else {
    buffer_ = Buffer(kind_, host::allocation_bytes(bytes, end.offset), owner);
    first_ = buffer_.data() + host::lead_bytes + end.offset;
  }
}

CopyBuffers::CopyBuffers(const TransferCase& c, std::uint64_t max_bytes, Seconds gate_time_out, Owner target)
    : case_(c),
      max_bytes_(max_bytes),
      enqueues_(only_enqueues(c)),
      gpu_(ordinal_or_throw(mover_of(c)), c.bind, c.host_node),
      near_(gpu_.ordinal()),
      stream_(c.async ? near_.stream() : cudaStreamLegacy),
      area_(area_bytes(c, max_bytes, footprint_bytes(c))),
      seed_(payload::fresh_seed()),
      source_(host::source_of(c), area_, ordinal_of(c.source)),
      target_(host::target_of(c), area_, ordinal_of(c.target), target),
      landing_(c.pattern == Pattern::pingpong ? Area(host::source_of(c), area_, ordinal_of(c.source)) : Area()),
      source_first_(source_.first()),
      target_first_(target_.first()),
      landing_first_(landing_.first()) {
  if (is_peer()) {
    far_.emplace(ordinal_of(mover_of(c) == c.source ? c.target : c.source));
    set_access(c);
  }
  gpu_.make_current();
  if (c.bind && c.timing == Timing::host) quiet_.emplace();
  if (c.direction != Direction::h2h) {
    std::optional<Seconds> gate;
    if (c.timing == Timing::gated) gate = gate_time_out;
    // How many entries a copy between two GPUs takes behind a gate is not known: twice that of others is allowed for.
    timer_.emplace(gpu_.ordinal(), stream_, gate, Gate::capacity() / (is_peer() ? 2 : 1));
  }
}

int CopyBuffers::ordinal_of(const std::string& device) const {
  return is_peer() ? ordinal_or_throw(device) : gpu_.ordinal();
}

void CopyBuffers::lay_out(std::uint64_t bytes) {
  bytes_ = bytes;
  stride_ = stride_bytes(case_, bytes);
  count_ = slot_count(case_, bytes, area_);
  wrap_ = count_ * stride_;
  next_ = last_ = forwards_ = 0;
}

Slots CopyBuffers::slots_in(const Area& area, std::uint64_t count) const {
  return {.first = area.first(), .bytes = bytes_, .stride = stride_, .count = count, .seed = seed_};
}

void CopyBuffers::fill(const Area& area) {
  const Slots slots = slots_in(area, count_);
  PayloadFiller& keeper = keeper_of(area);
  area.by_cpu() ? payload::fill_sources(slots) : keeper.kernels().fill(slots, keeper.stream());
}

void CopyBuffers::arm(const Area& area) {
  const Slots slots = slots_in(area, count_);
  PayloadFiller& keeper = keeper_of(area);
  area.by_cpu() ? payload::arm(slots) : keeper.kernels().poison(slots, keeper.stream());
}

// The driver may load what a copy of this size needs at its first call, and would wait for the device to do so.
void CopyBuffers::run_once() {
  forward();
  if (can_return()) back();
  settle();
  next_ = last_ = forwards_ = 0;
}

void CopyBuffers::prepare(std::uint64_t bytes) {
  if (bytes < 1 || bytes > max_bytes_)
    throw Error(ErrorKind::usage,
                fmt::format("a channel opened for 1 to {} bytes was asked for {}", max_bytes_, bytes));
  gpu_.make_current();
  if (case_.cache == Cache::cold) {
    lay_out(bytes);
    fill(source_);
  } else {
    if (!std::exchange(filled_, true)) {
      lay_out(max_bytes_);
      fill(source_);
    }
    lay_out(bytes);
  }
  settle_all("filling the source");
  if (enqueues_) run_once();
  arm(target_);
  if (can_return()) arm(landing_);
  for (const Area* area : {&source_, &target_, &landing_})
    if (area->first() && area->kind() == Memory::managed)
      prefetch_to_host(area->first(), wrap_, gpu_.ordinal(), near_.stream());
  settle_all("preparing a point");
}

void CopyBuffers::settle_all(const char* what) const {
  if (far_) far_->wait(what);
  near_.wait(what);
}

void CopyBuffers::settle() {
  gpu_.make_current();
  check(cudaStreamSynchronize(stream_), "waiting for the copies");
}

bool CopyBuffers::find_quiet_core() {
  if (!quiet_) return true;
  if (quiet_->settle()) {  // caches of the other core know nothing of the driver
    forward();
    if (can_return()) back();
    settle();
  }
  return !quiet_->is_shared();
}

std::optional<std::string> CopyBuffers::verdict(const Area& area, std::uint64_t count) {
  const Slots slots = slots_in(area, count);
  std::optional<payload::WrongSlot> wrong;
  if (area.by_cpu()) wrong = payload::first_wrong(slots);
  else if (PayloadFiller& keeper = keeper_of(area);
           const auto byte = keeper.kernels().first_wrong(slots, keeper.stream()))
    wrong = {byte->slot, sentence(*byte, bytes_)};
  if (!wrong) return std::nullopt;
  return count_ > 1 ? fmt::format("{} (slot {} of {})", wrong->sentence, wrong->slot, count_) : wrong->sentence;
}

std::optional<std::string> CopyBuffers::intact(bool went_back) {
  gpu_.make_current();
  const std::uint64_t touched = std::clamp<std::uint64_t>(forwards_, 1, count_);
  if (auto wrong = verdict(target_, touched)) return wrong;
  if (!went_back) return std::nullopt;
  if (!can_return()) cannot_return();
  if (auto wrong = verdict(landing_, touched)) return "on the way back, " + *wrong;
  return std::nullopt;
}

void CopyBuffers::cannot_return() const {
  throw Error(ErrorKind::usage, title(case_) + ": nothing can be copied back, because the pattern is not pingpong");
}

}  // namespace npgpu::cuda
