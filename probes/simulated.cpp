#include "probes/simulated.hpp"

#include <fmt/format.h>

#include <cmath>

#include "netpipe/devices/simulated/library.hpp"
#include "npgpu/error.hpp"

namespace npgpu {

namespace {

using simulated::Spec;

Seconds time_of(const Spec& spec, std::string_view key, Seconds otherwise) {
  const double us = number_fact(spec.hardware, key);
  return std::isnan(us) ? otherwise : from_microseconds(us);
}

}  // namespace

// ---- SimulatedProbe ----------------------------------------------------------------------------------

std::vector<ProbeCase> SimulatedProbe::cases(const std::string& device) const {
  if (simulated::why_no_kernels(simulated::spec_of(device), need())) return {};
  return questions(device);
}

std::optional<std::string> SimulatedProbe::refuses_case(const ProbeCase& c) const {
  if (auto why = simulated::why_no_kernels(simulated::spec_of(c.device), need())) return why;
  std::string known;
  for (const ProbeCase& question : questions(c.device)) {
    if (question == c) return std::nullopt;
    known += (known.empty() ? "" : ", ") + title(question);
  }
  return fmt::format("{}: a simulated device has no such kernel; it has {}", title(c), known);
}

std::optional<std::string> SimulatedProbe::refuses_shape(const ProbeCase& c, const Shape& shape) const {
  const auto multiprocessors = simulated::multiprocessors_of(simulated::spec_of(c.device));
  try {
    simulated::kernel_time(multiprocessors, {shape.blocks, shape.threads, shape.one_block_per_sm != 0}, {}, 1);
  } catch (const Error& e) {
    return e.what();
  }
  return std::nullopt;
}

ProbeContext SimulatedProbe::context(const ProbeCase& c) const {
  const Spec spec = simulated::spec_of(c.device);
  const simulated::Multiprocessors m = simulated::multiprocessors_of(spec);
  Layout layout;
  layout.units = m.sms;
  layout.lanes = simulated::warp_threads;
  layout.max_threads_per_block = m.block_threads;
  layout.max_blocks_per_unit = m.blocks;
  layout.cache_bytes = static_cast<std::uint64_t>(std::fmax(number_fact(spec.hardware, "l2_bytes"), 0));
  layout.memory_bytes = spec.memory_bytes;
  layout.clock_mhz = m.clock_hz / 1e6;
  return {layout, limit(c)};
}

MemoryNeed SimulatedProbe::available(const ProbeCase& c) const {
  return {UINT64_MAX, simulated::spec_of(c.device).memory_bytes};
}

// ---- SimulatedRunner ---------------------------------------------------------------------------------

SimulatedRunner::SimulatedRunner(const Probe& probe, std::span<const ProbeStep> steps)
    : ProbeRunner(probe, steps),
      device_(simulated::open_device(question().device)),
      multiprocessors_(simulated::multiprocessors_of(device_->spec())),
      launch_(time_of(device_->spec(), "kernel_launch_us", device_->spec().host.launch)),
      latency_(time_of(device_->spec(), "kernel_latency_us", Seconds{0})) {
  payload_.data = result_.data();
}

SimulatedRunner::~SimulatedRunner() { device_->forget(payload_); }

void SimulatedRunner::set_up() {
  repeat_ = one_repeat();
  once_ = simulated::kernel_time(multiprocessors_, {shape().blocks, shape().threads, shape().one_block_per_sm != 0},
                                 repeat_.step, repeat_.steps);
  ++prepared_;
  repeats_ = 0;
  result_.fill(std::byte{0xA5});
  device_->write("poison", payload_, result_.size());
}

ProbeSample SimulatedRunner::launch(std::uint64_t repeats) {
  const Seconds kernel{once_.cycles * static_cast<double>(repeats) / multiprocessors_.clock_hz};
  const Seconds begin = device_->clock().now();
  repeats_ = repeats;
  result_ = expected();
  const double factor = device_->run_kernel(launch_, latency_, kernel, payload_, result_.size());
  ProbeSample sample;
  sample.host_us = microseconds(device_->clock().now() - begin);
  sample.device_us = microseconds((latency_ + kernel) * factor);
  sample.cycles = once_.block_cycles * static_cast<double>(repeats) * factor;
  sample.units = once_.units;
  sample.max_blocks_on_unit = once_.max_blocks_on_unit;
  return sample;
}

// Other bytes for every shape and number of repeats.
SimulatedRunner::Result SimulatedRunner::expected() const {
  Result result;
  std::uint64_t state = prepared_ * 0x9E3779B97F4A7C15 + repeats_;
  for (std::byte& byte : result) {
    state = state * 6364136223846793005 + 1442695040888963407;
    byte = static_cast<std::byte>(state >> 56);
  }
  return result;
}

std::optional<std::string> SimulatedRunner::wrong_result() {
  device_->touch("read back");
  const Result wanted = expected();
  for (std::size_t i = 0; i < result_.size(); ++i)
    if (result_[i] != wanted[i])
      return fmt::format("byte {} of the result is {:#04x}, not {:#04x}", i, static_cast<unsigned>(result_[i]),
                         static_cast<unsigned>(wanted[i]));
  return std::nullopt;
}

Telemetry SimulatedRunner::telemetry() {
  Telemetry t;
  t.sm_clock_mhz = multiprocessors_.clock_hz / 1e6;
  return t;
}

}  // namespace npgpu
