// Jobs cut into streams on a simulated device: the discrete-event simulator with what the spec charges, on the device's
// manual clock. What is measured of it, and derived from that, has an exact truth.
//
// A trial's noise is on all of its times alike, that of single copies on their bytes. A gated job waits behind a gate
// of the device, which holds as many calls as any other and may time out.
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "netpipe/devices/simulated/device.hpp"
#include "netpipe/devices/simulated/library.hpp"
#include "netpipe/devices/simulated/multiprocessors.hpp"
#include "netpipe/simulate/simulator.hpp"
#include "npgpu/error.hpp"
#include "npgpu/job.hpp"
#include "npgpu/simulate.hpp"

namespace npgpu {

namespace {

constexpr std::uint64_t word_bytes = 4;

double fact_or(const Facts& facts, std::string_view wanted, double otherwise) {
  for (const auto& [name, value] : facts) {
    if (name != wanted) continue;
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
    if (const auto* number = std::get_if<double>(&value)) return *number;
  }
  return otherwise;
}

// One iteration of a kernel, in steps of which each waits for the one before: a read-modify-write in memory, a load, or
// eight times a multiply-add in each of four chains. No caches.
struct Iteration {
  simulated::Step step;
  double steps = 1;
};
Iteration iteration_of(Workload workload, const simulated::Multiprocessors& m, std::uint32_t threads) {
  Iteration one;
  if (workload == Workload::compute) {
    one.step.latency_cycles = m.fma_latency_cycles;
    one.step.instructions = 4;
    one.steps = 8;
    return one;
  }
  const double moves = workload == Workload::increment ? 2 : 1;
  one.step.latency_cycles = m.memory_latency_cycles;
  one.step.instructions = moves;
  one.step.block_bytes = one.step.block_bus_bytes = moves * word_bytes * threads;
  return one;
}

// Which keys of the spec this kernel needs and does not find.
std::optional<std::string> why_no_kernel(const simulated::Spec& spec, Workload workload) {
  if (workload == Workload::none) return std::nullopt;
  return simulated::why_no_kernels(spec,
                                   workload == Workload::compute ? simulated::Need::compute : simulated::Need::memory);
}

class SimulatedJobRunner final : public Runner<Jobs> {
 public:
  explicit SimulatedJobRunner(const std::string& id)
      : device_(simulated::open_device(id)),
        multiprocessors_(simulated::multiprocessors_of(device_->spec())),
        costs_(simulated_costs(simulated::info_of(device_->spec(), id), Memory::pinned)),
        destroy_(from_microseconds(fact_or(device_->spec().hardware, "stream_destroy_us", 0))) {
    payload_.data = result_.data();
    if (device_->spec().noise.operation_sigma > 0) simulator_.scatter([this] { return device_->operation_noise(); });
  }
  ~SimulatedJobRunner() override { device_->forget(payload_); }

  void prepare(const JobCase& c, const JobShape& shape) override {
    if (const auto why = refuses(c, shape)) throw Error(ErrorKind::usage, title(c) + ": " + *why);
    if (c.gating && c.pool == StreamPool::fresh)
      throw Error(ErrorKind::usage, title(c) + ": behind a gate streams are pooled: making them is the host's time");
    job_ = {.in_bytes = shape.bytes_in, .out_bytes = shape.bytes_out};
    if (c.workload != Workload::none) set_kernel(c.workload, shape);
    case_ = c;
    shape_ = shape;
    charged_ = costs_;
    if (c.pool == StreamPool::pooled) charged_.stream_create = Seconds{0};
    if (c.gating == Gating::gated) charged_.issue = {}, charged_.submit = Seconds{0};
    const std::vector<Issue> calls = issues_of(c.order, shape);
    calls_ = calls.size();
    issue_ = Seconds{0};
    for (const Issue& call : calls)
      issue_ += call.part == Stage::h2d       ? costs_.issue.h2d
                : call.part == Stage::kernel ? costs_.issue.kernel
                                               : costs_.issue.d2h;
    total_ = play();
    if (c.gating == Gating::gated && !gate_) gate_.emplace(device_);
    ++prepared_;
    runs_ = 0;
    result_.fill(std::byte{0xA5});
    device_->write("poison", payload_, result_.size());
  }

  JobTimes run() override {
    ++runs_;
    result_ = expected();
    const double streams = streams_of(case_.order, shape_);
    if (device_->spec().noise.operation_sigma > 0) total_ = play();
    const Seconds begin = device_->clock().now();
    const bool gated = case_.gating == Gating::gated;
    if (gated) gate_->hold();
    const double factor = device_->run_kernel(gated ? issue_ : Seconds{0}, Seconds{0}, total_, payload_, result_.size(),
                                              gated ? &*gate_ : nullptr);
    JobTimes ran;
    ran.host = device_->clock().now() - begin;
    ran.issue = issue_ * factor;
    if (gated) {
      ran.voided = gate_->timed_out() || calls_ > device_->spec().host.gate_capacity;
      if (!ran.voided) ran.device = total_ * factor;
    }
    if (case_.pool == StreamPool::fresh) {
      ran.create = costs_.stream_create * streams * factor;
      ran.destroy = destroy_ * streams * factor;
    }
    return ran;
  }

  std::optional<std::string> intact() override {
    if (runs_ == 0) return "nothing has run since this job was prepared";
    device_->touch("read back");
    if (result_ == expected()) return std::nullopt;
    return "the result is not what the job leaves";
  }
  const Clock& clock() const override { return device_->clock(); }
  std::string binding() const override { return "simulated: no thread runs"; }

 private:
  using Result = std::array<std::byte, 64>;

  void set_kernel(Workload workload, const JobShape& shape) {
    if (const auto why = why_no_kernel(device_->spec(), workload)) throw Error(ErrorKind::usage, *why);
    const Iteration one = iteration_of(workload, multiprocessors_, shape.threads);
    // One without iterations comes and goes in a step.
    const double steps = shape.iterations ? one.steps * static_cast<double>(shape.iterations) : 1;
    const auto time = [&](std::uint64_t blocks) {
      return Seconds{simulated::kernel_time(multiprocessors_, {blocks, shape.threads, false}, one.step, steps).cycles /
                     multiprocessors_.clock_hz};
    };
    job_.blocks = blocks_of(shape);
    const std::uint32_t warps = (shape.threads + simulated::warp_threads - 1) / simulated::warp_threads;
    job_.slots =
        std::uint64_t{multiprocessors_.sms} * std::min(multiprocessors_.blocks, multiprocessors_.warps / warps);
    job_.kernel = time(job_.blocks);
    std::vector<Curve::Point> points;
    if (shape.chunks > 1) points.push_back({1.0 / shape.chunks, time((job_.blocks + shape.chunks - 1) / shape.chunks)});
    points.push_back({1, job_.kernel});
    job_.kernel_of_fraction = Curve(std::move(points));
  }

  Seconds play() {
    simulator_.hold_others(case_.gating == Gating::last_stream_free ? issue_ + last_stream_free_patience : Seconds{0});
    return simulator_
        .run(job_, shape_.chunks, charged_, static_cast<Order>(case_.order), nullptr,
             std::min(shape_.streams, shape_.chunks))
        .total;
  }

  // Other bytes for every job and run.
  Result expected() const {
    Result result;
    std::uint64_t state = prepared_ * 0x9E3779B97F4A7C15 + runs_;
    for (std::byte& byte : result) {
      state = state * 6364136223846793005 + 1442695040888963407;
      byte = static_cast<std::byte>(state >> 56);
    }
    return result;
  }

  std::shared_ptr<simulated::Device> device_;
  simulated::Multiprocessors multiprocessors_;
  std::optional<simulated::Stream> gate_;
  model::Simulator simulator_;
  StreamCosts costs_, charged_;  // of the device; of this job
  Seconds destroy_;
  JobCase case_;
  JobShape shape_;
  Job job_;
  Seconds total_{0}, issue_{0};
  simulated::Payload payload_;
  Result result_{};
  std::uint64_t prepared_ = 0, runs_ = 0, calls_ = 0;
};

class SimulatedOverlap final : public Backend<Jobs> {
 public:
  std::string_view kind() const override { return "sim"; }
  std::vector<DeviceInfo> devices() const override { return simulated::known_devices(); }
  std::string why_none() const override { return simulated::why_none(); }
  DeviceInfo device(const std::string& id) const override { return simulated::device_of(id); }
  std::optional<std::string> refuses(const JobStep& asked) const override {
    return why_no_kernel(simulated::spec_of(step.question.device), step.question.workload);
  }
  std::uint64_t cache_bytes(const std::string& device) const override {
    return static_cast<std::uint64_t>(fact_or(simulated::spec_of(device).hardware, "l2_bytes", 0));
  }
  // Nothing is allocated; a device that is too small for a job still says so.
  MemoryNeed needs(const std::string&, std::span<const JobStep> questions) const override {
    MemoryNeed most;
    for (const auto& [c, job] : questions)
      most.device_bytes = std::max(most.device_bytes, job.bytes_in + job.bytes_out + job.kernel_bytes);
    return most;
  }
  MemoryNeed available(const std::string& device) const override {
    return {std::uint64_t{1} << 62, simulated::spec_of(device).memory_bytes};
  }
  std::unique_ptr<Runner<Jobs>> open(const std::string& device, std::span<const JobStep>) const override {
    return std::make_unique<SimulatedJobRunner>(device);
  }
};

}  // namespace

}  // namespace npgpu

NPGPU_JOBS(npgpu::SimulatedOverlap)
