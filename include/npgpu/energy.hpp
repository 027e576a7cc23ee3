// The energy of work. In a window a device does one kind of work all of the time, half of it, or not at all, and its
// energy counter gives the energy. Perez & Piccoli 2011 name performance per watt among a GPU's parameters.
//
// Example:
//   std::string why;
//   const auto meter = npgpu::devices::energy_meter("sim:h200", why);  // or cuda:0; null: it cannot be read
//   meter->start({.device = "sim:h200", .work = npgpu::EnergyWork::idle});
//   const npgpu::Seconds begin = meter->clock().now();
//   meter->rest(npgpu::Seconds{1});
//   const npgpu::EnergyRecord seen = meter->stop(begin);
//   std::cout << meter->name() << ": " << seen.power_w << " W, " << seen.steps.size() << " steps\n";
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "npgpu/probe.hpp"

namespace npgpu {

// What the device does in a window. All but the first two are what the probes and modules of the same names measure.
enum class EnergyWork {
  no_context,  // nothing, and this process has no context on the device
  idle,        // nothing, with a context
  fma,         // probe compute: multiply-adds in registers; two operations each
  mma,         // probe tensor: products of small matrices by a warp from registers
  wgmma,       // probe tensor: by four warps from shared memory
  read,        // probe bandwidth (global memory) or onchip (L1, L2, shared memory): bytes read
  write,       // probe bandwidth: bytes written
  copy,        // probe bandwidth: bytes read and written, both counted
  h2d,         // copies from pinned host memory; energy is the device's alone
  d2h,         // copies to pinned host memory
  peer,        // copies to another device; energy is the source's alone
};
template <>
inline constexpr std::array<std::string_view, 11> names_of<EnergyWork>{
    "no-context", "idle", "fma", "mma", "wgmma", "read", "write", "copy", "h2d", "d2h", "peer"};
constexpr bool is_idle(EnergyWork work) { return work == EnergyWork::no_context || work == EnergyWork::idle; }
// Its work is counted in operations; that of all others in bytes.
constexpr bool counts_operations(EnergyWork work) {
  return work == EnergyWork::fma || work == EnergyWork::mma || work == EnergyWork::wgmma;
}
constexpr bool is_link_copy(EnergyWork work) {
  return work == EnergyWork::h2d || work == EnergyWork::d2h || work == EnergyWork::peer;
}

struct EnergyCase {
  std::string device{};
  EnergyWork work = EnergyWork::idle;
  DataType type = DataType::fp32;
  Space space = Space::global;  // where the bytes are; registers or shared of operations
  Operands operands = Operands::usual;
  std::string target{};  // of peer: the other device

  auto operator<=>(const EnergyCase&) const = default;
};
template <>
inline constexpr auto fields_of<EnergyCase> = fields(field("device", &EnergyCase::device),
                                                     field("work", &EnergyCase::work), field("type", &EnergyCase::type),
                                                     field("space", &EnergyCase::space),
                                                     field("operands", &EnergyCase::operands),
                                                     field("target", &EnergyCase::target));
inline std::string device_of(const EnergyCase& c) { return c.device; }
inline bool is_host_timed(const EnergyCase&) { return false; }  // a busy host only makes the work less
std::string title(const EnergyCase&);                           // "energy cuda:0 fma fp32 (random)"
// What is done, without the device: "read L2 (zeros)", "fma fp32 (random)", "idle".
std::string work_text(const EnergyCase&);

struct EnergyLoad {
  std::uint32_t duty_percent = 100;  // of the window's time in which the work runs; 0 of idle
  std::uint32_t window_ms = 200;     // the least length of a window, which ends on a step of the counter

  auto operator<=>(const EnergyLoad&) const = default;
};
template <>
inline constexpr auto fields_of<EnergyLoad> = fields(field("duty_percent", &EnergyLoad::duty_percent, "%"),
                                                     field("window_ms", &EnergyLoad::window_ms, "ms"));

// One window, from a step of the counter to a later one.
struct EnergySample {
  std::uint32_t visit = 0;
  std::uint32_t trial = 0;
  std::int32_t intact = -1;  // 1 the work's results were compared and right, 0 wrong, -1 not compared
  std::uint64_t repeats = 0;
  double window_us = not_measured;
  double energy_j = not_measured;      // of the whole device
  double done = not_measured;          // operations or bytes within the window
  std::uint32_t steps = 0;             // of the counter; of power that is read, its readings
  double power_w = not_measured;       // mean of readings of the instantaneous power, apart from the counter
  double sm_clock_mhz = not_measured;  // mean over the window
  double temperature_c = not_measured;

  bool operator==(const EnergySample&) const = default;
};
template <>
inline constexpr auto fields_of<EnergySample> =
    fields(field("visit", &EnergySample::visit), field("trial", &EnergySample::trial),
           field("intact", &EnergySample::intact, "1", intact_codes), field("repeats", &EnergySample::repeats),
           field("window_us", &EnergySample::window_us, "us"), field("energy_j", &EnergySample::energy_j, "J"),
           field("done", &EnergySample::done), field("steps", &EnergySample::steps),
           field("power_w", &EnergySample::power_w, "W"), field("sm_clock_mhz", &EnergySample::sm_clock_mhz, "MHz"),
           field("temperature_c", &EnergySample::temperature_c, "degC"));

struct EnergyContext {
  std::string meter{};         // "NVML's total energy counter"
  bool counts_energy = false;  // false: there is no counter, and readings of power stand for it
  double power_limit_w = not_measured;

  bool operator==(const EnergyContext&) const = default;
};
template <>
inline constexpr auto fields_of<EnergyContext> = fields(field("meter", &EnergyContext::meter),
                                                        field("counts_energy", &EnergyContext::counts_energy),
                                                        field("power_limit_w", &EnergyContext::power_limit_w, "W"));

inline TimeClass class_of(const EnergyCase&) { return TimeClass::windows; }

struct Energies : UsualKind {
  static constexpr std::string_view name = "energies";
  static constexpr std::string_view singular = "energy";
  static constexpr std::string_view command = "energy";
  static constexpr bool is_compared = false;  // windows and slices have one length
  using Case = EnergyCase;
  using Axes = EnergyLoad;
  using Sample = EnergySample;
  using Context = EnergyContext;
  struct Details {
    Estimate power_w;       // of the whole device, by the meter
    Estimate read_power_w;  // by readings of the instantaneous power in the same windows; NaN where there are none
    double clock_mhz = not_measured, temperature_c = not_measured;
  };
  // The window's mean power, a watt as a second: a point has converged when its power has, and it is power that drifts.
  static Seconds timed(const Case&, std::span<const Sample> trial);
  static Repetition repetition();
  static PointCost cost(const DeviceInfo&, const Step<Energies>&);
  static std::vector<Result<Energies>> results(const Series<Energies>&);
  static Estimate figure(const Case&, const Result<Energies>&);
  static std::string_view counted(const Case&, const Result<Energies>&);
};
using EnergySeries = Series<Energies>;
using EnergyPoint = Point<Energies>;
using EnergyResult = Result<Energies>;

std::optional<std::string> flaw_of(const EnergyLoad&);
std::string text_of(const EnergyLoad&);  // "half of the time, 0.8 s"

// ---- the meter -----------------------------------------------------------------------------------

// What the meter had counted at a moment, since a moment of its own.
struct EnergyReading {
  Seconds at{0};
  double joules = 0;
};
// What it saw in a time.
struct EnergyRecord {
  std::vector<EnergyReading> steps;  // each right after the counter stepped
  double power_w = not_measured;     // mean of readings of the instantaneous power
  Telemetry state;                   // means of clocks; the last temperature; reasons that clocks were lowered
};

// Reads a device's energy while it works: DeviceFamily::energy_meter().
class EnergyMeter {
 public:
  virtual ~EnergyMeter() = default;
  virtual std::string name() const = 0;
  virtual bool counts_energy() const = 0;
  // From now on the device does this.
  virtual void start(const EnergyCase&) = 0;
  // What it saw from this moment on. REQUIRES: start() came before.
  virtual EnergyRecord stop(Seconds since) = 0;
  // The clock of its readings.
  virtual const Clock& clock() const = 0;
  // The device does nothing for so long.
  virtual void rest(Seconds) = 0;
  // So much of that work took so long: what a simulated device's energy follows from.
  virtual void worked(double work, Seconds took) { (void)work, (void)took; }
};

}  // namespace npgpu
