// Products of matrices on simulated devices. A spec says how fast they are by what divides m, n and k, as a library's
// kernels are (Allada et al. 2009, Table III): hardware.gemm_fp32_64_gflops where 64 divides all of them, then 32, 16,
// 8 and 1; what it leaves out has the rate of the next larger one; hardware.gemm_fp16_64_gflops and so on are those of
// tensor cores. Whatever is transposed takes as long. Where beta is not 0, C is read from memory after the products, at
// the memory's rate. Of columns
// that are the host's, the rate is hardware.host_gemm_fp32_gflops; they take their time while the device works. Copies
// take what the spec's links say, and panels go through its engines as the simulator of streams plays them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "netpipe/devices/simulated/library.hpp"
#include "netpipe/devices/simulated/result.hpp"
#include "npgpu/vocabulary/questions.hpp"
#include "npgpu/vocabulary/units.hpp"
#include "probes/gemm/gemm.hpp"
#include "probes/runner.hpp"

namespace npgpu::simulated {

namespace {

constexpr std::uint32_t divisors[] = {64, 32, 16, 8, 1};

std::string rate_key(DataType type, std::uint32_t divisor) {
  return fmt::format("gemm_{}_{}_gflops", name(type), divisor);
}

// Operations per second; NaN where the spec says nothing.
double rate_of(const Spec& spec, DataType type, const Shape& s) {
  const std::uint32_t common = std::gcd(std::gcd(s.m, s.n), s.k);
  double rate = not_measured;
  for (const std::uint32_t divisor : divisors) {
    const double own = number_fact(spec.hardware, rate_key(type, divisor)) * 1e9;
    if (own > 0) rate = own;
    if (common % divisor == 0) return rate;
  }
  return rate;
}

double host_rate_of(const Spec& spec, DataType type) {
  return number_fact(spec.hardware, fmt::format("host_gemm_{}_gflops", name(type))) * 1e9;
}

bool has_rate(const Spec& spec, DataType type) { return rate_of(spec, type, gemm::square(divisors[0])) > 0; }

Seconds copy_time(const Link& link, std::uint64_t bytes) {
  return link.latency + Seconds{static_cast<double>(bytes) / link.bytes_per_s};
}

class GemmRunner final : public gemm::PanelRunner<ProbeRunner> {
 public:
  GemmRunner(const Probe& probe, std::span<const ProbeStep> steps)
      : PanelRunner(probe, steps),
        device_(open_device(question().device)),
        launch_(device_->spec().time("kernel_launch_us", device_->spec().host.launch)),
        latency_(device_->spec().time("kernel_latency_us")),
        result_(*device_) {}
  const Clock& clock() const override { return device_->clock(); }
  std::string binding() const override { return "simulated: no thread runs"; }
  Telemetry telemetry() override { return device_->telemetry(); }

 private:
  void set_up_panels() override {
    once_ = question().space == Space::host ? gemm::time_of(shape(), costs(), shape().panels)
                                            : compute(gemm::all_columns(shape()));
    if (shape().host_columns) once_ = std::max(once_, host_time(gemm::host_columns(shape())));
    result_.poison();
  }
  Seconds host_time(const gemm::Columns& columns) const {
    Shape part = shape();
    part.n = columns.count;
    return Seconds{gemm::work_of(part) / host_rate_of(device_->spec(), question().type)};
  }
  Seconds compute(const gemm::Columns& columns) const {
    Shape part = shape();
    part.n = columns.count;
    const Spec& spec = device_->spec();
    const Seconds products{gemm::work_of(part) / rate_of(spec, question().type, part)};
    const bool reads = part.beta != 0 && spec.d2d;  // a copy within the device reads and writes each byte
    return latency_ + products +
           (reads ? Seconds{static_cast<double>(gemm::bytes_of(question(), part).c) / (2 * spec.d2d->bytes_per_s)}
                  : Seconds{0});
  }
  std::uint32_t best_host_columns() override {
    return gemm::advised_host_columns(shape(), once_, costs().copy_a, host_time(gemm::all_columns(shape())));
  }
  gemm::PanelCosts costs() override {
    const Link &down = *device_->spec().link(Direction::h2d, Memory::pinned),
               &up = *device_->spec().link(Direction::d2h, Memory::pinned);
    Shape own = shape();  // without the host's columns
    own.n = gemm::device_columns(own).count;
    const gemm::MatrixBytes bytes = gemm::bytes_of(question(), own);
    gemm::PanelCosts costs{.copy_a = copy_time(down, bytes.a),
                           .start_b = down.latency,
                           .all_b = copy_time(down, bytes.b + (shape().beta ? bytes.c : 0)) - down.latency,
                           .start_c = up.latency,
                           .all_c = copy_time(up, bytes.c) - up.latency,
                           .copy_engines = device_->spec().copy_engines};
    auto counts = gemm::panel_candidates(shape());
    if (std::ranges::find(counts, shape().panels) == counts.end()) counts.push_back(shape().panels);
    std::ranges::sort(counts, std::greater());
    for (const std::uint32_t panels : counts) {
      Shape cut = shape();
      cut.panels = panels;
      costs.compute_of_fraction.push_back({1.0 / panels, compute(gemm::panel_of(cut, 0))});
    }
    return costs;
  }
  ProbeSample launch(std::uint64_t repeats) override {
    const Seconds all = once_ * static_cast<double>(repeats), begin = device_->clock().now();
    const double factor = result_.run(launch_, Seconds{0}, all);
    ProbeSample sample;
    sample.host_us = microseconds(device_->clock().now() - begin);
    sample.device_us = microseconds(all * factor);
    return sample;
  }
  std::optional<std::string> wrong_result() override { return result_.wrong(); }

  std::shared_ptr<Device> device_;
  Seconds launch_, latency_, once_{0};
  Result result_;
};

class SimulatedGemm final : public Probe {
 public:
  std::string_view name() const override { return "gemm"; }
  std::string_view device_kind() const override { return "sim"; }
  bool takes_operands(const ProbeCase&, Operands) const override { return true; }  // its time does not depend on them
  std::vector<ProbeCase> cases(const std::string& device) const override {
    auto all = description_of(name()).cases(device);
    std::erase_if(all, [&](const ProbeCase& c) { return refuses_case(c).has_value(); });
    return all;
  }
  std::vector<Shape> shapes(const ProbeCase& c) const override {
    auto all = gemm::device_shapes(c, context(c).layout);
    std::erase_if(all, [&](const Shape& s) { return refuses_shape(c, s).has_value(); });
    return all;
  }
  std::optional<std::string> refuses_case(const ProbeCase& c) const override {
    const Spec spec = spec_of(c.device);
    const auto all = description_of(name()).cases(c.device);
    const DataType type = std::ranges::count(all, c.type, &ProbeCase::type) ? c.type : DataType::fp32;
    if (!has_rate(spec, type))
      return fmt::format("the spec of {} does not say how fast products of matrices are: add hardware.{} to {}",
                         spec.name, rate_key(type, divisors[0]), spec.file.string());
    if (c.space == Space::host &&
        (!spec.link(Direction::h2d, Memory::pinned) || !spec.link(Direction::d2h, Memory::pinned)))
      return fmt::format("the spec of {} has no copies of pinned memory both ways", spec.name);
    if (std::ranges::count(all, c)) return std::nullopt;
    return description_of(name()).there_are;
  }
  std::optional<std::string> refuses_shape(const ProbeCase& c, const Shape& shape) const override {
    if (shape.blocks != 1 || shape.one_block_per_sm) return "a GPU's library chooses the blocks";
    if (shape.host_columns && !(host_rate_of(spec_of(c.device), c.type) > 0))
      return fmt::format("the spec does not say how fast the host is: add hardware.host_gemm_{}_gflops",
                         npgpu::name(c.type));
    return gemm::refuses(c, shape);
  }
  ProbeContext context(const ProbeCase& c) const override {
    const Spec spec = spec_of(c.device);
    ProbeContext context;
    context.layout.memory_bytes = spec.memory_bytes;
    double best = 0;
    for (const std::uint32_t divisor : divisors)
      best = std::fmax(best, number_fact(spec.hardware, rate_key(c.type, divisor)));
    if (best > 0) context.limit = {best * 1e9, "the spec: the best of its rates of products of matrices"};
    context.library = "simulated: rates by what divides m, n and k";
    return context;
  }
  MemoryNeed needs(std::span<const ProbeStep> steps) const override { return {0, gemm::bytes_of(steps).sum()}; }
  MemoryNeed available(const ProbeCase& c) const override { return {UINT64_MAX, spec_of(c.device).memory_bytes}; }

  std::unique_ptr<Runner<Probes>> open(std::span<const ProbeStep> steps) const override {
    return std::make_unique<GemmRunner>(*this, steps);
  }
};

}  // namespace
}  // namespace npgpu::simulated

NPGPU_REGISTERED(Probe, npgpu::simulated::SimulatedGemm)
