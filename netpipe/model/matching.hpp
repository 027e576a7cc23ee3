// Which case of one trace is which of the other, for sweeps of transfers, of probes and of jobs in streams alike.
#pragma once

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "npgpu/trace.hpp"

namespace npgpu::model {

// Each device of a trace as "cuda#0", "cuda#1" in the order in which they appear: by order within their kind, so that
// the host is never held against a GPU because the other trace has no host sweep.
using DeviceSlots = std::map<std::string, std::string>;
DeviceSlots device_slots(const Trace&);

// A's name of B's device; B's own where A has none in that place.
std::string name_in_a(const DeviceSlots& a, const DeviceSlots& b, const std::string& device_of_b);

// Equal in both traces where the cases match.
template <class Question>
Question placed(Question question, const DeviceSlots& places) {
  question.device = places.at(question.device);
  return question;
}

// The question, whatever its threads and buffers were bound to.
inline TransferCase unbound(TransferCase question) {
  question.bind = true;
  return question;
}
template <class Question>
Question unbound(Question question) {
  return question;
}

template <class S>
struct Pair {
  std::string title;  // devices as A names them
  const S* a = nullptr;
  const S* b = nullptr;  // one of the two may lack
};

// A's cases in their order, then those that only B has. A question may have been asked twice, under two schedules or
// bound and unbound: the nearest kin first.
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
        const auto of_a = placed(pair.a->question, in_a), of_b = placed(b[j].question, in_b);
        if (same_binding ? of_a != of_b : unbound(of_a) != unbound(of_b)) continue;
        if (same_schedule && pair.a->schedule != b[j].schedule) continue;
        pair.b = &b[j];
        taken[j] = true;
      }
  for (std::size_t j = 0; j < b.size(); ++j) {
    if (taken[j]) continue;
    auto question = b[j].question;
    question.device = name_in_a(in_a, in_b, question.device);
    pairs.push_back({title(question), nullptr, &b[j]});
  }
  return pairs;
}

}  // namespace npgpu::model
