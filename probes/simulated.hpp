// What all simulated probes share: their layout, and a kernel whose time is computed and whose result is a few real
// bytes, so that the faults of a spec reach it.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "netpipe/devices/simulated/device.hpp"
#include "netpipe/devices/simulated/multiprocessors.hpp"
#include "probes/runner.hpp"

namespace npgpu {

class SimulatedProbe : public Probe {
 public:
  std::string_view device_kind() const override { return "sim"; }
  // Those of questions() that are not refused.
  std::vector<ProbeCase> cases(const std::string& device) const override;
  std::optional<std::string> refuses_case(const ProbeCase&) const override;
  std::optional<std::string> refuses_shape(const ProbeCase&, const Shape&) const override;
  ProbeContext context(const ProbeCase&) const override;
  MemoryNeed available(const ProbeCase&) const override;

 protected:
  virtual simulated::Need need() const = 0;
  // All that the probe knows to ask, of any device.
  virtual std::vector<ProbeCase> questions(const std::string& device) const = 0;
  virtual Limit limit(const ProbeCase&) const = 0;
};

class SimulatedRunner : public ProbeRunner {
 public:
  SimulatedRunner(const Probe&, std::span<const ProbeStep>);
  ~SimulatedRunner() override;

  double work() const override { return repeat_.work; }
  const Clock& clock() const override { return device_->clock(); }
  Telemetry telemetry() override;
  std::string binding() const override { return "simulated: no thread runs"; }

 protected:
  // One repeat of the prepared shape: `steps` equal steps of every thread, and what counts as work.
  struct Repeat {
    simulated::WarpStep step;
    double steps = 1;
    double work = 0;
  };
  virtual Repeat one_repeat() const = 0;
  const simulated::Multiprocessors& multiprocessors() const { return multiprocessors_; }
  simulated::Device& device() { return *device_; }

 private:
  using Result = std::array<std::byte, 64>;
  void set_up() override;
  ProbeSample launch(std::uint64_t repeats) override;
  std::optional<std::string> wrong_result() override;
  Result expected() const;

  std::shared_ptr<simulated::Device> device_;
  simulated::Multiprocessors multiprocessors_;
  Seconds launch_, latency_;
  Repeat repeat_;
  simulated::KernelTime once_;
  std::uint64_t prepared_ = 0, repeats_ = 0;
  Result result_{};
  simulated::Payload payload_;
};

}  // namespace npgpu
