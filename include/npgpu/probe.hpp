// A probe times kernels whose work is known exactly, on one unit of a device or on all, in one lane or in all, and so
// tells how the device is built (paper 002: the four corners of computing power and memory bandwidth).
//
// Words of the universal form, which serve GPUs, CPUs and simulated devices alike:
//   unit   what runs a block by itself: a GPU's multiprocessor, a CPU's core
//   block  work that stays on one unit: a CUDA block; on a CPU one pinned thread
//   lane   what one instruction does at once: 32 threads of a warp; the elements of a SIMD register
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/clock.hpp"
#include "npgpu/device.hpp"
#include "npgpu/engine.hpp"
#include "npgpu/names.hpp"
#include "npgpu/sample.hpp"
#include "npgpu/units.hpp"

namespace npgpu {

enum class Operation {
  fma,    // compute: x = x*a + b in registers, two operations
  rmw,    // bandwidth: x = x + c in place; read and write are counted, as paper 002 does
  read,   // bandwidth: a sum of all elements
  write,  // bandwidth: every element set
  copy,   // bandwidth: y = x; read and write are counted
  triad,  // bandwidth: z = x + s*y; two reads and a write are counted
  chase,  // latency: each load's address comes from the load before
};
enum class DataType { fp32, fp64, int32, fp16, bf16 };  // on a GPU two fp16 or bf16 lie in a register
enum class Form {
  streaming,  // nothing waits for a result but the last step
  dependent,  // every step of a thread waits for the one before
};
enum class Space { registers, shared, constant, global, host };

template <>
inline constexpr std::array<std::string_view, 7> names_of<Operation>{"fma",  "rmw",   "read", "write",
                                                                     "copy", "triad", "chase"};
template <>
inline constexpr std::array<std::string_view, 5> names_of<DataType>{"fp32", "fp64", "int32", "fp16", "bf16"};
template <>
inline constexpr std::array<std::string_view, 2> names_of<Form>{"streaming", "dependent"};
template <>
inline constexpr std::array<std::string_view, 5> names_of<Space>{"registers", "shared", "constant", "global", "host"};

// One complete question; with a Shape it is a point.
struct ProbeCase {
  std::string probe{};   // compute, bandwidth, latency
  std::string device{};  // host, cuda:0, sim:gtx470
  Operation operation = Operation::fma;
  DataType type = DataType::fp32;
  Form form = Form::streaming;  // compute: streaming; what waits for what is the shape's ilp
  Space space = Space::registers;

  bool operator==(const ProbeCase&) const = default;
};
// Its work is counted in loads, each of which waits for the one before.
inline bool counts_loads(const ProbeCase& c) { return c.probe == "latency"; }
// "compute cuda:0 fma fp32", "bandwidth cuda:0 rmw fp32 dependent"
std::string title(const ProbeCase&);

// The axes of a probe. All-All, One-All, All-One and One-One are points on them: blocks over all units or 1, threads
// (lanes) of a block as many as pay or 1.
struct Shape {
  std::uint32_t blocks = 1;
  std::uint32_t threads = 1;      // of a block; on a CPU: lanes in use, 1 or those of the SIMD register
  std::uint32_t ilp = 1;          // independent chains, or accesses in flight, of one thread
  std::uint32_t access_bytes = 0; // of one thread's access; 0 where no memory is touched
  std::uint64_t bytes = 0;        // working set of the grid; 0 where no memory is touched
  std::uint32_t alone = 0;        // 1: no two blocks on one unit: forced, and checked by `most_on_unit`

  auto operator<=>(const Shape&) const = default;
};

// What a device says of its own build: what shapes it can take, and what derived values are checked against.
// 0 or NaN: it does not say.
struct Layout {
  std::uint32_t units = 0;               // multiprocessors; cores in the affinity mask
  std::uint32_t lanes = 0;               // warp size; elements of a SIMD register, for the case's type
  std::uint32_t threads_most = 0;        // of a block
  std::uint32_t blocks_per_unit_most = 0;
  std::uint32_t threads_per_unit_most = 0;  // of all blocks that a unit holds at once
  std::uint64_t cache_bytes = 0;         // the last level before memory
  std::uint64_t near_cache_bytes = 0;    // a unit's own first level
  std::uint64_t memory_bytes = 0;        // free now
  double clock_mhz = not_measured;       // highest of the units
};

// The rate that the documentation promises for a case, at Layout::clock_mhz: operations per second, or bytes per second.
struct Peak {
  double per_s = not_measured;
  std::string source = "unknown";
};

// One timed run of a kernel, exactly as it came.
struct ProbeSample {
  std::uint32_t point = 0;
  std::uint32_t trial = 0;
  std::int32_t intact = -1;         // 1 results compared and right, 0 wrong, -1 not compared after this trial
  std::uint64_t repeats = 0;
  double host_us = not_measured;    // host clock, launch to end
  double device_us = not_measured;  // device events around the kernel; a chase on a GPU: its own timer around the loads
  // Of the unit that took longest, by its own clock, from its first block's begin to its last one's end.
  double cycles = not_measured;
  std::uint32_t units = 0;          // distinct units that ran a block; 0: not known
  std::uint32_t most_on_unit = 0;   // most blocks that one unit ran

  bool operator==(const ProbeSample&) const = default;
};

struct ProbePoint {
  Shape shape;
  double work = not_measured;  // of one repeat, all blocks: operations (compute), bytes (bandwidth), loads (latency)
  std::uint64_t first_sample = 0;
  std::uint32_t samples = 0;
  Stop stop = Stop::trials;
  double wall_us = 0;
  Telemetry telemetry;
};

// One case over its shapes.
struct ProbeSweep {
  ProbeCase question;
  std::string schedule;
  std::string device_uuid;
  std::string device_name;
  bool simulated = false;
  Layout layout;
  Peak peak;
  std::string binding;
  std::string error;
  std::vector<ProbePoint> points;
  std::vector<ProbeSample> samples;
};

// ---- measuring -------------------------------------------------------------------------------------

// What one run took. `device` is nothing where there is no device clock.
struct Ran {
  Seconds host{0};
  std::optional<Seconds> device;
  double cycles = not_measured;
  std::uint32_t units = 0;
  std::uint32_t most_on_unit = 0;
};

// A kernel opened for one case; it owns its buffers. Calling order for each shape: prepare { run }* intact.
// Everything throws Error.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void prepare(const Shape&) = 0;        // every following run has this shape; not timed
  virtual double work() const = 0;               // of one repeat of the prepared shape, all blocks
  virtual Ran run(std::uint64_t repeats) = 0;    // one launch that repeats its work so often inside
  // Compares what the last run left with what it must leave. Nothing if all is well, otherwise one sentence.
  virtual std::optional<std::string> intact() = 0;
  virtual const Clock& clock() const = 0;
  virtual Telemetry telemetry() { return {}; }
  virtual std::string binding() const = 0;
};

// One question about how devices are built, with the kernels that answer it on one kind of device. One file a probe
// and kind, which ends with NPGPU_PROBE(Class): probes/compute_host.cpp, probes/compute.cu.
class Probe {
 public:
  virtual ~Probe() = default;
  virtual std::string_view name() const = 0;     // compute, bandwidth, latency
  virtual std::string_view kind() const = 0;     // what its devices' names begin with: cuda, host, sim
  virtual std::string_view summary() const = 0;  // one line for `npgpu list`

  virtual std::vector<DeviceInfo> devices() const = 0;
  virtual std::string why_none() const { return {}; }
  // Throws Error(usage) naming those there are, or Error(nothing) with why_none() where there are none. Simulated
  // devices also take the path of a spec here.
  virtual DeviceInfo device(const std::string& id) const;

  // Every case that this device can answer, in the order in which they are asked.
  virtual std::vector<ProbeCase> cases(const std::string& device) const = 0;
  // Why this case cannot run on its device, and what would make it run; nothing if it can.
  virtual std::optional<std::string> refuses(const ProbeCase&) const = 0;
  virtual Layout layout(const ProbeCase&) const = 0;
  virtual Peak peak(const ProbeCase&) const = 0;
  // The shapes that answer the case, corners first; each once.
  virtual std::vector<Shape> shapes(const ProbeCase&) const = 0;
  // Opens a kernel for shapes of up to `most_bytes`.
  virtual std::unique_ptr<Kernel> open(const ProbeCase&, std::uint64_t most_bytes) const = 0;
};

const std::vector<std::unique_ptr<Probe>>& probes();
// The probe called `name` that reaches this device. Throws Error: usage for a word that is no probe or no device,
// nothing where this build or machine has no such device.
const Probe& find_probe(std::string_view name, const std::string& device);
void register_probe(std::unique_ptr<Probe>);

struct MeasuredShape {
  ProbePoint point;
  std::vector<ProbeSample> samples;
  std::string mismatch;  // what was wrong: results, or blocks that were to be alone and were not
};
// Measures one shape: warm-up, trials as the schedule says, one check of the results after the last. Times are the
// device's where it has a clock of its own, the host's otherwise. Nothing if `interrupted` turned true.
std::optional<MeasuredShape> measure_shape(Kernel&, Schedule&, const Shape&, const std::function<bool()>& interrupted);

}  // namespace npgpu

#define NPGPU_PROBE(Class)                                     \
  namespace {                                                  \
  [[maybe_unused]] const bool registered = [] {                \
    ::npgpu::register_probe(std::make_unique<Class>());        \
    return true;                                               \
  }();                                                         \
  }
