// A Channel moves bytes for one TransferCase and owns the buffers it moves; it knows nothing of patterns, repeats or
// statistics. Calling order, for each size:  prepare(bytes)  { forward | back }*  settle  intact
// Only forward, back and settle are called inside a timed region. Everything throws Error.
//
// Example:
//   const npgpu::Module& module = *npgpu::find_module("memcpy");
//   const auto copy = npgpu::case_on("memcpy", "host", npgpu::Direction::h2h);
//   const auto channel = module.open_lane(copy, npgpu::MiB);
//   channel->prepare(npgpu::MiB);
//   const npgpu::Seconds begin = channel->clock().now();
//   channel->issue(100, false);  // copies, one way
//   channel->settle();
//   const npgpu::Seconds took = channel->clock().now() - begin;
//   if (const auto wrong = channel->intact(false)) std::cerr << *wrong << '\n';
//   std::cout << 100 * npgpu::MiB / took.count() / 1e9 << " GB/s\n";
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "npgpu/clock.hpp"
#include "npgpu/device.hpp"

namespace npgpu {

// Device-side timing of one channel's operations. Order of a gated trial:
//   hold  start  <operations>  stop  release  (channel settles)  elapsed
// and without hold and release for event timing.
class DeviceTimer {
 public:
  virtual ~DeviceTimer() = default;
  virtual void hold() = 0;     // operations issued from now on wait behind a gate
  virtual void start() = 0;    // mark the beginning, in operation order
  virtual void stop() = 0;     // mark the end
  virtual void release() = 0;  // open the gate. REQUIRES: hold()
  // Between the two marks. REQUIRES: start(), stop(), and that the channel settled since. Nothing if the gate timed
  // out: launch costs are then in it.
  virtual std::optional<Seconds> elapsed() = 0;
  // How many operations may be enqueued behind a closed gate without the enqueueing call blocking.
  virtual std::uint64_t gate_capacity() const = 0;
};

// The one timed loop: the operation and nothing else.
template <class Operations> void repeat(Operations& channel, std::uint64_t repeats, bool round_trip) {
  // The empty statement keeps the compiler from taking two equal copies for one.
  if (round_trip) {
    for (std::uint64_t i = 0; i < repeats; ++i) {
      channel.forward();
      channel.back();
      asm volatile("" ::: "memory");
    }
  } else {
    for (std::uint64_t i = 0; i < repeats; ++i) {
      channel.forward();
      asm volatile("" ::: "memory");
    }
  }
}

class Channel {
 public:
  virtual ~Channel() = default;
  // Every following operation moves `bytes` (1 .. the max_bytes it was opened with). Poisons the target, so that
  // intact() finds an operation that does nothing. Not timed.
  virtual void prepare(std::uint64_t bytes) = 0;
  // One copy in the case's direction; may return before it is done. REQUIRES: prepare().
  virtual void forward() = 0;
  virtual void back() = 0;    // one copy of what arrived, the other way. REQUIRES: forward()
  virtual void settle() = 0;  // returns when all that was issued is done
  // Looks for a core on which nobody else computes, for the thread that is about to time this channel; false if none
  // was found. Not timed.
  virtual bool find_quiet_core() { return true; }
  // `repeats` operations, each there and back if `round_trip`: what a trial issues.
  virtual void issue(std::uint64_t repeats, bool round_trip) { repeat(*this, repeats, round_trip); }
  // Compares what arrived, and what back() returned if it `went_back`, with what was sent, and the guard bytes around
  // it with the poison. Nothing if all is well, otherwise one sentence. Not timed. REQUIRES: settle() since the last
  // copy.
  virtual std::optional<std::string> intact(bool went_back) = 0;
  virtual const Clock& clock() const = 0;           // that host times are read from
  virtual DeviceTimer* timer() { return nullptr; }  // null: the module cannot time on the device
  virtual bool enqueues() const { return false; }   // forward() only enqueues: one thread can drive two channels
  virtual Telemetry telemetry() { return {}; }
  // What buffers and thread were bound to: "NUMA node 0 (cpus 0-15)", or why they were not.
  virtual std::string binding() const = 0;
};

// Base of a final channel class, whose loop calls Self's operations directly: a copy of a few nanoseconds is not timed
// together with a virtual call. class Memcpy final : public Timed<Memcpy> { ... };
template <class Self, class Base = Channel> class Timed : public Base {
 public:
  using Base::Base;
  void issue(std::uint64_t repeats, bool round_trip) final { repeat(static_cast<Self&>(*this), repeats, round_trip); }
};

}  // namespace npgpu
