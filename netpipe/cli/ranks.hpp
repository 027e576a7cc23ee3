// npgpu transfer --module mpi, or ucx: the same program in every rank of a job.
#pragma once

#include "netpipe/cli/options.hpp"

namespace npgpu::cli {

// --module names it. Throws Error(usage) where it names others, too.
bool is_between_ranks(const Options&);
// The whole command: each rank measures with its partners and writes a trace of its own; the first one prints. Returns
// the exit code.
int measure_between_ranks(const Options&);

}  // namespace npgpu::cli
