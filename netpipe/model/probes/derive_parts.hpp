// What the probes of one device say, case by case: the parts of derive().
#pragma once

#include <string>
#include <vector>

#include "npgpu/derive.hpp"

namespace npgpu::model {

// What was reported of the device, from the trace's provenance; NaN where nothing was.
struct OwnFacts {
  double fma_latency_cycles = not_measured;
  double l1d_bytes = not_measured, l2_bytes = not_measured, l3_bytes = not_measured;
  bool in_virtual_machine = false;
  bool chased_by_atomics = false;  // of the trace: there is a latency series by rmw
};

// Names of parameters of other types than fp32 end in the type: "SM fp64".
void derive_compute(const ProbeSeries&, const OwnFacts&, DeviceParameters&);

// Read-modify-write, streaming and dependent form; either may be null. All-One and One-One need the dependent form: a
// compiler lets a streaming thread run ahead.
void derive_bandwidth(const ProbeSeries* streaming, const ProbeSeries* dependent, DeviceParameters&);
// The rate of any one bandwidth case, and what part of the limit that is.
void derive_rate(const ProbeSeries&, const std::string& name, DeviceParameters&);

// The levels of memory that a chase shows: sizes, latencies, and which of them could not be told apart.
void derive_levels(const ProbeSeries&, const OwnFacts&, DeviceParameters&);

}  // namespace npgpu::model
