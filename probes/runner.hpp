// What all probes share: runners that refuse a shape that cannot run before anything is launched, have one sample a
// trial, and check that blocks that were to have a unit each have had one; and lists of what is asked.
#pragma once

#include <functional>

#include "npgpu/vocabulary/probe.hpp"

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
  // What is wrong with what the last launch left; nothing if it is right.
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

// One probe on the devices of a family: what runs it, and what its description cannot say. What is null is as the
// description has it.
struct ProbeParts {
  std::string_view name{};
  std::unique_ptr<Runner<Probes>> (*open)(const Probe&, std::span<const ProbeStep>) = nullptr;
  std::vector<ProbeCase> (*cases)(const std::string& device) = nullptr;
  std::vector<Shape> (*shapes)(const ProbeCase&, const Layout&) = nullptr;
  std::vector<Shape> (*usual_shapes)(const ProbeCase&, const Layout&) = nullptr;
  std::optional<std::string> (*refuses_case)(const ProbeCase&) = nullptr;           // before: is it one of the cases
  std::optional<std::string> (*lacks)(const ProbeCase&) = nullptr;                  // what of the device, for a case
  std::optional<std::string> (*refuses)(const ProbeCase&, const Shape&) = nullptr;  // after the description
  bool any_grid = false;                                                            // the family's rule does not hold
  Limit (*limit)(const ProbeCase&, const Layout&) = nullptr;
  bool (*takes)(const ProbeCase&, Operands) = nullptr;        // null: the usual ones
  MemoryNeed (*needs)(std::span<const ProbeStep>) = nullptr;  // null: the largest working set
  std::string (*library)(const ProbeCase&) = nullptr;         // see ProbeContext
  bool allows_context_reset = true;
};
// For ProbeParts::open.
template <class Run> std::unique_ptr<Runner<Probes>> runs(const Probe& probe, std::span<const ProbeStep> steps) {
  return std::make_unique<Run>(probe, steps);
}

// The limit of memories whose banks send 4 bytes a cycle each.
Limit limit_of_banks(const Layout&);

class DescribedProbe : public Probe {
 public:
  explicit DescribedProbe(const ProbeParts& parts) : it_(parts) {}
  std::string_view name() const final { return it_.name; }
  std::vector<ProbeCase> cases(const std::string& device) const final;
  std::vector<Shape> shapes(const ProbeCase&) const final;
  std::vector<Shape> default_shapes(const ProbeCase&) const final;
  bool takes_operands(const ProbeCase& c, Operands operands) const final;
  std::optional<std::string> refuses_case(const ProbeCase&) const final;
  std::optional<std::string> refuses_shape(const ProbeCase&, const Shape&) const final;
  ProbeContext context(const ProbeCase&) const final;
  MemoryNeed needs(std::span<const ProbeStep> steps) const final;
  bool allows_context_reset() const final { return it_.allows_context_reset; }
  std::unique_ptr<Runner<Probes>> open(std::span<const ProbeStep> steps) const final { return it_.open(*this, steps); }

 protected:
  virtual std::optional<std::string> why_not_there(const std::string& device) const = 0;
  virtual Layout layout(const ProbeCase&) const = 0;
  virtual Layout layout_for_shapes(const ProbeCase& c) const { return layout(c); }
  virtual std::optional<std::string> why_no_grid(const ProbeCase&, const Shape&) const = 0;
  virtual MemoryNeed needs_of_sets(std::span<const ProbeStep> steps) const;  // of the device's own memory

 private:
  std::vector<ProbeCase> questions(const std::string& device) const;
  std::vector<Shape> taken(const ProbeCase&, std::vector<Shape>) const;

  ProbeParts it_;
};

// What is wrong with the words that threads left, block by block; nothing if each is `expected`.
std::optional<std::string> wrong_word(const std::vector<std::uint32_t>& found, const Shape&, std::uint64_t repeats,
                                      const std::function<std::uint32_t(std::uint32_t block, std::uint32_t thread)>&);
// The largest working set among these steps.
std::uint64_t max_bytes_of(std::span<const ProbeStep>);

}  // namespace npgpu
