// The series of a trace, device by device, and the facts of a device.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "npgpu/trace.hpp"

namespace npgpu::model {

// In the order of the trace. Two GPUs may have been called cuda:0 in turn; their UUIDs distinguish them.
template <class K> std::vector<std::vector<const Series<K>*>> by_device(const Trace& trace) {
  std::vector<std::vector<const Series<K>*>> all;
  for (const Series<K>& series : trace.of<K>()) {
    const auto its = [&](const auto& list) {
      return list.front()->question.device == series.question.device && list.front()->device_uuid == series.device_uuid;
    };
    auto found = std::find_if(all.begin(), all.end(), its);
    if (found == all.end()) found = all.emplace(all.end());
    found->push_back(&series);
  }
  return all;
}

// What counters were at the end of the run, in a group of their own: it names the device and does not describe it.
inline bool is_of_end(const std::string& group) { return group.ends_with("_after"); }

// Whether this group describes the device. By UUID where there is one, for an ordinal may have had another GPU behind
// it.
inline bool describes(const Provenance::value_type& of, const std::string& id, const std::string& uuid) {
  const auto& [group, facts] = of;
  return !is_of_end(group) && text_fact(facts, "id") == id && (uuid.empty() || text_fact(facts, "uuid") == uuid);
}

}  // namespace npgpu::model
