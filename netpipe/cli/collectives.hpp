// npgpu collectives, by one process of a node or by the ranks of a job.
#pragma once

#include <string>
#include <vector>

#include "netpipe/cli/measure.hpp"
#include "npgpu/collective.hpp"

namespace npgpu::cli {

// What the options ask of these GPUs. `of_ranks`: the ids are those of ranks, "cuda:0@0".
std::vector<Step<Collectives>> collective_steps(const Options&, const std::vector<std::string>& ids, bool of_ranks);
// Throws Error(nothing) where the plan has none of them.
void require_steps(const Plan&);
// Prints, and returns the exit code.
int end_collectives(const CampaignResult&, const MeasureOptions&);

// A launcher of jobs started this process and others.
bool is_in_job();
// The whole command in a rank.
int collectives_in_ranks(const Options&);

}  // namespace npgpu::cli
