#include "netpipe/model/matrix/rulings.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "netpipe/model/judge.hpp"

namespace npgpu::model {

namespace {

std::string model_of(const std::vector<NodeMatrix::Device>& devices, const std::string& id) {
  const auto found = std::ranges::find(devices, id, &NodeMatrix::Device::id);
  return found == devices.end() ? std::string() : found->name;
}

// What can be compared with each other: copies from the host, to it, and between GPUs on one kind of link; of the same
// models. Empty: nothing.
std::string kind_of_cell(const MatrixCell& cell, const std::vector<NodeMatrix::Device>& devices, const Links& links) {
  if (cell.access == Access::staged || cell.source == cell.target) return {};
  const auto end = [&](const std::string& id) { return '|' + model_of(devices, id) + ' ' + links.widest_link(id); };
  const std::string ends = end(cell.source) + end(cell.target);
  if (cell.source == "host" || cell.target == "host") return (cell.source == "host" ? "from" : "to") + ends;
  return links.kind(cell.source, cell.target) + ends;
}

// Rates of one kind in one matrix.
struct OfKind {
  std::vector<double> rates;
  std::set<std::pair<std::string, std::string>> pairs;
};

void compare_with_kind(CellRuling& ruling, const OfKind& kind) {
  const MatrixCell& cell = *ruling.cell;
  if (kind.rates.size() < 2) return;
  constexpr std::size_t enough = 3;
  const bool with_host = cell.source == "host" || cell.target == "host";
  const bool several = kind.pairs.size() >= enough;
  ruling.reached = several ? upper_quartile(kind.rates) : std::ranges::max(kind.rates);
  ruling.share = 1 - outlier_share;
  ruling.by = several && with_host    ? "other GPUs reach"
              : several               ? "pairs on the same kind of link reach"
              : with_host             ? "the other GPU reaches"
              : kind.pairs.size() > 1 ? "the other pair on such a link reaches"
                                      : "the other direction reaches";
}

void compare_with_link(CellRuling& ruling, const Links& links) {
  const MatrixCell& cell = *ruling.cell;
  const Limit link = links.nvlink_limit(cell.source, cell.target);
  const double share =
      ruling.matrix->executor == Executor::sm_kernel ? least_share_of_nvlinks_by_kernel : least_share_of_nvlinks;
  if (!(link.per_s > 0) || cell.value.value > most_share_of_a_true_limit * link.per_s) return;
  if (share * link.per_s <= ruling.share * ruling.reached) return;
  ruling.reached = link.per_s;
  ruling.share = share;
  ruling.by = link.source + " carry";
}

CheckVerdict verdict_of_rate(const MatrixCell& cell, const CellVerdict& of) {
  switch (rule(cell.value, Allowed::at_least, of.limit, cell.by_visit)) {
    case Ruling::ok: return CheckVerdict::ok;
    case Ruling::slow: return of.disturbed.empty() ? CheckVerdict::slow : CheckVerdict::not_judged;
    case Ruling::undecided: return of.disturbed.empty() ? CheckVerdict::undecided : CheckVerdict::not_judged;
    case Ruling::no_limit:
    case Ruling::no_figure: break;
  }
  return CheckVerdict::not_judged;
}

}  // namespace

double upper_quartile(std::vector<double> values) {
  std::ranges::sort(values);
  const double at = 0.75 * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

std::vector<CellRuling> rule_on(const NodeMatrix& node, const Links& links,
                                std::vector<std::vector<CellVerdict>>& verdicts) {
  std::vector<CellRuling> all;
  for (std::size_t i = 0; i < node.matrices.size(); ++i) {
    const RateMatrix& matrix = node.matrices[i];
    if (matrix.is_latency()) continue;
    std::map<std::string, OfKind> kinds;
    std::map<std::string, std::uint64_t> largest;
    for (const MatrixCell& cell : matrix.cells) {
      std::uint64_t& bytes = largest[kind_of_cell(cell, node.devices, links)];
      bytes = std::max(bytes, cell.bytes);
    }
    // Where large copies of a GPU are missing, as its process ended before them, the rate of small ones says nothing.
    const auto is_large = [&](const MatrixCell& cell, const std::string& kind) {
      constexpr std::uint64_t least_share = 8;
      return cell.bytes >= largest[kind] / least_share;
    };
    for (const MatrixCell& cell : matrix.cells) {
      const std::string kind = kind_of_cell(cell, node.devices, links);
      if (kind.empty() || !is_figure(cell.value.value) || !is_large(cell, kind)) continue;
      kinds[kind].rates.push_back(cell.value.value);
      kinds[kind].pairs.insert(std::minmax(cell.source, cell.target));
    }
    for (std::size_t j = 0; j < matrix.cells.size(); ++j) {
      const MatrixCell& cell = matrix.cells[j];
      const std::string kind = kind_of_cell(cell, node.devices, links);
      if (kind.empty() || !is_figure(cell.value.value) || !is_large(cell, kind)) continue;
      CellVerdict& verdict = verdicts[i][j];
      CellRuling ruling{.cell = &cell, .matrix = &matrix, .verdict = &verdict, .kind = kind};
      compare_with_kind(ruling, kinds[kind]);
      compare_with_link(ruling, links);
      verdict.limit = ruling.reached * ruling.share;
      verdict.verdict = verdict_of_rate(cell, verdict);
      all.push_back(std::move(ruling));
    }
  }
  return all;
}

RingLimit ring_limit(const MatrixCell& cell, const std::vector<double>& alike, const Links& links) {
  constexpr std::size_t fewest = 3;
  RingLimit limit;
  if (alike.size() >= fewest) {
    const double least = upper_quartile(alike);
    for (const double rate : alike)  // one that is there
      if (rate >= least) limit.reached = std::fmin(limit.reached, rate);
    limit.share = 1 - outlier_share;
    limit.by = "the rate of other copies in the ring over the same kind of link";
  }
  const Limit nvlinks = links.nvlink_limit(cell.source, cell.target);
  constexpr double share = least_share_of_nvlinks_by_kernel;
  if (nvlinks.per_s > 0 && cell.value.value <= most_share_of_a_true_limit * nvlinks.per_s &&
      !(limit.per_s() >= share * nvlinks.per_s))
    limit = {nvlinks.per_s, share, "what " + nvlinks.source + " carry"};
  return limit;
}

std::string links_judged_by(const std::vector<MatrixCell>& ring, const Links& links) {
  if (ring.empty()) return {};
  std::set<std::string> nvlinks;
  bool are_all_known = true;
  for (const MatrixCell& cell : ring) {
    const Limit one = links.nvlink_limit(cell.source, cell.target);
    if (one.per_s > 0) nvlinks.insert(one.source);
    else are_all_known = false;
  }
  std::string text = ring.size() > 2 ? "compared with other copies in the ring over the same kind of link" : "";
  for (const std::string& one : nvlinks)
    text += (text.empty() ? "compared with what " : ", and with what ") + one + " carry";
  if (are_all_known) return text;
  if (!nvlinks.empty()) return text + "; what other links should carry is not known";
  return (text.empty() ? "compared with nothing" : text) +
         "; what they should carry is not known, so that it is not noticed if all are equally slow";
}

}  // namespace npgpu::model
