// Devices at work for long: the energy of work, and soaks. The energy comes first. In a window a device does one kind
// of work all of the time, half of it, or not at all, and its energy counter gives the energy. Perez & Piccoli 2011
// name performance per watt among a GPU's parameters.
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

#include "npgpu/vocabulary/probe.hpp"

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

// A device at work for minutes: slices of a few seconds, each with one load or with several at once, and what the
// device said of itself meanwhile. Every load compares its results.
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");
//   for (const npgpu::SoakSeries& series : trace.of<npgpu::Soaks>())
//     for (const npgpu::SoakSample& s : series.samples)
//       if (s.mismatches > 0)
//         std::cout << npgpu::title(series.question) << ": wrong after " << s.elapsed_s << " s\n";
//   std::cout << trace.of<npgpu::Soaks>().size() << " loads\n";

// What a device does. All but the memory test are what probes and modules of the same names measure.
enum class SoakLoad {
  fp32,         // probe compute: multiply-adds in registers; two operations each
  fp64,         // the same of doubles
  tensor,       // probe tensor: products of small fp16 matrices
  memory,       // probe bandwidth: bytes read
  h2d,          // copies from pinned host memory
  d2h,          // copies to it
  peer,         // copies to another device
  together,     // tensor, memory, h2d, d2h and peer at once: a sample for each
  memory_test,  // all free memory is written with patterns and read back
  test_write,   // of a memory test: what it wrote
  test_read,    // of a memory test: what it read and compared
  fp64_tensor,  // probe tensor: products of small matrices of doubles, where the device has them
};
template <>
inline constexpr std::array<std::string_view, 12> names_of<SoakLoad>{
    "fp32", "fp64",     "tensor",      "memory",     "h2d",       "d2h",
    "peer", "together", "memory-test", "test-write", "test-read", "fp64-tensor"};
// Its work is counted in operations; that of all others in bytes.
constexpr bool counts_operations(SoakLoad load) {
  return load == SoakLoad::fp32 || load == SoakLoad::fp64 || load == SoakLoad::tensor || load == SoakLoad::fp64_tensor;
}

// What a memory test writes into each word of 8 bytes.
enum class MemoryPattern {
  none,     // the sample is no word of a memory test
  walking,  // one bit of 64, another one in the next word
  inverse,  // all bits but that one
  address,  // the word's own address
  random,   // a hash of the word's number
};
template <>
inline constexpr std::array<std::string_view, 5> names_of<MemoryPattern>{"none", "walking", "inverse", "address",
                                                                         "random"};

struct SoakCase {
  std::string device{};
  SoakLoad load = SoakLoad::together;
  std::string target{};  // of copies to another device: which

  auto operator<=>(const SoakCase&) const = default;
};
template <>
inline constexpr auto fields_of<SoakCase> = fields(field("device", &SoakCase::device), field("load", &SoakCase::load),
                                                   field("target", &SoakCase::target));
inline std::string device_of(const SoakCase& c) { return c.device; }
inline bool is_host_timed(const SoakCase&) { return false; }
std::string title(const SoakCase&);  // "soak cuda:0 peer to cuda:1"

struct SoakSlice {
  std::uint32_t number = 0;        // of the soak, from 0; all devices do the same in one
  std::uint32_t length_ms = 2000;  // of its own; a memory test takes as long as it takes

  auto operator<=>(const SoakSlice&) const = default;
};
template <>
inline constexpr auto fields_of<SoakSlice> = fields(field("number", &SoakSlice::number),
                                                    field("length_ms", &SoakSlice::length_ms, "ms"));

// One load in one slice; or, with a pattern, one word that a memory test found wrong.
struct SoakSample {
  std::uint32_t visit = 0;
  std::uint32_t trial = 0;
  std::int32_t intact = -1;  // 1 the results were compared and right, 0 wrong, -1 not compared
  std::uint64_t repeats = 0;
  SoakLoad part = SoakLoad::together;   // of a case that does several
  double elapsed_s = not_measured;      // of the soak, when the slice began
  double done = not_measured;           // operations or bytes
  double compared = not_measured;       // of these, what results say that were compared
  double busy_us = not_measured;        // of the slice, by the load's own timing
  std::uint64_t mismatches = 0;         // comparisons that failed; of a memory test wrong words
  double sm_clock_mhz = not_measured;   // mean over the slice
  double power_w = not_measured;        // mean
  double temperature_c = not_measured;  // highest
  std::uint64_t throttle_reasons = 0;   // in a quarter of the readings or more
  double throttled_s = not_measured;    // of the soak, when one of them was first read that takes clocks away
  double ecc_corrected = not_measured, ecc_uncorrected = not_measured;  // counters at the slice's end
  double pcie_replays = not_measured, xids = not_measured;
  MemoryPattern pattern = MemoryPattern::none;
  std::uint64_t address = 0;              // of a wrong word, on the device
  std::uint64_t expected = 0, found = 0;  // what it held
  std::int32_t again = -1;                // a second read brought the same 1, or what was right 0

  bool operator==(const SoakSample&) const = default;
};
template <>
inline constexpr auto fields_of<SoakSample> = fields(
    field("visit", &SoakSample::visit), field("trial", &SoakSample::trial),
    field("intact", &SoakSample::intact, "1", intact_codes), field("repeats", &SoakSample::repeats),
    field("part", &SoakSample::part), field("elapsed_s", &SoakSample::elapsed_s, "s"), field("done", &SoakSample::done),
    field("compared", &SoakSample::compared), field("busy_us", &SoakSample::busy_us, "us"),
    field("mismatches", &SoakSample::mismatches), field("sm_clock_mhz", &SoakSample::sm_clock_mhz, "MHz"),
    field("power_w", &SoakSample::power_w, "W"), field("temperature_c", &SoakSample::temperature_c, "degC"),
    field("throttle_reasons", &SoakSample::throttle_reasons), field("throttled_s", &SoakSample::throttled_s, "s"),
    field("ecc_corrected", &SoakSample::ecc_corrected), field("ecc_uncorrected", &SoakSample::ecc_uncorrected),
    field("pcie_replays", &SoakSample::pcie_replays), field("xids", &SoakSample::xids),
    field("pattern", &SoakSample::pattern), field("address", &SoakSample::address),
    field("expected", &SoakSample::expected), field("found", &SoakSample::found),
    field("again", &SoakSample::again, "1", "1 the second read brought the same, 0 what was right, -1 no wrong word"));

inline TimeClass class_of(const SoakCase&) { return TimeClass::windows; }

struct Soaks : UsualKind {
  static constexpr std::string_view name = "soaks";
  static constexpr std::string_view singular = "soak";
  static constexpr std::string_view command = "check";
  static constexpr bool is_compared = false;  // windows and slices have one length
  using Case = SoakCase;
  using Axes = SoakSlice;
  using Sample = SoakSample;
  static Seconds timed(const Case&, std::span<const Sample> trial);
  static Repetition repetition();
  static PointCost cost(const DeviceInfo&, const Step<Soaks>&);
  static std::vector<Result<Soaks>> results(const Series<Soaks>&);
  static Estimate figure(const Case&, const Result<Soaks>&);
  static std::string_view counted(const Case&, const Result<Soaks>&);
};
using SoakSeries = Series<Soaks>;
using SoakPoint = Point<Soaks>;
using SoakResult = Result<Soaks>;

std::optional<std::string> flaw_of(const SoakSlice&);
std::string text_of(const SoakSlice&);  // "slice 12 of 2 s"

}  // namespace npgpu
