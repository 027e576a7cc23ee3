// How long a kernel takes, by the figures of a device.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "netpipe/engine/algorithms.hpp"
#include "npgpu/model/predict.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

double DeviceModel::at(std::string_view key) const {
  const auto found = figures.find(key);
  return found == figures.end() ? not_measured : found->second.value;
}
double DeviceModel::at(std::string_view key, double otherwise) const {
  const double value = at(key);
  return std::isnan(value) ? otherwise : value;
}

namespace {

constexpr double warp = 32;
// How sharply arithmetic and memory give way to each other: in a loop, whose accesses run ahead of its operations; and
// where a thread's accesses all come before them, so that the blocks of a wave first wait and then work together. There
// operations that keep a scheduler for one cycle leave none for the accesses.
constexpr double combines_in_loop = 6, combines_once = 2.2, combines_once_in_a_cycle = 1.3;
constexpr double usual_knee = 4;
constexpr double nearly = 0.03;  // of an operation's time
constexpr double usual_operands = 3, fewest_operands = 2;
constexpr auto by_compute = "npgpu probe compute measures it, with --type for other types than fp32";

// What the time is made of: the figures in seconds, and which of them were looked up.
class LookedUp {
 public:
  LookedUp(const DeviceModel& device, const std::string& moved, double to) : device_(device), moved_(moved), to_(to) {}
  double known(const std::string& key) const {
    used.insert(key);
    return key == moved_ ? to_ : device_.at(key);
  }
  double known(const std::string& key, double otherwise) const {
    const double value = known(key);
    return std::isnan(value) ? otherwise : value;
  }
  double needed(const std::string& key, const char* measured_by) const {
    const double value = known(key);
    if (!(value > 0))
      throw Error(ErrorKind::usage,
                  fmt::format("it is not known of {} what {} is: {}", device_.device, key, measured_by));
    return value;
  }
  mutable std::set<std::string> used{};

 private:
  const DeviceModel& device_;
  const std::string& moved_;
  double to_;
};

struct TimeParts {
  double arithmetic = 0, memory = 0, launch = 0;
  double time = 0;
  KernelBound bound = KernelBound::launch;
  double slots = 0, waves = 0, last_wave = 1;
};

double smooth_max(double a, double b, double sharpness) {
  if (!std::isfinite(sharpness)) return std::max(a, b);
  const double most = std::max(a, b);
  if (most <= 0) return 0;
  return most * std::pow(1 + std::pow(std::min(a, b) / most, sharpness), 1 / sharpness);
}

// What a thread has in flight. A loop loads what its step stores, and sums wait for each load; operations are unrolled.
struct InFlight {
  double loads = 1, operations = 4;
};
InFlight in_flight(const KernelCounts& c) {
  if (c.in_flight) return {static_cast<double>(c.in_flight), static_cast<double>(c.in_flight)};
  const double written = std::isnan(c.bytes_written) ? c.bytes / 2 : c.bytes_written;
  return {written > 0 ? std::clamp(std::round((c.bytes - written) / written), 1.0, 4.0) : 1, 4};
}

class CountedKernel {
 public:
  CountedKernel(const LookedUp& f, const KernelCounts& c, InFlight in_flight)
      : f_(f),
        c_(c),
        in_flight_(in_flight),
        operands_(c.source_registers ? c.source_registers : usual_operands),
        blocks_(static_cast<double>(c.blocks)),
        threads_(blocks_ * c.threads),
        sms_(f.needed("sms", "npgpu probe compute measures it")),
        // 0 says that there is none: latency and rate meet in a corner, and blocks go in step.
        knee_(f.known("memory_knee", usual_knee)),
        in_step_(!(knee_ > 0)) {
    block_warps_ = std::ceil(c.threads / warp);
    resident_ = resident();
    written_ = std::isnan(c.bytes_written) ? 0.5 : std::clamp(c.bytes_written / c.bytes, 0.0, 1.0);
  }

  TimeParts parts() const {
    TimeParts p;
    p.slots = resident_ * sms_;
    p.waves = blocks_ / p.slots;
    p.launch = f_.known("empty_kernel_us", 0) * 1e-6;
    KernelBound of_arithmetic = KernelBound::arithmetic, of_memory = KernelBound::memory_rate;
    if (c_.flops > 0) p.arithmetic = arithmetic(of_arithmetic);
    if (c_.bytes > 0) p.memory = memory(of_memory);
    const double both =
        p.arithmetic > 0 && p.memory > 0 ? smooth_max(p.arithmetic, p.memory, sharpness()) : p.arithmetic + p.memory;
    p.time = both + p.launch;
    p.bound = p.launch > both ? KernelBound::launch : p.arithmetic > p.memory ? of_arithmetic : of_memory;
    if (const double full = std::ceil(p.waves); p.waves < 100) p.last_wave = full / p.waves;
    return p;
  }

 private:
  // Blocks that a multiprocessor holds: by its slots, warps, registers and shared memory.
  double resident() const {
    Layout l;
    l.units = saturated<std::uint32_t>(sms_);
    l.lanes = static_cast<std::uint32_t>(warp);
    l.max_blocks_per_unit = count("blocks");
    l.max_threads_per_unit = saturated<std::uint32_t>(f_.known("warps", 0) * warp);
    l.max_threads_per_block = count("block_threads");
    l.registers_per_unit = count("registers");
    l.shared_bytes_per_unit = count("shared_bytes");
    l.shared_bytes_reserved = count("shared_reserved_bytes");
    Shape s;
    s.threads = c_.threads;
    s.registers = c_.registers;
    s.shared_bytes = c_.shared_bytes;
    if ((l.max_threads_per_block && c_.threads > l.max_threads_per_block) ||
        (l.max_threads_per_unit && block_warps_ * warp > l.max_threads_per_unit) ||
        (l.registers_per_unit && c_.registers * block_warps_ * warp > l.registers_per_unit) ||
        (l.shared_bytes_per_unit && c_.shared_bytes + l.shared_bytes_reserved > l.shared_bytes_per_unit &&
         c_.shared_bytes))
      throw Error(ErrorKind::usage,
                  fmt::format("no block of {} threads with {} registers each and {} B of shared memory fits a "
                              "multiprocessor",
                              c_.threads, c_.registers, c_.shared_bytes));
    return resident_blocks(l, s);
  }
  std::uint32_t count(const char* key) const { return saturated<std::uint32_t>(f_.known(key, 0)); }

  double sharpness() const {
    if (in_step_) return INFINITY;
    if (steps() > 1) return combines_in_loop;
    return issue_cycles() > 1.5 ? combines_once : combines_once_in_a_cycle;
  }

  std::string of_type(const char* figure, const char* of_fp32) const {
    return c_.type == DataType::fp32 ? of_fp32 : fmt::format("instructions_{}_{}", name(c_.type), figure);
  }
  // For which an operation keeps its scheduler.
  double issue_cycles() const {
    return warp * f_.known("schedulers", 4) / f_.needed(of_type("lanes", "lanes"), by_compute);
  }

  // N multiply-adds of a thread, i of them at once, take N * max(latency / i, q * c): q warps on the busiest scheduler
  // of the busiest multiprocessor, each of whose instructions keeps it for c. Waves follow one another.
  double arithmetic(KernelBound& bound) const {
    const double clock = f_.needed("shader_clock_mhz", by_compute) * 1e6;
    const double latency = f_.needed(of_type("cycles", "fma_latency_cycles"), by_compute) / clock;
    const double schedulers = f_.known("schedulers", 4), cycles = issue_cycles();
    const double issue = cycles / clock * reading(cycles), each = c_.flops / 2 / threads_;
    // Where blocks come and go, every scheduler gets its share of their warps.
    const auto wave = [&](double blocks, bool come_and_go) {
      double warps = std::ceil(blocks / sms_) * block_warps_ / schedulers;
      if (!come_and_go) warps = std::ceil(warps);
      bound = warps * issue >= latency / in_flight_.operations ? KernelBound::arithmetic
                                                               : KernelBound::dependent_operations;
      // Blocks of one warp whose operations all wait for each other begin together and stay in step.
      if (block_warps_ <= 1 && in_flight_.operations <= 1 && !in_step_)
        return each * latency * std::ceil(warps * issue / latency - nearly);
      return each * std::max(latency / in_flight_.operations, warps * issue);
    };
    const double slots = resident_ * sms_, whole = std::floor(blocks_ / slots), rest = blocks_ - whole * slots;
    const double last = rest > 0 ? wave(rest, false) : 0;
    return (whole > 0 ? whole * wave(slots, whole > 1 && !in_step_) : 0) + last;
  }

  // How many times longer an operation of so many cycles keeps its scheduler because its operands are read. An
  // operation that others of its thread follow at once finds what they share in the cache of operands: of two in flight
  // every other one, of more nearly all.
  double reading(double cycles) const {
    const double at_once = f_.known("register_reads_per_cycle", INFINITY);
    const double needed = std::ceil(operands_ * (c_.type == DataType::fp64 ? 2 : 1) / at_once);
    const double finds_none = in_flight_.operations <= 2 ? 1 / in_flight_.operations : 0.3 / in_flight_.operations;
    return 1 + finds_none * std::max(0.0, needed / std::round(cycles) - 1);
  }

  double loads() const {
    const double reads = written_ < 1 ? 1 - written_ : 1;
    return std::max(1.0, c_.bytes * reads / threads_ / c_.word_bytes);
  }
  double steps() const { return loads() / std::min(in_flight_.loads, loads()); }

  // Figures of reads alone, of as many bytes read as written, and of writes alone; between them a straight line.
  double by_mix(const char* of_reads, double both, const char* of_writes) const {
    const double alone = written_ < 0.5 ? f_.known(of_reads, both) : f_.known(of_writes, both);
    return both + std::abs(2 * written_ - 1) * (alone - both);
  }

  double memory(KernelBound& bound) const {
    constexpr auto by_bandwidth = "npgpu probe bandwidth measures it";
    const double clock = f_.needed("shader_clock_mhz", "npgpu probe compute measures it") * 1e6;
    const bool reads = written_<1, writes = written_> 0;
    // Nobody waits for what is written.
    const double latency = reads ? f_.needed("memory_latency_cycles", by_bandwidth) / clock : 0;
    const double both = f_.needed("memory_gb_s", by_bandwidth) * 1e9;
    const double rate = both * by_mix("memory_read_share", 1, "memory_write_share");
    double path = f_.known("sm_bytes_per_cycle", INFINITY) * clock;
    if (!reads) path = f_.known("sm_write_bytes_per_cycle", path / clock) * clock;
    if (!writes) path = f_.known("sm_read_bytes_per_cycle", path / clock) * clock;
    const double steps = this->steps();
    // Sectors move, and not words.
    const double moved = c_.random ? std::max(1.0, f_.known("sector_bytes", 32) / c_.word_bytes) : 1;
    const double bytes = c_.bytes * moved, block_step = bytes / blocks_ / steps;
    const double slots = resident_ * sms_;
    const auto on_path = [&](double blocks) { return std::ceil(blocks / sms_) * block_step / path; };
    const auto on_bus = [&](double blocks) { return blocks * block_step / rate; };
    const auto bound_by = [&](double bus, double way) {
      return bus >= std::max(latency, way) ? KernelBound::memory_rate
             : way >= latency              ? KernelBound::path_to_memory
                                           : KernelBound::memory_latency;
    };
    if (in_step_) {
      const auto step = [&](double blocks) { return std::max({latency, on_path(blocks), on_bus(blocks)}); };
      const double whole = std::floor(blocks_ / slots), rest = blocks_ - whole * slots;
      bound = bound_by(on_bus(std::min(blocks_, slots)), on_path(std::min(blocks_, slots)));
      return steps * ((whole > 0 ? whole * step(slots) : 0) + (rest > 0 ? step(rest) : 0));
    }
    if (blocks_ <= slots) {
      // Threads that walk through memory reach less than a grid as large as what it touches.
      const double walking = steps > 2 ? f_.known("memory_walking_share", 1) : 1;
      const double way = on_path(blocks_), bus = on_bus(blocks_) / walking;
      bound = bound_by(bus, way);
      return steps * smooth_max(latency + way, bus, knee_);
    }
    // What is stored keeps a block the longer, the more warps store.
    const double warps = f_.known("warps", 0), filled = warps > 0 ? std::min(1.0, resident_ * block_warps_ / warps) : 1;
    const double turnaround =
        1e-9 * (f_.known("block_turnaround_ns", 0) + f_.known("warp_turnaround_ns", 0) * block_warps_ +
                (!writes  ? 0
                 : !reads ? f_.known("write_turnaround_ns", 0)
                          : filled * f_.known("store_turnaround_ns", 0)));
    const double own = blocks_ / slots * (steps * latency + turnaround);
    const double bus = bytes / rate, dispatch = blocks_ * f_.known("block_dispatch_ns", 0) * 1e-9;
    const double flow = smooth_max(own, bus, knee_);
    bound = dispatch > flow ? KernelBound::block_dispatch
            : bus >= own    ? KernelBound::memory_rate
                            : KernelBound::memory_latency;
    return std::max(flow, dispatch);
  }

  const LookedUp& f_;
  const KernelCounts& c_;
  InFlight in_flight_;
  double operands_, blocks_, threads_, sms_, knee_;
  bool in_step_;
  double block_warps_ = 1, resident_ = 1;
  double written_ = 0.5;  // of the bytes
};

void refuse_counts(const KernelCounts& c) {
  if (c.blocks < 1 || c.threads < 1 || c.word_bytes < 1 || !(c.flops >= 0) || !(c.bytes >= 0) ||
      !(c.flops + c.bytes > 0) || !std::isfinite(c.flops + c.bytes))
    throw Error(ErrorKind::usage, "a kernel has blocks of threads, and operations or bytes");
}

const std::string nothing_moved;

TimeParts evaluate(const DeviceModel& device, const KernelCounts& c, InFlight in_flight,
                   const std::string& moved = nothing_moved, double to = 0, std::set<std::string>* used = nullptr) {
  const LookedUp figures(device, moved, to);
  const TimeParts parts = CountedKernel(figures, c, in_flight).parts();
  if (used) *used = figures.used;
  return parts;
}

}  // namespace

Seconds likely_time(const DeviceModel& device, const KernelCounts& c) {
  refuse_counts(c);
  return Seconds{evaluate(device, c, in_flight(c)).time};
}

KernelTime time_of_kernel(const DeviceModel& device, const KernelCounts& c) {
  // 95th percentiles, rounded up, of 380 kernels on an H200 whose shapes a seed drew after the model was made.
  const bool is_half = c.type == DataType::fp16 || c.type == DataType::bf16;
  const double of_arithmetic = is_half ? 0.2 : 0.15, of_memory = 0.24, of_both = 0.20;
  constexpr double of_one_block = 0.5;
  refuse_counts(c);
  const InFlight usual = in_flight(c);
  std::set<std::string> used;
  const TimeParts p = evaluate(device, c, usual, nothing_moved, 0, &used);
  KernelTime result{Seconds{p.time},
                    Seconds{p.time},
                    Seconds{p.time},
                    p.bound,
                    Seconds{p.arithmetic},
                    Seconds{p.memory},
                    Seconds{p.launch},
                    static_cast<std::uint64_t>(p.slots),
                    p.waves,
                    p.last_wave};
  double below = 0, above = 0;  // squares of shares
  for (const std::string& key : used) {
    const auto figure = device.figures.find(key);
    if (figure == device.figures.end()) continue;
    double most = 0;
    for (const double bound : {figure->second.low, figure->second.high}) {
      if (!(bound > 0) || key == "sms") continue;
      const double by = evaluate(device, c, usual, key, bound).time / p.time - 1;
      (by < 0 ? below : above) += by * by;
      most = std::max(most, by);
    }
    result.used.push_back({key, figure->second, most});
  }
  double low = p.time * (1 - std::sqrt(below)), high = p.time * (1 + std::sqrt(above));
  if (!c.in_flight) {
    constexpr double most = 4;
    const double one = evaluate(device, c, {1, 1}).time;
    const double many = evaluate(device, c, {most * usual.loads, 2 * usual.operations}).time;
    low -= p.time - std::min({p.time, one, many});
    high += std::max({p.time, one, many}) - p.time;
    if (std::max(one, many) > 1.1 * std::min(one, many))
      result.notes.push_back(
          fmt::format("how many accesses or operations of a thread are in flight decides its time: with one {:.4g} us, "
                      "with {:g} {:.4g} us; {:g} loads and {:g} operations are taken; --in-flight says it",
                      1e6 * one, most * usual.loads, 1e6 * many, usual.loads, usual.operations));
  }
  if (!c.source_registers) {
    KernelCounts few = c;
    few.source_registers = fewest_operands;
    const double least = evaluate(device, few, usual).time;
    low -= p.time - least;
    if (p.time > 1.1 * least)
      result.notes.push_back(
          fmt::format("operations that wait for each other are taken to read three registers each; with two the kernel "
                      "takes {:.4g} us: --source-registers says it",
                      1e6 * least));
  }
  const double less = std::min(p.arithmetic, p.memory), more = std::max(p.arithmetic, p.memory);
  const double own = p.bound == KernelBound::launch ? of_memory
                     : less > 0.5 * more            ? of_both
                     : p.arithmetic > p.memory      ? of_arithmetic
                                                    : of_memory;
  result.low = Seconds{std::max(low * (1 - own), 0.0)};
  result.high = Seconds{high * (1 + own)};
  if (c.random) {
    result.high = Seconds{not_measured};
    result.notes.push_back("the time is at least this: how fast sectors come from anywhere is not measured");
  } else if (c.blocks == 1 && p.memory > p.arithmetic) {
    result.low *= 1 - of_one_block, result.high *= 1 + of_one_block;
    result.notes.push_back("one block that waits for memory was off by up to 50 % on H200s");
  }
  return result;
}

KernelTime describe_kernel(Job& job, const DeviceModel& device, const KernelCounts& counts, std::uint32_t most_parts) {
  const KernelTime time = time_of_kernel(device, counts);
  std::vector<Curve::Point> points;
  for (std::uint32_t n = std::max(1u, most_parts); n > 0; --n) {
    KernelCounts part = counts;
    part.blocks = (counts.blocks + n - 1) / n;
    // Less than a block is a block of fewer warps.
    const double threads = static_cast<double>(counts.blocks) * counts.threads / n;
    if (threads < counts.threads) part.threads = static_cast<std::uint32_t>(32 * std::ceil(threads / 32));
    const double share =
        static_cast<double>(part.blocks) * part.threads / (static_cast<double>(counts.blocks) * counts.threads);
    part.flops *= share;
    part.bytes *= share;
    part.bytes_written *= share;  // NaN stays
    points.push_back({1.0 / n, likely_time(device, part) - time.launch});
  }
  job.kernel = time.likely - time.launch;
  job.kernel_of_fraction = Curve(std::move(points));
  job.blocks = counts.blocks;
  job.slots = time.slots;
  return time;
}

}  // namespace npgpu
