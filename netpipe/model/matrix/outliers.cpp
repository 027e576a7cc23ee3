#include "netpipe/model/matrix/outliers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace npgpu::model {

namespace {

using Pair = std::pair<std::string, std::string>;  // source, target

bool is_between_gpus(const MatrixCell& cell) {
  return cell.source != "host" && cell.target != "host" && cell.source != cell.target;
}

// What cells are compared with: copies to the host with copies to the host, pairs with pairs that are joined alike.
std::string class_of_cell(const MatrixCell& cell, const Links& links) {
  if (cell.source == "host" || cell.target == "host") return cell.source == "host" ? "from the host" : "to the host";
  return cell.source == cell.target ? "within" : links.kind(cell.source, cell.target);
}

std::string gb_s(double bytes_per_s) { return fmt::format("{:.3g} GB/s", bytes_per_s * 1e-9); }

std::string matrix_name(const RateMatrix& matrix) {
  const std::string how = fmt::format("{} by {}", name(matrix.access), name(matrix.executor));
  return matrix.both_ways ? how + " both ways" : how;
}

struct Slow {
  const MatrixCell* cell = nullptr;
  double usual = 0;  // of its class
};

// Those of one matrix that are slow. Copies through the host are told by themselves.
std::map<Pair, Slow> slow_cells(const RateMatrix& matrix, const Links& links) {
  std::map<std::string, std::vector<double>> values;
  for (const MatrixCell& cell : matrix.cells)
    if (cell.value.value > 0 && cell.access != Access::staged)
      values[class_of_cell(cell, links)].push_back(cell.value.value);
  std::map<Pair, Slow> slow;
  constexpr std::size_t least = 3;  // with fewer nobody can say who of them is slow
  for (const MatrixCell& cell : matrix.cells) {
    const std::vector<double>& alike = values[class_of_cell(cell, links)];
    if (cell.access == Access::staged || alike.size() < least || !(cell.value.value > 0)) continue;
    const double usual = median(alike);
    if (cell.value.value < (1 - outlier_share) * usual) slow[{cell.source, cell.target}] = {&cell, usual};
  }
  return slow;
}

enum class Way { out, in, both };

// Whether all cells of a GPU with other GPUs, one way, are among the slow ones; at least two.
bool all_slow(const RateMatrix& matrix, const std::map<Pair, Slow>& slow, const std::string& gpu, bool out) {
  std::size_t all = 0, found = 0;
  for (const MatrixCell& cell : matrix.cells) {
    if (!is_between_gpus(cell) || (out ? cell.source : cell.target) != gpu || cell.access == Access::staged) continue;
    ++all;
    found += slow.contains({cell.source, cell.target});
  }
  return all >= 2 && found == all;
}

struct Range {
  double low = not_measured, high = not_measured;
  void take(double value) {
    if (!(value >= low)) low = value;
    if (!(value <= high)) high = value;
  }
  std::string text() const {
    const std::string one = gb_s(low), other = gb_s(high);
    return one == other ? one : fmt::format("{:.3g} to {}", low * 1e-9, other);
  }
};

struct Grouped {
  Range rate, usual;
  std::set<std::string> matrices;
  void take(const Slow& one, const RateMatrix& matrix) {
    rate.take(one.cell->value.value);
    usual.take(one.usual);
    matrices.insert(matrix_name(matrix));
  }
};

std::string ending(const Grouped& found) {
  return fmt::format("{}, and those that are joined alike have {} ({})", found.rate.text(), found.usual.text(),
                     fmt::join(found.matrices, ", "));
}

class Outliers {
 public:
  Outliers(const NodeMatrix& node, const Links& links) : node_(node), links_(links) {}

  std::vector<MatrixFinding> find() {
    for (const RateMatrix& matrix : node_.matrices)
      if (!matrix.is_latency()) look_at(matrix);
    std::vector<MatrixFinding> all;
    for (const auto& [gpu, by_way] : gpus_)
      for (const auto& [way, found] : by_way)
        all.push_back({{gpu},
                       fmt::format("{}: all copies {} other GPUs are slow, {}", gpu,
                                   way == Way::out  ? "to"
                                   : way == Way::in ? "from"
                                                    : "to and from",
                                   ending(found))});
    for (const auto& [pair, found] : pairs_) {
      const bool both = pairs_.contains({pair.second, pair.first});
      if (both && pair.second < pair.first) continue;
      Grouped together = found;
      if (both) {
        const Grouped& back = pairs_.at({pair.second, pair.first});
        for (const double value : {back.rate.low, back.rate.high}) together.rate.take(value);
        for (const double value : {back.usual.low, back.usual.high}) together.usual.take(value);
        together.matrices.insert(back.matrices.begin(), back.matrices.end());
      }
      all.push_back({{pair.first, pair.second}, pair_text(pair, both) + ending(together)});
    }
    staged(all);
    return all;
  }

 private:
  std::string pair_text(const Pair& pair, bool both) const {
    const std::string link = pair.first == "host"        ? links_.to_host(pair.second)
                             : pair.second == "host"     ? links_.to_host(pair.first)
                             : pair.first == pair.second ? "its own memory"
                                                         : links_.text(pair.first, pair.second);
    return fmt::format("{} {} {} is slow over {}: ", pair.first, both ? "to and from" : "to", pair.second, link);
  }

  void look_at(const RateMatrix& matrix) {
    const auto slow = slow_cells(matrix, links_);
    // A pair that is slow because one of its GPUs is, is not told again.
    std::set<Pair> told;
    for (const NodeMatrix::Device& gpu : node_.devices) {
      const bool out = all_slow(matrix, slow, gpu.id, true), in = all_slow(matrix, slow, gpu.id, false);
      if (!out && !in) continue;
      const Way way = out && in ? Way::both : out ? Way::out : Way::in;
      for (const auto& [pair, one] : slow) {
        if (!is_between_gpus(*one.cell) || !((out && pair.first == gpu.id) || (in && pair.second == gpu.id))) continue;
        gpus_[gpu.id][way].take(one, matrix);
        told.insert(pair);
      }
    }
    for (const auto& [pair, one] : slow)
      if (!told.contains(pair)) pairs_[pair].take(one, matrix);
  }

  void staged(std::vector<MatrixFinding>& all) const {
    std::map<Pair, Range> found;
    for (const RateMatrix& matrix : node_.matrices)
      for (const MatrixCell& cell : matrix.cells)
        if (cell.access == Access::staged && !matrix.both_ways)
          found[std::minmax(cell.source, cell.target)].take(cell.value.value);
    for (const auto& [pair, rate] : found)
      all.push_back({{pair.first, pair.second},
                     fmt::format("{} and {} do not see each other's memory: copies go through the host, {} ({})",
                                 pair.first, pair.second, rate.text(), links_.text(pair.first, pair.second))});
  }

  const NodeMatrix& node_;
  const Links& links_;
  std::map<std::string, std::map<Way, Grouped>> gpus_;
  std::map<Pair, Grouped> pairs_;
};

}  // namespace

std::vector<MatrixFinding> outliers_of(const NodeMatrix& node, const Links& links) {
  return Outliers(node, links).find();
}

}  // namespace npgpu::model
