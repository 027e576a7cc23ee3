// What is timed on an OpenCL device: the bench of its probes, and the device-side timing of what goes through one
// queue, by the driver's profile of the first and the last command, and a gate.
//
// The gate is an event of the user's, which the queue waits for: what is enqueued behind it starts when the event is
// completed. A thread completes it after the time-out, so that a call that blocks behind a closed gate is a lost trial
// and not a hung machine. Whether the commands behind it are at the device by then is the driver's affair: profiles are
// of the device's own times in either case.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "netpipe/devices/host/topology.hpp"
#include "netpipe/devices/opencl/handles.hpp"
#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/probe.hpp"

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

// What probes of OpenCL devices share: a context with a queue, programs, buffers, and launches timed by profiling
// events and by the host's clock.
//
//   opencl::Bench bench("opencl:0");
//   const opencl::Program program = bench.build("kernel void twice(global float* x) { x[get_global_id(0)] *= 2; }");
//   opencl::Kernel twice = program.kernel("twice");
//   const opencl::Buffer numbers = bench.buffer(4096);
//   bench.write(numbers, data, 4096);
//   twice.set(numbers);
//   const ProbeSample sample = bench.time(1, twice, {.groups = 4, .items = 256});
//   bench.read(numbers, data, 4096);

// One dimension: so many work-groups of so many work-items.
struct Range {
  std::size_t groups = 1;
  std::size_t items = 1;
};

class Bench {
 public:
  // Binds the thread near the device, and opens it. Throws Error.
  explicit Bench(const std::string& id);

  const Context& context() const { return *context_; }
  const Queue& queue() const { return queue_; }
  const std::string& binding() const { return binding_.text(); }
  Telemetry telemetry() const { return devices::telemetry(context_->id); }

  Program build(std::string_view source, const std::string& options = {}) const {
    return Program(*context_, source, options);
  }
  Buffer buffer(std::uint64_t bytes, cl_mem_flags flags = CL_MEM_READ_WRITE) const {
    return Buffer(*context_, bytes, flags);
  }
  // All three return when it is done.
  void write(const Buffer&, const void* from, std::uint64_t bytes) const;
  void read(const Buffer&, void* to, std::uint64_t bytes) const;
  void fill(const Buffer&, std::uint32_t word) const;  // whole words

  // Only enqueues.
  void launch(const Kernel&, const Range&, Event* = nullptr) const;
  // This many launches, one after the other. The host's time is from the first enqueue to the end of the last launch;
  // the device's is from the begin of the first to the end of the last by the driver's profile, NaN where it has none.
  ProbeSample time(std::uint64_t launches, const Kernel&, const Range&);

 private:
  std::shared_ptr<const Context> context_;
  host::Binding binding_;
  Queue queue_;
};

// 90 for 9.0; 0 of another maker's device.
int nvidia_capability(const std::string& id);
// From the facts of the device; `lanes` of this type: those of a warp, or of a vector register of the type. A CPU's
// unit is a core, which runs one block at a time, and a block's threads are its lanes.
Layout layout_of(const std::string& id, DataType);

}  // namespace npgpu::opencl
