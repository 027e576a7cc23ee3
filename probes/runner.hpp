// What all probes share: runners that refuse a shape that cannot run before anything is launched, have one sample a
// trial, and check that blocks that were to have a unit each have had one; and lists of what is asked.
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
  // Whether the last launch's gate timed out, so that its times are void.
  virtual bool timed_out() const { return false; }
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

// A probe whose work this runner does.
template <class Base, class Run> class ProbeOf : public Base {
 public:
  std::unique_ptr<Runner<Probes>> open(std::span<const ProbeStep> steps) const final {
    return std::make_unique<Run>(*this, steps);
  }
};
// As it describes itself, for all devices.
std::string_view summary_of(std::string_view probe);

// The largest working set among these steps.
std::uint64_t max_bytes_of(std::span<const ProbeStep>);

// Every operation in the streaming form, then these in the dependent one.
std::vector<ProbeCase> bandwidth_cases(const std::string& device, DataType, Space,
                                       std::initializer_list<Operation> dependent);
// Why a GPU, whatever its kernels are written in, has no such case.
std::optional<std::string> refuses_gpu_bandwidth(const ProbeCase&);
std::optional<std::string> refuses_gpu_compute(const ProbeCase&);

// What a probe asks of a device of this layout, corners first, each shape once. GPUs and simulated devices share them;
// a CPU has its own, because its lanes are all or one.
//
// One-One; One-All and All-All over threads per block and ilp; All-One over blocks per unit, the first of them alone.
std::vector<Shape> compute_shapes(const Layout&);
// A working set so much larger than the last cache that the cache answers for little of it, where memory allows.
std::uint64_t bytes_beyond_caches(const Layout&);
// The same corners on memory far beyond the cache, over access widths, threads and accesses in flight; and one
// working set inside the cache. The dependent form has one access in flight.
std::vector<Shape> bandwidth_shapes(const Layout&, Form);
// One thread that chases through working sets from `least` to `most`, so many to the octave, in whole steps; half as
// many above `large`, which take long to lay out.
std::vector<Shape> chase_shapes(std::uint32_t access_bytes, std::uint64_t step, std::uint64_t least, std::uint64_t most,
                                int of_octave, std::uint64_t large = UINT64_MAX);

}  // namespace npgpu
