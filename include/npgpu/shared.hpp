// What a node can share with strangers: the figures of its GPUs, and nothing that says whose they are. No host, user,
// path, command line, UUID or bus address; of the time the month.
//
// Example:
//   const npgpu::Overview all = npgpu::overview_of(npgpu::read_trace("node.h5"));
//   const npgpu::SharedNode node = npgpu::shared_of(all);
//   npgpu::shared_json(std::cout, node, all);
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/overview.hpp"

namespace npgpu {

// A figure that says the same on every node, by the metric that `npgpu check` judges it by.
struct SharedMetric {
  std::string_view metric;  // h2d_rate
  std::string_view name;    // "host to GPU, pinned"
  std::string_view unit;    // B/s, FLOP/s, OP/s, us, MHz
  bool less_is_better() const { return unit == "us"; }
};
std::span<const SharedMetric> shared_metrics();

struct SharedFigure {
  std::string metric;
  double value = not_measured, low = not_measured, high = not_measured;  // in the metric's unit; 95 %
};
struct SharedGpu {
  std::string name;    // "NVIDIA H200"
  std::string link;    // "PCIe Gen5 x16"; empty: not known
  std::string driver;  // version
  std::int64_t multiprocessors = 0, memory_bytes = 0;
  double power_limit_w = not_measured;
  Health health = Health::skip;  // the worst of its findings
  std::vector<SharedFigure> figures{};
};
struct SharedNode {
  std::string tool_version, month;  // "0.2.0", "2026-11"
  std::string host_cpu;             // "AMD EPYC 9654"
  std::int64_t host_cores = 0;
  bool is_virtual = false;
  std::vector<SharedGpu> gpus{};  // measured ones
};

// "PCIe Gen5 x16": the most that device and slot can do, of a device's facts; empty where they do not say.
std::string link_text(const Facts&);

// Throws Error(usage) where the trace has no figure of a GPU that was measured: nobody shares simulations.
SharedNode shared_of(const Overview&);

// The document "npgpu-shared". Throws Error(failed) if a text that names somebody (host, UUID, bus address, run, a word
// of the command's paths) is in it. REQUIRES: shared_of() made the node from the same overview.
void shared_json(std::ostream&, const SharedNode&, const Overview& of);

// A GPU compared with those of its model in other shared nodes: a row for each figure that both have.
struct AmongOthers {
  struct Row {
    SharedMetric metric;
    SharedFigure own;
    std::vector<double> others{};  // a value for each card, from the least to the most

    double typical() const;  // the median of the others
    double change() const { return own.value / typical() - 1; }
    bool is_beyond() const { return own.low > others.back() || own.high < others.front(); }  // all others
    bool is_worse() const { return is_beyond() && (change() < 0) != metric.less_is_better(); }
  };
  std::string gpu, name;  // cuda:0, NVIDIA H200
  std::size_t cards = 0;  // others of its model
  std::vector<Row> rows{};
};
// Of each GPU that was measured; nodes without its model are passed over.
std::vector<AmongOthers> among_others(const Overview&, std::span<const SharedNode> others);

}  // namespace npgpu
