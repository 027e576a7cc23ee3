// What a trace says of its run: facts as texts, and what distinguishes the runs of a merged file.
#pragma once

#include <compare>
#include <set>
#include <string>
#include <vector>

#include "npgpu/vocabulary/trace.hpp"

namespace npgpu {

std::string fact_text(const Fact&);
std::string fact_text(const Facts&, std::string_view name);  // empty where there is none
std::vector<std::string> left_out_of(const Trace&);          // what its plan did not measure, and why

struct MeasuredDevice {
  std::string name, uuid;
  bool simulated;
  auto operator<=>(const MeasuredDevice&) const = default;
};
std::set<MeasuredDevice> devices_of(const Trace&);
std::size_t series_of(const Trace&);  // how many
std::string job_of(const Trace&);     // "4711", or "4711_3" of an array of Slurm's; empty: none
std::string rank_of(const Trace&);    // empty where there is one task only

}  // namespace npgpu
