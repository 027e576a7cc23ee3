// The host's NUMA nodes against the GPUs, written once for a terminal and for a page.
#pragma once

#include "netpipe/report/overview/sections.hpp"
#include "npgpu/matrix.hpp"

namespace npgpu {

// A row a GPU: the node that the system calls near, the one that is fastest, and a column for each node and direction.
// The name says what it is of. Of a host with one node, a sentence; empty where nothing is known.
Section numa_section(const NodeMatrix&);

}  // namespace npgpu
