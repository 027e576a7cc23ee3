// Probes on simulated devices: the time of a kernel is computed (netpipe/devices/simulated/multiprocessors.hpp).
#include "probes/simulated.hpp"

#include <fmt/ranges.h>

#include <cmath>

#include "netpipe/devices/simulated/library.hpp"
#include "netpipe/devices/simulated/result.hpp"
#include "npgpu/vocabulary/questions.hpp"
#include "npgpu/vocabulary/units.hpp"
#include "probes/shapes.hpp"

namespace npgpu::simulated {

namespace {

class SimulatedRunner final : public ProbeRunner {
 public:
  SimulatedRunner(const Probe& probe, std::span<const ProbeStep> steps, RepeatOf repeat_of)
      : ProbeRunner(probe, steps),
        repeat_of_(repeat_of),
        device_(open_device(question().device)),
        multiprocessors_(multiprocessors_of(device_->spec())),
        launch_(device_->spec().time("kernel_launch_us", device_->spec().host.launch)),
        latency_(device_->spec().time("kernel_latency_us")),
        result_(*device_) {
    if (max_bytes()) working_set_.emplace(device_, max_bytes());
  }
  double work() const override { return repeat_.work; }
  const Clock& clock() const override { return device_->clock(); }
  std::string binding() const override { return "simulated: no thread runs"; }
  Telemetry telemetry() override {
    Telemetry t = device_->telemetry();
    if (std::isnan(t.sm_clock_mhz)) t.sm_clock_mhz = multiprocessors_.clock_hz / 1e6;
    return t;
  }

 private:
  void set_up() override {
    repeat_ = repeat_of_(question(), shape(), multiprocessors_);
    Multiprocessors m = multiprocessors_;
    if (std::isfinite(repeat_.sm_bytes_per_cycle)) m.sm_bytes_per_cycle = repeat_.sm_bytes_per_cycle;
    if (question().operation == Operation::read) m.bus_bytes_per_s *= m.memory_read_share;
    if (question().operation == Operation::write) m.bus_bytes_per_s *= m.memory_write_share;
    if (std::isfinite(repeat_.all_bytes_per_s)) m.bus_bytes_per_s = repeat_.all_bytes_per_s;
    once_ = kernel_time(m, grid_of(shape()), repeat_.step, repeat_.steps);
    result_.poison();
  }
  ProbeSample launch(std::uint64_t repeats) override {
    const Seconds kernel{once_.cycles * static_cast<double>(repeats) / multiprocessors_.clock_hz};
    const Seconds begin = device_->clock().now();
    const bool is_of_memory = question().space == Space::global && it_reads_or_writes();
    const double factor =
        result_.run(launch_, latency_, kernel, nullptr, is_of_memory ? repeat_.work * static_cast<double>(repeats) : 0);
    ProbeSample sample;
    sample.host_us = microseconds(device_->clock().now() - begin);
    sample.device_us = microseconds((latency_ + kernel) * factor);
    sample.cycles = once_.block_cycles * static_cast<double>(repeats) * factor;
    sample.units = once_.units;
    sample.max_blocks_on_unit = once_.max_blocks_on_unit;
    return sample;
  }
  std::optional<std::string> wrong_result() override { return result_.wrong(); }
  bool it_reads_or_writes() const {  // rather than waiting for each access, as a chase does
    return question().operation == Operation::read || question().operation == Operation::write ||
           question().operation == Operation::copy;
  }

  RepeatOf repeat_of_;
  std::shared_ptr<Device> device_;
  Multiprocessors multiprocessors_;
  Seconds launch_, latency_;
  Repeat repeat_;
  KernelTime once_;
  Result result_;
  std::optional<Taken> working_set_;
};

}  // namespace

std::vector<ProbeCase> SimulatedProbe::questions(const std::string& device) const {
  return (it_.cases ? it_.cases : description_of(name()).cases)(device);
}

std::vector<ProbeCase> SimulatedProbe::cases(const std::string& device) const {
  if (why_no_kernels(spec_of(device), it_.need)) return {};
  return questions(device);
}

std::vector<Shape> SimulatedProbe::shapes(const ProbeCase& c) const {
  return (it_.shapes ? it_.shapes : description_of(name()).shapes)(c, context(c).layout);
}

std::vector<Shape> SimulatedProbe::default_shapes(const ProbeCase& c) const {
  const auto usual = description_of(name()).usual_shapes;
  return usual ? usual(c, context(c).layout) : shapes(c);
}

std::optional<std::string> SimulatedProbe::refuses_case(const ProbeCase& c) const {
  if (auto why = why_no_kernels(spec_of(c.device), it_.need)) return why;
  std::vector<std::string> known;
  for (const ProbeCase& question : questions(c.device)) {
    if (question == c) return std::nullopt;
    known.push_back(title(question));
  }
  return fmt::format("{}: a simulated device has no such kernel; it has {}", title(c), fmt::join(known, ", "));
}

std::optional<std::string> SimulatedProbe::refuses_shape(const ProbeCase& c, const Shape& shape) const {
  if (it_.need == Need::memory && shape.access_bytes == 0) return "accesses of 0 bytes";
  try {
    kernel_time(multiprocessors_of(spec_of(c.device)), grid_of(shape), {}, 1);
  } catch (const Error& e) {
    return e.what();
  }
  const ProbeDescription& described = description_of(name());
  if (auto why = described.refuses ? described.refuses(c, shape) : std::nullopt) return why;
  return it_.refuses ? it_.refuses(c, shape) : std::nullopt;
}

ProbeContext SimulatedProbe::context(const ProbeCase& c) const {
  const Spec spec = spec_of(c.device);
  const Multiprocessors m = multiprocessors_of(spec);
  Layout layout;
  layout.units = m.sms;
  layout.lanes = warp_threads;
  layout.max_threads_per_block = m.block_threads;
  layout.max_blocks_per_unit = m.blocks;
  layout.max_threads_per_unit = m.warps * warp_threads;
  layout.registers_per_unit = m.registers;
  layout.shared_bytes_per_unit = layout.shared_bytes_per_block = m.shared_bytes;
  layout.shared_bytes_reserved = m.shared_reserved_bytes;
  layout.cache_bytes = static_cast<std::uint64_t>(std::fmax(number_fact(spec.hardware, "l2_bytes"), 0));
  layout.near_cache_bytes = static_cast<std::uint64_t>(m.l1_bytes);
  layout.memory_bytes = spec.memory_bytes;
  layout.clock_mhz = m.max_clock_hz / 1e6;
  return {layout, it_.limit ? it_.limit(c, m) : Limit{not_measured, description_of(name()).no_limit}};
}

MemoryNeed SimulatedProbe::available(const ProbeCase& c) const { return {UINT64_MAX, spec_of(c.device).memory_bytes}; }

std::unique_ptr<Runner<Probes>> SimulatedProbe::open(std::span<const ProbeStep> steps) const {
  return std::make_unique<SimulatedRunner>(*this, steps, it_.repeat);
}

namespace {

// Lanes and latency of a type's multiply-add.
struct Fma {
  double lanes, latency_cycles;
  std::string limit;
};
Fma fma_of(const ProbeCase& c, const Multiprocessors& m) {
  const auto of = [](const Multiprocessors::Instructions& its, const char* key) -> Fma {
    return {its.lanes, its.latency_cycles, fmt::format("the spec: 2 * instructions_{}_lanes * SMs * clock", key)};
  };
  switch (c.type) {
    case DataType::fp64: return of(m.fp64, "fp64");
    case DataType::int24: return of(m.mad24, "mad24");
    case DataType::int32: return of(m.int32, "int32");
    case DataType::fp16: return of(m.fp16, "fp16");
    case DataType::bf16: return of(m.bf16, "bf16");
    default: return {m.lanes, m.fma_latency_cycles, "the spec: 2 * lanes * SMs * clock"};
  }
}

}  // namespace

Limit fma_limit(const ProbeCase& c, const Multiprocessors& m) {
  const Fma fma = fma_of(c, m);
  return {operations_of_an_fma * fma.lanes * m.sms * m.max_clock_hz, fma.limit};
}

double issues_of_fma(const ProbeCase& c, const Multiprocessors& m) { return m.lanes / fma_of(c, m).lanes; }

Limit memory_limit(const ProbeCase& c, const Multiprocessors&) { return devices::find(c.device).memory; }

Repeat reads(const Shape& s) {
  Repeat repeat;
  repeat.step.instructions = s.ilp;
  repeat.work = static_cast<double>(s.ilp) * s.access_bytes * s.threads * s.blocks;
  repeat.all_bytes_per_s = no_limit;
  return repeat;
}

// A set that no cache here holds comes from memory.
double beyond_l2(const Shape& s, const Multiprocessors& m) {
  return static_cast<double>(s.bytes) <= m.l2_bytes ? m.l2_bytes_per_s : m.bus_bytes_per_s;
}

// ---- compute and bandwidth ------------------------------------------------------------------------------------------

namespace {

constexpr double steps_of_compute = 256;

// A step is one FMA of each chain.
Repeat compute_repeat(const ProbeCase& c, const Shape& shape, const Multiprocessors& m) {
  Repeat repeat;
  repeat.step.latency_cycles = fma_of(c, m).latency_cycles;
  repeat.step.instructions = shape.ilp * issues_of_fma(c, m);
  repeat.steps = steps_of_compute;
  repeat.work = operations_of_an_fma * shape.ilp * steps_of_compute * shape.threads * static_cast<double>(shape.blocks);
  return repeat;
}

const Simulated compute_probe({{.name = "compute",
                                .repeat = compute_repeat,
                                .cases =
                                    [](const std::string& device) {
                                      std::vector<ProbeCase> all;
                                      const Multiprocessors m = multiprocessors_of(spec_of(device));
                                      for (const DataType type : {DataType::fp32, DataType::fp64, DataType::int32,
                                                                  DataType::fp16, DataType::bf16, DataType::int24}) {
                                        const ProbeCase c{.probe = "compute", .device = device, .type = type};
                                        if (fma_of(c, m).lanes > 0) all.push_back(c);
                                      }
                                      return all;
                                    },
                                .limit = fma_limit}});

// There are no caches: every thread's load takes the memory's latency, a multiprocessor has its way to memory, and the
// bus moves whole transactions at its rate.
// A step is `ilp` accesses of each thread, and a repeat is one step: where the grid is as large as the array, the array
// once. A warp's accesses lie side by side, in whole transactions.
Repeat bandwidth_repeat(const ProbeCase& question, const Shape& shape, const Multiprocessors& m) {
  const Operation op = question.operation;
  const double loads = op == Operation::write   ? 0
                       : op == Operation::triad ? 2
                                                : 1,
               moves = loads + (op == Operation::read ? 0 : 1);
  const double access = shape.access_bytes, ilp = shape.ilp;
  const std::uint32_t warps = shape.threads / warp_threads, left = shape.threads % warp_threads;
  const auto on_bus = [&](std::uint32_t threads) {
    return threads ? std::max(threads * access, m.transaction_bytes) : 0;
  };
  Repeat repeat;
  const double busy = std::min<double>(static_cast<double>(shape.blocks), m.sms) - 1;  // SMs besides the first
  const double farther = m.sms > 1 ? busy / (m.sms - 1) * (m.memory_latency_all_cycles - m.memory_latency_cycles) : 0;
  const double later = m.memory_more_loads_cycles * std::log2(ilp * std::max(1.0, loads)) +
                       m.memory_wider_loads_cycles * std::log2(std::max(1.0, access / 4));
  repeat.step.latency_cycles = loads > 0 ? m.memory_latency_cycles + farther + later : 0;  // nobody waits for a store
  repeat.step.instructions = moves * ilp;
  repeat.step.turnaround_ns = loads == 0 ? m.write_turnaround_ns : moves > loads ? m.store_turnaround_ns : 0;
  repeat.step.block_bytes = moves * ilp * access * shape.threads;
  repeat.step.block_bus_bytes = moves * ilp * (warps * on_bus(warp_threads) + on_bus(left));
  repeat.step.written = 1 - loads / moves;
  repeat.work = repeat.step.block_bytes * static_cast<double>(shape.blocks);
  // The way of a multiprocessor to memory is another for reads and for writes.
  if (m.sm_read_bytes_per_cycle > 0 && m.sm_write_bytes_per_cycle > 0)
    repeat.step.block_bytes *= m.sm_bytes_per_cycle * ((1 - repeat.step.written) / m.sm_read_bytes_per_cycle +
                                                       repeat.step.written / m.sm_write_bytes_per_cycle);
  return repeat;
}

const Simulated bandwidth_probe({{.name = "bandwidth",
                                  .need = Need::memory,
                                  .repeat = bandwidth_repeat,
                                  .cases =
                                      [](const std::string& device) {
                                        return bandwidth_cases(device, DataType::fp32, Space::global, {Operation::rmw});
                                      },
                                  .limit = memory_limit}});

}  // namespace

}  // namespace npgpu::simulated
