#include "netpipe/model/fleet/key_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "netpipe/engine/sort_stably.hpp"
#include "netpipe/model/health/findings.hpp"
#include "netpipe/model/medians.hpp"
#include "netpipe/model/probes/probe_rates.hpp"
#include "netpipe/model/siblings.hpp"
#include "npgpu/catalogue.hpp"
#include "npgpu/compare.hpp"

namespace npgpu::model {

namespace {

constexpr double least_link_bytes = 1 << 20, most_latency_bytes = 64 << 10, caches_left_behind = 4,
                 unknown_cache = 128 << 20;
constexpr std::size_t few_smallest = 3;

// Which of a series' points a figure is made of: those of at least an eighth of the largest size; the three smallest;
// the one with the best rate.
enum class Taken { largest, smallest, best };

struct FigureOf {
  FigureKind kind = FigureKind::link;
  std::string name{};
  FigureUnit unit = FigureUnit::us;
  Taken of = Taken::largest;
  double least_bytes = 0;  // of a point
  std::uint32_t lane = 0;
  double most_bytes = std::numeric_limits<double>::infinity();

  bool takes(double bytes) const { return bytes >= least_bytes && bytes <= most_bytes; }
};

std::string way_of(Direction direction) {
  return direction == Direction::h2d ? "host to device" : direction == Direction::d2h ? "device to host" : "";
}

std::vector<FigureOf> key_figures_in(const TransferSeries& series) {
  constexpr auto rate = FigureUnit::bytes_per_s;
  const TransferCase& c = series.question;
  const std::string way = way_of(c.direction);
  const auto question = question_of(c);
  if (!question) return {};
  switch (*question) {
    case CopyQuestion::to_device:
    case CopyQuestion::to_host:
      return {
          {FigureKind::link, "copy, " + way, rate, Taken::largest, least_link_bytes},
          {FigureKind::small_copy, "small copy, " + way, FigureUnit::us, Taken::smallest, 0, 0, most_latency_bytes}};
    case CopyQuestion::both_ways:
      return {{FigureKind::both_ways, "both ways, " + way, rate, Taken::largest, least_link_bytes, 0},
              {FigureKind::both_ways, "both ways, " + way_of(reversed(c.direction)), rate, Taken::largest,
               least_link_bytes, 1}};
    case CopyQuestion::to_device_blocking:
    case CopyQuestion::to_host_blocking:
      return {{FigureKind::call, "smallest copy, " + way, FigureUnit::us, Taken::smallest, 0, 0, most_latency_bytes}};
    case CopyQuestion::to_device_pageable:
    case CopyQuestion::to_host_pageable:
      return {{FigureKind::pageable_copy, "pageable copy, " + way, rate, Taken::largest, least_link_bytes}};
    case CopyQuestion::within_device:
      return {{FigureKind::memory, "copy, within the device", rate, Taken::largest, least_link_bytes}};
    default: return {};  // of no other copy every GPU of a fleet is asked
  }
}

std::vector<FigureOf> key_figures_in(const ProbeSeries& series) {
  const ProbeCase& c = series.question;
  const double cache = static_cast<double>(series.layout.cache_bytes);
  const auto question = question_of(c);
  if (question == ProbeQuestion::memory_bandwidth)
    return {{FigureKind::memory, fmt::format("memory, {}", name(c.operation)), FigureUnit::bytes_per_s, Taken::best,
             cache > 0 ? caches_left_behind * cache : unknown_cache}};
  const auto unit = is_whole_number(c.type) ? FigureUnit::operations_per_s : FigureUnit::flop_per_s;
  if (question == ProbeQuestion::computing_power)
    return {{FigureKind::compute, fmt::format("compute, {}", name(c.type)), unit, Taken::best}};
  if (question == ProbeQuestion::tensor_power)
    return {{FigureKind::matrix, fmt::format("tensor, {} by {}", name(c.type), name(c.operation)), unit, Taken::best}};
  if (question == ProbeQuestion::matrix_products)
    return {{FigureKind::matrix, fmt::format("gemm, {}", name(c.type)), unit, Taken::best}};
  if (question == ProbeQuestion::memory_latency)
    return {{FigureKind::latency, "memory latency", FigureUnit::us_a_load, Taken::largest,
             cache > 0 ? caches_left_behind * cache : unknown_cache}};
  return {};
}

std::vector<FigureOf> key_figures_in(const CallSeries& series) {
  const CallCase& c = series.question;
  const auto question = question_of(c);
  if (!question) return {};
  const char* const what = *question == CallQuestion::launch            ? "launch until done"
                           : *question == CallQuestion::launch_in_a_row ? "launch, back to back"
                                                                        : "launch until the host sees it";
  return {{FigureKind::call, what, FigureUnit::us, Taken::smallest}};
}

double bytes_at(const auto& axes) {
  if constexpr (requires { axes.bytes; }) return static_cast<double>(axes.bytes);
  else return 0;
}

template <class K> double log_rate_at(const Result<K>& point) { return std::log(point.work / point.time_us.value); }

// Points in order of their axes.
template <class K> std::vector<const Result<K>*> points_for(const std::vector<Result<K>>& times, const FigureOf& want) {
  std::vector<const Result<K>*> points;
  for (const Result<K>& time : times)
    if (time.usable() && time.lane == want.lane && is_figure(time.time_us.value) && want.takes(bytes_at(time.axes)) &&
        (want.of != Taken::best || std::isfinite(log_rate_at(time))))
      points.push_back(&time);
  if (points.empty()) return points;
  std::ranges::sort(points, {}, [](const auto* one) { return one->axes; });
  if (want.of == Taken::best) {
    const auto best = std::ranges::max_element(points, {}, [](const auto* one) { return log_rate_at(*one); });
    return {*best};
  }
  if (want.of == Taken::smallest) {
    points.resize(std::min(points.size(), few_smallest));
    return points;
  }
  double most = 0;
  for (const auto* point : points) most = std::max(most, bytes_at(point->axes));
  std::erase_if(points, [&](const auto* point) { return bytes_at(point->axes) < most / 8; });
  return points;
}

// Geometric means over the points, in the unit: of the values, and of both ends of their intervals.
template <class K> FleetFigure key_figure_of(const FigureOf& want, const std::vector<Result<K>>& times) {
  FleetFigure figure{want.kind, want.name, {}, want.unit};
  const auto points = points_for(times, want);
  if (points.empty()) return figure;
  const auto mean = [&](double Estimate::*which) {
    double log = 0;
    for (const auto* point : points) {
      const double us = point->time_us.*which, work = point->work;
      log += std::log(want.unit == FigureUnit::us          ? us
                      : want.unit == FigureUnit::us_a_load ? us / work
                                                           : work / us * 1e6);
    }
    return std::exp(log / static_cast<double>(points.size()));
  };
  figure.value = mean(&Estimate::value);
  figure.low = mean(is_rate(want.unit) ? &Estimate::high : &Estimate::low);
  figure.high = mean(is_rate(want.unit) ? &Estimate::low : &Estimate::high);
  if (want.of == Taken::best) {
    figure.at = fmt::format("best of {} shape{}", times.size(), times.size() == 1 ? "" : "s");
  } else {
    figure.at = text_of(points.front()->axes);
    if (points.size() > 1) figure.at += " .. " + text_of(points.back()->axes);
  }
  std::size_t by_others = 0;
  for (const auto* point : points) by_others += (point->causes & ~own_causes) != 0;
  figure.disturbed = 2 * by_others > points.size();
  return figure;
}

template <class K> void add_key_figures(std::vector<FleetFigure>& all, const std::vector<const Series<K>*>& some) {
  for (const Series<K>* series : some) {
    const std::vector<FigureOf> wanted = key_figures_in(*series);
    if (wanted.empty()) continue;
    const auto times = results(*series);
    for (const FigureOf& want : wanted) {
      // Of several modules the first.
      if (std::ranges::find(all, want.name, &FleetFigure::name) != all.end()) continue;
      FleetFigure figure = key_figure_of(want, times);
      if (std::isfinite(figure.value)) all.push_back(std::move(figure));
    }
  }
}

// ---- courses ----

struct CourseOf {
  std::map<std::uint32_t, std::vector<double>> rounds;
  std::vector<double> deviations, above_fastest;
  std::size_t points = 0;
};

template <class K> void add_course_point(CourseOf& course, const Series<K>& series, const Point<K>& point) {
  constexpr std::size_t least_visits = 3;
  std::vector<std::pair<std::uint32_t, double>> us;  // by round
  for (const Visit<K>* visit : point.visits) {
    if (visit->disturbed & ~own_causes) continue;
    const auto times = trial_times<K>(series.question, samples_of(series, *visit));
    if (times.empty()) continue;
    if (const double middle = median(times); middle > 0) us.emplace_back(visit->round, middle);
  }
  if (us.size() < least_visits) return;
  std::vector<double> all;
  for (const auto& [round, time] : us) all.push_back(time);
  const double middle = median(all), fastest = *std::ranges::min_element(all);
  ++course.points;
  for (const auto& [round, time] : us) {
    const double log = std::log(time / middle);
    course.rounds[round].push_back(log);
    course.deviations.push_back(std::abs(log));
    course.above_fastest.push_back(std::log(time / fastest));
  }
}

template <class K> void add_courses(std::map<FigureKind, CourseOf>& all, const std::vector<const Series<K>*>& some) {
  for (const Series<K>* series : some) {
    const std::vector<FigureOf> wanted = key_figures_in(*series);
    if (wanted.empty()) continue;
    for (const Point<K>& point : points_of(*series)) {
      const auto of_point =
          std::ranges::find_if(wanted, [&](const FigureOf& want) { return want.takes(bytes_at(point.axes)); });
      if (of_point != wanted.end()) add_course_point(all[of_point->kind], *series, point);
    }
  }
}

FleetCourse course_from(FigureKind kind, CourseOf of) {
  FleetCourse course{.kind = kind};
  // Rounds that revisited a few points only are of other points.
  for (const auto& [round, logs] : of.rounds)
    if (2 * logs.size() >= of.points) course.rounds.push_back(mean_of(logs));
  if (of.deviations.empty()) return course;
  const auto tenth = of.deviations.begin() + static_cast<std::ptrdiff_t>(9 * of.deviations.size() / 10);
  std::ranges::nth_element(of.deviations, tenth);
  course.scatter = *tenth;
  if (const auto upper = upper_group(of.above_fastest)) course.two_times = std::expm1(*upper);
  return course;
}

}  // namespace

std::vector<FleetFigure> key_figures_of(const DeviceRecord& of) {
  std::vector<FleetFigure> all;
  add_key_figures<Transfers>(all, of.transfers);
  add_key_figures<Probes>(all, of.probes);
  add_key_figures<Calls>(all, of.calls);
  sort_stably(all, {}, &FleetFigure::kind);
  return all;
}

std::vector<FleetFigure> peer_figures_of(const Trace& trace, const std::string& id) {
  std::map<bool, FleetFigure> slowest;  // to others, from others
  for (const TransferSeries& series : trace.of<Transfers>()) {
    const TransferCase& c = series.question;
    if (question_of(c) != CopyQuestion::to_peer || c.access == Access::staged || (c.source != id && c.target != id))
      continue;
    const bool is_from = c.target == id;
    const std::string other = is_from ? c.source : c.target;
    FleetFigure figure =
        key_figure_of<Transfers>({FigureKind::link, is_from ? "copy from another GPU" : "copy to another GPU",
                                  FigureUnit::bytes_per_s, Taken::largest, least_link_bytes},
                                 results(series));
    if (!std::isfinite(figure.value)) continue;
    const auto [known, is_new] = slowest.try_emplace(is_from, figure);
    if (!is_new && figure.value < known->second.value) known->second = figure;
  }
  std::vector<FleetFigure> all;
  for (auto& [is_from, figure] : slowest) all.push_back(std::move(figure));
  return all;
}

std::vector<FleetCourse> courses_of(const DeviceRecord& of) {
  std::map<FigureKind, CourseOf> all;
  add_courses<Transfers>(all, of.transfers);
  add_courses<Probes>(all, of.probes);
  add_courses<Calls>(all, of.calls);
  std::vector<FleetCourse> courses;
  for (auto& [kind, course] : all) courses.push_back(course_from(kind, std::move(course)));
  return courses;
}

}  // namespace npgpu::model
