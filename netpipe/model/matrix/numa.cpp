#include "netpipe/model/matrix/numa.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "netpipe/model/probes/derivation.hpp"

namespace npgpu::model {

namespace {

constexpr Direction directions[] = {Direction::h2d, Direction::d2h};

std::set<int> nodes_of(const std::vector<NumaCell>& cells) {
  std::set<int> all;
  for (const NumaCell& cell : cells) all.insert(cell.host_node);
  return all;
}

// What a byte takes there and back: one number for both directions, in which neither is forgotten.
double both_ways_s(const NumaGpu& gpu, int node) {
  double sum = 0;
  for (const Direction direction : directions) {
    const NumaCell* const cell = gpu.find(node, direction);
    sum += cell ? 1 / cell->rate.value : not_measured;
  }
  return sum;
}

int fastest_of(const NumaGpu& gpu) {
  int fastest = -1;
  double least = std::numeric_limits<double>::infinity();
  for (const int node : nodes_of(gpu.cells))
    if (const double time = both_ways_s(gpu, node); time < least) {
      fastest = node;
      least = time;
    }
  return fastest;
}

NumaCost cost_of(const NumaCell& cell, const NumaCell& fastest) {
  const Estimate left = quotient({cell.rate}, {fastest.rate}, "1", "both ends of both intervals");
  NumaCost cost{cell.host_node, cell.direction, {1 - left.value, 1 - left.high, 1 - left.low, "1", left.method}};
  cost.is_slower = cost.share.value >= numa_share && !(cost.share.low <= 0);
  return cost;
}

// Whether the node was measured, and is slower than `other`; that one was measured both ways.
bool is_slower(const NumaGpu& gpu, int node, int other) {
  return std::ranges::any_of(gpu.cells, [&](const NumaCell& cell) {
    return cell.host_node == node && cost_of(cell, *gpu.find(other, cell.direction)).is_slower;
  });
}

NumaGpu gpu_of(const std::string& id, std::vector<NumaCell> cells, int system_node) {
  NumaGpu gpu{.id = id, .system_node = system_node, .cells = std::move(cells)};
  const int least = fastest_of(gpu);
  if (least < 0) return gpu;
  // Of nodes that are equally fast, chance says which took least: then it is the one that the system names.
  const bool is_measured = std::isfinite(both_ways_s(gpu, system_node));
  gpu.fastest_node = is_measured && !is_slower(gpu, system_node, least) ? system_node : least;
  for (const NumaCell& cell : gpu.cells)
    if (cell.host_node != gpu.fastest_node)
      gpu.costs.push_back(cost_of(cell, *gpu.find(gpu.fastest_node, cell.direction)));
  return gpu;
}

// The costs of several GPUs: the middle of their values, and all their intervals together.
class Costs {
 public:
  void take(const Estimate& share) {
    values_.push_back(share.value);
    if (!(share.low >= low_)) low_ = share.low;
    if (!(share.high <= high_)) high_ = share.high;
  }
  bool empty() const { return values_.empty(); }
  // "19.7 % (19.6 to 19.8)"
  std::string text() const {
    const std::string value = fmt::format("{:.1f} %", median(values_) * 100);
    if (!std::isfinite(high_ - low_)) return value + " (without an interval)";
    return fmt::format("{} ({:.1f} to {:.1f})", value, low_ * 100, high_ * 100);
  }

 private:
  std::vector<double> values_;
  double low_ = not_measured, high_ = not_measured;
};

// "20 % of the h2d rate and 19 % of the d2h rate"; empty if the node is not slower.
std::string cost_text(const std::vector<const NumaGpu*>& gpus, int node) {
  std::vector<std::string> parts;
  for (const Direction direction : directions) {
    Costs costs;
    for (const NumaGpu* gpu : gpus)
      for (const NumaCost& cost : gpu->costs)
        if (cost.host_node == node && cost.direction == direction && cost.is_slower) costs.take(cost.share);
    if (!costs.empty()) parts.push_back(fmt::format("{} of the {} rate", costs.text(), name(direction)));
  }
  return fmt::format("{}", fmt::join(parts, " and "));
}

std::string system_text(const NumaGpu& gpu) {
  if (gpu.system_node < 0) return " (the system names none)";
  return gpu.system_node == gpu.fastest_node ? ", as the system says"
                                             : fmt::format(" (the system names node {})", gpu.system_node);
}

bool is_wrong(const NumaGpu& gpu) {
  return std::ranges::any_of(gpu.costs,
                             [&](const NumaCost& cost) { return cost.host_node == gpu.system_node && cost.is_slower; });
}

MatrixFinding wrong_node(const NumaGpu& gpu) {
  return {{gpu.id},
          fmt::format("{}: the system names NUMA node {} as its nearest, and node {} is faster: node {} costs {}",
                      gpu.id, gpu.system_node, gpu.fastest_node, gpu.system_node, cost_text({&gpu}, gpu.system_node))};
}

// Of GPUs that have the same fastest node, and of which the system says the same.
MatrixFinding costs_of(const std::vector<const NumaGpu*>& gpus) {
  MatrixFinding finding;
  std::set<int> nodes;
  for (const NumaGpu* gpu : gpus) {
    finding.devices.push_back(gpu->id);
    nodes.merge(nodes_of(gpu->cells));
  }
  const NumaGpu& first = *gpus.front();
  std::vector<std::string> slower;
  std::vector<int> alike;
  for (const int node : nodes) {
    if (node == first.fastest_node) continue;
    const std::string cost = cost_text(gpus, node);
    if (cost.empty()) alike.push_back(node);
    else slower.push_back(fmt::format("node {} costs {}", node, cost));
  }
  finding.text = fmt::format("{}: ", fmt::join(finding.devices, ", "));
  if (slower.empty()) {
    finding.text += fmt::format("no NUMA node is slower by {:g} % or more", numa_share * 100);
    return finding;
  }
  finding.text +=
      fmt::format("NUMA node {} is the fastest{}; {}", first.fastest_node, system_text(first), fmt::join(slower, "; "));
  if (!alike.empty()) finding.text += fmt::format("; as fast: {}", fmt::join(alike, ", "));
  return finding;
}

}  // namespace

void add_numa(NodeMatrix& node, NumaCells all, const Links& links) {
  NumaMatrix& numa = node.numa;
  std::set<int> measured, there;
  for (const NodeMatrix::Device& device : node.devices) {
    const std::vector<int> its = links.host_nodes(device.id);
    there.insert(its.begin(), its.end());
    if (!all.contains(device.id)) continue;
    measured.merge(nodes_of(all[device.id]));
    numa.gpus.push_back(gpu_of(device.id, std::move(all[device.id]), links.host_node(device.id)));
  }
  const std::set<int>& shown = measured.empty() ? there : measured;
  numa.host_nodes.assign(shown.begin(), shown.end());
  if (measured.size() < 2) return;
  std::map<std::pair<int, int>, std::vector<const NumaGpu*>> alike;
  for (const NumaGpu& gpu : numa.gpus) {
    if (gpu.fastest_node >= 0) alike[{gpu.fastest_node, gpu.system_node}].push_back(&gpu);
    if (is_wrong(gpu)) numa.wrong.push_back(wrong_node(gpu));
  }
  for (const auto& [key, gpus] : alike) numa.costs.push_back(costs_of(gpus));
}

}  // namespace npgpu::model

namespace npgpu {

const NumaCell* NumaGpu::find(int host_node, Direction direction) const {
  const auto found = std::ranges::find_if(
      cells, [&](const NumaCell& cell) { return cell.host_node == host_node && cell.direction == direction; });
  return found == cells.end() ? nullptr : &*found;
}

}  // namespace npgpu
