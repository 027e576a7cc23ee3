#include "probes/simulated_probe.hpp"

#include <fmt/format.h>

#include "netpipe/devices/simulated/library.hpp"
#include "npgpu/error.hpp"

namespace npgpu {

namespace {

using simulated::Spec;

std::optional<double> fact(const Facts& facts, std::string_view wanted) {
  for (const auto& [name, value] : facts) {
    if (name != wanted) continue;
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
    if (const auto* number = std::get_if<double>(&value)) return *number;
  }
  return std::nullopt;
}

Seconds time_of(const Spec& spec, std::string_view key, Seconds otherwise) {
  const auto us = fact(spec.hardware, key);
  return us ? from_microseconds(*us) : otherwise;
}

}  // namespace

// ---- SimulatedProbe ----------------------------------------------------------------------------------

std::vector<DeviceInfo> SimulatedProbe::devices() const { return simulated::known_devices(); }

std::string SimulatedProbe::why_none() const { return simulated::why_none(); }

DeviceInfo SimulatedProbe::device(const std::string& id) const { return simulated::device_of(id); }

std::vector<ProbeCase> SimulatedProbe::cases(const std::string& device) const {
  if (simulated::why_no_kernels(simulated::spec_of(device), need())) return {};
  return questions(device);
}

std::optional<std::string> SimulatedProbe::refuses(const ProbeCase& c) const {
  if (auto why = simulated::why_no_kernels(simulated::spec_of(c.device), need())) return why;
  std::string known;
  for (const ProbeCase& question : questions(c.device)) {
    if (question == c) return std::nullopt;
    known += (known.empty() ? "" : ", ") + title(question);
  }
  return fmt::format("{}: a simulated device has no such kernel; it has {}", title(c), known);
}

Layout SimulatedProbe::layout(const ProbeCase& c) const {
  const Spec spec = simulated::spec_of(c.device);
  const simulated::Multiprocessors m = simulated::multiprocessors_of(spec);
  Layout layout;
  layout.units = m.sms;
  layout.lanes = simulated::warp_threads;
  layout.max_threads_per_block = m.block_threads;
  layout.max_blocks_per_unit = m.blocks;
  layout.cache_bytes = static_cast<std::uint64_t>(fact(spec.hardware, "l2_bytes").value_or(0));
  layout.memory_bytes = spec.memory_bytes;
  layout.clock_mhz = m.clock_hz / 1e6;
  return layout;
}

// ---- SimulatedKernel ---------------------------------------------------------------------------------

SimulatedKernel::SimulatedKernel(const ProbeCase& c)
    : device_(simulated::open_device(c.device)),
      multiprocessors_(simulated::multiprocessors_of(device_->spec())),
      launch_(time_of(device_->spec(), "kernel_launch_us", device_->spec().host.launch)),
      latency_(time_of(device_->spec(), "kernel_latency_us", Seconds{0})) {
  payload_.data = result_.data();
}

SimulatedKernel::~SimulatedKernel() { device_->forget(payload_); }

void SimulatedKernel::prepare(const Shape& shape) {
  if (shape.blocks == 0 || shape.threads == 0 || shape.ilp == 0)
    throw Error(ErrorKind::usage, "a shape without blocks, threads or chains has nothing to do");
  const Repeat repeat = repeat_of(shape);
  once_ =
      simulated::kernel_time(multiprocessors_, {shape.blocks, shape.threads, shape.one_block_per_sm != 0}, repeat.step, repeat.steps);
  work_ = repeat.work;
  shape_ = shape;
  ++prepared_;
  repeats_ = 0;
  result_.fill(std::byte{0xA5});
  device_->write("poison", payload_, result_.size());
}

RunTimes SimulatedKernel::run(std::uint64_t repeats) {
  const Seconds kernel{once_.cycles * static_cast<double>(repeats) / multiprocessors_.clock_hz};
  const Seconds begin = device_->clock().now();
  repeats_ = repeats;
  result_ = expected();
  const double factor = device_->run_kernel(launch_, latency_, kernel, payload_, result_.size());
  RunTimes ran;
  ran.host = device_->clock().now() - begin;
  ran.device = (latency_ + kernel) * factor;
  ran.cycles = once_.block_cycles * static_cast<double>(repeats) * factor;
  ran.units = once_.units;
  ran.max_blocks_on_unit = once_.max_blocks_on_unit;
  return ran;
}

// Other bytes for every shape and number of repeats.
SimulatedKernel::Result SimulatedKernel::expected() const {
  Result result;
  std::uint64_t state = prepared_ * 0x9E3779B97F4A7C15 + repeats_;
  for (std::byte& byte : result) {
    state = state * 6364136223846793005 + 1442695040888963407;
    byte = static_cast<std::byte>(state >> 56);
  }
  return result;
}

std::optional<std::string> SimulatedKernel::intact() {
  device_->touch("read back");
  const Result wanted = expected();
  for (std::size_t i = 0; i < result_.size(); ++i)
    if (result_[i] != wanted[i])
      return fmt::format("byte {} of the result is {:#04x}, not {:#04x}", i, static_cast<unsigned>(result_[i]),
                         static_cast<unsigned>(wanted[i]));
  return std::nullopt;
}

Telemetry SimulatedKernel::telemetry() {
  Telemetry t;
  t.sm_clock_mhz = multiprocessors_.clock_hz / 1e6;
  return t;
}

std::string SimulatedKernel::binding() const { return "simulated: no thread runs"; }

}  // namespace npgpu
