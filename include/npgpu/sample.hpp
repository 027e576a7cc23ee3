// What was measured, exactly as it came. Nothing here is averaged, rounded or corrected.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "npgpu/case.hpp"
#include "npgpu/device.hpp"
#include "npgpu/units.hpp"

namespace npgpu {

// One timed run of `repeats` operations. A pingpong operation is a round trip. A duplex trial gives
// two samples with the same trial number: lane 0 in the case's direction, lane 1 the other way.
struct Sample {
  std::uint32_t point = 0;
  std::uint32_t trial = 0;
  std::uint32_t lane = 0;
  std::int32_t intact = -1;  // 1 payload compared and right, 0 wrong, -1 not compared after this trial
  std::uint64_t repeats = 0;
  double host_us = not_measured;    // host clock around the repeats and settle
  double device_us = not_measured;  // device events around the repeats

  bool operator==(const Sample&) const = default;
};

// Why a point's schedule stopped.
enum class Stop {
  trials,       // it had its fixed number of trials (classic)
  narrowed,     // the interval of the median is narrow enough (adaptive)
  never,        // the budget ran out first: the interval never narrowed
};
template <>
inline constexpr std::array<std::string_view, 3> names_of<Stop>{"trials", "narrowed", "never-narrowed"};

struct Point {
  std::uint64_t bytes = 0;
  std::uint64_t first_sample = 0;  // index into the sweep's samples
  std::uint32_t samples = 0;
  Stop stop = Stop::trials;
  double wall_us = 0;  // spent on this point in all: warm-up, trials and checks
  Telemetry telemetry; // read after the last trial
};

// One case over its sizes.
struct Sweep {
  Case question;
  std::string schedule;  // "classic ..." or "adaptive ..." with its numbers: what produced the trials
  std::string device_uuid;
  std::string device_name;
  bool simulated = false;
  Limit limit;           // theoretical rate of one operation's payload in one direction
  std::string binding;   // what buffers and thread were bound to
  std::string error;     // why it stopped early; empty if it did not
  std::vector<Point> points;
  std::vector<Sample> samples;
};

}  // namespace npgpu
