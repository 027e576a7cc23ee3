// What two sides measured, made comparable: which series asked the same, by question and by order of devices within
// their kind; and their curves, point by point, with what each visit gave.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "npgpu/model/compare.hpp"

namespace npgpu::model {

// Calls visit(device) for each device that a case names. `Case` may be const.
template <class Case, class Visit> void each_device(Case& question, Visit&& visit) {
  if constexpr (requires { question.device; }) {
    visit(question.device);
  } else if constexpr (requires { question.devices; }) {
    std::string renamed;
    for (std::string& device : devices_of(question)) {
      visit(device);
      renamed += (renamed.empty() ? "" : ",") + device;
    }
    if constexpr (!std::is_const_v<Case>) question.devices = renamed;
  } else {
    visit(question.source);
    visit(question.target);
    for (auto& lane : question.more_lanes) {
      visit(lane.source);
      visit(lane.target);
    }
  }
}

// Each device of a trace as "cuda#0", "cuda#1" in the order in which they appear: by order within their kind, so that
// the host is never compared with a GPU because another trace has no series of the host.
using DeviceSlots = std::map<std::string, std::string>;
DeviceSlots device_slots(const Trace&);

// The case with its devices as the map has them.
template <class Case> Case renamed(Case question, const std::map<std::string, std::string>& names) {
  each_device(question, [&](std::string& device) { device = names.at(device); });
  return question;
}

// A trace of one of the two sides.
struct Run {
  const Trace* trace = nullptr;
  std::size_t side = 0, number = 0;  // number: on its side
  DeviceSlots slots{};
};
std::vector<Run> runs_of(Runs a, Runs b);
// What the first run that has a slot calls its device.
std::map<std::string, std::string> names_of_slots(const std::vector<Run>&);

// A question, and the series that asked it.
template <class K> struct Question {
  struct Answer {
    std::size_t side = 0, run = 0;
    const Series<K>* series = nullptr;
  };
  typename K::Case in_slots;
  std::string schedule;
  std::vector<Answer> answers;
};

// In the order in which they were first asked. A run may ask a question twice, under two schedules or bound and
// unbound: the closest match first.
template <class K> std::vector<Question<K>> questions_of(const std::vector<Run>& runs) {
  const auto unbound = [](auto question) {
    if constexpr (requires { question.bind; }) question.bind = true;
    return question;
  };
  std::vector<Question<K>> all;
  for (const Run& run : runs) {
    std::vector<const Series<K>*> left;
    for (const Series<K>& series : run.trace->of<K>()) left.push_back(&series);
    std::set<std::size_t> taken;
    constexpr std::array<std::pair<bool, bool>, 4> passes{{{true, true}, {true, false}, {false, true}, {false, false}}};
    for (const auto& [same_binding, same_schedule] : passes)
      for (std::size_t i = 0; i < all.size(); ++i) {
        const auto asks_it = [&](const Series<K>* series) {
          const auto question = renamed(series->question, run.slots);
          const bool same = same_binding ? question == all[i].in_slots : unbound(question) == unbound(all[i].in_slots);
          return same && (!same_schedule || series->schedule == all[i].schedule);
        };
        const auto found = taken.contains(i) ? left.end() : std::ranges::find_if(left, asks_it);
        if (found == left.end()) continue;
        all[i].answers.push_back({run.side, run.number, *found});
        left.erase(found);
        taken.insert(i);
      }
    for (const Series<K>* series : left) {
      taken.insert(all.size());
      all.push_back({renamed(series->question, run.slots), series->schedule, {{run.side, run.number, series}}});
    }
  }
  return all;
}

// ---- curves ----

// One visit.
struct Reading {
  std::size_t run = 0;  // of its side
  std::uint32_t round = 0;
  double log_us = not_measured;   // of the work of the curve's first operation at that point
  double log_mhz = not_measured;  // SM clock
};

// A point on one side.
struct Readings {
  std::vector<Reading> all{};
  std::size_t runs = 0;          // that measured it
  std::size_t others = 0;        // of these, in which others had a part in it
  std::size_t clocked = 0;       // in which nothing but the device's own clock disturbed it
  Reason broken = Reason::none;  // wrong results, or no time
  std::string why{};             // it is broken, has no figure, or is disturbed
};
struct CurvePoint {
  std::string axes{};
  double work = not_measured;
  std::array<Readings, 2> side{};
};

struct CaseCurve : ComparedCase {
  bool simulated = false;
  std::array<std::size_t, 2> runs{};     // of each side, in all
  std::array<std::string, 2> stopped{};  // why its series did not go on; empty if it did, or was not begun
  std::vector<CurvePoint> points{};      // in order of axes
  std::vector<double> sizes{};           // of each: bytes, or 0
  std::vector<double> blocks{};          // of each: of a kernel, or 0
  double cache_bytes = 0;                // the last level before the memory that kernels work on; 0: not known
  std::vector<FigureChoice> figures{};
};

// A point's bytes, and its blocks; 0 where its kind has none.
inline double size_of(const auto& axes) {
  if constexpr (requires { axes.bytes; }) return static_cast<double>(axes.bytes);
  else return 0;
}
inline double blocks_of_axes(const auto& axes) {
  if constexpr (requires { axes.blocks; }) return axes.blocks;
  else return 0;
}

std::vector<CaseCurve> curves_of(Runs a, Runs b);

}  // namespace npgpu::model
