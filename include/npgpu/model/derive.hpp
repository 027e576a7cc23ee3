// How a device is built, derived from its probes alone and compared with what driver or system report of it; what
// access patterns cost, by measurement and by law; and the roofline.
//
// Example:
//   for (const npgpu::DeviceParameters& device : npgpu::derive(npgpu::read_trace("node.h5")))
//     for (const npgpu::Parameter& p : device.parameters)
//       std::cout << device.device << ' ' << p.name << ": " << p.estimate.value << ' ' << p.estimate.unit << '\n';
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/model/result.hpp"
#include "npgpu/vocabulary/probe.hpp"
#include "npgpu/vocabulary/trace.hpp"

namespace npgpu {

enum class Agreement {
  agrees,        // the value is within the tolerance of the reference
  disagrees,     // the whole interval is outside it
  undecided,     // neither is certain, or there is no value: the note says why
  no_reference,  // nothing to compare it with
};
template <>
inline constexpr std::array<std::string_view, 4> names_of<Agreement>{"agrees", "disagrees", "undecided",
                                                                     "no reference"};

// The four corners of one case: rates per second (operations or bytes), the best over the shapes of each corner;
// One-One is what one lane of one unit reaches with one chain. NaN where the trace has no such point.
// Perez & Piccoli 2011: Cp and B with subscripts All-All, One-All, All-One, One-One (blocks, then threads).
struct Corners {
  Estimate all_all, one_all, all_one, one_one;
  // The same per cycle of the units' own clock, where cycles were recorded: free of clocks that differ.
  Estimate all_all_cycle, one_all_cycle, all_one_cycle, one_one_cycle;
  // What disturbs them, a sentence each, in the order All-All, One-All, All-One, One-One; empty where nothing does.
  std::array<std::vector<std::string>, 4> doubts;
};

struct Parameter {
  std::string name;     // as Perez & Piccoli name it: SM, N_PPipe, L_Pipe, N_MINBl, W_bus, T_delay; or w*, L1 size,
                        // ...
  Estimate estimate;    // its method is the formula
  std::string meaning;  // what it really measures
  double reference = not_measured;  // reported
  std::string reference_source;     // where that comes from; why there is none
  Agreement verdict = Agreement::no_reference;
  std::string note;  // what disturbs it: an unsteady corner, a throttled clock, ...
};

struct DeviceParameters {
  std::string device;
  std::string device_name;
  bool simulated = false;
  std::vector<Parameter> parameters;
  std::vector<std::string> missing;  // a sentence each: what could not be derived, and which probe would give it
};

Corners corners_of(const ProbeSeries&);

// The paper's parameters from four rates of compute and four of bandwidth: SM = Cp_AA/Cp_OA, N_PPipe = Cp_AA/Cp_AO,
// L_Pipe = Cp_AO*Cp_OA/(Cp_OO*Cp_AA), N_MINBl = B_AA/B_OA, W_bus = B_AA/B_AO, T_delay = B_AO/B_OO.
std::vector<Parameter> compute_parameters(const Corners&);
std::vector<Parameter> bandwidth_parameters(const Corners&);

// One entry a device of the trace that was probed, or whose costs of streams were measured (npgpu/model/predict.hpp).
std::vector<DeviceParameters> derive(const Trace&);

// The measured cost of access patterns, and their cost by the laws that programmers learn: bank conflicts, sectors and
// lines of a warp's accesses, additions to one word, ways of a branch. Sources: NVIDIA, CUDA C++ Programming Guide,
// "Shared Memory" (compute capability 5.x and later: 32 banks of 4 bytes), "Hardware Multithreading" (what limits the
// blocks that a multiprocessor holds) and "Maximize Memory Throughput" (sectors of 32 bytes, lines of 128); Venetis,
// Performance Optimizations in CUDA (bank conflicts, coalescing, flow control).
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");
//   for (const npgpu::ProbeSeries& series : trace.of<npgpu::Probes>())
//     if (const auto law = npgpu::law_of(series))
//       for (const npgpu::LawPoint& point : law->points)
//         std::cout << title(series.question) << ", stride " << point.shape.stride << ": " << point.measured.value
//                   << " times as long, by the law " << point.law << "; " << npgpu::name(point.verdict) << '\n';
//   std::cout << "words 8 apart in shared memory: " << npgpu::bank_passes(8) << " passes of a warp\n";

// One shape, relative to the shape with the lowest cost by the law. `measured`: how many times longer the same work
// took, by the units' cycles where both shapes have them. `law`: the same by the law. Both are 1 for that shape itself.
struct LawPoint {
  Shape shape;
  double passes = not_measured;  // of a warp's access, by the law
  double law = not_measured;
  Estimate measured;
  Agreement verdict = Agreement::undecided;  // within 5 %: agrees; the whole interval outside: disagrees
};

struct Law {
  std::string rule;    // "passes = gcd(stride, 32)"
  std::string counts;  // what a pass is: "bank conflicts"
  // Why some known hardware does not follow the law, by its counters; empty where all does.
  std::string where_not;
  std::vector<LawPoint> points;
};

inline double law_error_percent(const LawPoint& p) { return 100 * (p.measured.value / p.law - 1); }

// Nothing where no law is known for the case.
std::optional<Law> law_of(const ProbeSeries&);

// Passes that a warp of 32 lanes takes, 4 bytes a lane. Strides are in words of 4 bytes.
//   shared memory: lanes with words in one bank wait for each other; all lanes at one word are served at once
unsigned bank_passes(unsigned stride);
//   shared memory, of so many patterns (sets of 32 words) that make up a random order of 32 words each: counted over
//   probe banks' own order, and what is expected of any
double random_passes(unsigned patterns);
double expected_random_passes(unsigned patterns);
//   constants: one pass for each different word
unsigned constant_passes(unsigned stride);
//   global memory: one pass for each piece that the words touch: a sector of 32 bytes (L2), or a line of 128 bytes (L1)
unsigned pieces_touched(unsigned stride, unsigned offset_bytes, unsigned piece_bytes);
//   additions to shared memory: lanes that add to one word wait for each other, as lanes in one bank do
unsigned atomic_passes(unsigned stride);
//   a branch: one pass for each way that a warp's lanes take. `stride` neighbouring lanes take the same way; the stride
//   divides 32 or is a multiple of it.
unsigned ways_of_warp(unsigned stride, unsigned ways);
//   a product of matrices by tiles of T * T = `threads`: how often an element is loaded from global memory for 32 uses
unsigned transfers_of_tile(unsigned threads);
//   a grid of which a unit holds only some blocks at once: how many blocks it runs one after the other
double waves_of(const Shape&, const Layout&);

// The roofline of a device: the rates at which its memories and its arithmetic can go at most, and kernels of the
// user's own. A kernel that does W operations on B bytes takes no less than W / P and B / Q at a roof of P operations
// and one of Q bytes a second; the two are the same at an intensity of P / Q operations a byte, the ridge (Williams,
// Waterman & Patterson 2009, CACM 52(4)).
//
// Example:
//   for (const npgpu::Roofline& device : npgpu::rooflines_of(npgpu::read_trace("node.h5"))) {
//     for (const npgpu::Roof& roof : device.roofs) std::cout << roof.name << ": " << roof.rate.value << '\n';
//     const npgpu::UserKernel mine{"mine", {{"fp32", 2e12}, {"memory", 1e11}}, npgpu::Seconds{0.05}};
//     const npgpu::PlacedKernel placed = npgpu::placed(device, mine);
//     std::cout << placed.bound << ": " << 100 * placed.share << " %\n";
//   }

// The best rate of a series of the trace, with the interval of that point. Of L2 that of the largest set that is no
// more than half of it: of smaller ones the blocks of a multiprocessor meet at the same lines, which leave L2 once for
// both. Of tensor cores that have wgmma, where the trace has mma alone, which does not keep them busy, there is a
// second roof: their documented rate.
struct Roof {
  std::string name{};      // "memory", "L2", "shared"; "fp32", "tensor fp16 mma", "tensor fp16 peak"
  bool is_memory = false;  // B/s; else operations a second
  Estimate rate{};
  double clock_mhz = not_measured;  // at which it was measured
  std::string at{};                 // the shape; of a documented rate its source
  std::vector<std::string> doubts{};
};

// Where a roof of arithmetic meets one of a memory.
struct Ridge {
  std::string arithmetic{}, memory{};
  Estimate intensity{};  // operations a byte; its interval holds the quotients of all rates in both intervals
};

struct Roofline {
  std::string device{}, device_name{}, device_uuid{};
  bool simulated = false;
  std::vector<Roof> roofs{};           // memories, the slowest first; then arithmetic, as the trace has it
  std::vector<Ridge> ridges{};         // of each arithmetic with each memory
  std::vector<std::string> missing{};  // a sentence each: which roof is not known, and what would measure it

  // Null where there is none. Of "tensor fp16", which leaves the instruction open, the faster.
  const Roof* roof(const std::string& name) const;
};
// One for each device of the trace that has a roof of its memory or its arithmetic.
std::vector<Roofline> rooflines_of(const Trace&);

// What a kernel did, by the roofs that it is compared with: operations of a type, bytes of a memory.
struct KernelWork {
  std::string roof{};  // "fp32", "tensor fp16", "memory", "L2"
  double amount = 0;
};
struct UserKernel {
  std::string name{};
  std::vector<KernelWork> work{};
  Seconds time{0};
  std::size_t launches = 1;  // of which these are the sums

  double operations() const;
  double bytes() const;  // of the memory
};

struct PlacedKernel {
  UserKernel kernel{};
  double intensity = not_measured;  // operations for each byte of the memory; infinite where it has none
  double rate = not_measured;       // operations a second
  std::string unit = "FLOP/s";      // of the rate; "OP/s" where all of them are of whole numbers
  struct Use {
    std::string roof{};
    double share = not_measured;  // of the kernel's time that this work takes at its roof
  };
  std::vector<Use> uses{};  // the largest first
  std::string bound{};      // the first of them
  bool is_bound_by_memory = false;
  double share = not_measured;  // of its time that it could not do without
  double least_us = not_measured;
  std::vector<std::string> unknown{};  // roofs that the trace does not have

  bool is_beyond() const { return share > 1.03; }  // counts or time are not those of this device
};
PlacedKernel placed(const Roofline&, const UserKernel&);

// The kernels of a profile by Nsight Compute (`ncu --csv`, of either page), those of one name together. Throws
// Error(usage) with what it lacks.
std::vector<UserKernel> kernels_of_profile(std::string_view csv, const std::string& name);

}  // namespace npgpu
