#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

#include "netpipe/judge/matrix/findings.hpp"

namespace npgpu::model {

namespace {

constexpr std::string_view the_host_end = "host";

bool is_host_end(const std::string& end) { return end == the_host_end; }
std::size_t pairs_among(const std::set<CopyWay>& ways) {
  std::set<CopyWay> pairs;
  for (const auto& [source, target] : ways) pairs.emplace(std::min(source, target), std::max(source, target));
  return pairs.size();
}

// Which part of a place a way is; nothing if it is none of it.
std::optional<CopyPlace::Part> part_of(const CopyPlace& place, const CopyWay& way) {
  using What = CopyPlace::What;
  const auto has = [&](const std::string& end) {
    return place.what == What::everything ? !is_host_end(end)
                                          : std::ranges::find(place.devices, end) != place.devices.end();
  };
  const bool out = has(way.first), in = has(way.second);
  if (way.first == way.second) return out && place.what == What::gpu ? std::optional(CopyPlace::within) : std::nullopt;
  if (out && in) return CopyPlace::between;
  if (out) return is_host_end(way.second) ? CopyPlace::to_host : CopyPlace::to_others;
  if (in) return is_host_end(way.first) ? CopyPlace::from_host : CopyPlace::from_others;
  return std::nullopt;
}

// From others to the place is the direction from the host to it.
bool spares_host(const CopyPlace& place, const std::map<CopyPlace::Part, std::set<CopyWay>>& by_part,
                 const CopyStates& states) {
  const auto spares = [&](CopyPlace::Part bad, CopyPlace::Part with_host) {
    if (!place.has(bad)) return true;
    const auto ways = by_part.find(with_host);
    return ways != by_part.end() && std::ranges::none_of(ways->second, [&](const CopyWay& way) {
             return states.bad.contains(way) || states.maybe.contains(way);
           });
  };
  return !place.has_host() && !place.has(CopyPlace::between) && spares(CopyPlace::to_others, CopyPlace::to_host) &&
         spares(CopyPlace::from_others, CopyPlace::from_host);
}

// Takes the parts of which nothing is good, and half is bad.
void fill_in(CopyPlace& place, const CopyStates& states) {
  std::map<CopyPlace::Part, std::set<CopyWay>> by_part;
  for (const CopyWay& way : states.all)
    if (const auto part = part_of(place, way)) by_part[*part].insert(way);
  for (const auto& [part, ways] : by_part) {
    const auto is_bad = [&](const CopyWay& way) { return states.bad.contains(way); };
    const auto bad = static_cast<std::size_t>(std::ranges::count_if(ways, is_bad));
    const bool none_is_good =
        std::ranges::all_of(ways, [&](const CopyWay& way) { return is_bad(way) || states.maybe.contains(way); });
    if (bad == 0 || !none_is_good || 2 * bad < ways.size()) continue;
    place.parts.insert(part);
    std::ranges::copy_if(ways, std::inserter(place.ways, place.ways.end()), is_bad);
  }
  place.spares_host = spares_host(place, by_part, states);
}

std::vector<CopyPlace> candidates_of(const CopyStates& states, const std::vector<std::string>& gpus,
                                     const Links& links) {
  std::vector<CopyPlace> all{{.what = CopyPlace::What::everything}};
  for (const std::string& gpu : gpus) all.push_back({.what = CopyPlace::What::gpu, .devices = {gpu}});
  for (const Links::Shared& one : links.shared_by(gpus))
    all.push_back({.what = CopyPlace::What::bridge, .devices = one.devices, .shared = one.name, .bus = one.bus});
  for (CopyPlace& one : all) fill_in(one, states);
  return all;
}

std::string others_of_place(const CopyPlace& place, bool gpus, bool host) {
  const std::string others = place.what == CopyPlace::What::gpu ? "all other GPUs" : "all GPUs elsewhere";
  return gpus && host ? others + " and the host" : gpus ? others : "the host";
}

// GPUs at the place: those that it names, or all.
std::vector<std::string> gpus_at(const CopyPlace& place, const MatrixEvidence& evidence) {
  std::vector<std::string> all;
  for (const NodeMatrix::Device& gpu : evidence.node.devices)
    if (place.what == CopyPlace::What::everything || std::ranges::find(place.devices, gpu.id) != place.devices.end())
      all.push_back(gpu.id);
  return all;
}

bool is_with_gpus(const CopyPlace& place) {
  return std::ranges::any_of(place.ways, [](const CopyWay& way) {
    return way.first != "host" && way.second != "host" && way.first != way.second;
  });
}

// The link of the first copy between two GPUs: "18 NVLinks 4.0", "PCIe within one switch (0000:10:00.0)".
std::string link_at(const CopyPlace& place, const MatrixEvidence& evidence) {
  for (const CopyWay& way : place.ways)
    if (way.first != "host" && way.second != "host" && way.first != way.second)
      return evidence.links.text(way.first, way.second);
  return place.what == CopyPlace::What::pair
             ? evidence.links.to_host(place.devices.front() == "host" ? place.devices.back() : place.devices.front())
             : "";
}

bool is_nvlink(const std::string& link) { return link.find("NVLink") != std::string::npos; }

std::string or_unread(const std::string& read) {
  return read.empty() ? "the settings of IOMMU and ACS cannot be read here" : read;
}

// What is wrong with a device by itself, where that makes its copies slow or wrong.
void add_device_causes(std::vector<Explanation>& all, const std::vector<std::string>& gpus,
                       std::initializer_list<std::string_view> metrics, const MatrixEvidence& evidence) {
  for (const std::string_view metric : metrics)
    for (const HealthFinding& finding : evidence.devices) {
      const bool is_bad = finding.health == Health::fail || finding.health == Health::warn;
      if (!is_bad || finding.metric != metric || std::ranges::find(gpus, finding.device) == gpus.end()) continue;
      Explanation why = finding.explanations.empty() ? Explanation{finding.metric, finding.text, "", ""}
                                                     : finding.explanations.front();
      why.evidence = finding.device + ": " + finding.text;
      all.push_back(std::move(why));
    }
}

// The host's NUMA node that the system names is not the one of its neighbours, or was measured to be slower.
std::optional<Explanation> wrong_numa_node(const std::vector<std::string>& gpus, const MatrixEvidence& evidence) {
  if (gpus.size() != 1) return std::nullopt;
  const std::string& gpu = gpus.front();
  const int named = evidence.links.host_node(gpu), neighbours = evidence.links.node_of_neighbours(gpu);
  if (named < 0 || neighbours < 0) return std::nullopt;
  return Explanation{
      "numa_firmware", "the firmware names the wrong NUMA node, and buffers and threads are put there",
      fmt::format("the system says node {}, and node {} of the other GPUs below the same bridge", named, neighbours),
      "update the firmware, or bind jobs of this GPU to the other node (numactl)"};
}

}  // namespace

bool CopyPlace::has_host() const {
  return std::ranges::any_of(ways,
                             [](const CopyWay& way) { return is_host_end(way.first) || is_host_end(way.second); });
}

std::string CopyPlace::text() const {
  if (what == What::pair) {
    const std::string &a = devices.front(), &b = devices.back();
    if (a == b) return "copies within " + a;
    return is_both_ways() ? fmt::format("copies between {} and {}", a, b) : fmt::format("copies {} -> {}", a, b);
  }
  if (what == What::everything) {
    std::vector<std::string> kinds;
    if (has(between)) kinds.emplace_back("between all GPUs");
    if (has(from_host) && has(to_host)) kinds.emplace_back("between the host and all GPUs");
    else if (has(from_host)) kinds.emplace_back("from the host to all GPUs");
    else if (has(to_host)) kinds.emplace_back("from all GPUs to the host");
    return fmt::format("copies {}", fmt::join(kinds, ", and "));
  }
  const std::string whose = what == What::gpu ? devices.front()
                            : shared.starts_with("the bridge")
                                ? fmt::format("the {} GPUs below {}", devices.size(), shared)
                                : fmt::format("the {} GPUs of {}", devices.size(), shared);
  std::vector<std::string> kinds;
  if (has(between)) kinds.push_back("between " + whose);
  const bool gpus_both = has(to_others) && has(from_others), host_both = has(to_host) && has(from_host);
  if (gpus_both || host_both)
    kinds.push_back(fmt::format("between {} and {}", whose, others_of_place(*this, gpus_both, host_both)));
  const bool out = has(to_others) && !gpus_both, out_host = has(to_host) && !host_both;
  if (out || out_host) kinds.push_back(fmt::format("from {} to {}", whose, others_of_place(*this, out, out_host)));
  const bool in = has(from_others) && !gpus_both, in_host = has(from_host) && !host_both;
  if (in || in_host) kinds.push_back(fmt::format("from {} to {}", others_of_place(*this, in, in_host), whose));
  if (has(within)) kinds.push_back("within " + whose);
  return fmt::format("copies {}", fmt::join(kinds, ", and "));
}

std::vector<CopyPlace> places_of(const CopyStates& states, const std::vector<std::string>& gpus, const Links& links) {
  std::vector<CopyPlace> found, candidates = candidates_of(states, gpus, links);
  std::set<CopyWay> left = states.bad;
  const auto left_of = [&](const CopyPlace& place) {
    std::set<CopyWay> ways;
    std::ranges::set_intersection(place.ways, left, std::inserter(ways, ways.end()));
    return ways;
  };
  for (;;) {
    const CopyPlace* best = nullptr;
    std::size_t most = 0;
    for (const CopyPlace& one : candidates) {
      const std::set<CopyWay> ways = left_of(one);
      if (pairs_among(ways) >= 2 && ways.size() > most) {
        best = &one;
        most = ways.size();
      }
    }
    if (!best) break;
    CopyPlace place = *best;
    for (const CopyWay& way : place.ways) left.erase(way);
    // A GPU that is bad is the cause of what else is bad of its copies, too.
    if (place.what == CopyPlace::What::gpu)
      std::erase_if(left, [&](const CopyWay& way) {
        const bool its = way.first == place.devices.front() || way.second == place.devices.front();
        if (its) place.ways.insert(way);
        return its;
      });
    found.push_back(std::move(place));
  }
  while (!left.empty()) {
    const CopyWay way = *left.begin(), back{way.second, way.first};
    CopyPlace place{.devices = {way.first, way.second}, .ways = {way}};
    left.erase(way);
    if (left.erase(back)) {
      place.ways.insert(back);
      // The host comes first.
      if (is_host_end(way.second)) std::ranges::reverse(place.devices);
    }
    found.push_back(std::move(place));
  }
  return found;
}

std::vector<Explanation> causes_of_wrong(const CopyPlace& place, WrongBytes bytes, const std::string& first,
                                         const MatrixEvidence& evidence) {
  std::vector<Explanation> all;
  const std::vector<std::string> gpus = gpus_at(place, evidence);
  const std::string link = link_at(place, evidence);
  if (bytes != WrongBytes::other && is_with_gpus(place) && !is_nvlink(link)) {
    all.push_back(
        {"peer_redirected",
         "what GPUs send each other goes astray (by an IOMMU, ACS, or a driver that does not support it), and "
         "copies report success",
         or_unread(evidence.links.redirections(gpus)) + "; " + link, evidence.links.mend_redirections(gpus)});
    return all;
  }
  if (bytes != WrongBytes::other && is_with_gpus(place)) {
    all.push_back(
        {"fabric", "the NVLinks between them are not set up, and copies report success", link,
         "look at nvidia-smi nvlink -s, nvidia-smi topo -p2p r and the fabric manager's log; reset the GPUs"});
    return all;
  }
  add_device_causes(all, gpus, {"ecc_uncorrected", "remapped_rows", "nvlink", "pcie_replays"}, evidence);
  all.push_back({"wrong_results",
                 place.is_one_gpu() ? "the GPU's memory, its link or an engine changes bytes"
                                    : "the link or a memory at one of its ends changes bytes",
                 first + (link.empty() ? "" : "; " + link),
                 fmt::format("take {} out of service, and test with dcgmi diag -r 3; look at the links' errors "
                             "(nvidia-smi nvlink -e, AER in dmesg)",
                             place.what == CopyPlace::What::everything ? "the node"
                                                                       : fmt::format("{}", fmt::join(gpus, " and ")))});
  return all;
}

std::vector<Explanation> causes_of_slow(const CopyPlace& place, const MatrixEvidence& evidence) {
  std::vector<Explanation> all;
  const std::vector<std::string> gpus = gpus_at(place, evidence);
  const std::string link = link_at(place, evidence);
  const bool nvlink = is_nvlink(link), with_gpus = is_with_gpus(place), with_host = place.has_host();
  if (with_host && !with_gpus)
    if (auto why = wrong_numa_node(gpus, evidence)) all.push_back(std::move(*why));
  if (nvlink) add_device_causes(all, gpus, {"nvlink"}, evidence);
  if (!nvlink || with_host) add_device_causes(all, gpus, {"pcie_link", "pcie_replays"}, evidence);
  add_device_causes(all, gpus, {"throttle"}, evidence);
  if (!all.empty()) return all;
  switch (place.what) {
    case CopyPlace::What::everything:
      all.push_back({with_gpus ? "links" : "host_memory",
                     with_gpus ? "the links between the GPUs are slow" : "the host's memory or its processors are slow",
                     link,
                     with_gpus ? "look at nvidia-smi topo -m and nvidia-smi nvlink -s"
                               : "look for others on the host, at its memory channels and the BIOS's NPS setting"});
      break;
    case CopyPlace::What::bridge:
      if (place.spares_host) {
        all.push_back({"beyond_bridge",
                       "the way between these GPUs and the others is slow: the link between sockets or "
                       "host bridges",
                       "copies between these GPUs and the host are not slow",
                       "look at the links between sockets in the BIOS and its log, and at nvidia-smi topo -m"});
        break;
      }
      all.push_back({"bridge",
                     place.bus.empty() ? "the GPUs share a way that is slow: a host bridge, or the link between sockets"
                                       : "the GPUs share a way that is slow: this bridge, or the link above it",
                     fmt::format("{}: {}", place.shared, fmt::join(place.devices, ", ")),
                     place.bus.empty()
                         ? "look at LnkSta of the root ports (lspci -vv), and at the BIOS"
                         : fmt::format("look at LnkSta in lspci -vv -s {}, and of the port above", place.bus)});
      break;
    case CopyPlace::What::gpu:
      if (with_host || !nvlink)
        all.push_back({"link", "the GPU's own link, or the port above it, is slow",
                       with_host && with_gpus ? "copies with the host are slow as well as those with other GPUs"
                                              : evidence.links.to_host(gpus.front()),
                       "look at LnkSta in lspci -vv of the GPU and of the port above; reseat GPU, riser or cable"});
      else
        all.push_back({"nvlink", "the GPU's NVLinks are slow", link,
                       "look at nvidia-smi nvlink -s and -e and at the fabric manager's log; reset the GPU"});
      break;
    case CopyPlace::What::pair:
      if (with_host)
        all.push_back({"link", "the way between the GPU and the host's memory is slow", link,
                       "look at LnkSta in lspci -vv of the GPU and of the port above; see npgpu matrix --only numa"});
      else if (!with_gpus) all.push_back({"slow_memory", "the GPU's memory is slow", "", "npgpu check measures it"});
      else if (nvlink)
        all.push_back({"nvlink", "the NVLinks between the two are slow", link,
                       "look at nvidia-smi nvlink -s and -e of both; reset both GPUs"});
      else {
        const std::string read = evidence.links.redirections(gpus);
        all.push_back({"peer_way", "the way between the two is slow: it may go through the root complex",
                       link + (read.empty() ? "" : "; " + read),
                       "look at nvidia-smi topo -m, and at ACS redirection in the bridges above them"});
      }
      break;
  }
  return all;
}

std::vector<Explanation> causes_of_blind(const CopyPlace& place, const MatrixEvidence& evidence) {
  const std::string read = evidence.links.redirections(gpus_at(place, evidence)), link = link_at(place, evidence);
  return {{"no_peer_access", "the driver does not let them see each other's memory",
           link + (read.empty() ? "" : "; " + read),
           "look at nvidia-smi topo -p2p r, at ACS and the IOMMU, and whether both are whole GPUs (MIG)"}};
}

}  // namespace npgpu::model
