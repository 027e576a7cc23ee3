// How far the simulator was from measured jobs, by their length. Where a user names no measured jobs of his own, the
// answer's error is that of the kept ones.
#include <fmt/format.h>

#include <array>
#include <limits>

#include "npgpu/advice.hpp"

namespace npgpu {

namespace {

constexpr double no_end = std::numeric_limits<double>::infinity();
// Of the unsplit job, in us.
constexpr std::array<double, 5> borders{0, 300, 1000, 5000, no_end};

}  // namespace

ModelErrors errors_by_length(std::span<const PredictedJob> jobs, const std::string& source) {
  ModelErrors all{source};
  for (std::size_t i = 0; i + 1 < borders.size(); ++i) {
    LengthClass& one = all.classes.emplace_back(LengthClass{borders[i], borders[i + 1]});
    std::vector<double> errors;
    for (const PredictedJob& job : jobs) {
      if (!one.has(job.workload.time_us.front().value)) continue;
      ++one.workloads;
      const std::vector<double> own = errors_of(job);
      errors.insert(errors.end(), own.begin(), own.end());
    }
    one.error = spread_of(std::move(errors));
  }
  return all;
}

// tests/advice_test.cpp computes this table again from the kept traces; it fails where this is not true any more,
// and prints what is.
const ModelErrors& known_errors() {
  static const ModelErrors known{
      "among 259 jobs measured on an NVIDIA H200, data/traces/h200_design.h5 and h200_small_design.h5",
      {{borders[0], borders[1], 76, {0.0270, 0.0961, 0.505}},
       {borders[1], borders[2], 54, {0.0152, 0.0947, 0.299}},
       {borders[2], borders[3], 62, {0.0097, 0.0432, 0.148}},
       {borders[3], borders[4], 67, {0.0078, 0.0437, 0.119}}}};
  return known;
}

}  // namespace npgpu
