// How far a campaign has come: what is known of its points, series and batches, round after round.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "netpipe/engine/algorithms.hpp"
#include "npgpu/measuring/campaign.hpp"
#include "npgpu/model/result.hpp"
#include "npgpu/vocabulary/questions.hpp"

namespace npgpu::campaign {

// What is known of a point, from this run and from the one that it continues.
struct PointProgress {
  struct Visited {
    std::uint32_t round = 0, causes = 0;
    std::vector<double> us{};  // of a repeat, by trial
  };
  std::vector<Visited> visits{};
  Seconds spent{0};
  Repetition::Standing standing{};
  bool visited_before = false, visited_now = false;
  std::uint32_t causes = 0;
  std::set<std::string> disturbers{};
  std::vector<double> clocks_mhz{};

  void take(const VisitInfo& visit, std::vector<double> trials) {
    spent += from_microseconds(visit.wall_us);
    standing.stop = visit.stop;
    visits.push_back({visit.round, visit.causes(), std::move(trials)});
    causes |= visit.causes();
    if (const double mhz = visit.telemetry.sm_clock_mhz; std::isfinite(mhz)) clocks_mhz.push_back(mhz);
    if (visit.disturber != ShortText()) disturbers.emplace(visit.disturber);
  }
  // More than 2 % from that of the visits before, of which there are at least two.
  bool had_other_clock(double mhz) const {
    return clocks_mhz.size() >= 2 && std::abs(mhz / median(clocks_mhz) - 1) > 0.02;
  }
  std::vector<const Visited*> counted() const {
    std::vector<std::uint32_t> causes_of_visits;
    for (const Visited& visit : visits) causes_of_visits.push_back(visit.causes);
    const std::uint32_t left_out = causes_left_out(causes_of_visits);
    std::vector<const Visited*> some;
    for (const Visited& visit : visits)
      if ((visit.causes & left_out) == 0) some.push_back(&visit);
    return some;
  }
  bool is_disturbed() const {
    return std::ranges::any_of(counted(), [](const Visited* visit) { return visit->causes != 0; });
  }
  ByVisit counted_us() const {
    ByVisit all;
    for (const Visited* visit : counted()) all.push_back(visit->us);
    return all;
  }
  ClassDrift::Visits counted_rounds() const {  // their medians
    ClassDrift::Visits all;
    for (const Visited* visit : counted())
      if (!visit->us.empty()) all.emplace_back(visit->round, median(visit->us));
    return all;
  }
};

// A series that was begun: where it is in the trace, and how it goes.
template <class K> struct SeriesProgress {
  std::size_t index = 0;
  Series<K> header;
  std::map<typename K::Axes, PointProgress> points;
  std::size_t rows = 0;  // of its visits in the trace
  double wall_us = 0;
  bool given_up = false;

  Tally tally() const {
    Tally sum;
    for (const auto& [axes, point] : points) {
      sum.measured += point.visited_now;
      sum.kept += point.visited_before && !point.visited_now;
      if (!point.is_disturbed()) continue;
      ++sum.disturbed;
      sum.causes |= point.causes;
      sum.disturbers.insert(point.disturbers.begin(), point.disturbers.end());
    }
    return sum;
  }
};

// A step of the plan; once settled, as it is measured.
template <class K> struct PlannedPoint {
  Step<K> step;
  bool is_settled = false;
};

// A batch of the plan on its way.
template <class K> struct BatchProgress {
  const Batch<K>* batch;
  std::map<typename K::Case, SeriesProgress<K>> series{};
  std::vector<PlannedPoint<K>> targets{};
  bool elsewhere = false;  // a process of its own measures it
};
template <class K> using AllBatches = std::vector<BatchProgress<K>>;

// How much points changed from visit to visit, class by class, over all points so far.
using ClassDrifts = std::array<DriftByTime, names_of<TimeClass>.size()>;
inline ClassDrifts drifts(const Kinds::Tuple<AllBatches>& all) {
  std::array<ClassDrift, names_of<TimeClass>.size()> classes;
  for_each_kind([&]<class K>() {
    for (const BatchProgress<K>& course : std::get<AllBatches<K>>(all))
      for (const auto& [question, at] : course.series)
        for (const auto& [axes, point] : at.points)
          classes[static_cast<std::size_t>(class_of(question))].add(point.counted_rounds());
  });
  ClassDrifts found;
  for (std::size_t i = 0; i < classes.size(); ++i) found[i] = classes[i].drift(static_cast<TimeClass>(i)).drift;
  return found;
}

// What this round visits of a course, case by case; all of it where nobody asks for what it cost so far.
template <class K>
std::vector<PlannedPoint<K>*> points_to_visit(BatchProgress<K>& course, const Repetition& how, std::uint32_t round,
                                              std::mt19937_64& random, bool all_of_it) {
  std::vector<PlannedPoint<K>*> all;
  for (PlannedPoint<K>& target : course.targets) {
    const SeriesProgress<K>& at = course.series[target.step.question];
    const auto known = at.points.find(target.step.axes);
    if (round >= how.rounds && at.given_up) continue;
    const bool wanted = known == at.points.end() ? how.wants_visit(round, {}, Seconds{0})
                                                 : how.wants_visit(round, known->second.standing, known->second.spent);
    if (wanted || all_of_it) all.push_back(&target);
  }
  if (round == 0) return all;
  // Cases in random order, in each of them groups of points that share their memory, in each of them the points.
  const auto group = [](const PlannedPoint<K>* target) {
    if constexpr (requires { memory_of(target->step.axes); })
      return std::pair(target->step.question, memory_of(target->step.axes));
    else return target->step.question;
  };
  std::map<typename K::Case, std::uint64_t> place_of_case;
  std::map<decltype(group(nullptr)), std::uint64_t> place_of_group;
  for (const PlannedPoint<K>* target : all) {
    place_of_case.try_emplace(target->step.question, random());
    place_of_group.try_emplace(group(target), random());
  }
  std::ranges::shuffle(all, random);
  sort_stably(all, {}, [&](const PlannedPoint<K>* target) {
    return std::pair(place_of_case[target->step.question], place_of_group[group(target)]);
  });
  return all;
}

// The series with this visit only.
template <class K> Series<K> alone(const Series<K>& header, const Measured<K>& measured) {
  Series<K> one = header;
  one.visits = {measured.visit};
  one.visits[0].first_sample = 0;
  one.visits[0].samples = static_cast<std::uint32_t>(measured.samples.size());
  one.samples = measured.samples;
  for (auto& sample : one.samples) sample.visit = 0;
  return one;
}

// What a process measured, whose file goes; nothing where it had none yet.
std::optional<Trace> trace_of(const GpuProcesses::Part&);

// What another process measured of this course, `later` than this run began: into the course and the trace. The series
// that it had. Visits to `doubtful` points, by the titles of case and axes, are marked as disturbed by the other
// devices.
template <class K>
std::vector<SeriesProgress<K>*> take_over(BatchProgress<K>& course, const Trace& trace, Seconds later,
                                          TraceWriter& writer, const PointNames& doubtful = {}) {
  std::vector<SeriesProgress<K>*> all;
  for (const Series<K>& series : trace.of<K>()) {
    const auto known = course.series.find(series.question);
    if (known == course.series.end()) continue;
    SeriesProgress<K>& at = known->second;
    at.header = series;
    at.header.visits.clear();
    at.header.samples.clear();
    at.index = writer.begin<K>(at.header);
    for (Visit<K> visit : series.visits) {
      const auto samples = samples_of(series, visit);
      visit.at_s += later.count();
      if (!doubtful.empty() && doubtful.contains({title(series.question), text_of(visit.axes)}))
        visit.disturbed |= static_cast<std::uint32_t>(Cause::siblings);
      writer.add<K>(at.index, visit, samples);
      PointProgress& point = at.points[visit.axes];
      point.take(visit, trial_times<K>(series.question, samples));
      point.visited_now = true;
      at.wall_us += visit.wall_us;
    }
    all.push_back(&at);
  }
  return all;
}

// What kind of reference a step can be for whether GPUs disturb each other, and how good a one; "" if it is none. Of a
// large copy each way and of a kernel on all of the GPU.
template <class K> std::pair<std::string, double> reference_of(const Step<K>& step) {
  constexpr std::uint64_t large = 64 * MiB;
  if constexpr (std::is_same_v<K, Transfers>) {
    const auto question = question_of(step.question);
    const bool is_large_copy = question == CopyQuestion::to_device || question == CopyQuestion::to_host;
    if (is_large_copy && step.axes.bytes <= large)
      return {std::string(name(step.question.direction)), static_cast<double>(step.axes.bytes)};
  } else if constexpr (std::is_same_v<K, Probes>) {
    const Shape& s = step.axes;
    if (question_of(step.question) == ProbeQuestion::computing_power && step.question.type == DataType::fp32)
      return {"kernel", static_cast<double>(s.blocks) * s.threads * s.ilp};
  }
  return {};
}
template <class K> std::map<std::string, PlannedPoint<K>*> reference_points(BatchProgress<K>& course) {
  std::map<std::string, PlannedPoint<K>*> found;
  for (PlannedPoint<K>& target : course.targets) {
    const auto [what, size] = reference_of(target.step);
    if (what.empty()) continue;
    PlannedPoint<K>*& most = found[what];
    if (!most || size > reference_of(most->step).second) most = &target;
  }
  return found;
}

}  // namespace npgpu::campaign
