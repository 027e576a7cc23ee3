#include "npgpu/drift.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "netpipe/model/compare/curves.hpp"

namespace npgpu {

double Drift::most() const {
  const auto amount = [](double share) { return std::abs(share); };
  return by_round.empty() ? 0 : *std::ranges::max_element(by_round, {}, amount);
}

std::vector<Drift> drifts_of(const Trace& trace) {
  struct OfClass {
    std::size_t points = 0;
    std::map<std::uint32_t, std::vector<double>> logs;  // by round
  };
  std::array<OfClass, names_of<TimeClass>.size()> classes;
  const Trace* const only[] = {&trace};
  for (const model::CaseCurve& curve : model::curves_of(only, {})) {
    if (curve.trials_stand_in) continue;
    OfClass& of_class = classes[static_cast<std::size_t>(curve.time_class)];
    for (const model::CurvePoint& point : curve.points) {
      const auto& visits = point.side[0].all;
      if (visits.size() < 2) continue;
      std::vector<double> logs;
      for (const model::Reading& one : visits) logs.push_back(one.log_us);
      const double middle = median(logs);
      ++of_class.points;
      for (const model::Reading& one : visits) of_class.logs[one.round].push_back(one.log_us - middle);
    }
  }
  std::vector<Drift> all;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (!classes[i].points) continue;
    Drift drift{static_cast<TimeClass>(i), classes[i].points};
    for (const auto& [round, logs] : classes[i].logs)
      if (2 * logs.size() >= drift.points) drift.by_round.push_back(std::expm1(median(logs)));
    if (drift.by_round.size() >= 2) all.push_back(std::move(drift));
  }
  return all;
}

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
