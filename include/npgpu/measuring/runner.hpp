// How one point is measured: which sizes, how often each and when to stop; what several ranks decide alike; backends
// and their runners; and the channels and modules that move bytes.
//
// Example:
//   for (const std::uint64_t bytes : npgpu::sweep_sizes(1, 64, 3)) std::cout << bytes << '\n';  // NetPIPE's sizes
//   const auto schedule = npgpu::adaptive_schedule({.tolerance = 0.02});
//   schedule->begin(npgpu::KiB, 0);
//   auto step = schedule->next();
//   for (; step.kind != npgpu::Schedule::Step::Kind::stop; step = schedule->next()) {
//     const npgpu::Seconds took = npgpu::Seconds{1e-6} * step.repeats;  // step.repeats repeats are timed here
//     schedule->record(took, took);
//   }
//   std::cout << schedule->text() << ": " << npgpu::name(step.why) << '\n';
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "npgpu/vocabulary/device.hpp"
#include "npgpu/vocabulary/series.hpp"
#include "npgpu/vocabulary/transfer.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

// Sizes of NetPIPE's sweep (Allada et al. 2009, section II), ascending: centres c = 2^k and 1.5*2^k from start to end,
// and c-p, c, c+p once the step between centres exceeds p+1; c+p may pass `end`. `start` is measured even where it is
// no centre. Throws Error(usage) unless 1 <= start <= end.
std::vector<std::uint64_t> sweep_sizes(std::uint64_t start, std::uint64_t end, std::uint64_t perturbation);

// No trial has more repeats. Operations of 0.1 ns take milliseconds then, and simulated ones that cost nothing end,
// too.
constexpr std::uint64_t max_trial_repeats = std::uint64_t{1} << 26;

// A schedule receives the times of trials, and decides the next step. It never sees a clock.
class Schedule {
 public:
  struct Step {
    enum class Kind { warm_up, trial, stop } kind;
    std::uint64_t repeats = 0;  // for warm_up and trial
    Stop why = Stop::trials;    // for stop
  };
  virtual ~Schedule() = default;
  // Begins a point. `max_repeats` limits a trial (the gate's capacity); 0: no limit but max_trial_repeats.
  virtual void begin(std::uint64_t bytes, std::uint64_t max_repeats) = 0;
  // The next step; the same one until it is recorded. REQUIRES: begin().
  virtual Step next() = 0;
  // The last step took this long: `timed` by the case's own timing, `spent` in all on the host's clock. A void step (a
  // gate timed out) is not recorded; next() then returns it again. REQUIRES: next() returned a warm-up or a trial.
  virtual void record(Seconds timed, Seconds spent) = 0;
  // "classic target 0.25 s trials 7": stored with the series.
  virtual std::string text() const = 0;
  // An estimate of one point's time, for --dry-run and the remaining time.
  virtual Seconds guess(Seconds one_repeat) const = 0;
};

struct ClassicOptions {
  Seconds target{0.25};           // Allada et al.'s TARGET
  std::uint64_t min_repeats = 3;  // NetPIPE's floor
  int trials = 7;
  std::uint64_t fixed_repeats = 0;  // 0: derived from the last point's time
};
struct AdaptiveOptions {
  double tolerance = 0.01;  // half width of the interval over the median
  double level = 0.95;
  Seconds trial{0.001};  // length of a trial, or one repeat where that is longer
  int visits = 1;        // that share the point's budget
  int min_trials = 9;    // of a visit. From 9 on, the interval leaves out the smallest and the largest. Where one of
                         // several visits has spent its share of the budget, one trial is enough.
  Seconds budget{0.03};  // of a point, once its visits have min_trials
};
std::unique_ptr<Schedule> classic_schedule(const ClassicOptions& = {});
std::unique_ptr<Schedule> adaptive_schedule(const AdaptiveOptions& = {});

// Decisions that several measuring processes (ranks) make alike. Each rank runs the same plan in the same order. Where
// a decision depends on what one of them saw (a time, a signal, an error), all of them decide the same.
//
// Example:
//   struct Alone final : npgpu::Consensus {  // of a program with several processes: its own messages
//     bool leads() const override { return true; }
//     std::vector<std::string> of_all(const std::string& mine) override { return {mine}; }
//     std::string of_leader(const std::string& mine) override { return mine; }
//     std::string who(std::size_t) const override { return "rank 0"; }
//   };
//   Alone everyone;
//   npgpu::Settings settings;
//   settings.ranks.everyone = &everyone;  // then npgpu::measure(plan, settings) in each of them
//   std::cout << everyone.first_failure("no GPU") << '\n';

// A rank is gone, or does not answer, so that the others cannot go on together.
class RankLost : public Error {
 public:
  explicit RankLost(const std::string& message) : Error(ErrorKind::failed, message) {}
};

// Every method but leads() and who() throws RankLost if a rank is gone. REQUIRES, for these: all ranks make the same
// calls in the same order.
class Consensus {
 public:
  virtual ~Consensus() = default;
  // True on the one rank that decides what needs no vote.
  virtual bool leads() const = 0;
  // The text of each rank, in the same order on all.
  virtual std::vector<std::string> of_all(const std::string& mine) = 0;
  // The text of the rank that leads.
  virtual std::string of_leader(const std::string& mine) = 0;
  // "rank 1 on node7": whose text the i-th of of_all() is.
  virtual std::string who(std::size_t i) const = 0;

  bool any(bool mine) {
    return std::ranges::any_of(of_all(mine ? "1" : ""), [](const std::string& one) { return !one.empty(); });
  }
  bool of_leader(bool mine) { return !of_leader(std::string(mine ? "1" : "")).empty(); }
  // The first text that is not empty, with the name of its rank. Empty if all texts are.
  std::string first_failure(const std::string& mine) {
    const std::vector<std::string> all = of_all(mine);
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!all[i].empty()) return who(i) + ": " + all[i];
    return {};
  }
};

// A schedule that all ranks follow: that of the rank that leads. Only its times count.
std::unique_ptr<Schedule> agreed_schedule(std::unique_ptr<Schedule>, Consensus&);

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

// A Module is an API that moves bytes. Each is one file, netpipe/modules/<name>.cpp, which ends with
// NPGPU_REGISTERED(Module, Class). One line of CMake, npgpu_module(<name> REQUIRES ...), adds it to the build.
//
// Example:
//   const auto copy = npgpu::case_on("memcpy", "host", npgpu::Direction::h2h);
//   for (const npgpu::Module* module : npgpu::reaching(npgpu::modules(), "host"))
//     if (const auto why = module->refuses_case(copy)) std::cout << module->name() << ": " << *why << '\n';
//     else std::cout << module->name() << ": " << module->summary() << '\n';
//   for (const npgpu::MissingModule& left_out : npgpu::missing_modules())
//     std::cout << left_out.name << ' ' << left_out.reason << '\n';

class Module : public Backend<Transfers> {
 public:
  // The usual executor of copies that involve a GPU.
  virtual Executor executor() const { return Executor::copy_engine; }
  // Why this case cannot run at any size, and what would make it run; nothing if it can. A case of several lanes is
  // checked as a whole, and then each lane but the first alone. REQUIRES: the case is on devices of device_kind().
  virtual std::optional<std::string> refuses_case(const TransferCase&) const = 0;
  // The memory of one lane. REQUIRES: the case is that of lane_case(), and refuses_case() returned nothing.
  virtual MemoryNeed needs_lane(const TransferCase&, std::uint64_t max_bytes) const = 0;
  // Opens the channel of one lane for sizes up to max_bytes. Throws Error. REQUIRES: as needs_lane().
  virtual std::unique_ptr<Channel> open_lane(const TransferCase&, std::uint64_t max_bytes) const = 0;

  // A runner over the channels of all lanes; see netpipe/engine/transfer_runner.hpp. A module between processes has a
  // runner of its own.
  std::optional<std::string> refuses(const Step<Transfers>&) const final;
  TransferContext context(const TransferCase&) const override;
  MemoryNeed needs(std::span<const Step<Transfers>>) const final;
  std::unique_ptr<Runner<Transfers>> open(std::span<const Step<Transfers>>) const override;
};

// All modules of this build, by name.
inline const auto& modules() { return registered<Module>(); }
const Module* find_module(std::string_view name);  // null if this build has none of that name

// A module that is not in this build, with the reason ("needs the CUDA toolkit").
struct MissingModule {
  std::string_view name;
  std::string_view reason;
};
const std::vector<MissingModule>& missing_modules();

}  // namespace npgpu
