#include "netpipe/devices/cuda/copy_channel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/devices/host/payload.hpp"
#include "netpipe/engine/copy_cases.hpp"

namespace npgpu::cuda {

namespace {

const std::string& bus_of(int ordinal) { return inventory().at(static_cast<std::size_t>(ordinal)).pci_bus_id; }

host::Binding bound(const TransferCase& c) {
  if (!c.bind) return host::Binding::none("--no-bind");
  return host::Binding::near_device(bus_of(ordinal_or_throw(device_of(c))));
}

// Another for every channel of the process: what one channel copied never passes for another's.
std::uint64_t next_seed() {
  static std::atomic<std::uint64_t> channels{0};
  return 0x6E70677075 + channels++ * 0xBF58476D1CE4E5B9;
}

std::optional<NvmlDevice> nvml_of(int ordinal) {
  std::string why;
  return NvmlDevice::find(bus_of(ordinal), why);
}

}  // namespace

Area::Area(const End& end, std::uint64_t bytes) : kind_(end.kind) {
  if (kind_ == Memory::pageable) {
    pageable_ = host::PageableBuffer(bytes, end.offset);
    first_ = pageable_.data();
  } else {
    buffer_ = Buffer(kind_, host::allocation_bytes(bytes, end.offset));
    first_ = buffer_.data() + host::lead_bytes + end.offset;
  }
}

CopyBuffers::CopyBuffers(const TransferCase& c, std::uint64_t max_bytes, Seconds gate_time_out)
    : case_(c),
      max_bytes_(max_bytes),
      enqueues_(only_enqueues(c)),
      binding_(bound(c)),
      lane_([&] {
        const int ordinal = ordinal_or_throw(device_of(c));
        make_current(ordinal);
        OwnStream lane{ordinal, Stream(), cudaStreamLegacy};
        if (c.async) lane.stream = lane.own.get();
        return lane;
      }()),
      area_(area_bytes(c, max_bytes, footprint_bytes(c))),
      seed_(next_seed()),
      source_(source_of(c), area_),
      target_(target_of(c), area_),
      landing_(c.pattern == Pattern::pingpong ? Area(source_of(c), area_) : Area()),
      nvml_(nvml_of(lane_.ordinal)),
      source_first_(source_.first()),
      target_first_(target_.first()),
      landing_first_(landing_.first()) {
  if (c.direction != Direction::h2h) {
    std::optional<Seconds> gate;
    if (c.timing == Timing::gated) gate = gate_time_out;
    timer_.emplace(lane_.ordinal, lane_.stream, gate);
  }
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
  if (!area.by_cpu()) return kernels_.fill(slots, lane_.own.get());
  for (std::uint64_t i = 0; i < count_; ++i) fill_source(slots.slot(i), bytes_, slots.seed_of(i));
}

void CopyBuffers::arm(const Area& area) {
  const Slots slots = slots_in(area, count_);
  if (!area.by_cpu()) return kernels_.poison(slots, lane_.own.get());
  for (std::uint64_t i = 0; i < count_; ++i) payload::arm({slots.slot(i), bytes_}, slots.seed_of(i));
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
  make_current(lane_.ordinal);
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
  check(cudaStreamSynchronize(lane_.own.get()), "filling the source");
  if (enqueues_) run_once();
  arm(target_);
  if (can_return()) arm(landing_);
  for (const Area* area : {&source_, &target_, &landing_})
    if (area->first() && area->kind() == Memory::managed)
      prefetch_to_host(area->first(), wrap_, lane_.ordinal, lane_.own.get());
  check(cudaDeviceSynchronize(), "preparing a point");
}

void CopyBuffers::settle() {
  make_current(lane_.ordinal);
  check(cudaStreamSynchronize(lane_.stream), "waiting for the copies");
}

std::optional<std::string> CopyBuffers::verdict(const Area& area, std::uint64_t count) {
  const Slots slots = slots_in(area, count);
  std::uint64_t slot = 0;
  std::optional<std::string> wrong;
  if (area.by_cpu()) {
    for (; slot < count && !wrong; ++slot) wrong = payload::verdict({slots.slot(slot), bytes_}, slots.seed_of(slot));
    --slot;
  } else if (const auto byte = kernels_.first_wrong(slots, lane_.own.get())) {
    slot = byte->slot;
    wrong = sentence(*byte, bytes_);
  }
  if (wrong && count_ > 1) *wrong += fmt::format(" (slot {} of {})", slot, count_);
  return wrong;
}

std::optional<std::string> CopyBuffers::intact(bool went_back) {
  make_current(lane_.ordinal);
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

Telemetry CopyBuffers::telemetry() { return nvml_ ? nvml_->read() : Telemetry{}; }

}  // namespace npgpu::cuda
