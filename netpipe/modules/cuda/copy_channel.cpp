#include "netpipe/modules/cuda/copy_channel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "netpipe/devices/cuda/peers.hpp"
#include "netpipe/devices/host/facts.hpp"
#include "netpipe/devices/host/payload.hpp"
#include "netpipe/devices/host/topology.hpp"
#include "netpipe/engine/copy_cases.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cuda {

namespace {

constexpr std::uint64_t slot_alignment = 256;   // what cudaMalloc aligns to; whole lines of every cache
constexpr std::uint64_t device_page = 2 * MiB;  // what an allocation takes at least

bool launches_block() {
  const char* const set = std::getenv("CUDA_LAUNCH_BLOCKING");
  return set && std::atoi(set) != 0;
}

}  // namespace

std::optional<std::string> why_impossible(const TransferCase& c) {
  if (auto why = why_no_copy(c)) return why;
  if (c.async || (c.pattern != Pattern::duplex && c.more_lanes.empty())) return std::nullopt;
  return fmt::format(
      "{} of blocking copies run one after the other, because all go through the default stream: add --async",
      c.pattern == Pattern::duplex ? "both directions of --pattern duplex" : "several lanes");
}

std::optional<std::string> why_other_executor(const TransferCase& c, Executor executor) {
  const bool by_kernel = c.executor == Executor::sm_kernel;
  if (by_kernel == (executor == Executor::sm_kernel)) return std::nullopt;
  return by_kernel
             ? fmt::format("--executor sm-kernel: {} copies by copy engines: use --module cudaKernel", c.module)
             : fmt::format("--executor {}: {} copies by kernels: use --executor sm-kernel, or --module cudaMemcpy",
                           name(c.executor), c.module);
}

std::optional<std::string> why_refused(const TransferCase& c) {
  if (auto why = why_impossible(c)) return why;
  for (const std::string& device : devices_of(c))
    if (auto why = why_not_there(device)) return why;
  if (c.direction == Direction::peer)
    if (auto why = why_no_access(c)) return why;
  if (c.pattern == Pattern::atomic)
    if (auto why = why_no_atomics(c)) return why;
  if (c.pattern == Pattern::flag && launches_block())
    return "--pattern flag cannot work while CUDA_LAUNCH_BLOCKING is set, because two kernels have to run at once: "
           "unset "
           "it";
  if (c.timing == Timing::gated && launches_block())
    return "--timing gated cannot work while CUDA_LAUNCH_BLOCKING is set, because closing the gate would wait for it "
           "to open: unset it, or use --timing event";
  if (auto why = host::why_not_on_node(c.host_node)) return why;
  if (c.memory == Memory::managed && c.host_node >= 0)
    return fmt::format("--host-node {}: the driver decides where managed memory is: use --memory pinned or pageable",
                       c.host_node);
  if (c.memory == Memory::managed && !attribute(cudaDevAttrManagedMemory, ordinal_or_throw(device_of(c))))
    return fmt::format("--memory managed is not supported by {}: use pinned or pageable", device_of(c));
  return std::nullopt;
}

std::uint64_t stride_bytes(const TransferCase& c, std::uint64_t bytes) {
  const std::uint64_t offset = std::max(c.source_offset, c.target_offset);
  return padded(saturating_plus(saturating_plus(offset, bytes), 2 * payload::guard_bytes), slot_alignment);
}

std::uint64_t area_bytes(const TransferCase& c, std::uint64_t max_bytes, std::uint64_t footprint) {
  return std::max(stride_bytes(c, max_bytes), footprint);
}

std::uint64_t slot_count(const TransferCase& c, std::uint64_t bytes, std::uint64_t area) {
  return c.cache == Cache::warm ? 1 : std::max<std::uint64_t>(1, area / stride_bytes(c, bytes));
}

std::uint64_t footprint_bytes(const TransferCase& c) {
  if (c.cache == Cache::warm) return 0;
  const int ordinal = ordinal_or_throw(device_of(c));
  const std::uint64_t wanted = 4 * std::max(l2_bytes(ordinal), host::last_level_cache_bytes());
  return std::min({wanted, host::free_host_memory() / 8, free_memory(ordinal) / 8});
}

MemoryNeed needs(const TransferCase& c, std::uint64_t max_bytes, std::uint64_t footprint) {
  const std::uint64_t area = area_bytes(c, max_bytes, footprint);
  // The gate's words and the check's verdict.
  MemoryNeed need{.host_bytes = 64 * KiB, .device_bytes = device_page};
  for (const host::End& end : host::ends_of(c)) {
    const std::uint64_t bytes = host::allocation_bytes(area, end.offset);
    if (end.kind != Memory::device) need.host_bytes = saturating_plus(need.host_bytes, bytes);
    if (end.kind == Memory::device || end.kind == Memory::managed)
      need.device_bytes = saturating_plus(need.device_bytes, padded(bytes, device_page));
  }
  return need;
}

MemoryNeed available(const TransferCase& c) {
  MemoryNeed least{.host_bytes = host::free_host_memory(), .device_bytes = UINT64_MAX};
  for (const std::string& device : devices_of(c))
    least.device_bytes = std::min(least.device_bytes, free_memory(ordinal_or_throw(device)));
  return least;
}

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
