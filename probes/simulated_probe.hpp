// What all simulated probes share: which devices there are, and a kernel whose time is computed and whose result is
// a few real bytes, so that the faults of a spec reach it.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "netpipe/devices/simulated/device.hpp"
#include "netpipe/devices/simulated/multiprocessors.hpp"
#include "npgpu/probe.hpp"

namespace npgpu {

class SimulatedProbe : public Probe {
 public:
  std::string_view kind() const override { return "sim"; }
  std::vector<DeviceInfo> devices() const override;
  std::string why_none() const override;
  DeviceInfo device(const std::string& id) const override;
  // Those of questions() that are not refused.
  std::vector<ProbeCase> cases(const std::string& device) const override;
  std::optional<std::string> refuses(const ProbeCase&) const override;
  Layout layout(const ProbeCase&) const override;

 protected:
  virtual simulated::Need need() const = 0;
  // All that the probe knows to ask, of any device.
  virtual std::vector<ProbeCase> questions(const std::string& device) const = 0;
};

class SimulatedKernel : public Runner<Probes> {
 public:
  explicit SimulatedKernel(const ProbeCase&);
  ~SimulatedKernel() override;

  void prepare(const Shape&) override;
  double work() const override { return work_; }
  RunTimes run(std::uint64_t repeats) override;
  std::optional<std::string> intact() override;
  const Clock& clock() const override { return device_->clock(); }
  Telemetry telemetry() override;
  std::string binding() const override;

 protected:
  // One repeat of a shape: `steps` equal steps of every thread, and what counts as work.
  struct Repeat {
    simulated::Step step;
    double steps = 1;
    double work = 0;
  };
  virtual Repeat repeat_of(const Shape&) const = 0;
  const simulated::Multiprocessors& multiprocessors() const { return multiprocessors_; }
  simulated::Device& device() { return *device_; }

 private:
  using Result = std::array<std::byte, 64>;
  Result expected() const;

  std::shared_ptr<simulated::Device> device_;
  simulated::Multiprocessors multiprocessors_;
  Seconds launch_, latency_;
  Shape shape_;
  simulated::KernelTime once_;
  double work_ = 0;
  std::uint64_t prepared_ = 0, repeats_ = 0;
  Result result_{};
  simulated::Payload payload_;
};

}  // namespace npgpu
