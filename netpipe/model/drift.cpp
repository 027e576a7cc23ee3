#include "npgpu/drift.hpp"

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

}  // namespace npgpu
