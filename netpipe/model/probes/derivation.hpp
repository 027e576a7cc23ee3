// The parts of derive(): what each probe says of a device; the corners of a series; where a rate that grows with the
// blocks on a unit stops growing; what a derived value follows from, and how it compares with what was reported.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include "netpipe/model/probes/probe_rates.hpp"
#include "npgpu/model/derive.hpp"
#include "npgpu/model/predict.hpp"

namespace npgpu::model {

struct Knee {
  Estimate blocks;       // NaN where the rate still grew at the end
  bool reached = false;  // the series went on 10 % beyond it, with two rates or more on the plateau
  double most = 0;       // blocks of a unit that the series ends with
};

// Rule: the rate rises by a constant slope up to the knee and stays on a plateau after it. The first number of blocks
// whose rate is at least 97 % of the highest divides the points. Slope: the median of rate over blocks up to there.
// Plateau: the median of the rates from there on that reach 97 % of the highest; those that do not are dips where the
// last warps do not divide among the schedulers. Knee = plateau / slope. Nothing where there are fewer than three
// numbers of blocks, or none that begins at one block.
std::optional<Knee> knee_of(std::vector<std::pair<double, Estimate>> rate_by_blocks);

// The levels of a memory, found in how long a load takes over growing sets. No size is given or looked up.

// A point of a chase: every load waited for the one before.
struct LoadTime {
  std::uint64_t bytes = 0;  // of the set
  Estimate ns;              // a load
  Estimate cycles;          // NaN where none were recorded
};

struct Level {
  Estimate bytes;   // the set that it still holds; NaN for the last, which has no end here
  Estimate ns;      // a load that it answers
  Estimate cycles;  // NaN where fewer than three of its points have them
  std::uint64_t first_bytes = 0, last_bytes = 0;  // sets of its plateau
  double rise_octaves = not_measured;             // from a quarter to three quarters of the way up to the next level
};

// In growing order; the last is where the series ends. Rules, all in logarithms of set and latency:
//   curve     the points' medians, each the median of itself and its neighbours (one odd point is no level), then made
//             to never fall (pool adjacent violators): a larger set is not answered faster. Cycles where every point
//             has them, which no changing clock disturbs; nanoseconds otherwise.
//   plateau   the longest run of three points or more, half an octave or more, that rises by no more than 25 %, nor
//             more than 25 % an octave; then the longest of what is left, and so on.
//   level     a plateau that begins 30 % above the end of the one before, or more. Plateaus that are nearer are one
//             level: a slow rise, or parts of a cache at different distances.
//   latency   the median of the plateau's points.
//   size      where the curve is half way from this level's latency to the next one's: the next level answers half of
//             the loads. A cache that forgets in strict order and is filled evenly has all of its rise at its size.
//             Filled by pages of random colour its rise is slow, and goes through half at its size: of a set as large
//             as the cache, the pages that find more of their colour than it has ways are 55 % for 8 ways (Poisson).
//             One that replaces at random answers half of a set that is 1.4 times its size. The interval reaches to
//             the nearest points measured on either side, the bounds of the points included.
//   parts     with `apart` plateaus are levels of their own, too, where one's latency is so many times that of the one
//             before: parts of a cache at different distances. Such a level begins where the curve is nearer to its
//             latency than to that of the one before.
std::vector<Level> levels_of(std::vector<LoadTime>, std::optional<double> apart = {});

// Which points of a series are its corners.
//
//   One     one block, on one unit                 All   a block for every unit, or more
//   -One    one thread with one chain              -All  more threads
//
// A thread alone has one chain: L_Pipe and T_delay count what is in flight, and would count chains for threads
// otherwise. Of the shapes of a corner the fastest stands for it, which noise favours: by up to about its width. Where
// there is memory to touch, only working sets of at least half the largest count: smaller ones are there to see the
// cache.

enum class Corner { all_all, one_all, all_one, one_one };
constexpr Corner every_corner[] = {Corner::all_all, Corner::one_all, Corner::all_one, Corner::one_one};
// By corner.
constexpr Estimate Corners::*per_second[] = {&Corners::all_all, &Corners::one_all, &Corners::all_one,
                                             &Corners::one_one};
constexpr Estimate Corners::*per_cycle[] = {&Corners::all_all_cycle, &Corners::one_all_cycle, &Corners::all_one_cycle,
                                            &Corners::one_one_cycle};

enum class Per { second, cycle };
// Null where the series has no such point, or none with cycles. `units`: of the device; 0: not known.
const ProbeResult* corner_point(std::span<const ProbeResult>, Corner, Per, std::uint32_t units);

// From how many threads of a block on the rate of All-All or One-All stays, of chains and accesses that are alone in
// their thread: the first number whose rate reaches 97 % of the best. The interval reaches from the last that is
// clearly below that (of those tried, and the next number of threads is in it) to the first that clearly is not.
// `warps`: the same of the warps that the unit then has. Nothing where fewer than three numbers were measured.
struct ThreadPlateau {
  Estimate threads, warps;
  std::string doubts;
};
std::optional<ThreadPlateau> plateau_of(const ProbeSeries&, Corner);
// "B_AA threads", "B_AA warps" and "B_OA threads"; of a unit with one block its warps follow from its threads.
void add_plateaus(const ProbeSeries&, const std::string& rate, const std::string& suffix, DeviceParameters&);

// The doubts of these corners, and which of them are missing, in one text.
std::string doubts_of(const Corners&, std::initializer_list<Corner> used);

}  // namespace npgpu::model

namespace npgpu {

// As Perez & Piccoli 2011 write them.
template <>
inline constexpr std::array<std::string_view, 4> names_of<model::Corner>{"All-All", "One-All", "All-One", "One-One"};

}  // namespace npgpu

namespace npgpu::model {

// What was reported of the device, from the trace's provenance; NaN where nothing was.
struct OwnFacts {
  double fma_latency_cycles = not_measured;
  double l1d_bytes = not_measured, l2_bytes = not_measured, l3_bytes = not_measured;
  bool in_virtual_machine = false;
  bool chased_by_atomics = false;  // of the trace: there is a latency series by rmw
};

// What probes say of each device, without what streams and calls cost it.
std::vector<DeviceParameters> derive_probes(const Trace&);
// All of derive(), of a trace whose streams' costs are known.
std::vector<DeviceParameters> derive(const Trace&, const std::vector<MeasuredCosts>&);

// Names of parameters of other types than fp32 end in the type: "SM fp64".
void derive_compute(const ProbeSeries&, const OwnFacts&, DeviceParameters&);

// Read-modify-write, streaming and dependent form; either may be null. All-One and One-One need the dependent form: a
// compiler lets a streaming thread run ahead.
void derive_bandwidth(const ProbeSeries* streaming, const ProbeSeries* dependent, DeviceParameters&);
// The rate of any one bandwidth case, and what part of the limit that is.
void derive_rate(const ProbeSeries&, const std::string& name, DeviceParameters&);

// The levels of memory that a chase shows: sizes, latencies, and which of them could not be distinguished.
void derive_levels(const ProbeSeries&, const OwnFacts&, DeviceParameters&);

// What the probe's description names: rates of a unit, such as bandwidths of shared memory and caches; banks, sectors
// and lines, which show in its law; what the rungs of a ladder reach.
void derive_described(const ProbeSeries&, DeviceParameters&);

// What the probe migration shows: what faults cost, and rates of pages that move.
void derive_migration(const ProbeSeries&, DeviceParameters&);

// What the probe banks shows: what a conflict adds to a load that is waited for, and how many passes random words take.
void derive_banks(const ProbeSeries&, DeviceParameters&);

// What the probe gemm shows, by all series of the device: its best rate, that of the tensor cores' own instructions,
// what copies leave of it and the host adds to it, what a host's cores make of one.
void derive_gemm(const std::vector<const ProbeSeries*>& of_device, DeviceParameters&);

// ---- one value ------------------------------------------------------------------------------------------------------
// All of `over` multiplied, divided by all of `under`. NaN where one of them is. The bounds are those that follow if
// every factor lies at its own bound at once: wider than a 95 % interval, never narrower.
Estimate quotient(std::initializer_list<Estimate> over, std::initializer_list<Estimate> under, std::string unit,
                  std::string method);
// A number that is known.
inline Estimate exactly(double value) { return {value, value, value, {}, {}}; }

Parameter parameter(std::string name, Estimate, std::string meaning, std::string note = {});

// `tolerance`: 0.01 is 1 %. In this order:
//   no reference  there is nothing to compare the value with; reference_source says why
//   undecided     there is no value, or its interval is wider than 10 % either way: agreement would be luck
//   agrees        the value is within the tolerance of the reference
//   disagrees     the whole interval is outside the tolerance, and nothing disturbed the value
//   undecided     the value is outside and the interval is not, there is no interval, or the note says that something
//                 disturbed the value. The note must be there before.
void hold_against(Parameter&, double reference, const std::string& source, double tolerance);
// A rate against its limit, in the same way: it agrees from 95 % of the limit to `above` over it, and disagrees where
// the whole interval is above that, because work was left out or the limit is wrong. Lower is no error, and undecided.
void hold_below(Parameter&, double limit, const std::string& source, double above = 0.01);
void leave_unchecked(Parameter&, const std::string& why);
// The rate held below its limit, and "<name> reached": what part of the limit it is.
std::array<Parameter, 2> rate_and_part(Parameter rate, double limit, const std::string& source, std::string method,
                                       std::string meaning_of_part);

void add_note(std::string& note, const std::string& what);
Facts facts_of(const Trace&, const std::string& device);  // none where the trace does not say
// "9.0", of a GPU of NVIDIA; empty where the trace does not say.
std::string capability_of(const Trace&, const std::string& device);
// "not reported by the driver"; of a host by the system, of a simulated device by its spec.
std::string not_reported(const std::string& device);

}  // namespace npgpu::model
