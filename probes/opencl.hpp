// What the probes of OpenCL devices share. Their kernels are OpenCL C that the device's driver compiles when a probe
// runs.
//
// A GPU's threads are work-items, its blocks work-groups. On a CPU a work-group runs on one core, and its lanes are the
// elements of an OpenCL vector: a shape of 16 threads is one work-item that works on vectors of 16, as on the host's
// own probes. Work-items would be lanes only where the compiler finds how.
//
// OpenCL has no clock of a unit, and no name for the unit that a work-group runs on: samples have times, and neither
// cycles nor units. Times are those of the device's events. There is no gate: the queue holds nothing back, and what is
// timed begins with the first kernel, not with the call.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "netpipe/devices/opencl/bench.hpp"
#include "probes/runner.hpp"

namespace npgpu::opencl {

// layout_of(), with the clock of a CPU as the host's own probes have it: OpenCL gives the one that its maker sells it
// by.
Layout probed_layout(const std::string& device, DataType type);
// layout_of(), with what the driver does not say replaced by what today's largest GPUs have, so that shapes reach far
// enough: how much the last cache holds, and how many blocks a unit.
Layout layout_for_shapes(const std::string& device, DataType type);
bool is_cpu(const std::string& device);
// Multiply-adds of the whole device; NaN with a reason where a factor is not known.
Limit arithmetic_limit(const std::string& device, DataType type);

// Why the probes of local memory have nothing to measure: where it is a part of global memory, it has no banks.
std::optional<std::string> why_no_local_memory(const std::string& device);
// Why no launch has this grid.
std::optional<std::string> refuses_grid(const std::string& device, const Shape&);

// So many arrays of the largest set: in the host's memory, where the device is its CPU.
MemoryNeed needs_of(std::span<const ProbeStep> steps, std::uint64_t arrays = 1);

// One probe on OpenCL devices: const OpenCl onchip_by_opencl({{.name = "onchip", .open = runs<OpenclOnchipRunner>}});
class OpenclProbe final : public DescribedProbe {
 public:
  OpenclProbe(const ProbeParts& parts) : DescribedProbe(parts) {}
  std::string_view device_kind() const override { return "opencl"; }
  MemoryNeed available(const ProbeCase&) const override;

 private:
  std::optional<std::string> why_not_there(const std::string& device) const override;
  Layout layout(const ProbeCase& c) const override { return probed_layout(c.device, c.type); }
  Layout layout_for_shapes(const ProbeCase& c) const override { return opencl::layout_for_shapes(c.device, c.type); }
  std::optional<std::string> why_no_grid(const ProbeCase& c, const Shape& s) const override {
    return refuses_grid(c.device, s);
  }
  MemoryNeed needs_of_sets(std::span<const ProbeStep> steps) const override { return needs_of(steps); }
};
using OpenCl = Joined<Probe, OpenclProbe>;

constexpr std::uint32_t poison = 0xA5A5A5A5;  // results before a run

class OpenclProbeRunner : public ProbeRunner {
 public:
  OpenclProbeRunner(const Probe& probe, std::span<const ProbeStep> steps);
  Telemetry telemetry() override { return bench_.telemetry(); }
  std::string binding() const override { return bench_.binding(); }

 protected:
  const Bench& bench() const { return bench_; }
  bool is_cpu() const { return is_cpu_; }
  const Layout& layout() const { return layout_; }  // for shapes

  // Built once for each source and options, and kept.
  Kernel kernel(const std::string& source, const std::string& options, const char* name);
  void enqueue(const Kernel&, const Range&);
  // For a kernel that goes over `count` things in a loop: as many work-items as keep the device busy.
  void enqueue_over(const Kernel&);
  // Times what is enqueued meanwhile, from the first kernel's begin to the last one's end.
  ProbeSample time(const std::function<void()>& enqueue_all);

  template <class T> std::vector<T> read(const Buffer& from, std::uint64_t count) const {
    std::vector<T> here(count);
    bench_.read(from, here.data(), count * sizeof(T));
    return here;
  }
  void make_room(Buffer&, std::uint64_t bytes) const;

 private:
  Bench bench_;
  bool is_cpu_;
  Layout layout_;
  std::map<std::string, Program> programs_;
  Event first_, last_;
};

// For probes whose threads each leave one word, which the host can compute.
class OpenclSumsRunner : public OpenclProbeRunner {
 public:
  using OpenclProbeRunner::OpenclProbeRunner;

 protected:
  virtual ProbeSample timed(std::uint32_t repeats) = 0;
  virtual std::uint32_t expected(std::uint32_t block, std::uint32_t thread, std::uint64_t repeats) const = 0;
  // At the end of set_up(); runs once without a repeat: a driver may finish a kernel at its first launch.
  void make_ready();
  const Buffer& results() const { return results_; }
  std::uint64_t threads() const { return std::uint64_t{shape().blocks} * shape().threads; }
  std::optional<std::string> wrong_result() override;

 private:
  ProbeSample launch(std::uint64_t repeats) final;

  Buffer results_;
  std::uint64_t repeats_ = 0;
};

// For loops over `count` words that any number of work-items share: neighbours side by side on a GPU, a piece of its
// own for each on a CPU. Expects CPU to be 0 or 1.
inline constexpr const char* loop_source = R"cl(
#if CPU
#define FOR_EACH(i, count)                                                                                  \
  const ulong piece_ = ((count) + get_global_size(0) - 1) / get_global_size(0);                             \
  const ulong end_ = min((ulong)(count), (get_global_id(0) + 1) * piece_);                                  \
  for (ulong i = get_global_id(0) * piece_; i < end_; ++i)
#else
#define FOR_EACH(i, count) for (ulong i = get_global_id(0); i < (count); i += get_global_size(0))
#endif
)cl";

}  // namespace npgpu::opencl
