// Device-side timing of what goes through one queue: the driver's profile of the first and the last command, and a
// gate.
//
// The gate is an event of the user's, which the queue waits for: what is enqueued behind it starts when the event is
// completed. A thread completes it after the time-out, so that a call that blocks behind a closed gate is a lost trial
// and not a hung machine. Whether the commands behind it are at the device by then is the driver's affair: profiles are
// of the device's own times in either case.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

#include "netpipe/devices/opencl/handles.hpp"
#include "npgpu/channel.hpp"

namespace npgpu::opencl {

class Gate {
 public:
  Gate(const Context&, Seconds time_out);
  ~Gate();  // opens it
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void hold(std::span<const Queue>);  // one gate before all of them
  void release();
  bool timed_out() const { return timed_out_; }

 private:
  void watch();

  const Context& context_;
  const Seconds time_out_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Event event_;  // of the user's; none: the gate is open
  std::uint64_t holds_ = 0;
  bool ends_ = false;
  std::atomic<bool> timed_out_ = false;
  std::thread watcher_;
};

class QueueTimer final : public DeviceTimer {
 public:
  // Context and queue outlive it. Without a time-out there is no gate. REQUIRES: the queue has profiling.
  QueueTimer(const Context&, const Queue&, std::optional<Seconds> gate_time_out);

  void hold() override;
  void start() override;
  void stop() override { records_ = false; }
  void release() override;
  // Throws Error(failed) where the driver has no profile of its commands.
  std::optional<Seconds> elapsed() override;
  // A few hundred commands fit into the queue of every driver that was tried; one that blocks voids the trial.
  std::uint64_t gate_capacity() const override { return 500; }

  // Whether commands are to leave their events now, and where the next one leaves its own.
  bool records() const { return records_; }
  Event& next() {
    if (!first_) return first_;
    return last_;
  }

 private:
  const Context& context_;
  const Queue& queue_;
  std::optional<Gate> gate_;
  Event first_, last_;
  bool records_ = false, held_ = false;
};

}  // namespace npgpu::opencl
