// npgpu transfer --module mpi, or ucx: the same program in every rank of a job.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "netpipe/cli/options.hpp"
#include "netpipe/ranks/rank_set.hpp"

namespace npgpu::cli {

// --module names it. Throws Error(usage) where it names others, too.
bool is_between_ranks(const Options&);
// The whole command: each rank measures with its partners and writes a trace of its own; the first one prints. Returns
// the exit code.
int measure_between_ranks(const Options&);

// What every rank of a job does, once all have met.
struct RankWork {
  std::string module;               // that carries the messages
  std::string asked;                // what begins the sentence where there is no MPI
  std::function<bool()> is_urgent;  // a signal came to this rank, which does not wait for others any longer
  int (*work)(const Options&, ranks::RankSet&) = nullptr;
};
// Returns the exit code of this rank.
int in_all_ranks(const Options&, const RankWork&);
// Where the work throws Error on one rank it ends on all: the exit code. That rank, or of equal ones the first, says
// why.
std::optional<int> attempt(ranks::RankSet&, const std::function<void()>& work);
// Where `what` does not end, by another thread, which saves the trace: it says who is gone, and the process ends.
[[noreturn]] void save_and_leave(bool stopped, const std::string& what, const ranks::RankSet&,
                                 const std::string& output, const std::function<void(const std::string& why)>& save);

}  // namespace npgpu::cli
