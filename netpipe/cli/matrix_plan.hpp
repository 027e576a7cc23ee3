// What npgpu matrix measures: cases between GPUs, between each and the host, and of many lanes at once.
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
  bool every_pair = false;             // also of more than max_for_every_pair GPUs
  bool host_at_once = true;            // `together` has copies with the host, too
};

// Of more GPUs only some pairs of each are measured, so that the time grows with their number and not with its square.
inline constexpr std::size_t max_for_every_pair = 8;
// Sources and targets, by number. Sampled: from each GPU to the next one, to the one half round, and one between.
std::vector<std::pair<std::size_t, std::size_t>> pairs_of(std::size_t gpus, bool every_pair);

// The GPUs that --device names, or those of the nodes that it names; else all of this machine. Throws Error(nothing)
// that begins with `need` where there are none.
std::vector<DeviceInfo> node_gpus(const Options&, const std::string& need);

Plan matrix_plan(const std::vector<DeviceInfo>& gpus, const MatrixQuestions&);

}  // namespace cli

template <>
inline constexpr std::array<std::string_view, 6> names_of<cli::MatrixPart>{"pairs",   "both",     "host",
                                                                           "latency", "together", "numa"};

}  // namespace npgpu
