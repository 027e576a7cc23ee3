#include "npgpu/vocabulary/series.hpp"

#include "netpipe/engine/algorithms.hpp"
#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/trace.hpp"

namespace npgpu {

std::uint32_t causes_left_out(std::span<const std::uint32_t> causes_of_visits) {
  for (const std::uint32_t that_matter : {~std::uint32_t{0}, ~own_causes}) {
    const auto left =
        std::ranges::count_if(causes_of_visits, [&](std::uint32_t its) { return (its & that_matter) == 0; });
    if (are_enough(static_cast<std::size_t>(left), causes_of_visits.size())) return that_matter;
  }
  return 0;
}

std::vector<const VisitInfo*> PointInfo::counted() const {
  std::vector<std::uint32_t> causes;
  for (const VisitInfo* visit : visits) causes.push_back(visit->causes());
  const std::uint32_t left_out = causes_left_out(causes);
  std::vector<const VisitInfo*> some;
  for (const VisitInfo* visit : visits)
    if ((visit->causes() & left_out) == 0) some.push_back(visit);
  return some;
}

std::uint32_t PointInfo::disturbed() const {
  std::uint32_t causes = 0;
  for (const VisitInfo* visit : counted()) causes |= visit->causes();
  return causes;
}

std::set<std::string> disturbers_of(const PointInfo& point) {
  std::set<std::string> all;
  for (const VisitInfo* visit : point.counted())
    if (visit->disturber != ShortText()) all.emplace(visit->disturber);
  return all;
}
std::string disturbance_of(const PointInfo& point) { return disturbance_text(point.disturbed(), disturbers_of(point)); }

template <class K> std::vector<Point<K>> points_of(const Series<K>& series) {
  std::vector<Point<K>> points;
  std::map<typename K::Axes, std::size_t> known;
  for (const Visit<K>& visit : series.visits) {
    const auto [at, is_new] = known.try_emplace(visit.axes, points.size());
    if (is_new) points.push_back({{}, visit.axes});
    points[at->second].visits.push_back(&visit);
  }
  return points;
}
template <class K> std::map<typename K::Axes, Point<K>> points_by_axes(const Series<K>& series) {
  std::map<typename K::Axes, Point<K>> points;
  for (Point<K>& point : points_of(series)) points.emplace(point.axes, std::move(point));
  return points;
}

template <class K> std::uint32_t trials_of(const Series<K>& series, const Point<K>& point) {
  std::uint32_t trials = 0;
  for (const VisitInfo* visit : point.counted()) {
    const auto samples = samples_of(series, *visit);
    for (std::size_t i = 0; i < samples.size(); ++i) trials += i == 0 || samples[i].trial != samples[i - 1].trial;
  }
  return trials;
}

template <class K>
std::vector<double> trial_times(const typename K::Case& question, std::span<const typename K::Sample> samples) {
  std::vector<double> times;
  while (!samples.empty()) {
    const auto& first = samples.front();
    const auto end = std::ranges::find_if(samples, [&](const auto& one) { return one.trial != first.trial; });
    const auto count = static_cast<std::size_t>(end - samples.begin());
    double repeats = 1;
    if constexpr (requires { first.repeats; }) repeats = static_cast<double>(first.repeats);
    const double us = microseconds(K::timed(question, samples.first(count))) / repeats;
    if (std::isfinite(us) && us >= 0) times.push_back(us);
    samples = samples.subspan(count);
  }
  return times;
}

NPGPU_FOR_KINDS(&points_of<K>, &points_by_axes<K>, &trials_of<K>, &trial_times<K>)

}  // namespace npgpu
