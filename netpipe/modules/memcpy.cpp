// memcpy: copies within the host's own memory, the C library's way. Its rates are what links are compared with, and
// what a blocking call costs when there is no device behind it.
//
// Warm: every repeat copies between the same two buffers.
//
// Cold: every repeat copies between the next pair of slots. A slot starts on a page of its own, so that neither a
// prefetcher nor the last repeat brings its lines; a walk through all slots spans twice the last-level cache on either
// side, so that four times as much as it holds passes before a slot is met again, or an eighth of the free memory where
// that is less. (Small copies then miss the TLB too, as cold data does.) A size past that has one slot: it evicts
// itself.
//
//     | lead | slot 0: offset, payload, guard ... | slot 1 ... |        each slot a whole number of pages
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "netpipe/devices/host/facts.hpp"
#include "netpipe/devices/host/memory.hpp"
#include "netpipe/devices/host/payload.hpp"
#include "netpipe/devices/host/quiet_core.hpp"
#include "netpipe/devices/host/topology.hpp"
#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

namespace {

constexpr std::uint64_t caches_walked = 2;
constexpr std::uint64_t assumed_cache_bytes = 32 * MiB;  // where the machine does not say

std::uint64_t cache_bytes() {
  static const std::uint64_t known = host::last_level_cache_bytes();
  return known ? known : assumed_cache_bytes;
}

// From one slot's payload to the next one's. Guards lie in between.
std::uint64_t slot_stride(std::uint64_t bytes) {
  return padded(saturating_plus(bytes, 2 * payload::guard_bytes), host::alignment_bytes);
}

// What a walk spans on one side, beyond its last slot; 0 for a warm case.
std::uint64_t walk_bytes(Cache cache) {
  if (cache == Cache::warm) return 0;
  return std::min(caches_walked * cache_bytes(), host::free_host_memory() / 8);
}

// The most that the slots of any size up to max_bytes span: the last one may reach beyond the walk.
std::uint64_t footprint(std::uint64_t walk, std::uint64_t max_bytes) {
  return walk == 0 ? max_bytes : saturating_plus(walk, slot_stride(max_bytes));
}

// Buffers and checks, common to both walks. What forward() and back() read is in the walks, on one cache line.
class MemcpyChannel : public Channel {
 public:
  MemcpyChannel(const TransferCase& c, std::uint64_t max_bytes)
      : binding_(c.host_node >= 0 ? host::Binding::on_node(c.host_node)
                 : c.bind         ? host::Binding::near_thread()
                                  : host::Binding::none("--no-bind")),
        max_bytes_(max_bytes),
        walk_(walk_bytes(c.cache)),
        source_(footprint(walk_, max_bytes), c.source_offset),
        target_(footprint(walk_, max_bytes), c.target_offset) {
    if (c.bind) quiet_.emplace();
    if (c.pattern == Pattern::pingpong) returned_ = {footprint(walk_, max_bytes), c.source_offset};
  }

  void settle() final {}  // memcpy has returned: the copy is done
  bool find_quiet_core() final {
    if (!quiet_) return true;
    if (quiet_->settle()) {  // caches of the other core know nothing of the buffers
      forward();
      if (returned_.data()) back();
    }
    return !quiet_->is_shared();
  }
  const Clock& clock() const final { return steady_clock(); }
  std::string binding() const final { return binding_.text() + (quiet_ ? "; times: " + quiet_->text() : ""); }

 protected:
  // Sources filled, targets poisoned, in walking order: the walk starts where it was longest ago.
  void lay_out(std::uint64_t bytes) {
    if (bytes == 0 || bytes > max_bytes_)
      throw Error(ErrorKind::failed,
                  fmt::format("memcpy: {} bytes on a channel opened for 1 to {}", bytes, max_bytes_));
    bytes_ = bytes;
    stride_ = slot_stride(bytes);
    slots_ = std::max<std::uint64_t>(1, (walk_ + stride_ - 1) / stride_);
    payload::fill_sources(slots_in(source_, slots_));
    payload::arm(slots_in(target_, slots_));
    if (returned_.data()) payload::arm(slots_in(returned_, slots_));
  }

  std::optional<std::string> verdict(std::uint64_t visited, bool went_back) const {
    if (auto wrong = payload::first_wrong(slots_in(target_, visited))) return wrong->sentence;
    if (!went_back) return std::nullopt;
    if (auto wrong = payload::first_wrong(slots_in(returned_, visited))) return "on the way back, " + wrong->sentence;
    return std::nullopt;
  }

  payload::Slots slots_in(const host::PageableBuffer& buffer, std::uint64_t count) const {
    return {buffer.data(), bytes_, stride_, count, seed_};
  }

  host::Binding binding_;  // before the buffers: they are touched under it
  std::uint64_t max_bytes_, walk_;
  std::uint64_t seed_ = payload::fresh_seed();
  host::PageableBuffer source_, target_, returned_;
  std::uint64_t bytes_ = 0, stride_ = 0, slots_ = 0;

 private:
  std::optional<host::QuietCore> quiet_;  // of those that the binding leaves
};

class WarmChannel final : public MemcpyChannel {
 public:
  using MemcpyChannel::MemcpyChannel;
  void prepare(std::uint64_t bytes) override {
    lay_out(bytes);
    way_ = {source_.data(), target_.data(), returned_.data(), bytes};
  }
  void forward() override { way_.forward(); }
  void back() override { way_.back(); }
  // The loop runs on a copy, which stays in registers: reading the addresses again before every copy would be timed
  // with it.
  void issue(std::uint64_t repeats, bool round_trip) override {
    Way way = way_;
    repeat(way, repeats, round_trip);
  }
  std::optional<std::string> intact(bool went_back) override { return verdict(1, went_back); }

 private:
  struct Way {
    const std::byte* from;
    std::byte* to;
    std::byte* returned;
    std::uint64_t bytes;
    void forward() const { std::memcpy(to, from, bytes); }
    void back() const { std::memcpy(returned, to, bytes); }
  };
  Way way_{};
};

class ColdChannel final : public Timed<ColdChannel, MemcpyChannel> {
 public:
  using Timed::Timed;
  void prepare(std::uint64_t bytes) override {
    lay_out(bytes);
    hot_ = {source_.data(), target_.data(), returned_.data(), bytes, 0, stride_, 0, stride_ * slots_};
    lapped_ = false;
  }
  void forward() override {
    const std::uint64_t here = hot_.here = hot_.next;
    hot_.next += hot_.stride;
    if (hot_.next == hot_.end) hot_.next = 0, lapped_ = true;
    std::memcpy(hot_.target + here, hot_.source + here, hot_.bytes);
  }
  void back() override { std::memcpy(hot_.returned + hot_.here, hot_.target + hot_.here, hot_.bytes); }
  std::optional<std::string> intact(bool went_back) override {
    return verdict(lapped_ ? slots_ : hot_.next / hot_.stride, went_back);
  }

 private:
  struct alignas(64) Hot {
    const std::byte* source;
    std::byte* target;
    std::byte* returned;
    std::uint64_t bytes;
    std::uint64_t here;  // bytes past the first slot, as are next and end
    std::uint64_t stride;
    std::uint64_t next;
    std::uint64_t end;
  } hot_{};
  bool lapped_ = false;  // all slots were visited
};

class Memcpy final : public Module {
 public:
  std::string_view name() const override { return "memcpy"; }
  std::string_view summary() const override { return "copies within host memory with the C library's memcpy"; }
  std::string_view device_kind() const override { return "host"; }

  std::optional<std::string> refuses_case(const TransferCase& c) const override {
    if (c.direction != Direction::h2h)
      return fmt::format(
          "--direction {}: memcpy copies within host memory: use --direction h2h, or --module cudaMemcpy for a GPU",
          npgpu::name(c.direction));
    if (c.memory != Memory::pageable)
      return fmt::format("--memory {}: memcpy copies pageable memory: use --memory pageable", npgpu::name(c.memory));
    if (c.async) return "--async: memcpy has no asynchronous form: leave --async out";
    if (c.timing != Timing::host)
      return fmt::format("--timing {}: memcpy has no device to time on: use --timing host", npgpu::name(c.timing));
    if (auto why = host::why_not_on_node(c.host_node)) return why;
    if (c.cache == Cache::cold && walk_bytes(c.cache) < cache_bytes())
      return fmt::format(
          "--cache cold: an eighth of the free memory, {} MiB, does not span the last-level cache of {} MiB: "
          "free some, or use --cache warm",
          walk_bytes(c.cache) / MiB, cache_bytes() / MiB);
    return std::nullopt;
  }

  MemoryNeed needs_lane(const TransferCase& c, std::uint64_t max_bytes) const override {
    const std::uint64_t span = footprint(walk_bytes(c.cache), max_bytes);
    MemoryNeed need;
    for (const host::End& end : host::ends_of(c))
      need.host_bytes = saturating_plus(need.host_bytes, host::allocation_bytes(span, end.offset));
    return need;
  }
  MemoryNeed available(const TransferCase&) const override { return {host::free_host_memory(), 0}; }

  std::unique_ptr<Channel> open_lane(const TransferCase& c, std::uint64_t max_bytes) const override {
    if (const auto why = refuses_case(c)) throw Error(ErrorKind::usage, *why);
    if (c.cache == Cache::cold) return std::make_unique<ColdChannel>(c, max_bytes);
    return std::make_unique<WarmChannel>(c, max_bytes);
  }
};

}  // namespace

}  // namespace npgpu

NPGPU_REGISTERED(Module, npgpu::Memcpy)
