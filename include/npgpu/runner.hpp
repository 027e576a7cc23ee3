// Backends and their runners. A backend opens a runner for steps of one kind on one family of devices. The engine
// drives the runner, and knows nothing of what it runs.
//
// Example:
//   const npgpu::Probe& probe = npgpu::find_probe("bandwidth", "sim:h200");  // or host, cuda:0
//   const npgpu::ProbeCase question = probe.cases("sim:h200").at(0);
//   const npgpu::ProbeStep step{question, probe.shapes(question).at(0)};
//   const auto runner = probe.open({&step, 1});
//   const auto schedule = npgpu::adaptive_schedule();
//   const auto point = npgpu::measure<npgpu::Probes>(*runner, *schedule, step, [] { return false; });
//   const std::vector<double> us = npgpu::trial_times<npgpu::Probes>(question, point->samples);
//   std::cout << title(question) << ": " << npgpu::median(us) << " us in " << us.size() << " trials\n";
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "npgpu/clock.hpp"
#include "npgpu/device.hpp"
#include "npgpu/schedule.hpp"
#include "npgpu/series.hpp"

namespace npgpu {

class Consensus;  // npgpu/consensus.hpp

// Runs the steps that it was opened for, and owns their buffers. The order of calls for each point is
//   prepare { run }* check
// Every method may throw Error.
template <class K> class Runner {
 public:
  virtual ~Runner() = default;
  // Every following run is of this point. Not timed. REQUIRES: the runner was opened for the step, as settled() has it.
  virtual void prepare(const Step<K>&) = 0;
  // One trial of `repeats` repeats, 1 to max_repeats(). Appends its samples, one for each lane, and sets all of their
  // members but visit, trial and intact. False if the trial is void because a gate timed out: then the caller drops
  // what was appended. REQUIRES: prepare().
  virtual bool run(std::uint64_t repeats, std::vector<typename K::Sample>& samples) = 0;
  // Compares the results of the last run with the right ones, outside any timed region, and sets `intact` of that
  // trial's samples. Nothing if all is right, otherwise one sentence: "byte 17 of 4096 is 0x00, expected 0xa3".
  // REQUIRES: run() since prepare().
  virtual std::optional<std::string> check(std::span<typename K::Sample> last_trial) = 0;
  // How many repeats a trial of the prepared point may have; 0: any number. REQUIRES: prepare().
  virtual std::uint64_t max_repeats() const { return 0; }
  // The work of one repeat of the prepared point; see VisitInfo. REQUIRES: prepare().
  virtual double work() const { return not_measured; }
  // How many bytes the prepared point moves or touches, for schedules that depend on size. REQUIRES: prepare().
  virtual std::uint64_t bytes() const { return 0; }
  // The step as it is measured, with the axes that depend on the speed of the device. `known`: axes of that case that
  // the trace already holds. Called before prepare().
  virtual Step<K> settled(const Step<K>& step, std::span<const typename K::Axes> known) {
    (void)known;
    return step;
  }
  // Keeps the device busy with the prepared point for a while, so that clocks and links are awake. REQUIRES: prepare().
  virtual void warm_up(Seconds duration) { (void)duration; }
  virtual const Clock& clock() const = 0;
  virtual Telemetry telemetry() { return {}; }
  // Where buffers and thread are bound: "NUMA node 0 (cpus 0-15)", or why they are not.
  virtual std::string binding() const = 0;

  // The causes of disturbance since the last call, as far as the runner itself sees them.
  std::uint32_t disturbances() { return std::exchange(disturbed_, 0); }

 protected:
  void disturbed_by(Cause cause) { disturbed_ |= static_cast<std::uint32_t>(cause); }

 private:
  std::uint32_t disturbed_ = 0;
};

// Bytes that steps need before the first operation, or that are free for them. Of several devices, it is that with the
// largest need, or with the least free memory.
struct MemoryNeed {
  std::uint64_t host_bytes = 0;
  std::uint64_t device_bytes = 0;
};

// A backend measures one kind on one family of devices: an API that moves bytes, a probe, jobs in streams. Each is one
// file, which ends with NPGPU_REGISTERED(Backend<npgpu::Jobs>, Class); modules and probes are registered as Module and
// Probe.
template <class K> class Backend {
 public:
  using Case = typename K::Case;
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;         // what the user types, what the trace stores: cudaMemcpy, compute
  virtual std::string_view device_kind() const = 0;  // of its devices: cuda, host, sim
  virtual std::string_view summary() const = 0;      // one line for `npgpu info`
  auto rank() const { return std::pair(name(), device_kind()); }

  // Why this step cannot run, and what would make it run; nothing if it can. REQUIRES: its devices are of
  // device_kind().
  virtual std::optional<std::string> refuses(const Step<K>&) const = 0;
  // The context of a series of this case. REQUIRES, as needs() and open(): refuses() returned nothing for its steps.
  virtual typename K::Context context(const Case&) const { return {}; }
  // The memory that a runner for all of these needs, and the memory that is free now.
  virtual MemoryNeed needs(std::span<const Step<K>>) const { return {}; }
  virtual MemoryNeed available(const Case&) const { return {UINT64_MAX, UINT64_MAX}; }
  // The ranks that measure this case together; null: it is measured by one process.
  virtual Consensus* consensus(const Case&) const { return nullptr; }
  // Whether a device's context may be reset between two of its runners (devices::reset_context). False where a library
  // keeps something on the device that outlives them.
  virtual bool allows_context_reset() const { return true; }
  // Opens a runner for these steps. Throws Error. REQUIRES: there is at least one, and all are of one device.
  virtual std::unique_ptr<Runner<K>> open(std::span<const Step<K>>) const = 0;
};

// All backends of a kind in this build.
template <class K> const auto& backends() { return registered<Backend<K>>(); }

template <class K> struct Measured {
  Visit<K> visit;
  std::vector<typename K::Sample> samples;
  std::string mismatch;  // what was wrong with the results; empty if they were right
};

// Visits one point: prepares the runner, runs warm-up and trials as the schedule says, and checks the results after the
// last trial. Nothing if `interrupted` returned true between two trials. `settle` is called after the preparation and
// before the first trial. Throws Error(failed) if gates time out three times in a row or the schedule asks for no
// trial, and whatever the runner throws.
template <class K>
std::optional<Measured<K>> measure(Runner<K>&, Schedule&, const Step<K>&, const std::function<bool()>& interrupted,
                                   const std::function<void()>& settle = {});

}  // namespace npgpu
