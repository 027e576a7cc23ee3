// Who measures: a backend opens a runner for steps of one kind on one family of devices; the engine drives the runner,
// and knows nothing of what it runs.
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

// Runs steps of those that it was opened for, and owns their buffers. Calling order for each point:
//   prepare { run }* check
// Everything throws Error.
template <class K> class Runner {
 public:
  virtual ~Runner() = default;
  // Every following run is of this point. Not timed.
  virtual void prepare(const Step<K>&) = 0;
  // One trial of `repeats` repeats: appends its samples (one a lane), of which it sets all but visit, trial and intact.
  // False if the trial is void, because a gate timed out: what was appended is thrown away. REQUIRES: prepare().
  virtual bool run(std::uint64_t repeats, std::vector<typename K::Sample>& samples) = 0;
  // Compares what the last run left with what it must leave, outside any timed region, and sets `intact` of that
  // trial's samples. Nothing if all is well, otherwise one sentence: "byte 17 of 4096 is 0x00, expected 0xa3".
  // REQUIRES: a run since prepare().
  virtual std::optional<std::string> check(std::span<typename K::Sample> last_trial) = 0;
  // How many repeats a trial of the prepared point may have; 0: any number.
  virtual std::uint64_t max_repeats() const { return 0; }
  // Of one repeat of the prepared point; see VisitInfo.
  virtual double work() const { return not_measured; }
  // How much the point moves or touches, for schedules that go by size.
  virtual std::uint64_t bytes() const { return 0; }
  // The step as it is to be measured: axes that depend on how fast the device is are chosen here. `known`: axes of
  // that case that the trace already holds.
  virtual Step<K> settled(const Step<K>& step, std::span<const typename K::Axes> known) {
    (void)known;
    return step;
  }
  // Keeps the device busy with the prepared point for a while, so that clocks and links are awake. REQUIRES: prepare().
  virtual void warm_up(Seconds duration) { (void)duration; }
  virtual const Clock& clock() const = 0;
  virtual Telemetry telemetry() { return {}; }
  // Operations that a second process finished while trials of the prepared point ran.
  virtual std::uint64_t beside_done() const { return 0; }
  // What buffers and thread were bound to: "NUMA node 0 (cpus 0-15)", or why they were not.
  virtual std::string binding() const = 0;

  // What disturbed the runs since this was last asked, as far as the runner itself can see: causes.
  std::uint32_t disturbances() { return std::exchange(disturbed_, 0); }

 protected:
  void disturbed_by(Cause cause) { disturbed_ |= static_cast<std::uint32_t>(cause); }

 private:
  std::uint32_t disturbed_ = 0;
};

// Bytes that steps take before the first operation, or that are free for them; of several devices, on the one that
// needs most, or has least.
struct MemoryNeed {
  std::uint64_t host_bytes = 0;
  std::uint64_t device_bytes = 0;
};

// What measures one kind on one family of devices: an API that moves bytes, a probe, jobs in streams. One file each,
// which ends with NPGPU_REGISTERED(Backend<npgpu::Jobs>, Class); modules and probes are registered as what they are.
template <class K> class Backend {
 public:
  using Case = typename K::Case;
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;         // what the user types, what the trace stores: cudaMemcpy, compute
  virtual std::string_view device_kind() const = 0;  // of the devices that it reaches: cuda, host, sim
  virtual std::string_view summary() const = 0;      // one line for `npgpu info`
  auto rank() const { return std::pair(name(), device_kind()); }

  // Why this step cannot run, and what would make it run; nothing if it can.
  virtual std::optional<std::string> refuses(const Step<K>&) const = 0;
  // What a series of this case says in addition to its samples.
  virtual typename K::Context context(const Case&) const { return {}; }
  // What a runner for all of these takes, and what is free for it now.
  virtual MemoryNeed needs(std::span<const Step<K>>) const { return {}; }
  virtual MemoryNeed available(const Case&) const { return {UINT64_MAX, UINT64_MAX}; }
  // With whom everything of this case is decided, by all of them in the same order; null: it is measured alone.
  virtual Consensus* consensus(const Case&) const { return nullptr; }
  // Whether a device may be begun anew between two of its runners (devices::reset_context). Not where a library keeps
  // something on the device that outlives them.
  virtual bool allows_context_reset() const { return true; }
  // Steps of one device. Throws Error.
  virtual std::unique_ptr<Runner<K>> open(std::span<const Step<K>>) const = 0;
};

// All of a kind in this build.
template <class K> const auto& backends() { return registered<Backend<K>>(); }

template <class K> struct Measured {
  Visit<K> visit;
  std::vector<typename K::Sample> samples;
  std::string mismatch;  // what was wrong with the results; empty if they were right
};

// Visits one point: warm-up and trials as the schedule says, one check of the results after the last trial. Nothing
// if `interrupted` turned true (asked between trials). Throws Error(failed) if gates time out three times in a row or
// the schedule asks for no trial, and whatever the runner throws. `settle` is called once the point is prepared, before
// the first trial.
template <class K>
std::optional<Measured<K>> measure(Runner<K>&, Schedule&, const Step<K>&, const std::function<bool()>& interrupted,
                                   const std::function<void()>& settle = {});

}  // namespace npgpu
