// What is measured between the GPUs of a node: by npgpu matrix cases between GPUs, between each and the host, and of
// many lanes at once; by npgpu collectives what they do together.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "netpipe/cli/measure.hpp"
#include "npgpu/vocabulary/transfer.hpp"

namespace npgpu {

namespace cli {

enum class MatrixPart { pairs, both, host, latency, together, numa };

struct MatrixQuestions {
  std::vector<MatrixPart> parts;
  std::vector<Access> accesses;
  std::vector<Executor> executors;
  std::vector<std::uint64_t> sizes{};  // empty: the usual ones
  bool every_pair = false;             // also of many GPUs
  bool host_at_once = true;            // `together` has copies with the host, too
};

// Sources and targets, by number. Sampled: from each GPU to the next one, to the one half round, and one between.
std::vector<std::pair<std::size_t, std::size_t>> pairs_of(std::size_t gpus, bool every_pair);

// The GPUs that --device names, or those of the nodes that it names; else all of this machine. Throws Error(nothing)
// that begins with `need` where there are none.
std::vector<DeviceInfo> node_gpus(const Options&, const std::string& need);

Plan matrix_plan(const std::vector<DeviceInfo>& gpus, const MatrixQuestions&);

// For a check: an all-reduce of one small size, on the devices, and of one large one, and copies of kernels at once
// between the GPUs, which the limits are of. Empty where none of them can be measured; `left_out` says why. Throws
// Error(usage) where no backend has such GPUs. REQUIRES: two GPUs and more.
Plan all_reduce_plan(const std::vector<DeviceInfo>& gpus);

}  // namespace cli

template <>
inline constexpr std::array<std::string_view, 6> names_of<cli::MatrixPart>{"pairs",   "both",     "host",
                                                                           "latency", "together", "numa"};

}  // namespace npgpu
