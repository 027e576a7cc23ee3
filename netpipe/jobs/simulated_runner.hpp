// What all jobs on a simulated device share: the discrete-event simulator with the costs of the spec, on the device's
// manual clock, and kernels whose time follows from their blocks.
#pragma once

#include <memory>
#include <string>

#include "netpipe/devices/simulated/library.hpp"
#include "netpipe/devices/simulated/multiprocessors.hpp"
#include "netpipe/devices/simulated/result.hpp"
#include "netpipe/simulate/simulator.hpp"
#include "npgpu/measuring/runner.hpp"

namespace npgpu {

// Base: JobRunner or PartitionRunner.
template <class Base> class SimulatedRunner : public Base {
 public:
  SimulatedRunner(const auto& backend, const std::string& id)
      : Base(backend),
        device_(simulated::open_device(id)),
        multiprocessors_(simulated::multiprocessors_of(device_->spec())),
        costs_(simulated_costs(simulated::info_of(device_->spec(), id), Memory::pinned)),
        result_(*device_) {}
  const Clock& clock() const override { return device_->clock(); }
  std::string binding() const override { return "simulated: no thread runs"; }

 protected:
  std::optional<std::string> wrong_result() override { return result_.wrong(); }
  Seconds kernel_time(std::uint64_t blocks, std::uint32_t threads, const simulated::WarpStep& step,
                      double steps) const {
    return Seconds{simulated::kernel_time(multiprocessors_, {blocks, threads, false}, step, steps).cycles /
                   multiprocessors_.clock_hz};
  }
  // Over parts of the whole, from time(n) of n of its blocks or threads: its blocks fill the device in waves.
  template <class Time> static Curve over_parts(std::uint64_t all, std::uint32_t chunks, const Time& time) {
    std::vector<Curve::Point> points;
    if (chunks > 1) points.push_back({1.0 / chunks, time((all + chunks - 1) / chunks)});
    points.push_back({1, time(all)});
    return Curve(std::move(points));
  }

  std::shared_ptr<simulated::Device> device_;
  simulated::Multiprocessors multiprocessors_;
  model::Simulator simulator_;
  StreamCosts costs_;  // of the device
  simulated::Result result_;
};

template <class K, class OwnRunner> class SimulatedBackend : public Backend<K> {
 public:
  std::string_view device_kind() const final { return "sim"; }
  MemoryNeed available(const typename K::Case& c) const final {
    return {UINT64_MAX, simulated::spec_of(c.device).memory_bytes};
  }
  std::unique_ptr<Runner<K>> open(std::span<const Step<K>> steps) const final {
    return std::make_unique<OwnRunner>(*this, steps.front().question.device);
  }
};

}  // namespace npgpu
