// A simulated device while it is open: its clock, its memory, its engines, and the calls that reach it.
//
// Every call counts, from 1 at the opening, and may be the one that a fault of the spec is for. The host's time moves
// in calls only:
//
//   asynchronous copy   + copy_async, then the copy is submitted (timeline.hpp says when it runs)
//   blocking copy       + copy, then it is submitted, and the host goes on at its end; also within the device,
//                       where a real cudaMemcpy returns early
//   staged copy         the asynchronous form for pageable and managed memory: + copy_async, and the host goes on at
//                       the end
//   copy on the host    + copy + latency + b / rate, and no engine has a part in it
//   synchronize         at the end of all that the stream was given, + synchronize
//   record              + record; closing a gate + launch; opening one is free, as are allocations
//
// so a blocking copy of b bytes takes copy + latency + b / rate (while the gap is no more than copy + latency), and
// each of many asynchronous ones max(copy_async, gap + b / rate). All of it is multiplied by the trial's noise.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "netpipe/devices/simulated/spec.hpp"
#include "netpipe/devices/simulated/timeline.hpp"
#include "netpipe/engine/algorithms.hpp"
#include "npgpu/measuring/runner.hpp"

namespace npgpu::simulated {

// Bytes in memory, and a number for what they say: a copy takes the number along. Where source and target have the
// same number, the bytes are the same already, and moving them once more would only cost real time. 0 is like nothing.
struct Payload {
  std::byte* data = nullptr;
  std::uint64_t content = 0;
};

// So much of a payload is real, from its beginning on: it is filled, moved and checked. The rest takes simulated time
// alone. All that can go wrong with a simulated copy shows in it, and more would take the real time of a real copy:
// most of what characterizing a simulated H200 took.
inline constexpr std::uint64_t most_real_bytes = 64 * KiB;
constexpr std::uint64_t real_part(std::uint64_t bytes) { return std::min(bytes, most_real_bytes); }

// Which way bytes go.
struct Route {
  Link link;
  Timeline::Engine engine = Timeline::Engine::h2d;
  bool on_host = false;  // by the calling thread
  bool staged = false;   // never only enqueued
};
// Throws Error(usage) if the spec has no such link.
Route route(const Spec&, Direction, Memory);

// Its scatter: the same numbers from the same seed on every machine.
class NoiseSource {
 public:
  // `opening`: of the device, from 0; drifts differ from one to the next, and so do all numbers where there are drifts.
  NoiseSource(const Noise& noise, std::uint64_t opening) : noise_(noise), state_(noise.seed) {
    if (noise_.drift > 0 || noise_.cost_drift > 0) state_ += opening * 0xD1342543DE82EF95;
    if (noise_.drift > 0) drift_ = std::exp(noise_.drift * normal());
    next_trial();
  }

  // On everything that takes time, until the next synchronization.
  double trial() const { return trial_; }
  void next_trial() {
    trial_ = noise_.sigma > 0 ? std::exp(noise_.sigma * normal()) : 1;
    trial_ *= drift_;
    if (noise_.outlier_rate > 0 && uniform() < noise_.outlier_rate) trial_ *= noise_.outlier_factor;
  }
  // On one of the costs of this opening.
  double cost() { return noise_.cost_drift > 0 ? std::exp(noise_.cost_drift * normal()) : 1; }
  // On one copy.
  double operation() { return noise_.operation_sigma > 0 ? std::exp(noise_.operation_sigma * normal()) : 1; }

 private:
  // SplitMix64 (Steele, Lea and Flood 2014).
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>((next() >> 11) + 1) * 0x1p-53; }  // in (0, 1]
  double normal() {
    return npgpu::normal([this] { return uniform(); });
  }

  Noise noise_;
  std::uint64_t state_;
  double drift_ = 1, trial_ = 1;
};

class Stream;

class Device {
 public:
  Device(std::string id, Spec spec, std::uint64_t opening = 0);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const std::string& id() const { return id_; }
  const Spec& spec() const { return spec_; }
  const Clock& clock() const { return clock_; }
  Telemetry telemetry() const;
  std::uint64_t free_bytes() const { return spec_.memory_bytes - used_bytes_; }

  // Calls that take no time and move nothing, by name ("create event").
  void touch(std::string_view what);
  // The same for one that has written `bytes` of a payload by other means than a copy.
  void write(std::string_view what, Payload&, std::uint64_t bytes);
  void forget(const Payload&) noexcept;  // it is about to go

  // A kernel, launched and waited for: two calls. The host's time goes on by launch + latency + kernel + synchronize,
  // all with the noise of the trial, and latency and kernel with the slowdown of the device's course as well: the
  // product, which is returned, is the factor by which the kernel took longer than `kernel`. A gate that it waits
  // behind is opened between the two. `touched`: bytes of memory that it reads and writes.
  double run_kernel(Seconds launch, Seconds latency, Seconds kernel, Payload& result, std::uint64_t bytes,
                    Stream* gate = nullptr, double touched = 0);
  // The noise of the next copy, which is multiplied with that of its trial.
  double operation_noise() { return noise_.operation(); }

  std::uint64_t new_content() { return ++contents_; }

 private:
  friend class Stream;
  friend class Taken;

  class HostClock final : public Clock {
   public:
    Seconds now() const override { return Seconds{static_cast<double>(time)}; }
    Time time = 0;
  };
  // A call from its begin, when it counts and may fail, to its end, when other faults happen.
  class Call {
   public:
    Call(Device&, std::string_view what);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    Device& device_;
    bool corrupts_ = false, zeroes_ = false, times_out_gates_ = false;
  };

  void grow_older();  // by the time since it was last asked
  void change_a_byte();
  void wrote(Payload&, std::uint64_t bytes, std::uint64_t content, double moved);
  void time_out_gates();
  Time& now() { return clock_.time; }
  void spend(Seconds cost) { clock_.time += scaled(cost); }
  Time scaled(Seconds cost) const { return Time{cost.count()} * noise_.trial(); }

  std::string id_;
  Spec spec_;
  HostClock clock_;
  Timeline timeline_;
  NoiseSource noise_;
  std::vector<Stream*> streams_;
  std::uint64_t calls_ = 0, used_bytes_ = 0, contents_ = 0;
  bool lost_ = false;
  Age& age_;
  Time aged_ = 0;
  Payload* written_ = nullptr;  // last
  std::uint64_t written_bytes_ = 0;
};

// So much of a device's memory, as long as it lives.
class Taken {
 public:
  // A call. Throws Error(failed) if so much is not free.
  Taken(std::shared_ptr<Device>, std::uint64_t bytes);
  ~Taken() { device_->used_bytes_ -= bytes_; }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;

 private:
  std::shared_ptr<Device> device_;
  std::uint64_t bytes_;
};

// A stream of the device, with a gate and a pair of events. Not moved: the device knows where it is.
class Stream final : public DeviceTimer {
 public:
  explicit Stream(std::shared_ptr<Device>);
  ~Stream() override;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void copy(const Route&, Payload& from, Payload& to, std::uint64_t bytes, bool async);
  void synchronize();

  void hold() override;
  void release() override;                       // no call: the host writes a word that the gate polls
  bool timed_out() const { return timed_out_; }  // since it was last closed
  void start() override;
  void stop() override;
  std::optional<Seconds> elapsed() override;
  std::uint64_t gate_capacity() const override { return device_->spec().host.gate_capacity; }

 private:
  friend class Device;
  void submit(const Route&, std::uint64_t bytes);
  void wait();
  Mark record(std::string_view what);

  std::shared_ptr<Device> device_;
  Timeline::Stream stream_;
  Mark start_ = 0, stop_ = 0;
  std::uint64_t behind_gate_ = 0;
  bool timed_out_ = false;
  std::optional<Timeline::Engine> last_;  // of the copy before
};

// The device called `id`, opened if it is not. It stays open, with one clock, as long as anyone holds it; who opens it
// again finds a fresh one: time 0, call 1, the noise of its seed, with the drifts of another opening. A device that was
// lost stays lost in this process.
std::shared_ptr<Device> open_device(const std::string& id);
// How often it was opened in this process.
std::uint64_t openings_of(const std::string& id);
// By a fault or the course of its spec; it stays so until the program ends.
bool is_lost(const std::string& id);
[[noreturn]] void lose(const std::string& id, const std::string& where);  // throws Error(lost)
// At its age, with what its course makes of what the spec states under load.
Telemetry telemetry_of(const Spec&, const Age&);

}  // namespace npgpu::simulated
