// The matrix of a node, from its copies: rates between all memories, several copies at once, and the host's NUMA nodes
// against the GPUs: which is the fastest for each, and what the others cost.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "netpipe/judge/matrix/findings.hpp"
#include "netpipe/judge/matrix/links.hpp"
#include "netpipe/model/medians.hpp"
#include "netpipe/model/probes/derivation.hpp"
#include "npgpu/model/result.hpp"

namespace npgpu::model {

namespace {

using NumaCells = std::map<std::string, std::vector<NumaCell>>;  // by GPU

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
  // Chance says which of equally fast nodes took least: then it is the one that the system names.
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

// What nodes cost GPUs that have the same fastest node, and of which the system says the same.
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

// Fills node.numa, and names there each GPU whose fastest node is not the one that the system names.
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

}  // namespace
}  // namespace npgpu::model

namespace npgpu {

const NumaCell* NumaGpu::find(int host_node, Direction direction) const {
  const auto found = std::ranges::find_if(
      cells, [&](const NumaCell& cell) { return cell.host_node == host_node && cell.direction == direction; });
  return found == cells.end() ? nullptr : &*found;
}

namespace {

// Copies that programs queue, with nothing unusual about them.
bool is_queued_copy(const TransferCase& c) {
  const bool memory = c.memory == Memory::pinned || c.memory == Memory::device;
  return c.async && c.timing != Timing::host && !is_beside(c) && memory && c.cache == Cache::warm && !c.source_offset &&
         !c.target_offset && (c.pattern == Pattern::stream || is_of_words(c.pattern));
}

bool is_both_ways(const TransferCase& c) {
  return c.more_lanes.size() == 1 && c.more_lanes.front() == reversed(lanes(c).front()) &&
         c.direction != Direction::d2d;
}

// 3 of "cuda:3": devices in the order of their numbers.
std::pair<std::string, int> order_of(const std::string& id) {
  const std::size_t colon = id.rfind(':');
  int number = 0;
  if (colon == std::string::npos) return {id, 0};
  std::from_chars(id.data() + colon + 1, id.data() + id.size(), number);
  return {id.substr(0, colon), number};
}

// The figures of one lane at the largest size, or of all lanes together.
const TransferResult* of_largest_size(const std::vector<TransferResult>& all, std::uint32_t lane) {
  const TransferResult* found = nullptr;
  for (const TransferResult& one : all)
    if (one.lane == lane && (!found || one.axes.bytes >= found->axes.bytes)) found = &one;
  return found;
}

bool is_doubtful(const TransferResult& point) { return point.unsteady || !point.disturbed.empty(); }

MatrixCell cell_of(const TransferCase& c, const Lane& lane, const TransferResult& point, bool is_latency) {
  MatrixCell cell{lane.source,
                  lane.target,
                  c.direction == Direction::peer ? c.access : Access::write,
                  point.axes.bytes,
                  is_latency ? point.time_us : point.rate,
                  is_doubtful(point),
                  title(c),
                  text_of(point.axes)};
  // Who loads or begins comes first.
  if (is_latency && (c.direction != Direction::peer || c.access == Access::read)) std::swap(cell.source, cell.target);
  return cell;
}

class Builder {
 public:
  void take(const TransferSeries& series) {
    const TransferCase& c = series.question;
    const bool several = !is_beside(c) && model::is_of_several_gpus(c);
    if (several)
      for (const Lane& lane : lanes(c)) ends_of_several_.insert({lane.source, lane.target});
    if (!is_queued_copy(c)) return;
    is_matrix_ |= several;
    const auto points = results(series);
    if (c.host_node >= 0) return of_host_node(c, points);
    if (c.more_lanes.empty() || is_both_ways(c)) return cells(series, points);
    together(series, points);
  }
  bool has_several() const { return !ends_of_several_.empty(); }
  bool is_matrix() const { return is_matrix_; }
  NodeMatrix finish(const Trace& trace) {
    is_matrix_ |= ids_.size() > 1;
    if (!is_matrix_ && !has_several()) return {};
    ids_.merge(ends_of_several_);
    node_.has_host |= ids_.erase("host") > 0;
    for (auto& [key, matrix] : matrices_) node_.matrices.push_back(std::move(matrix));
    devices(trace);
    const model::Links links(trace);
    std::set<std::string> kinds;
    for (const NodeMatrix::Device& a : node_.devices)
      for (const NodeMatrix::Device& b : node_.devices)
        if (a.id != b.id && kinds.insert(links.kind(a.id, b.id)).second) node_.links.push_back(links.kind(a.id, b.id));
    node_.is_sampled = !pairs_.empty() && 2 * pairs_.size() < node_.devices.size() * (node_.devices.size() - 1);
    model::add_numa(node_, std::move(numa_), links);
    return std::move(node_);
  }

 private:
  void of_host_node(const TransferCase& c, const std::vector<TransferResult>& points) {
    const TransferResult* const point = of_largest_size(points, 0);
    const bool with_host = c.direction == Direction::h2d || c.direction == Direction::d2h;
    if (!point || !with_host || c.pattern != Pattern::stream || c.executor != Executor::copy_engine ||
        !c.more_lanes.empty())
      return;
    is_matrix_ = true;
    note(lanes(c).front());
    numa_[device_of(c)].push_back({c.host_node, c.direction, point->axes.bytes, point->rate, is_doubtful(*point)});
  }
  void cells(const TransferSeries& series, const std::vector<TransferResult>& points) {
    const TransferCase& c = series.question;
    const std::vector<Lane> all = lanes(c);
    const bool is_latency = is_of_words(c.pattern), both = all.size() > 1;
    const Access access =
        c.direction == Direction::peer && c.access == Access::read && !is_latency ? Access::read : Access::write;
    is_matrix_ |= c.direction == Direction::peer || both;
    for (std::uint32_t lane = 0; lane < all.size(); ++lane)
      if (const TransferResult* point = of_largest_size(points, lane)) {
        RateMatrix& matrix = matrices_[{c.pattern, c.executor, both, access}];
        matrix.executor = c.executor;
        matrix.access = access;
        matrix.both_ways = both;
        matrix.pattern = c.pattern;
        MatrixCell& cell = matrix.cells.emplace_back(cell_of(c, all[lane], *point, is_latency));
        if (!both && !is_latency)
          cell.by_visit = model::by_visit(series, points_by_axes(series).at(point->axes), cell.value.value, true);
        note(all[lane]);
        if (c.direction == Direction::peer) pairs_.emplace(all[lane].source, all[lane].target);
      }
  }
  void together(const TransferSeries& series, const std::vector<TransferResult>& points) {
    const TransferCase& c = series.question;
    const std::vector<Lane> all = lanes(c);
    const auto sums = results_of_all_lanes(series);
    const TransferResult* const sum = of_largest_size(sums, 0);
    if (!sum) return;
    is_matrix_ = true;
    LanesTogether one{
        .name = model::name_of_lanes(all), .executor = c.executor, .access = c.access, .bytes = sum->axes.bytes};
    double slowest = not_measured, fastest = not_measured;
    for (std::uint32_t lane = 0; lane < all.size(); ++lane) {
      const TransferResult* const point = of_largest_size(points, lane);
      if (!point) continue;
      one.lanes.push_back(cell_of(c, all[lane], *point, false));
      const double rate = point->rate.value;
      if (!(rate >= slowest)) slowest = rate;
      if (!(rate <= fastest)) fastest = rate;
      note(all[lane]);
    }
    one.sum = sum->rate;
    one.fairness = slowest / fastest;
    one.doubtful = is_doubtful(*sum);
    node_.together.push_back(std::move(one));
  }
  void note(const Lane& lane) {
    for (const std::string& id : {lane.source, lane.target})
      if (id != "host") ids_.insert(id);
      else node_.has_host = true;
  }
  void devices(const Trace& trace) {
    std::map<std::string, NodeMatrix::Device> known;
    for (const auto& [group, facts] : trace.provenance) {
      if (!group.starts_with("gpu")) continue;
      if (!find_fact(facts, "id") || !find_fact(facts, "name")) continue;
      const std::string device = text_fact(facts, "id");
      known[device] = {device, text_fact(facts, "name"), number_fact(facts, "simulated") > 0};
    }
    for (const TransferSeries& series : trace.of<Transfers>()) {
      const std::string id = device_of(series.question);
      known[id] = {id, series.device_name, series.simulated};
    }
    for (const std::string& id : ids_) {
      const auto found = known.find(id);
      node_.devices.push_back(found == known.end() ? NodeMatrix::Device{id, "", false} : found->second);
    }
    std::ranges::sort(node_.devices, {}, [](const NodeMatrix::Device& one) { return order_of(one.id); });
  }

  NodeMatrix node_;
  bool is_matrix_ = false;
  std::set<std::string> ends_of_several_;  // of cases with several GPUs
  model::NumaCells numa_;
  std::map<std::tuple<Pattern, Executor, bool, Access>, RateMatrix> matrices_;
  std::set<std::string> ids_;
  std::set<std::pair<std::string, std::string>> pairs_;
};

}  // namespace

const MatrixCell* RateMatrix::find(const std::string& source, const std::string& target) const {
  const auto found = std::ranges::find_if(
      cells, [&](const MatrixCell& cell) { return cell.source == source && cell.target == target; });
  return found == cells.end() ? nullptr : &*found;
}

NodeMatrix node_matrix(const Trace& trace) {
  Builder builder;
  for (const TransferSeries& series : trace.of<Transfers>()) builder.take(series);
  NodeMatrix node = builder.finish(trace);
  return builder.is_matrix() ? node : NodeMatrix();
}

NodeMatrix model::matrix_of_copies(const Trace& trace) {
  Builder builder;
  for (const TransferSeries& series : trace.of<Transfers>()) builder.take(series);
  return builder.has_several() ? builder.finish(trace) : NodeMatrix();
}

}  // namespace npgpu
