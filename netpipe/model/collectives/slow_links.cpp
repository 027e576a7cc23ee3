#include "netpipe/model/collectives/slow_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "netpipe/engine/sort_stably.hpp"
#include "netpipe/model/judge.hpp"
#include "netpipe/model/matrix/rulings.hpp"

namespace npgpu::model {

std::vector<SlowLink> slow_links_of(const std::vector<MatrixCell>& ring, const Links& links) {
  std::map<std::string, std::vector<double>> alike;  // rates by kind of link
  for (const MatrixCell& cell : ring)
    if (is_figure(cell.value.value)) alike[links.kind(cell.source, cell.target)].push_back(cell.value.value);
  struct Slow {
    const MatrixCell* cell;
    double share;
    std::string by;
  };
  std::map<std::string, Slow> from;  // by the GPU that writes
  std::set<std::string> to;
  for (const MatrixCell& cell : ring) {
    const RingLimit limit = ring_limit(cell, alike[links.kind(cell.source, cell.target)], links);
    if (rule(cell.value, Allowed::at_least, limit.per_s(), cell.by_visit) != Ruling::slow) continue;
    from.emplace(cell.source, Slow{&cell, cell.value.value / limit.reached, limit.by});
    to.insert(cell.target);
  }
  std::vector<SlowLink> all;
  const auto take_row = [&](const std::string& first) {
    std::vector<std::string> row{first};
    Slow slowest{nullptr, not_measured, {}};
    double least = not_measured, most = not_measured;  // bytes per second
    for (auto next = from.find(first); next != from.end(); next = from.find(row.back())) {
      if (!(next->second.share >= slowest.share)) slowest = next->second;
      least = std::fmin(least, next->second.cell->value.value);
      most = std::fmax(most, next->second.cell->value.value);
      row.push_back(next->second.cell->target);
      from.erase(next);
    }
    SlowLink& link = all.emplace_back();
    link.share = slowest.share;
    const std::size_t copies = row.size() - 1;
    const bool are_all = copies == ring.size();
    if (are_all) row.pop_back();  // the first one again
    const std::string what = are_all       ? "all copies of the ring"
                             : copies == 1 ? fmt::format("copies from {} to {}", row[0], row[1])
                             : copies == 2
                                 ? fmt::format("copies to and from {}", row[1])
                                 : fmt::format("{} copies in a row, from {} to {},", copies, row[0], row.back());
    const bool are_alike = most <= (1 + outlier_share) * least;
    link.text = fmt::format("{} run at {:.4g}{} GB/s, {}{:.0f} % of {}{}", what, least * 1e-9,
                            are_alike ? "" : fmt::format(" to {:.4g}", most * 1e-9), are_alike ? "" : "the slowest at ",
                            100 * slowest.share, slowest.by,
                            copies > 2 && !are_all ? "; npgpu matrix shows which of these GPUs it is" : "");
    link.devices = copies == 2 && !are_all ? std::vector{row[1]} : row;
  };
  while (!from.empty()) {
    auto first = std::ranges::find_if(from, [&](const auto& one) { return !to.contains(one.first); });
    if (first == from.end()) first = from.begin();  // all of the ring
    take_row(std::string(first->first));
  }
  sort_stably(all, {}, &SlowLink::share);
  return all;
}

std::vector<SlowLink> blind_pairs(const std::vector<NodeFinding>& findings, const std::vector<std::string>& gpus) {
  std::vector<SlowLink> all;
  for (const NodeFinding& one : findings) {
    const bool is_of_these =
        std::ranges::any_of(one.devices, [&](const auto& gpu) { return std::ranges::count(gpus, gpu) > 0; });
    if (one.metric == "peer_access" && one.health == Health::fail && is_of_these)
      all.push_back({one.devices, one.value / one.limit, one.text});
  }
  return all;
}

}  // namespace npgpu::model
