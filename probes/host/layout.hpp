// What the host says of its own build, and what its vendor's documents promise: shared by the host's probes.
#pragma once

#include <string>

#include "netpipe/devices/host/cores.hpp"
#include "npgpu/probe.hpp"
#include "probes/compute/chains.hpp"

namespace npgpu {

// Cores of the affinity mask, caches, clock; `lanes` are those of the widest registers for this type. The clock is the
// frequency driver's highest or, where there is none, the one measured now on the first core.
Layout host_layout(DataType);

// The instruction set with the widest registers, where there is any.
std::optional<Isa> widest_isa();

// Vector instructions x = x*a + b that one core starts in a cycle.
struct Ports {
  double per_cycle = not_measured;  // NaN: not known
  std::string source;               // the document, or why not
};
Ports documented_ports(const host::Processor&, Isa, DataType);

}  // namespace npgpu
