#include "npgpu/drift.hpp"

#include <string_view>

namespace npgpu {

BusySibling busy_sibling(const Trace& trace) {
  constexpr auto shared = static_cast<std::uint32_t>(Cause::core_shared);
  BusySibling found;
  std::vector<double> ratios;
  for_each_kind([&]<class K>() {
    for (const Series<K>& series : trace.of<K>())
      for (const Point<K>& point : points_of(series)) {
        std::vector<double> quiet_us, shared_us;
        for (const Visit<K>* visit : point.visits) {
          const std::vector<double> times = trial_times<K>(series.question, samples_of(series, *visit));
          if (times.empty()) continue;
          if (visit->causes() == 0) quiet_us.push_back(median(times));
          if (visit->causes() == shared) shared_us.push_back(median(times));
        }
        found.visits += shared_us.size();
        if (!quiet_us.empty() && !shared_us.empty()) ratios.push_back(median(shared_us) / median(quiet_us));
      }
  });
  found.points = ratios.size();
  if (!ratios.empty()) found.adds = median(ratios) - 1;
  return found;
}

std::vector<BesideOthers> beside_others(const Trace& trace) {
  constexpr std::string_view beside = "_beside_us", alone = "_alone_us";
  std::vector<BesideOthers> all;
  const Facts facts = facts_of(trace.provenance, "side_by_side");
  for (const auto& [name, value] : facts) {
    const std::size_t first = name.find('_');
    if (!name.ends_with(beside) || first + beside.size() >= name.size()) continue;
    const std::string stem = name.substr(0, name.size() - beside.size());
    all.push_back({stem.substr(0, first), stem.substr(first + 1), number_fact(facts, name),
                   number_fact(facts, stem + std::string(alone))});
  }
  return all;
}

}  // namespace npgpu
