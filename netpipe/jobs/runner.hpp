// What the runners of jobs share: a job that cannot run is refused before anything is launched, a trial is one job, and
// kernels whose time is given as a ratio get their iterations.
#pragma once

#include <map>

#include "npgpu/job.hpp"

namespace npgpu {

class JobRunner : public Runner<Jobs> {
 public:
  // The backend must outlive it.
  explicit JobRunner(const Backend<Jobs>& backend) : backend_(backend) {}
  void prepare(const JobStep&) final;
  bool run(std::uint64_t repeats, std::vector<JobSample>& samples) final;
  std::optional<std::string> check(std::span<JobSample> last_trial) final;
  std::uint64_t max_repeats() const final { return 1; }
  std::uint64_t bytes() const final { return step_.axes.bytes_in + step_.axes.bytes_out + step_.axes.kernel_bytes; }
  // The iterations are the same for all splits of a workload, whichever way they are issued, and those that the trace
  // already holds.
  JobStep settled(const JobStep&, std::span<const JobShape> known) final;
  const Clock& clock() const override { return steady_clock(); }

 protected:
  // Everything for runs of question() and job(), which were just set.
  virtual void set_up() = 0;
  // One job and its times; nothing if its gate timed out.
  virtual std::optional<JobSample> launch() = 0;
  // Of what the last launch left; nothing if it is right.
  virtual std::optional<std::string> wrong_result() = 0;
  const JobCase& question() const { return step_.question; }
  const JobShape& job() const { return step_.axes; }

 private:
  double median_us(const JobStep&);
  std::uint64_t iterations_for(const JobStep& unsplit, double ratio);

  const Backend<Jobs>& backend_;
  JobStep step_;
  bool prepared_ = false, ran_ = false;
  std::map<JobStep, std::uint64_t> iterations_;  // of unsplit workloads
};

}  // namespace npgpu
