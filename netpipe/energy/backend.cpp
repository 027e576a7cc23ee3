// Windows of energy on every family of devices that has a meter.
//
// A window begins and ends on a step of the meter's counter, so that no part of a step is guessed. The work runs in
// pieces; what a piece did is spread evenly over its time, and the window has what lies within it. Before the window
// the work runs for a while, until clocks, voltage and counter are those of the work. A window in which the work runs
// for a part of the time has pieces and rests of 1 to 3 ms by turns, of random lengths: a counter that looks at the
// power now and then could meet more of one than of the other if both came at even times.
//
// A warm device leaks more: on an H100 each kelvin added 0.6 % to the powers, and in 40 s of windows it became 6
// kelvin warmer at rest. So it is heated before the first window.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "netpipe/energy/load.hpp"
#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/load.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

namespace {

constexpr Seconds piece{0.02}, least_short_piece{0.001}, most_short_piece{0.003};
// Before a window: the counter follows a load within one step of 100 ms (H100, H200).
constexpr Seconds settling{0.15};
// At rest the clock comes back, too, where the work before it was beyond a limit of power: some tenths of a second.
constexpr Seconds settling_at_rest{0.5};
// Between two steps of the counter there.
constexpr Seconds between_steps{0.1};
// What rests with a context is woken up first.
constexpr Seconds waking{0.05};
constexpr Seconds heating{12}, heating_for_a_window{0.6};
// A device without a context falls back to its lowest clocks some time after the context has gone.
constexpr Seconds falling_asleep{1.5};

struct WorkPiece {
  Seconds begin{0}, end{0};
  double work = 0;
};

// What lies within a window, of pieces that are spread evenly over their time.
double done_within(const std::vector<WorkPiece>& pieces, Seconds begin, Seconds end) {
  double sum = 0;
  for (const WorkPiece& one : pieces) {
    const Seconds shared = std::min(one.end, end) - std::max(one.begin, begin);
    if (shared > Seconds{0} && one.end > one.begin) sum += one.work * (shared / (one.end - one.begin));
  }
  return sum;
}

class EnergyRunner final : public Runner<Energies> {
 public:
  EnergyRunner(std::span<const Step<Energies>> steps, std::unique_ptr<EnergyMeter> meter)
      : device_(steps.front().question.device), hottest_(hottest_of(steps)), meter_(std::move(meter)) {
    heat_for_ = std::min(heating, heating_for_a_window * static_cast<double>(steps.size()));
  }

  void prepare(const Step<Energies>& step) override {
    heat_once();
    if (step.question != step_.question) {
      load_.reset();
      load_ = energy::open_load(step.question);
      // What rests with a context has one, and is awake.
      if (step.question.work == EnergyWork::idle && hottest_) energy::open_load(*hottest_)->run(waking);
    }
    step_ = step;
    is_prepared_ = false;
  }

  bool run(std::uint64_t, std::vector<EnergySample>& samples) override {
    if (!std::exchange(is_prepared_, true)) {  // a schedule's first run of a visit is no trial
      if (step_.question.work == EnergyWork::no_context) {
        devices::reset_context(device_);
        meter_->rest(falling_asleep);
      }
      samples.push_back({.repeats = 1, .window_us = 1, .energy_j = 0});
      return true;
    }
    meter_->start(step_.question);
    work_for(is_idle(step_.question.work) ? settling_at_rest : settling);
    pieces_.clear();
    const Seconds begin = meter_->clock().now();
    work_for(Seconds{step_.axes.window_ms * 1e-3} + 2.05 * between_steps);  // it begins and ends within a step
    samples.push_back(window_of(meter_->stop(begin)));
    return true;
  }

  std::optional<std::string> check(std::span<EnergySample> last_trial) override {
    if (!load_) return std::nullopt;
    const auto wrong = load_->check();
    for (EnergySample& sample : last_trial) sample.intact = wrong ? 0 : 1;
    return wrong;
  }

  std::uint64_t max_repeats() const override { return 1; }
  const Clock& clock() const override { return meter_->clock(); }
  Telemetry telemetry() override { return state_; }
  std::string binding() const override { return load_ ? load_->binding() : "nothing runs"; }

 private:
  // The work that heats most, by what tensor cores and multiply-adds took on an H100; nothing where all rest.
  static std::optional<EnergyCase> hottest_of(std::span<const Step<Energies>> steps) {
    std::optional<EnergyCase> hottest;
    const auto heat = [](const EnergyCase& c) { return std::pair(counts_operations(c.work), c.work); };
    for (const auto& [question, axes] : steps)
      if (!is_idle(question.work) && (!hottest || heat(*hottest) < heat(question))) hottest = question;
    return hottest;
  }

  // Once a process and device.
  void heat_once() {
    static std::set<std::string> heated;
    if (!hottest_ || !heated.insert(device_).second) return;
    const auto load = energy::open_load(*hottest_);
    for (Seconds all{0}; all < heat_for_;) all += std::max(load->run(piece).took, Seconds{1e-6});
  }

  void work_for(Seconds duration) {
    const Seconds begin = meter_->clock().now();
    while (meter_->clock().now() - begin < duration) work_and_rest();
  }

  // The length of a short piece, at random.
  Seconds short_piece() {
    random_ = random_ * 6364136223846793005 + 1442695040888963407;
    return least_short_piece + (most_short_piece - least_short_piece) * (static_cast<double>(random_ >> 33) * 0x1p-31);
  }

  void work_and_rest() {
    const double duty = step_.axes.duty_percent * 0.01;
    if (!load_ || duty <= 0) return meter_->rest(piece);
    const Seconds begin = meter_->clock().now();
    const auto done = load_->run(duty < 1 ? short_piece() : piece);
    meter_->worked(done.work, done.took);
    const Seconds end = meter_->clock().now();
    pieces_.push_back({begin, end, done.work});
    if (duty < 1) meter_->rest((end - begin) * (1 / duty - 1));
  }

  EnergySample window_of(const EnergyRecord& record) {
    EnergySample sample;
    sample.repeats = 1;
    if (record.steps.size() < 2)
      throw Error(ErrorKind::failed, fmt::format("{} did not step twice within a window", meter_->name()));
    const EnergyReading &first = record.steps.front(), &last = record.steps.back();
    sample.window_us = microseconds(last.at - first.at);
    sample.energy_j = last.joules - first.joules;
    sample.done = done_within(pieces_, first.at, last.at);
    sample.steps = static_cast<std::uint32_t>(record.steps.size() - 1);
    sample.power_w = record.power_w;
    sample.sm_clock_mhz = record.state.sm_clock_mhz;
    sample.temperature_c = record.state.temperature_c;
    state_ = record.state;
    return sample;
  }

  const std::string device_;
  const std::optional<EnergyCase> hottest_;
  Seconds heat_for_{0};
  std::uint64_t random_ = 1;
  std::unique_ptr<EnergyMeter> meter_;
  std::unique_ptr<energy::Load> load_;
  Step<Energies> step_;
  bool is_prepared_ = false;
  std::vector<WorkPiece> pieces_;
  Telemetry state_;
};

class EnergyBackend : public Backend<Energies> {
 public:
  explicit EnergyBackend(std::string_view device_kind) : device_kind_(device_kind) {}
  std::string_view name() const override { return "energy"; }
  std::string_view device_kind() const override { return device_kind_; }
  std::string_view summary() const override { return "windows between steps of the device's energy counter"; }

  std::optional<std::string> refuses(const Step<Energies>& step) const override {
    if (const auto flaw = flaw_of(step.axes)) return "a window " + *flaw;
    if (is_idle(step.question.work) != (step.axes.duty_percent == 0)) return "a window without work is an idle one";
    std::string why;
    if (!devices::energy_meter(step.question.device, why)) return why;
    return energy::refuses(step.question);
  }
  EnergyContext context(const EnergyCase& c) const override {
    std::string why;
    const auto meter = devices::energy_meter(c.device, why);
    return {meter ? meter->name() : why, meter && meter->counts_energy(),
            number_fact(devices::find(c.device).facts, "power_limit_w")};
  }
  // One load is open at a time.
  MemoryNeed needs(std::span<const Step<Energies>> steps) const override {
    MemoryNeed most;
    for (const auto& one : steps) {
      const MemoryNeed need = energy::needs(one.question);
      most.host_bytes = std::max(most.host_bytes, need.host_bytes);
      most.device_bytes = std::max(most.device_bytes, need.device_bytes);
    }
    return most;
  }
  MemoryNeed available(const EnergyCase& c) const override { return energy::available(c); }
  std::unique_ptr<Runner<Energies>> open(std::span<const Step<Energies>> steps) const override {
    const std::string& device = steps.front().question.device;
    std::string why;
    auto meter = devices::energy_meter(device, why);
    if (!meter) throw Error(ErrorKind::nothing, why);
    return std::make_unique<EnergyRunner>(steps, std::move(meter));
  }

 private:
  std::string_view device_kind_;
};

struct CudaEnergy final : EnergyBackend {
  CudaEnergy() : EnergyBackend("cuda") {}
};
struct HostEnergy final : EnergyBackend {
  HostEnergy() : EnergyBackend("host") {}
};
struct SimulatedEnergy final : EnergyBackend {
  SimulatedEnergy() : EnergyBackend("sim") {}
};

}  // namespace

}  // namespace npgpu

NPGPU_REGISTERED(Backend<npgpu::Energies>, npgpu::CudaEnergy, npgpu::HostEnergy, npgpu::SimulatedEnergy)
