#include "netpipe/judge/matrix/findings.hpp"

#include <algorithm>
#include <map>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/judge/health/findings.hpp"

namespace npgpu::model {

namespace {

NodeFinding finding_at(const CopyPlace& place, std::string metric, Health health, CheckVerdict if_failed) {
  NodeFinding finding;
  if (place.is_one_gpu()) finding.device = place.devices.front();
  finding.devices = place.devices;
  if (place.what == CopyPlace::What::bridge && place.has_host()) finding.devices.emplace_back("host");
  finding.metric = std::move(metric);
  finding.health = health;
  finding.if_failed = if_failed;
  return finding;
}

class MatrixJudge {
 public:
  MatrixJudge(const MatrixEvidence& evidence, const std::vector<CellRuling>& rulings,
              const std::vector<CopyResults>& copies, const std::vector<MissingLanes>& missing_lanes)
      : evidence_(evidence), node_(evidence.node), rulings_(rulings), copies_(copies), missing_lanes_(missing_lanes) {
    for (const NodeMatrix::Device& gpu : node_.devices) gpus_.push_back(gpu.id);
  }

  std::vector<NodeFinding> judge() {
    wrong_copies();
    rates();
    blind_pairs();
    numa_nodes();
    missing_figures();
    add_unsettled_rates();
    add_passing();
    sort_stably(all_, {}, rank_of_finding);
    return std::move(all_);
  }

 private:
  NodeFinding& add(NodeFinding finding) { return all_.emplace_back(std::move(finding)); }
  static void rest_on(NodeFinding& finding, const MatrixCell& cell) {
    if (finding.of_case.empty()) {
      finding.of_case = cell.of_case;
      finding.of_point = cell.of_point;
    } else {
      finding.more_points.emplace_back(cell.of_case, cell.of_point);
    }
  }

  std::vector<CopyPlace> places(const CopyStates& states) const { return places_of(states, gpus_, evidence_.links); }
  // By two of the counts of copies' results, with the results of each way.
  std::pair<std::vector<CopyPlace>, std::map<CopyWay, const CopyResults*>> places_by(
      std::size_t CopyResults::*all, std::size_t CopyResults::*bad) const {
    CopyStates states;
    std::map<CopyWay, const CopyResults*> results;
    for (const CopyResults& one : copies_) {
      if (one.*all == 0) continue;
      const CopyWay way{one.source, one.target};
      states.all.insert(way);
      results[way] = &one;
      if (one.*bad > 0) states.bad.insert(way);
    }
    return {places(states), std::move(results)};
  }

  // ---- payloads that arrived wrong ---------------------------------------------------------------------------------

  void wrong_copies() {
    const auto [found, results] = places_by(&CopyResults::compared, &CopyResults::wrong);
    for (const CopyPlace& place : found) {
      std::size_t compared = 0, wrong = 0, of_several = 0;
      WrongBytes bytes = WrongBytes::none;
      std::string first;
      for (const CopyWay& way : place.ways) {
        const CopyResults& one = *results.at(way);
        compared += one.compared;
        wrong += one.wrong;
        of_several += one.wrong_of_several;
        bytes = both_kinds(bytes, one.wrong_bytes);
        if (first.empty()) first = one.first_wrong;
      }
      // Copies of one GPU alone are judged with the GPU.
      if (of_several == 0) continue;
      wrong_.insert(place.ways.begin(), place.ways.end());
      NodeFinding& finding = add(finding_at(place, "peer_results", Health::fail, CheckVerdict::broken));
      const char* const what = bytes == WrongBytes::zeros       ? "deliver zeros"
                               : bytes == WrongBytes::unwritten ? "deliver nothing"
                                                                : "deliver wrong bytes";
      finding.text = fmt::format("{} {} ({} of {} compared were wrong)", place.text(), what, wrong, compared);
      with_value(finding, static_cast<double>(wrong), 0, "wrong results");
      finding.basis = "every payload is compared in the memory that it was copied to";
      finding.explanations = causes_of_wrong(place, bytes, first, evidence_);
    }
  }

  // ---- rates -------------------------------------------------------------------------------------------------------

  void rates() {
    CopyStates states;
    std::map<CopyWay, std::vector<const CellRuling*>> slow;
    for (const CellRuling& ruling : rulings_) {
      const CopyWay way{ruling.cell->source, ruling.cell->target};
      states.all.insert(way);
      if (ruling.verdict->verdict != CheckVerdict::ok) states.maybe.insert(way);
      if (ruling.verdict->verdict == CheckVerdict::slow) slow[way].push_back(&ruling);
    }
    for (const auto& [way, its] : slow) {
      states.maybe.erase(way);
      states.bad.insert(way);
    }
    auto found = places(states);
    for (CopyPlace& place : found) {
      if (is_split(place, found, slow)) {
        for (const CopyWay& way : place.ways) split_.insert(way);
        continue;
      }
      told_.insert(place.ways.begin(), place.ways.end());
      slow_at(place, slow);
    }
  }

  // Half of a kind is slow, and nothing else is common to it: then it may be two kinds that the trace does not tell
  // apart.
  bool is_split(const CopyPlace& place, const std::vector<CopyPlace>& all,
                const std::map<CopyWay, std::vector<const CellRuling*>>& slow) const {
    if (place.what != CopyPlace::What::pair) return false;
    const auto is_of_link = [](const CellRuling& ruling) { return ruling.by.find("NVLinks") != std::string::npos; };
    for (const CopyWay& way : place.ways)
      for (const CellRuling* ruling : slow.at(way)) {
        if (is_of_link(*ruling)) return false;
        std::set<CopyWay> of_kind, alone;
        for (const CellRuling& other : rulings_)
          if (other.matrix == ruling->matrix && other.kind == ruling->kind)
            of_kind.emplace(other.cell->source, other.cell->target);
        for (const CopyPlace& one : all)
          if (one.what == CopyPlace::What::pair)
            for (const CopyWay& its : one.ways)
              if (of_kind.contains(its)) alone.insert(its);
        if (of_kind.size() < 6 || 2 * alone.size() < of_kind.size()) return false;
      }
    return true;
  }

  void slow_at(const CopyPlace& place, const std::map<CopyWay, std::vector<const CellRuling*>>& slow) {
    struct Compared {
      RateRange is, reached;
      std::size_t rates = 0;
      bool with_host = false;
    };
    std::map<std::string, Compared> by;
    std::set<std::string> shares;
    Askings askings;
    NodeFinding& finding = add(finding_at(place, "peer_rate", Health::fail, CheckVerdict::slow));
    double worst = not_measured;
    for (const CopyWay& way : place.ways) {
      for (const CellRuling* ruling : slow.at(way)) {
        by[ruling->by].is.take(ruling->cell->value.value);
        by[ruling->by].reached.take(ruling->reached);
        ++by[ruling->by].rates;
        by[ruling->by].with_host = way.first == "host" || way.second == "host";
        shares.insert(fmt::format("{:.0f} %", 100 * ruling->share));
        askings.take(*ruling->matrix, *ruling->cell);
        rest_on(finding, *ruling->cell);
        const double share = ruling->cell->value.value / ruling->verdict->limit;
        if (share >= worst) continue;
        worst = share;
        with_value(finding, ruling->cell->value, ruling->verdict->limit, "B/s");
      }
    }
    std::vector<std::pair<std::string, Compared>> most_first(by.begin(), by.end());
    sort_stably(most_first, std::ranges::greater{}, [](const auto& one) { return one.second.rates; });
    std::vector<std::string> parts;
    for (const auto& [whom, one] : most_first)
      parts.push_back(fmt::format("{}{}, and {} {}", one.with_host && by.size() > 1 ? "with the host " : "",
                                  one.is.text(), whom, one.reached.text()));
    finding.text = fmt::format("{} are slow: {}", place.text(), fmt::join(parts, "; "));
    finding.basis =
        fmt::format("{} of that, with the whole interval; seen in {}", fmt::join(shares, ", "), askings.text());
    finding.explanations = causes_of_slow(place, evidence_);
  }

  // ---- pairs that do not see each other's memory -------------------------------------------------------------------

  void blind_pairs() {
    CopyStates states;
    std::map<CopyWay, RateRange> rates;
    std::map<std::string, RateRange> seeing;  // by kind of link
    for (const RateMatrix& matrix : node_.matrices) {
      if (matrix.is_latency() || matrix.both_ways) continue;
      for (const MatrixCell& cell : matrix.cells) {
        const CopyWay way{cell.source, cell.target};
        if (cell.source == "host" || cell.target == "host" || cell.source == cell.target) continue;
        states.all.insert(way);
        if (cell.access == Access::staged) rates[way].take(cell.value.value);
        else seeing[evidence_.links.kind(cell.source, cell.target)].take(cell.value.value);
      }
    }
    std::size_t usual = 0;
    for (const auto& [way, rate] : rates) {
      if (seeing.contains(evidence_.links.kind(way.first, way.second))) states.bad.insert(way);
      else ++usual;
    }
    for (const CopyPlace& place : places(states)) {
      RateRange is, reached;
      for (const CopyWay& way : place.ways) {
        is.take(rates.at(way).low), is.take(rates.at(way).high);
        const RateRange& alike = seeing.at(evidence_.links.kind(way.first, way.second));
        reached.take(alike.low), reached.take(alike.high);
      }
      told_.insert(place.ways.begin(), place.ways.end());
      NodeFinding& finding = add(finding_at(place, "peer_access", Health::fail, CheckVerdict::slow));
      finding.text = fmt::format(
          "{} go through the host, as the GPUs do not see each other's memory: {}, and pairs on the "
          "same kind of link reach {}",
          place.text(), is.text(), reached.text());
      with_value(finding, is.low, (1 - outlier_share) * reached.low, "B/s");
      finding.basis = "other pairs on the same kind of link see each other's memory";
      finding.explanations = causes_of_blind(place, evidence_);
    }
    if (usual > 0)
      say("peer_access", Health::pass,
          fmt::format(
              "{} copies between GPUs go through the host: no pair on their kind of link sees each other's memory",
              usual));
  }

  // ---- NUMA nodes --------------------------------------------------------------------------------------------------

  void numa_nodes() {
    for (const MatrixFinding& note : node_.numa.wrong) {
      const std::string& gpu = note.devices.front();
      NodeFinding finding =
          finding_at({.what = CopyPlace::What::gpu, .devices = {gpu}}, "numa_node", Health::fail, CheckVerdict::slow);
      finding.text = note.text;
      finding.basis = fmt::format("a node that costs {:g} % and more, with the whole interval", 100 * numa_share);
      const int neighbours = evidence_.links.node_of_neighbours(gpu);
      finding.explanations.push_back(
          {"numa_firmware", "the firmware names the wrong NUMA node, and buffers and threads are put there",
           neighbours < 0 ? "" : fmt::format("other GPUs below the same bridge are on node {}", neighbours),
           "update the firmware, or bind jobs of this GPU to the other node (numactl)"});
      // What it does to the GPU's copies is no finding of its own.
      std::erase_if(all_, [&](const NodeFinding& one) {
        const bool with_host = std::ranges::find(one.devices, "host") != one.devices.end();
        const bool is_its = one.devices.size() == 2 && std::ranges::find(one.devices, gpu) != one.devices.end();
        if (one.metric != "peer_rate" || !with_host || !is_its) return false;
        finding.explanations.front().evidence += (finding.explanations.front().evidence.empty() ? "" : "; ") + one.text;
        return true;
      });
      add(std::move(finding));
    }
  }

  // ---- what was planned, and has no figure --------------------------------------------------------------------------

  void missing_figures() {
    const auto [found, results] = places_by(&CopyResults::cases, &CopyResults::failed);
    for (const CopyPlace& place : found) {
      std::size_t cases = 0, failed = 0, of_several = 0;
      std::string why;
      for (const CopyWay& way : place.ways) {
        const CopyResults& one = *results.at(way);
        cases += one.cases;
        failed += one.failed;
        of_several += one.failed_of_several;
        if (why.empty()) why = one.first_failure;
      }
      if (of_several == 0) continue;
      missing(finding_at(place, "peer_errors", Health::fail, CheckVerdict::failed_to_run), place.text(), failed, cases,
              why);
    }
    for (const MissingLanes& one : missing_lanes_)
      missing(finding_at({}, "peer_errors", Health::fail, CheckVerdict::failed_to_run), "copies at once, " + one.name,
              1, 1, one.why);
  }
  void missing(NodeFinding finding, const std::string& what, std::size_t failed, std::size_t cases,
               const std::string& why) {
    finding.text = fmt::format("{} have no figure{}: {}", what,
                               failed == cases ? "" : fmt::format(" in {} of {} cases", failed, cases), why);
    with_value(finding, static_cast<double>(failed), 0, "cases without a figure");
    finding.explanations.push_back({"errors", "the device or its driver refused or failed", why,
                                    "look at the message, at dmesg and at what others do on the GPUs"});
    add(std::move(finding));
  }

  // ---- what cannot be judged ----------------------------------------------------------------------------------------

  void add_unsettled_rates() {
    std::vector<const CellRuling*> undecided, disturbed;
    for (const CellRuling& ruling : rulings_) {
      const CopyWay way{ruling.cell->source, ruling.cell->target};
      if (told_.contains(way)) continue;
      const bool split = split_.contains(way) && ruling.verdict->verdict == CheckVerdict::slow;
      if (ruling.verdict->verdict == CheckVerdict::undecided || split) undecided.push_back(&ruling);
      else if (ruling.verdict->verdict == CheckVerdict::not_judged && ruling.verdict->limit > 0)
        disturbed.push_back(&ruling);
    }
    const auto worst = [](const std::vector<const CellRuling*>& all) {
      return *std::ranges::min_element(
          all, {}, [](const CellRuling* one) { return one->cell->value.value / one->verdict->limit; });
    };
    if (!undecided.empty()) {
      const CellRuling& first = *worst(undecided);
      NodeFinding finding = rate_finding(first, undecided, Health::undecided);
      const bool split = split_.contains({first.cell->source, first.cell->target});
      finding.explanations.push_back(
          split ? Explanation{"two_kinds", "half of the pairs on one kind of link are slower than the others",
                              evidence_.links.text(first.cell->source, first.cell->target),
                              "compare with nvidia-smi topo -m: they may be joined in two ways that the trace does not "
                              "tell apart"}
                : Explanation{"unsteady", "the figures scatter from visit to visit", first.cell->value.method,
                              "measure again, with more --rounds, when nobody else uses the node"});
      add(std::move(finding));
    }
    if (!disturbed.empty()) {
      const CellRuling& first = *worst(disturbed);
      NodeFinding finding = rate_finding(first, disturbed, Health::unjudged);
      finding.explanations.push_back(
          {"neighbour", "others used the devices, their links or the processors at the same time",
           first.verdict->disturbed,
           "measure again when they are gone; --require-quiet refuses to measure while others use them"});
      add(std::move(finding));
    }
  }
  NodeFinding rate_finding(const CellRuling& ruling, const std::vector<const CellRuling*>& alike, Health health) const {
    const MatrixCell& cell = *ruling.cell;
    NodeFinding finding;
    rest_on(finding, cell);
    for (const CellRuling* one : alike)
      if (one != &ruling) rest_on(finding, *one->cell);
    finding.devices = {cell.source, cell.target};
    finding.metric = "peer_rate";
    finding.health = health;
    with_value(finding, cell.value, ruling.verdict->limit, "B/s");
    Askings askings;
    askings.take(*ruling.matrix, cell);
    const bool has_interval = cell.value.low == cell.value.low;
    finding.text = fmt::format(
        "copies {} -> {} ({}): {}{}, at least {}{}", cell.source, cell.target, askings.text(),
        in_gb_s(cell.value.value),
        has_interval ? fmt::format(" ({:.3g} to {:.3g})", cell.value.low * 1e-9, cell.value.high * 1e-9)
                     : std::string(" (without an interval)"),
        in_gb_s(ruling.verdict->limit), alike.size() > 1 ? fmt::format("; {} more like it", alike.size() - 1) : "");
    finding.basis = fmt::format("{} {}, times {:g}", ruling.by, in_gb_s(ruling.reached), ruling.share);
    return finding;
  }

  // ---- what passes --------------------------------------------------------------------------------------------------

  void add_passing() {
    std::size_t compared = 0, good = 0, unheld = 0;
    for (const CopyResults& one : copies_) compared += one.compared;
    if (compared > 0 && wrong_.empty() &&
        std::ranges::none_of(copies_, [](const CopyResults& one) { return one.wrong > 0; }))
      say("peer_results", Health::pass,
          fmt::format("all {} payloads that were compared arrived as they were sent", compared));
    for (const CellRuling& ruling : rulings_) {
      good += ruling.verdict->verdict == CheckVerdict::ok;
      unheld += !(ruling.verdict->limit > 0);
    }
    if (good > 0 && good + unheld == rulings_.size())
      say("peer_rate", Health::pass,
          fmt::format("no {}rate is more than {:.0f} % below those on the same kind of link",
                      told_.empty() ? "" : "other ", 100 * outlier_share));
    if (unheld > 0 && good == 0 && unheld == rulings_.size())
      say("peer_rate", Health::skip,
          "rates between GPUs: not judged: there is no other pair, and the rate of no link is known");
  }
  void say(const char* metric, Health health, std::string text) {
    static_cast<HealthFinding&>(add({})) = finding_of("", metric, health, std::move(text));
  }

  const MatrixEvidence& evidence_;
  const NodeMatrix& node_;
  const std::vector<CellRuling>& rulings_;
  const std::vector<CopyResults>& copies_;
  const std::vector<MissingLanes>& missing_lanes_;
  std::vector<std::string> gpus_;
  std::set<CopyWay> wrong_, told_, split_;  // told_: their rates are in a finding
  std::vector<NodeFinding> all_;
};

}  // namespace

int rank_of_finding(const HealthFinding& finding) {
  switch (finding.health) {
    case Health::fail:
      return finding.if_failed == CheckVerdict::broken ? 0 : finding.if_failed == CheckVerdict::slow ? 1 : 2;
    case Health::undecided: return 3;
    case Health::unjudged: return 4;
    case Health::warn: return 5;
    case Health::skip: return 6;
    case Health::pass: break;
  }
  return 7;
}

std::vector<NodeFinding> findings_of_matrix(const MatrixEvidence& evidence, const std::vector<CellRuling>& rulings,
                                            const std::vector<CopyResults>& copies,
                                            const std::vector<MissingLanes>& missing_lanes) {
  return MatrixJudge(evidence, rulings, copies, missing_lanes).judge();
}

}  // namespace npgpu::model
