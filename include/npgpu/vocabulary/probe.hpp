// A probe times kernels with exactly known work, on one unit of a device or on all, in one lane or in all. These four
// corners of computing power and memory bandwidth show how the device is built (Perez & Piccoli 2011). For GPUs, CPUs
// and simulated devices:
//   unit   runs a block by itself: a GPU's multiprocessor, a CPU's core
//   block  work that stays on one unit: a CUDA block; on a CPU one pinned thread
//   lane   a part of what one instruction does at once: 32 threads of a warp; the elements of a SIMD register
//
// Example:
//   const std::string device = "sim:h200";  // or host, cuda:0
//   for (const npgpu::ProbeCase& question : npgpu::find_probe("bandwidth", device).cases(device)) {
//     const std::vector<npgpu::Shape> shapes = npgpu::find_probe("bandwidth", device).default_shapes(question);
//     std::cout << title(question) << ": " << shapes.size() << " shapes";
//     if (!shapes.empty()) std::cout << ", first " << text_of(shapes[0]);
//     std::cout << '\n';
//   }
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "npgpu/measuring/runner.hpp"

namespace npgpu {

enum class Operation {
  fma,     // compute: x = x*a + b in registers, two operations; gemm: those of C = A * B
  rmw,     // bandwidth: x = x + c in place; read and write are counted (Perez & Piccoli 2011)
  read,    // bandwidth: a sum of all elements
  write,   // bandwidth: every element set
  copy,    // bandwidth: y = x; read and write are counted
  triad,   // bandwidth: z = x + s*y; two reads and a write are counted
  chase,   // latency: each load's address comes from the load before
  add,     // atomics: adds to a word, whose old value nobody uses; instructions: x + c
  fetch,   // atomics: the same, and the old value is used
  branch,  // divergence: multiply-adds on one of several ways
  sum,     // reduction: all words of an array, to one word
  mma,     // tensor: D += A * B of small matrices, by a warp from registers
  wgmma,   // tensor, wgmma: the same by four warps from shared memory
  // wgmma: with sums in fp16; of an A of which two of four neighbours are zero and left out
  wgmma_fp16,
  wgmma_sparse,
  // instructions: of the unit for special functions; others; and a number through another type and back
  rcp,
  rsqrt,
  sin,
  ex2,
  lg2,
  mul,
  popc,
  shuffle,
  dpx,  // max(a + b, c), one instruction from compute capability 9.0 on
  via_fp64,
  via_fp16,
  via_int32,
  // migration: pages brought to the other side ahead of their use; a sum of all elements, by the host
  prefetch,
  host_read,
};
// On a GPU two fp16 or bf16 lie in a register. Of tensor cores only: tf32 is fp32 of which 10 bits of mantissa are
// used, fp8 has 4 bits of exponent and 3 of mantissa (E4M3). int24: 24 bits of integers of 32, as Perez & Piccoli 2011
// multiply and add them; simulated devices only.
enum class DataType { fp32, fp64, int32, fp16, bf16, tf32, fp8, int8, int64, int24 };
enum class Form {
  streaming,  // nothing waits for a result but the last step
  dependent,  // every step of a thread waits for the one before
};
// l1, l2: global memory, of which the set is so small that this cache answers. managed: pages that the driver moves
// between host and device; pageable: the host's ordinary memory.
enum class Space { registers, shared, constant, global, host, l1, l2, managed, pageable };

template <>
inline constexpr std::array<std::string_view, 29> names_of<Operation>{
    "fma", "rmw",  "read",    "write",      "copy",         "triad",    "chase",     "add",      "fetch",    "branch",
    "sum", "mma",  "wgmma",   "wgmma-fp16", "wgmma-sparse", "rcp",      "rsqrt",     "sin",      "ex2",      "lg2",
    "mul", "popc", "shuffle", "dpx",        "via-fp64",     "via-fp16", "via-int32", "prefetch", "host-read"};
template <>
inline constexpr std::array<std::string_view, 10> names_of<DataType>{"fp32", "fp64", "int32", "fp16",  "bf16",
                                                                     "tf32", "fp8",  "int8",  "int64", "int24"};
template <> inline constexpr std::array<std::string_view, 2> names_of<Form>{"streaming", "dependent"};
template <>
inline constexpr std::array<std::string_view, 9> names_of<Space>{"registers", "shared", "constant", "global",  "host",
                                                                 "l1",        "l2",     "managed",  "pageable"};

// What the numbers are that a kernel works on: they decide what it costs in energy, and at the power limit in time.
enum class Operands {
  usual,    // what the probe takes where nothing else is asked for
  zeros,    // zeros only
  pattern,  // one word everywhere
  random,   // bits without a pattern, as far as results stay exact
};
template <> inline constexpr std::array<std::string_view, 4> names_of<Operands>{"usual", "zeros", "pattern", "random"};

// Where the pages of managed or pageable memory are before each repeat, and what the driver was advised.
enum class Pages {
  fixed,      // memory whose pages do not move
  device,     // in the device's memory
  host,       // in the host's memory
  untouched,  // nowhere: nobody has used them yet
  in_place,   // in the host's memory, which is their preferred location; the device maps them (cudaMemAdvise)
  copied,     // in the host's memory, mostly read: each side may have a copy (cudaMemAdvise)
};
template <>
inline constexpr std::array<std::string_view, 6> names_of<Pages>{"fixed",     "device",   "host",
                                                                 "untouched", "in-place", "copied"};

// Which matrices of a product op(A) * op(B) stand transposed in memory, A's letter first.
enum class Ops { nn, nt, tn, tt };
template <> inline constexpr std::array<std::string_view, 4> names_of<Ops>{"nn", "nt", "tn", "tt"};
inline bool transposes_a(Ops ops) { return ops == Ops::tn || ops == Ops::tt; }
inline bool transposes_b(Ops ops) { return ops == Ops::nt || ops == Ops::tt; }

struct ProbeCase {
  std::string probe{};   // compute, bandwidth, latency, onchip, ...
  std::string device{};  // host, cuda:0, sim:gtx470
  Operation operation = Operation::fma;
  DataType type = DataType::fp32;
  Form form = Form::streaming;  // compute: streaming; what waits for what is the shape's ilp
  Space space = Space::registers;

  auto operator<=>(const ProbeCase&) const = default;
};
template <>
inline constexpr auto fields_of<ProbeCase> = fields(field("probe", &ProbeCase::probe),
                                                    field("device", &ProbeCase::device),
                                                    field("operation", &ProbeCase::operation),
                                                    field("type", &ProbeCase::type), field("form", &ProbeCase::form),
                                                    field("space", &ProbeCase::space));
inline std::string device_of(const ProbeCase& c) { return c.device; }
// Its work is counted in arithmetic operations.
inline bool counts_operations(const ProbeCase& c) {
  return c.operation == Operation::fma || (c.operation >= Operation::mma && c.operation <= Operation::wgmma_sparse);
}
inline bool is_whole_number(DataType type) {
  return type == DataType::int32 || type == DataType::int8 || type == DataType::int64 || type == DataType::int24;
}
inline bool is_host_timed(const ProbeCase& c) { return c.device == "host"; }
std::string title(const ProbeCase&);  // "bandwidth cuda:0 rmw fp32 dependent"

// The axes. All-All, One-All, All-One and One-One: blocks on all units or 1 block, and as many threads (lanes) of a
// block as pay or 1.
struct Shape {
  std::uint32_t blocks = 1;
  std::uint32_t threads = 1;           // of a block; on a CPU: lanes in use, 1 or those of the SIMD register
  std::uint32_t ilp = 1;               // independent chains, or accesses in flight, of one thread
  std::uint32_t access_bytes = 0;      // of one thread's access; 0 where no memory is touched
  std::uint64_t bytes = 0;             // working set of the grid; 0 where no memory is touched
  std::uint32_t one_block_per_sm = 0;  // 1: no two blocks on one unit, which is forced, and checked
  // How the places of a block's threads lie to each other; see each probe. Accesses from a thread's place to its
  // neighbour's: 1 side by side, 0 all at one place. Of a branch: neighbours that take the same way, 0 all.
  std::uint32_t stride = 1;
  std::uint32_t offset_bytes = 0;  // of the first thread's place from a line's begin
  std::uint32_t ways = 1;          // of a branch
  std::uint32_t rung = 0;          // of a ladder of kernels that do the same work, from 1; 0: there is one kernel
  // Sizes of gemm (n alone also of wgmma): C (m rows, n columns) = alpha * op(A) (m, k) * op(B) (k, n) + beta * C, in
  // memory column by column; 0 of other probes. Where the matrices lie in the host's memory, B and C are copied and C
  // is computed in so many panels of columns; 0: as many as the model advises, which is settled before anything is
  // measured.
  std::uint32_t m = 0, n = 0, k = 0;
  std::uint32_t panels = 1;
  // What a block of occupancy takes of a unit besides its threads: registers of each thread as the compiler gives
  // them, and shared memory. 0 of other probes.
  std::uint32_t registers = 0, shared_bytes = 0;
  Operands operands = Operands::usual;
  std::uint32_t intensity = 0;  // of roofline, in older traces: operations for each KiB that is read
  // Blocks of a cluster, which reach each other's shared memory; 0: no clusters. `stride` is then how many blocks on
  // the one lies whose memory a block reaches.
  std::uint32_t cluster = 0;
  Pages pages = Pages::fixed;  // of migration
  Ops ops = Ops::nn;           // these three of gemm
  std::int32_t alpha = 1, beta = 0;
  // Where gemm's matrices lie in the host's memory: the last columns of C, which the host's BLAS computes while the
  // GPU computes the others; as_advised: as many as the rates of both advise, which is settled before anything is
  // measured.
  std::uint32_t host_columns = 0;
  static constexpr std::uint32_t as_advised = 0xffffffff;
  std::uint32_t sm = 0;  // of slices, in older traces: the multiprocessor that works, from 1 on

  auto operator<=>(const Shape&) const = default;
};
template <>
inline constexpr auto fields_of<Shape> = fields(
    field("blocks", &Shape::blocks), field("threads", &Shape::threads), field("ilp", &Shape::ilp),
    field("access_bytes", &Shape::access_bytes, "B"), field("bytes", &Shape::bytes, "B"),
    field("one_block_per_sm", &Shape::one_block_per_sm, "1", "1 no two blocks on one unit, 0 as they come"),
    optional_field("stride", &Shape::stride), optional_field("offset_bytes", &Shape::offset_bytes, "B"),
    optional_field("ways", &Shape::ways), optional_field("rung", &Shape::rung), optional_field("m", &Shape::m),
    optional_field("n", &Shape::n), optional_field("k", &Shape::k), optional_field("panels", &Shape::panels),
    optional_field("registers", &Shape::registers), optional_field("shared_bytes", &Shape::shared_bytes, "B"),
    optional_field("operands", &Shape::operands), optional_field("intensity", &Shape::intensity, "1/KiB"),
    optional_field("cluster", &Shape::cluster), optional_field("pages", &Shape::pages),
    optional_field("ops", &Shape::ops), optional_field("alpha", &Shape::alpha), optional_field("beta", &Shape::beta),
    optional_field("host_columns", &Shape::host_columns), optional_field("sm", &Shape::sm));

// The build of a device as its driver or system reports it: what shapes it takes, and what derived values are compared
// with. 0 or NaN: not reported.
struct Layout {
  std::uint32_t units = 0;  // multiprocessors; cores in the affinity mask
  std::uint32_t lanes = 0;  // warp size; elements of a SIMD register, for the case's type
  std::uint32_t max_threads_per_block = 0;
  std::uint32_t max_blocks_per_unit = 0;
  std::uint32_t max_threads_per_unit = 0;  // of all blocks that a unit holds at once
  std::uint64_t cache_bytes = 0;           // the last level before memory
  std::uint64_t near_cache_bytes = 0;      // a unit's own first level
  std::uint64_t memory_bytes = 0;          // free now
  double clock_mhz = not_measured;         // highest of the units
  // What a unit has for all blocks that it holds at once.
  std::uint32_t registers_per_unit = 0;
  std::uint32_t shared_bytes_per_unit = 0;
  std::uint32_t shared_bytes_per_block = 0;  // most that a block may ask for
  std::uint32_t shared_bytes_reserved = 0;   // that each block takes on top of what it asks for

  bool operator==(const Layout&) const = default;
};
template <>
inline constexpr auto fields_of<Layout> = fields(
    field("units", &Layout::units), field("lanes", &Layout::lanes),
    field("max_threads_per_block", &Layout::max_threads_per_block),
    field("max_threads_per_unit", &Layout::max_threads_per_unit),
    field("max_blocks_per_unit", &Layout::max_blocks_per_unit), field("cache_bytes", &Layout::cache_bytes, "B"),
    field("near_cache_bytes", &Layout::near_cache_bytes, "B"), field("memory_bytes", &Layout::memory_bytes, "B"),
    field("clock_mhz", &Layout::clock_mhz, "MHz"), optional_field("registers_per_unit", &Layout::registers_per_unit),
    optional_field("shared_bytes_per_unit", &Layout::shared_bytes_per_unit, "B"),
    optional_field("shared_bytes_per_block", &Layout::shared_bytes_per_block, "B"),
    optional_field("shared_bytes_reserved", &Layout::shared_bytes_reserved, "B"));

// One timed run of a kernel, exactly as it came.
struct ProbeSample {
  std::uint32_t visit = 0;
  std::uint32_t trial = 0;
  std::int32_t intact = -1;  // 1 results compared and right, 0 wrong, -1 not compared after this trial
  std::uint64_t repeats = 0;
  double host_us = not_measured;    // host clock, from the gate's opening, or the launch, to the end
  double device_us = not_measured;  // device events around the kernel; a chase on a GPU: its own timer around the loads
  // Cycles of the unit that took longest, by its own clock, from its first block's begin to its last one's end.
  double cycles = not_measured;
  std::uint32_t units = 0;               // distinct units that ran a block; 0: not known
  std::uint32_t max_blocks_on_unit = 0;  // most blocks that one unit ran

  bool operator==(const ProbeSample&) const = default;
};
template <>
inline constexpr auto fields_of<ProbeSample> =
    fields(field("visit", &ProbeSample::visit), field("trial", &ProbeSample::trial),
           field("intact", &ProbeSample::intact, "1", intact_codes), field("repeats", &ProbeSample::repeats),
           field("host_us", &ProbeSample::host_us, "us"), field("device_us", &ProbeSample::device_us, "us"),
           field("cycles", &ProbeSample::cycles), field("units", &ProbeSample::units),
           field("max_blocks_on_unit", &ProbeSample::max_blocks_on_unit));

struct ProbeContext {
  Layout layout;
  Limit limit;  // operations, bytes or loads per second, at Layout::clock_mhz
  // That does the work, with version and settings, where it is not this program: "cuBLAS 13.0.2, default math".
  std::string library{};

  bool operator==(const ProbeContext&) const = default;
};
template <>
inline constexpr auto fields_of<ProbeContext> = fields(field("layout", &ProbeContext::layout),
                                                       field("limit", &ProbeContext::limit),
                                                       optional_field("library", &ProbeContext::library));

inline TimeClass class_of(const ProbeCase& c) { return is_host_timed(c) ? TimeClass::host_probes : TimeClass::kernels; }

struct Probes : UsualKind {
  static constexpr std::string_view name = "probes";
  static constexpr std::string_view singular = "probe";
  static constexpr std::string_view command = "probe";
  static constexpr std::string_view smaller = "measure shapes of fewer bytes (--shape)";
  using Case = ProbeCase;
  using Axes = Shape;
  using Sample = ProbeSample;
  using Context = ProbeContext;
  struct Details {
    Estimate cycle_rate;              // work over the median of the cycles; see model::rates_of()
    double clock_mhz = not_measured;  // of the run: cycles over time; what telemetry read where there are no cycles
    std::vector<std::string> doubts;  // a sentence each
  };
  static Seconds timed(const Case&, std::span<const Sample> trial);  // the device's time where it has one
  static Repetition repetition();
  static PointCost cost(const DeviceInfo&, const Step<Probes>&);
  static std::vector<Result<Probes>> results(const Series<Probes>&);
  static Estimate figure(const Case&, const Result<Probes>&);
  static std::string_view counted(const Case&, const Result<Probes>&);
  static std::vector<FigureChoice> key_figures(const Case&, std::uint32_t lane);
};
using ProbeSeries = Series<Probes>;
using ProbePoint = Point<Probes>;
using ProbeResult = Result<Probes>;
using ProbeStep = Step<Probes>;

// Shapes of which this is the same lie in the same memory: a campaign visits them one after the other, because to lay
// out far more than the caches hold takes longer than to measure it.
inline auto memory_of(const Shape& s) { return std::pair(s.bytes, s.blocks); }

// What distinguishes patterns: references into the shape.
template <class S> auto pattern_of(S&& s) {
  return std::tie(s.stride, s.offset_bytes, s.ways, s.rung, s.registers, s.shared_bytes, s.intensity, s.cluster,
                  s.pages, s.sm);
}
// The same shape without its pattern.
inline Shape without_pattern(Shape s) {
  pattern_of(s) = pattern_of(Shape{});
  return s;
}

// Blocks of the shape that a unit holds at once: as many as its slots, threads, registers and shared memory allow, and
// no fewer than one. A warp's registers are given out eight for each thread at a time, and each of four schedulers has
// a quarter of them (NVIDIA, CUDA C++ Programming Guide, "Hardware Multithreading"). What the layout or the shape does
// not say sets no limit.
std::uint32_t resident_blocks(const Layout&, const Shape&);

// Operations a byte that is read.
inline double intensity_of(const Shape& s) { return s.intensity / 1024.0; }

// The matrices of a gemm.
inline auto matrices_of(const Shape& s) { return std::tuple(s.m, s.n, s.k, s.panels); }
// What is done with them, and of what numbers they are.
inline auto kind_of_product(const Shape& s) { return std::tuple(s.ops, s.alpha, s.beta, s.operands); }

std::optional<std::string> flaw_of(const Shape&);
std::string intensity_text(const Shape&);  // "1/16 operations a byte"
std::string text_of(const Shape&);         // "132 x 1024 threads, ilp 4, 16 B each, in 4 GiB, one block per SM"

// One question about how devices are built, with the kernels that answer it on one kind of device. What is the same for
// all kinds of device, name, cases and shapes among it, is the probe's description (npgpu/vocabulary/questions.hpp).
class Probe : public Backend<Probes> {
 public:
  std::string_view summary() const final;  // its description's
  // What this device can answer, in the order in which it is asked.
  virtual std::vector<ProbeCase> cases(const std::string& device) const = 0;
  // The shapes that answer the case, corners first; each once.
  virtual std::vector<Shape> shapes(const ProbeCase&) const = 0;
  // Those of them that are measured where every device is asked for everything, if the probe is
  // (ProbeDescription::is_usual).
  virtual std::vector<Shape> default_shapes(const ProbeCase& c) const { return shapes(c); }
  // Whether its kernels can work on such numbers.
  virtual bool takes_operands(const ProbeCase&, Operands operands) const { return operands == Operands::usual; }
  // Why this case cannot run, whatever its shape; and why a case that can does not take this shape.
  virtual std::optional<std::string> refuses_case(const ProbeCase&) const = 0;
  virtual std::optional<std::string> refuses_shape(const ProbeCase&, const Shape&) const = 0;
  // Also a shape with axes that the probe's description does not have.
  std::optional<std::string> refuses(const ProbeStep& step) const final;
};

inline const auto& probes() { return registered<Probe>(); }
// The probe called `name` that reaches this device. Throws Error(usage) for a word that is no probe or no device.
const Probe& find_probe(std::string_view name, const std::string& device);

}  // namespace npgpu
