// Which case of one trace is which of the other, for all kinds of measurement.
#pragma once

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "npgpu/trace.hpp"

namespace npgpu::model {

// Calls visit(device) for each device that a case names. `Case` may be const.
template <class Case, class Visit> void each_device(Case& question, Visit&& visit) {
  if constexpr (requires { question.device; }) {
    visit(question.device);
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
// the host is never held against a GPU because the other trace has no series of the host.
using DeviceSlots = std::map<std::string, std::string>;
inline DeviceSlots device_slots(const Trace& trace) {
  DeviceSlots slots;
  std::map<std::string, int> met;
  for_each_kind([&]<class K>() {
    for (const Series<K>& series : trace.of<K>())
      each_device(series.question, [&](const std::string& device) {
        if (slots.contains(device)) return;
        const std::string kind = device.substr(0, device.find(':'));  // "cuda" of "cuda:1"
        slots[device] = kind + '#' + std::to_string(met[kind]++);
      });
  });
  return slots;
}

// A's name of B's device; B's own where A has none in that slot.
inline std::string name_in_a(const DeviceSlots& a, const DeviceSlots& b, const std::string& device_of_b) {
  for (const auto& [device, slot] : a)
    if (slot == b.at(device_of_b)) return device;
  return device_of_b;
}

// The same in both traces where the cases match.
template <class Case> Case in_slots(Case question, const DeviceSlots& slots) {
  each_device(question, [&](std::string& device) { device = slots.at(device); });
  return question;
}

// The question, whatever its threads and buffers were bound to.
template <class Case> Case unbound(Case question) {
  if constexpr (requires { question.bind; }) question.bind = true;
  return question;
}

template <class S> struct Pair {
  std::string title;  // devices as A names them
  const S* a = nullptr;
  const S* b = nullptr;  // one of the two may lack
};

// A's cases in their order, then those that only B has. A question may have been asked twice, under two schedules or
// bound and unbound: the closest match first.
template <class S>
std::vector<Pair<S>> pairs_of(const std::vector<S>& a, const std::vector<S>& b, const DeviceSlots& in_a,
                              const DeviceSlots& in_b) {
  std::vector<Pair<S>> pairs;
  for (const S& one : a) pairs.push_back({title(one.question), &one});
  std::vector<bool> taken(b.size(), false);
  constexpr std::array<std::pair<bool, bool>, 4> passes{{{true, true}, {true, false}, {false, true}, {false, false}}};
  for (const auto& [same_binding, same_schedule] : passes)
    for (Pair<S>& pair : pairs)
      for (std::size_t j = 0; j < b.size() && !pair.b; ++j) {
        if (taken[j]) continue;
        const auto of_a = in_slots(pair.a->question, in_a), of_b = in_slots(b[j].question, in_b);
        if (same_binding ? of_a != of_b : unbound(of_a) != unbound(of_b)) continue;
        if (same_schedule && pair.a->schedule != b[j].schedule) continue;
        pair.b = &b[j];
        taken[j] = true;
      }
  for (std::size_t j = 0; j < b.size(); ++j) {
    if (taken[j]) continue;
    auto question = b[j].question;
    each_device(question, [&](std::string& device) { device = name_in_a(in_a, in_b, device); });
    pairs.push_back({title(question), nullptr, &b[j]});
  }
  return pairs;
}

}  // namespace npgpu::model
