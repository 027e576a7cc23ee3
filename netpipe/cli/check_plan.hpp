// What npgpu check measures, and the reference that it judges by.
#pragma once

#include <string>
#include <vector>

#include "netpipe/cli/measure.hpp"
#include "npgpu/judge/health.hpp"
#include "npgpu/measuring/campaign.hpp"

namespace npgpu::cli {

// A node that is known to be good: its trace, what npgpu check --json or nvbandwidth --json printed of it, or the -J
// file of nccl-tests on one of its GPUs.
struct Reference {
  std::string name;               // of the file, without its folder
  std::vector<std::string> gpus;  // names of its GPUs; empty where they are not known
  std::vector<ReferenceFigure> figures;
  std::vector<std::string> unused{};  // figures in it that no check measures: "device_to_device_memcpy_read_ce"
  std::string doubt{};  // why it may be no good node: "npgpu check calls it slow"; empty where nothing says so
};
// Throws Error(usage).
Reference read_reference(const std::string& path);

// What npgpu check --soak and --memory-test measure: slices until the time is over: each load by itself in turn, and
// after each of them several at once. In a slice all devices work at the same time.
Plan soak_plan(const std::vector<DeviceInfo>&, Seconds duration, bool with_memory_test);
// One thorough test of the memory of each, all at once.
Plan memory_test_plan(const std::vector<DeviceInfo>&);

// What npgpu check measures: the smallest plan that finds a fault of a GPU within the level's time.
//   1  copies both ways at three sizes, one kernel that computes, one that reads memory, launches; 5 s a GPU
//   2  copies by size, pinned and pageable, within the device; memory and computing power by kind; L2, the latency of
//      memory, tensor cores; calls; 30 s a GPU
// Three, all of characterize, is that command's plan, and what is measured between GPUs.
enum class Level { seconds = 1, half_minute = 2, all = 3 };

Plan check_plan(const std::vector<DeviceInfo>&, Level);
// Some of them see each other's memory, and others do not.
bool are_peers_mixed(const std::vector<DeviceInfo>&);
// A copy of each to the next one of its node; where the peers are mixed, of each pair, as those that see each other
// show what is usual on their kind of link.
void add_peer_copies(Plan&, const std::vector<DeviceInfo>&);
// For GPUs of one node: such copies, copies at once, and an all-reduce of all of them.
void add_between_gpus(Plan&, const std::vector<DeviceInfo>&);
// How the points of such a plan are repeated, where the user does not say.
void set_repetition(MeasureOptions&, const Options&, Level);
// Metrics that each GPU must have after a plan of this level.
std::vector<std::string> required_metrics(Level);

}  // namespace npgpu::cli
