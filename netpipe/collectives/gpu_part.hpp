// One GPU's part in what all do together, in a process of its own: one that npgpu started for the GPU, or a rank of a
// job. The first process asks all of them the same, and each answers for its GPU.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "netpipe/collectives/values.hpp"
#include "npgpu/collective.hpp"
#include "npgpu/error.hpp"

namespace npgpu::collectives {

// A wait was given up, and what was waited for may still run.
class GaveUp : public Error {
 public:
  GaveUp(const std::string& message, bool by_signal) : Error(ErrorKind::failed, message), is_stopped(by_signal) {}
  bool is_stopped;  // a signal asked to stop; else it took too long
};

struct Waiting {
  Seconds patience{60};
  std::function<void()> meanwhile{};  // called again and again while a part waits; throws GaveUp. May be empty
};

// By which the GPUs of several processes find each other.
struct MeetingName {
  char bytes[128] = {};
};

class GpuPart {
 public:
  virtual ~GpuPart() = default;
  // Returns when the parts of all GPUs have joined.
  virtual void join(const MeetingName&) = 0;
  virtual void prepare(const Step<Collectives>&, std::uint64_t seed) = 0;
  // A trial. `meet` returns when all processes are ready to begin. False where a gate timed out.
  virtual bool run(std::uint64_t repeats, const std::function<void()>& meet, CollectiveSample&) = 0;
  virtual void warm_up(std::uint64_t operations) = 0;
  virtual WrongElements check() = 0;

  virtual std::uint64_t max_repeats() const { return 0; }
  virtual const Clock& clock() const { return steady_clock(); }
  virtual Telemetry telemetry() { return {}; }
  virtual std::string binding() const = 0;
};

// As bytes of a pipe or of a message.
struct PartRequest {
  enum class Wanted { open, join, prepare, run, warm_up, check, close, answer, nothing, leave };
  Wanted what = Wanted::nothing;
  char device[64] = {};  // of open, as the next five
  std::uint32_t rank = 0, ranks = 0;
  std::uint64_t most_bytes = 0;
  double patience_s = 60;
  CollectiveBuffers buffers = CollectiveBuffers::plain;
  MeetingName meeting{};                                            // of join
  CollectiveOperation operation = CollectiveOperation::all_reduce;  // of prepare, as all to the seed
  DataType type = DataType::fp32;
  bool in_place = false;
  Timing timing = Timing::host;
  CollectiveProcesses processes = CollectiveProcesses::each_gpu;
  CollectiveLaunch launch = CollectiveLaunch::eager;
  CollectiveOverlap overlap = CollectiveOverlap::none;
  std::uint64_t bytes = 0, seed = 0;
  std::uint64_t repeats = 0;  // of run and warm_up
};
struct PartReply {
  char error[400] = {};  // empty: none
  bool gave_up = false, is_stopped = false;
  bool is_valid = true;  // the gate did not time out
  CollectiveSample sample{};
  WrongElements wrong{};
};
PartRequest preparing(const Step<Collectives>&, std::uint64_t seed);

// Does what is asked. `open` makes the part that Wanted::open asks for.
PartReply answer_of(std::unique_ptr<GpuPart>&, const PartRequest&,
                    const std::function<std::unique_ptr<GpuPart>()>& open, const std::function<void()>& meet);

// Makes parts of the GPUs of one family.
class GpuParts {
 public:
  virtual ~GpuParts() = default;
  virtual std::string_view rank() const = 0;  // the kind of its devices: cuda, sim
  // Throws Error(nothing) where the library is not there.
  virtual std::string library() const = 0;
  virtual MeetingName meeting() const { return {}; }
  // `devices`: of all, as CollectiveCase has them; empty where they are not known.
  virtual std::unique_ptr<GpuPart> open(const PartRequest&, const std::string& devices, const Waiting&) const = 0;
  // Another process of this job is on this host: no stranger to its GPUs.
  virtual void count_as_own(long pid) const { (void)pid; }
};
// Throws Error(usage) where this build has none.
const GpuParts& gpu_parts(const std::string& device);

// Sets `intact` of a trial's samples by what is wrong on each GPU, and says what is.
std::optional<std::string> verdict_of(const Step<Collectives>&, const std::vector<WrongElements>&,
                                      std::span<CollectiveSample>);

}  // namespace npgpu::collectives
