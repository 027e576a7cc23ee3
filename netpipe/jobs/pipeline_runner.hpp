// What the runners of all jobs share, the partition method's among them: a job that cannot run is refused before
// anything is launched, and a trial is one run of the whole job.
#pragma once

#include <fmt/format.h>

#include "npgpu/error.hpp"
#include "npgpu/runner.hpp"

namespace npgpu {

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
    if (!prepared_) throw Error(ErrorKind::usage, fmt::format("no {} was prepared", K::singular));
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
  // Of what the last launch left; nothing if it is right.
  virtual std::optional<std::string> wrong_result() = 0;
  const Step<K>& step() const { return step_; }
  const typename K::Case& question() const { return step_.question; }

 private:
  const Backend<K>& backend_;
  Step<K> step_;
  bool prepared_ = false, ran_ = false;
};

}  // namespace npgpu
