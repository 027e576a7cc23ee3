// What runners of jobs share, whatever the device's interface: where the parts of a split job lie in the device's
// memory and the host's, what a run leaves there, and how a job is prepared, run and checked.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/job.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

// A job's memory is words of 32 bits.
constexpr std::uint64_t word_bytes = sizeof(std::uint32_t);
inline std::uint32_t words_of(std::uint64_t bytes) { return static_cast<std::uint32_t>(bytes / word_bytes); }
constexpr std::uint32_t spoiled = 0x5A5A5A5A;  // no result, but by chance

struct ChunkPlaces {
  Piece in, work, out;  // of the job's own bytes: where in the host's buffers, which of the kernel's
  std::uint64_t in_at = 0, work_at = 0, out_at = 0;  // byte on the device
};

struct JobLayout {
  std::vector<ChunkPlaces> chunks;
  std::uint64_t device_bytes = 0;
};

// A chunk has one region, as long as the longest of its parts, at whose beginning input arrives, the kernel works and
// output leaves; regions follow each other. In independent order each part has memory of its own instead.
JobLayout layout_of(Order, const JobShape&);

struct BufferSizes {
  std::uint64_t in = 0, out = 0;          // of pinned host memory
  std::uint64_t device = 0, scratch = 0;  // of device memory; scratch is the memory workload's
};
// The sizes that serve each of these jobs. `scratch`: its bytes where there is need of it.
template <class Scratch> BufferSizes sizes_for(std::span<const JobStep> steps, Scratch scratch) {
  BufferSizes sizes;
  for (const auto& [question, job] : steps) {
    sizes.in = std::max(sizes.in, job.bytes_in);
    sizes.out = std::max(sizes.out, job.bytes_out);
    sizes.device = std::max(sizes.device, layout_of(question.order, job).device_bytes);
    if (question.workload == Workload::memory && !sizes.scratch) sizes.scratch = scratch();
  }
  return sizes;
}

// What kernels read of a run, in device memory: launches are the same in every run.
struct RunWords {
  std::uint32_t number = 0;
  std::uint32_t factor = 0;
  std::uint32_t start = 0;  // of the memory workload's walk
};

// A stretch of memory after a run. Its first word was word `device_first` on the device; the input of a chunk was
// copied over it, where there is one, and then the kernel of one ran over it.
struct Left {
  bool on_host = false;
  std::uint64_t at = 0, bytes = 0;    // in the device's memory or in the host's output
  std::uint64_t device_first = 0;     // bytes
  const ChunkPlaces* in = nullptr;    // null: none was copied
  const ChunkPlaces* work = nullptr;  // null: none ran
  std::string what{};
};

// What the memory of jobs knows, whatever the device's interface.
class LaidOutJob {
 public:
  explicit LaidOutJob(const BufferSizes& sizes) : sizes_(sizes) {}
  const ChunkPlaces& chunk(std::uint32_t number) const { return layout_.chunks[number]; }

 protected:
  // Every following run is of this job. Throws Error(usage) where the buffers are too small.
  void take(const JobStep&);
  // The numbers of the next run; none is as another one's.
  const RunWords& next_run();
  // The first and the last word of each chunk's output; `output(chunk)` has its words on the host.
  template <class Output> void spoil_ends(Output output) const {
    for (const ChunkPlaces& p : layout_.chunks)
      if (p.out.bytes) {
        std::uint32_t* const first = output(p);
        first[0] = first[words_of(p.out.bytes) - 1] = spoiled;
      }
  }
  // All that a run leaves, in the order in which it is compared.
  std::vector<Left> left() const;
  static std::string wrong_text(const Left&, std::uint32_t word);
  // All words that an iteration of the whole job reads of the scratch buffer, in whole lines.
  std::uint32_t stride() const { return words_of(padded(job_.kernel_bytes, 128)); }

  BufferSizes sizes_;
  JobCase case_;
  JobShape job_;
  JobLayout layout_;
  RunWords now_;
};

// What the runners of all jobs share, the partition method's among them: a job that cannot run is refused before
// anything is launched, and a trial is one run of the whole job.

// K: Jobs or Partitions.
template <class K> class PipelineRunner : public Runner<K> {
 public:
  using Sample = typename K::Sample;
  // The backend must outlive it.
  explicit PipelineRunner(const Backend<K>& backend) : backend_(backend) {}
  void prepare(const Step<K>& step) override {
    if (const auto why = backend_.refuses(step)) throw Error(ErrorKind::usage, title(step.question) + ": " + *why);
    step_ = step;
    prepared_ = ran_ = false;
    set_up();
    prepared_ = true;
  }
  bool run(std::uint64_t, std::vector<Sample>& samples) final {
    if (!prepared_) throw Error(ErrorKind::usage, "no " + std::string(K::singular) + " was prepared");
    const auto sample = launch();
    ran_ = true;
    if (!sample) return false;
    samples.push_back(*sample);
    return true;
  }
  std::optional<std::string> check(std::span<Sample> last_trial) override {
    auto wrong = ran_ ? wrong_result() : "nothing has run since this job was prepared";
    for (Sample& sample : last_trial) sample.intact = wrong ? 0 : 1;
    return wrong;
  }
  std::uint64_t max_repeats() const final { return 1; }
  const Clock& clock() const override { return steady_clock(); }

 protected:
  // Everything for runs of step(), which was just set.
  virtual void set_up() = 0;
  // One job and its times; nothing if its gate timed out.
  virtual std::optional<Sample> launch() = 0;
  // What is wrong with what the last launch left; nothing if it is right.
  virtual std::optional<std::string> wrong_result() = 0;
  const Step<K>& step() const { return step_; }
  const typename K::Case& question() const { return step_.question; }

 private:
  const Backend<K>& backend_;
  Step<K> step_;
  bool prepared_ = false, ran_ = false;
};

// What the runners of jobs of one part share: kernels whose time is given as a ratio get their iterations.

class JobRunner : public PipelineRunner<Jobs> {
 public:
  using PipelineRunner::PipelineRunner;
  void prepare(const JobStep&) final;
  std::uint64_t bytes() const final { return job().bytes_in + job().bytes_out + job().kernel_bytes; }
  // The iterations are the same for all splits of a workload, whichever way they are issued and whatever streams there
  // are, and those that the trace already holds: where a workload has kernels of several lengths, those within 10 %.
  JobStep settled(const JobStep&, std::span<const JobShape> known) final;

 protected:
  const JobShape& job() const { return step().axes; }

 private:
  double median_us(const JobStep&);
  std::uint64_t iterations_for(const JobStep& unsplit, double ratio);

  std::map<JobStep, std::map<double, std::uint64_t>> iterations_;  // of unsplit workloads, by ratio
};

}  // namespace npgpu
