// A Channel moves bytes for one TransferCase, and owns their buffers. It knows nothing of patterns, repeats or
// statistics. The order of calls for each size is  prepare(bytes)  { forward | back }*  settle  intact
// Only forward, back and settle are called inside a timed region. Every method may throw Error.
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

// Times the operations of one channel on the device. The order of calls in a gated trial is
//   hold  start  <operations>  stop  release  (channel settles)  elapsed
// Timing by events leaves out hold and release.
class DeviceTimer {
 public:
  virtual ~DeviceTimer() = default;
  // Closes the gate: operations that are issued from now on wait behind it. REQUIRES: the channel settled since the
  // last hold().
  virtual void hold() = 0;
  virtual void start() = 0;    // marks the beginning, in the order of operations
  virtual void stop() = 0;     // marks the end. REQUIRES: start()
  virtual void release() = 0;  // opens the gate. REQUIRES: hold()
  // The time between the two marks. Nothing if the gate timed out, because the time then includes launch costs.
  // REQUIRES: start() and stop(), and the channel settled since.
  virtual std::optional<Seconds> elapsed() = 0;
  // How many operations can be enqueued behind a closed gate before a call blocks.
  virtual std::uint64_t gate_capacity() const = 0;
};

// The one timed loop: the operation and nothing else. REQUIRES: the channel is prepared.
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
  // Every following operation moves `bytes`, from 1 to the max_bytes that the channel was opened with. Fills the target
  // with poison, so that intact() finds an operation that does nothing. Not timed.
  virtual void prepare(std::uint64_t bytes) = 0;
  // One copy in the case's direction. It may return before the copy is done. REQUIRES: prepare().
  virtual void forward() = 0;
  virtual void back() = 0;    // one copy of what arrived, the other way. REQUIRES: forward() since prepare()
  virtual void settle() = 0;  // returns when all issued copies are done
  // Finds a core on which nobody else computes, and moves the calling thread there: the thread that will time this
  // channel. False if there is none. Not timed. REQUIRES: prepare().
  virtual bool find_quiet_core() { return true; }
  // Issues the operations of a trial: `repeats` of them, each there and back if `round_trip`. REQUIRES: prepare().
  virtual void issue(std::uint64_t repeats, bool round_trip) { repeat(*this, repeats, round_trip); }
  // Compares what arrived with what was sent; if it `went_back`, also what back() brought. Compares the guard bytes
  // around it with the poison. Nothing if all is right, otherwise one sentence. Not timed. REQUIRES: a copy since
  // prepare(), and settle() since the last copy.
  virtual std::optional<std::string> intact(bool went_back) = 0;
  virtual const Clock& clock() const = 0;           // of host times
  virtual DeviceTimer* timer() { return nullptr; }  // null: the module cannot time on the device
  virtual bool enqueues() const { return false; }   // forward() only enqueues: one thread can drive two channels
  virtual Telemetry telemetry() { return {}; }
  // Where buffers and thread are bound: "NUMA node 0 (cpus 0-15)", or why they are not.
  virtual std::string binding() const = 0;
};

// Base of a final channel class. Its loop calls the operations of Self directly, so that a copy of a few nanoseconds is
// not timed together with a virtual call. class Memcpy final : public Timed<Memcpy> { ... };
template <class Self, class Base = Channel> class Timed : public Base {
 public:
  using Base::Base;
  void issue(std::uint64_t repeats, bool round_trip) final { repeat(static_cast<Self&>(*this), repeats, round_trip); }
};

}  // namespace npgpu
