// How a device is built, derived from its probes alone and compared with what driver or system report of it.
//
// Example:
//   for (const npgpu::DeviceParameters& device : npgpu::derive(npgpu::read_trace("node.h5")))
//     for (const npgpu::Parameter& p : device.parameters)
//       std::cout << device.device << ' ' << p.name << ": " << p.estimate.value << ' ' << p.estimate.unit << '\n';
#pragma once

#include <array>
#include <string>
#include <vector>

#include "npgpu/model.hpp"

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

// One entry a device of the trace that was probed, or whose costs of streams were measured (npgpu/predict.hpp).
std::vector<DeviceParameters> derive(const Trace&);

}  // namespace npgpu
