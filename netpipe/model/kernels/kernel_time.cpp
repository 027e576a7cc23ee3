// How long a kernel takes, by the figures of a device.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/model/kernels/kernel_figures.hpp"
#include "netpipe/model/kernels/scheduler.hpp"
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
// What bounds a kernel gives way smoothly to what bounds it next: (a^k + b^k)^(1/k). These were fitted to 360 kernels
// of an H200, whose shapes three seeds drew. The knee of memory is `memory_knee` times a share: it is rounder where
// reads and writes share the bus, and sharper where blocks come and go, so that some wait while others move.
constexpr double usual_knee = 4;
constexpr double of_wave_alone = 0.625, of_wave_mixed = 0.4, of_many_alone = 1.25, of_many_mixed = 0.625;
// Between memory and arithmetic: sharper where an operation keeps its unit for longer than it takes to issue, and
// leaves cycles to others.
constexpr double beside_every_issue = 3, beside_slow_units = 5;
// Instructions of an access of a thread: its own, those of its address, and its part of those that come before all.
constexpr double instructions_of_access = 6;
constexpr double cycles_of_loop = 29;  // a step of a warp that only writes and goes on: three kernels of an H200
constexpr double usual_operands = 3, fewest_operands = 2;
constexpr auto by_bandwidth = "npgpu probe bandwidth measures it";
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
  double slots = 0, waves = 0, last_wave = 1, steps = 0;
  double filled = 1;          // the part of a multiprocessor's warps that are resident
  double one_block_more = 0;  // on a multiprocessor: by which part its operations take longer
};

double smooth_max(std::initializer_list<double> all, double sharpness) {
  const double most = std::max(all);
  if (most <= 0) return 0;
  double sum = 0;
  for (const double one : all) sum += std::pow(one / most, sharpness);
  return most * std::pow(sum, 1 / sharpness);
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
    if (c_.bytes > 0) p.memory = memory(of_memory), p.steps = steps();
    const double both = p.arithmetic > 0 && p.memory > 0 ? both_of(p) : p.arithmetic + p.memory;
    p.time = both + p.launch;
    p.bound = p.launch > both ? KernelBound::launch : p.arithmetic > p.memory ? of_arithmetic : of_memory;
    if (const double full = std::ceil(p.waves); p.waves < 100) p.last_wave = full / p.waves;
    p.filled = filled();
    if (p.waves > 1 && resident_ > 2) p.one_block_more = 1 / std::ceil(blocks_ / sms_);
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

  // Arithmetic and memory together: a block's operations wait for its loads, lanes and memory are shared by all, and
  // every instruction takes a cycle of its scheduler, those of accesses too. No longer than one after the other.
  double both_of(const TimeParts& p) const {
    if (in_step_) return std::max(p.arithmetic, p.memory);
    const double clock = f_.needed("shader_clock_mhz", by_compute) * 1e6, each = c_.flops / 2 / threads_;
    const double schedulers = f_.known("schedulers", 4), accesses = c_.bytes / threads_ / c_.word_bytes;
    double warps = blocks_ / sms_ * block_warps_ / schedulers;
    if (blocks_ <= resident_ * sms_) warps = std::ceil(std::ceil(blocks_ / sms_) * block_warps_ / schedulers);
    const double of_accesses = instructions_of_access * accesses * warps / clock;
    const double waits =
        each * f_.needed(of_type("cycles", "fma_latency_cycles"), by_compute) / clock / in_flight_.operations;
    KernelBound any{};
    return std::min(p.memory + p.arithmetic + of_accesses,
                    smooth_max({memory(any, waits), p.arithmetic, each * warps / clock + of_accesses},
                               issue_cycles() < 1.5 ? beside_every_issue : beside_slow_units));
  }

  std::string of_type(const char* figure, const char* of_fp32) const {
    return c_.type == DataType::fp32 ? of_fp32 : fmt::format("instructions_{}_{}", name(c_.type), figure);
  }
  // For which an operation keeps its scheduler.
  double issue_cycles() const {
    return warp * f_.known("schedulers", 4) / f_.needed(of_type("lanes", "lanes"), by_compute);
  }

  // N multiply-adds of a thread, i of them at once, take N * max(latency / i, q * c): q warps on a scheduler, each of
  // whose instructions keeps it for c. A scheduler serves its oldest block first: latency / (i * c) warps fill it.
  double arithmetic(KernelBound& bound) const {
    const double clock = f_.needed("shader_clock_mhz", by_compute) * 1e6;
    const double latency = f_.needed(of_type("cycles", "fma_latency_cycles"), by_compute) / clock;
    const double schedulers = f_.known("schedulers", 4), cycles = issue_cycles();
    const double reads = cycles / clock * reading(cycles), each = c_.flops / 2 / threads_;
    const double finds_none = in_flight_.operations <= 2 ? 1 / in_flight_.operations : 0;
    const double issue = cycles / clock + finds_none * reads, of_block = block_warps_ / schedulers;
    // The time of one, where so many warps are in flight.
    const auto operation = [&](double warps) {
      return std::max((latency + std::clamp(warps - 1, 0.0, 1.0) * reads) / in_flight_.operations, warps * issue);
    };
    const double blocks = std::ceil(blocks_ / sms_), most = std::ceil(std::min(blocks, resident_) * of_block);
    bound =
        most * issue >= latency / in_flight_.operations ? KernelBound::arithmetic : KernelBound::dependent_operations;
    if (in_step_) {
      const double slots = resident_ * sms_, whole = std::floor(blocks_ / slots), rest = blocks_ - whole * slots;
      const auto wave = [&](double of) { return operation(std::ceil(std::ceil(of / sms_) * of_block)); };
      return each * ((whole > 0 ? whole * wave(slots) : 0) + (rest > 0 ? wave(rest) : 0));
    }
    const double filling = std::max(1.0, latency * clock / in_flight_.operations / cycles);
    const int warps = static_cast<int>(block_warps_), of_unit = static_cast<int>(schedulers);
    return each * model::operations_of({blocks, resident_, warps, of_unit, filling}, operation);
  }

  // How much longer an operation of so many cycles keeps its scheduler because its operands are read, as a part of
  // them. A warp that is alone on its scheduler finds what its operations share in the cache of operands, and so does
  // an operation that others of its thread follow at once: of two in flight every other one, of more all.
  double reading(double cycles) const {
    const double at_once = f_.known("register_reads_per_cycle", INFINITY);
    const double needed = std::ceil(operands_ * (c_.type == DataType::fp64 ? 2 : 1) / at_once);
    return std::max(0.0, needed / std::max(1.0, std::round(cycles)) - 1);
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

  // How long a thread waits for its loads of a step. More at once, and wider ones, take longer: the last of them
  // counts.
  double latency(double clock) const {
    const double at_once = std::max(1.0, std::min(in_flight_.loads, loads()));
    const double cycles = f_.needed("memory_latency_cycles", by_bandwidth) +
                          f_.known("memory_more_loads_cycles", 0) * std::log2(at_once) +
                          f_.known("memory_wider_loads_cycles", 0) * std::log2(std::max(1.0, c_.word_bytes / 4.0));
    return cycles / clock;
  }

  double knee(bool come_and_go) const { return model::knee_of_memory(knee_, written_, come_and_go); }

  // `waits`: how long the operations of a thread wait for each other, after its loads.
  double memory(KernelBound& bound, double waits = 0) const {
    const double clock = f_.needed("shader_clock_mhz", "npgpu probe compute measures it") * 1e6;
    const bool reads = written_<1, writes = written_> 0;
    const double steps = this->steps();
    // Nobody waits for what is written, only for the loop.
    const double loop = steps > 1 && !in_step_ ? cycles_of_loop / clock : 0;
    const double latency = (reads ? this->latency(clock) : loop) + waits / steps;
    const double both = f_.needed("memory_gb_s", by_bandwidth) * 1e9;
    const double rate = both * by_mix("memory_read_share", 1, "memory_write_share");
    // Sectors move, and not words.
    const double moved = c_.random ? std::max(1.0, f_.known("sector_bytes", 32) / c_.word_bytes) : 1;
    const double bytes = c_.bytes * moved, block_step = bytes / blocks_ / steps;
    const double slots = resident_ * sms_, byte_on_path = 1 / path() / clock;
    const auto on_path = [&](double blocks) { return std::ceil(blocks / sms_) * block_step * byte_on_path; };
    const auto on_bus = [&](double blocks) { return blocks * block_step / rate; };
    const auto step = [&](double blocks) {
      const double way = on_path(blocks), bus = on_bus(blocks);
      return in_step_ ? std::max({latency, way, bus}) : smooth_max({latency, way, bus}, knee(false));
    };
    const double most = std::min(blocks_, slots), way = on_path(most), bus = on_bus(most);
    bound = bus >= std::max(latency, way) ? KernelBound::memory_rate
            : way >= latency              ? KernelBound::path_to_memory
                                          : KernelBound::memory_latency;
    // What is stored keeps a block the longer, the more warps store.
    const double turnaround =
        1e-9 * (f_.known("block_turnaround_ns", 0) + f_.known("warp_turnaround_ns", 0) * block_warps_ +
                (!writes  ? 0
                 : !reads ? f_.known("write_turnaround_ns", 0)
                          : filled() * f_.known("store_turnaround_ns", 0)));
    // Blocks that take many steps stay together, wave by wave.
    if (in_step_ || blocks_ <= slots || steps > std::max(2.0, blocks_ / slots)) {
      const double whole = std::floor(blocks_ / slots), rest = blocks_ - whole * slots;
      const double between = in_step_ || blocks_ <= slots ? 0 : turnaround;
      return (whole > 0 ? whole * (steps * step(slots) + between) : 0) + (rest > 0 ? steps * step(rest) : 0);
    }
    const double own = blocks_ / slots * (steps * latency + turnaround);
    const double all = bytes / rate, dispatch = blocks_ * f_.known("block_dispatch_ns", 0) * 1e-9;
    const double flow = smooth_max({own, all}, knee(true));
    bound = dispatch > flow ? KernelBound::block_dispatch
            : all >= own    ? KernelBound::memory_rate
                            : KernelBound::memory_latency;
    return std::max(flow, dispatch);
  }

  double filled() const {
    const double warps = f_.known("warps", 0);
    return warps > 0 ? std::min(1.0, resident_ * block_warps_ / warps) : 1;
  }

  // Bytes a cycle between a multiprocessor and memory: what is read and what is written one after the other.
  double path() const {
    const double both = f_.known("sm_bytes_per_cycle", INFINITY);
    const double of_reads = f_.known("sm_read_bytes_per_cycle", both);
    const double of_writes = f_.known("sm_write_bytes_per_cycle", both);
    return 1 / ((1 - written_) / of_reads + written_ / of_writes);
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

// By how much kernels were shorter and longer than the model says: 95 % of the 1140 kernels of six seeds, on an H200.
// Where few warps are resident, memory and arithmetic of a block wait for each other. Where blocks come and go, some
// multiprocessor may get one more than its share. Foreign kernels, whose loads in flight nobody said, were off by
// `unread`.
struct Own {
  double below, above;
};
constexpr Own of_arithmetic{0.04, 0.10}, of_memory{0.085, 0.1}, of_loops{0.11, 0.115}, of_both{0.10, 0.11},
    of_halves{0.2, 0.2};
constexpr double few_warps = 0.45, of_few_warps = 0.05;
constexpr double unread = 0.17, of_one_block = 0.5;

const std::string nothing_moved;

TimeParts evaluate(const DeviceModel& device, const KernelCounts& c, InFlight in_flight,
                   const std::string& moved = nothing_moved, double to = 0, std::set<std::string>* used = nullptr) {
  const LookedUp figures(device, moved, to);
  const TimeParts parts = CountedKernel(figures, c, in_flight).parts();
  if (used) *used = figures.used;
  return parts;
}

}  // namespace

double model::knee_of_memory(double memory_knee, double written, bool come_and_go) {
  const double mixed = std::min(1.0, 4 * std::min(written, 1 - written));
  const double alone = come_and_go ? of_many_alone : of_wave_alone, both = come_and_go ? of_many_mixed : of_wave_mixed;
  return memory_knee * (alone + mixed * (both - alone));
}

Seconds likely_time(const DeviceModel& device, const KernelCounts& c) {
  refuse_counts(c);
  return Seconds{evaluate(device, c, in_flight(c)).time};
}

KernelTime time_of_kernel(const DeviceModel& device, const KernelCounts& c) {
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
  Own own = c.type == DataType::fp16 || c.type == DataType::bf16 ? of_halves
            : less > 0.1 * more                                  ? of_both
            : p.arithmetic > p.memory                            ? of_arithmetic
            : p.steps > 2                                        ? of_loops
                                                                 : of_memory;
  if (less > 0.1 * more && p.filled < few_warps) own.above += of_few_warps;
  if (p.arithmetic > p.memory) own.above += p.one_block_more;
  result.low = Seconds{std::max(low * (1 - (c.in_flight ? own.below : std::max(own.below, unread))), 0.0)};
  result.high = Seconds{high * (1 + (c.in_flight ? own.above : std::max(own.above, unread)))};
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
