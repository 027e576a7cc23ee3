#include "netpipe/model/matrix/places.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

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

}  // namespace npgpu::model
