// The points of a probe's series as rates, each with what makes it doubtful.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "npgpu/model/result.hpp"
#include "npgpu/vocabulary/probe.hpp"

namespace npgpu::model {

// The usable points, by their axes. Left out: wrong results, and blocks that were to be alone and were
// not. Cycles count where at least half of the trials have them: a host's trial has none where the clock changed
// under it. They are of one block; they stand for the whole kernel, and give a cycle rate, only where no block waited
// for another to end. That is certain on a host, where a unit's blocks have together no more threads than one block may
// have, and assumed where cycles over time are within 2 % of the highest clock or of the one that telemetry read.
std::vector<ProbeResult> rates_of(const ProbeSeries&);

// A host's cycles are those that a thread itself ran: over its time they are below the clock where others had the core.
bool is_host(const ProbeSeries&);
// Whether its units are cores, which run one block at a time: the host, or a CPU by OpenCL.
bool has_cores(const ProbeSeries&);

// The least value of the upper of two groups of at least a quarter of the values each, which lie further apart than the
// wider of them is wide, and more than 2 % of the median; none where there are no two. The farthest out of eight values
// of a group does not count. Needs 8 values.
std::optional<double> upper_group(std::span<const double> values);

}  // namespace npgpu::model
