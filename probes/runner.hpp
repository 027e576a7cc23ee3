// What the runners of all probes share: a shape that cannot run is refused before anything is launched, a trial has one
// sample, and blocks that were to have a unit each are checked to have had one.
#pragma once

#include "npgpu/probe.hpp"

namespace npgpu {

class ProbeRunner : public Runner<Probes> {
 public:
  // The probe must outlive it. Throws Error(usage) where one of the cases is refused.
  ProbeRunner(const Probe& probe, std::span<const ProbeStep> steps);

  void prepare(const ProbeStep&) final;
  bool run(std::uint64_t repeats, std::vector<ProbeSample>& samples) final;
  std::optional<std::string> check(std::span<ProbeSample> last_trial) final;
  std::uint64_t bytes() const final { return step_.axes.bytes; }
  const Clock& clock() const override { return steady_clock(); }

 protected:
  // Everything for runs of question() and shape(), which were just set.
  virtual void set_up() = 0;
  // One launch that repeats its work so often inside: times, cycles and units.
  virtual ProbeSample launch(std::uint64_t repeats) = 0;
  // Of what the last launch left; nothing if it is right.
  virtual std::optional<std::string> wrong_result() = 0;

  const ProbeCase& question() const { return step_.question; }
  const Shape& shape() const { return step_.axes; }
  std::uint64_t max_bytes() const { return max_bytes_; }  // of the steps that it was opened for

 private:
  const Probe& probe_;
  ProbeStep step_;
  std::uint64_t max_bytes_ = 0;
  std::uint32_t max_blocks_on_unit_ = 0;  // of all runs of this point
  bool ran_ = false;
};

// The largest working set among these steps.
std::uint64_t max_bytes_of(std::span<const ProbeStep>);

}  // namespace npgpu
