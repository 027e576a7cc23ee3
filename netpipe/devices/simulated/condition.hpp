// The state of a simulated device, and how it changes while it works: what its spec states under "course" and
// "flip_every_bytes". It ages by the time that its calls and copies take, and by the bytes that they move, as long as
// the process lives, however often it is opened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "npgpu/vocabulary/device.hpp"

namespace npgpu::simulated {

// From so much time at work on.
struct Change {
  Seconds after{0};
  double kernel_slowdown = 1;  // how much longer kernels take
  Telemetry telemetry{};       // NaN: as before
  bool is_lost = false;        // every call fails
};

struct Course {
  std::vector<Change> changes{};  // in order of time; each replaces the one before
  double flip_every_bytes = 0;    // a bit changes whenever so many have been moved; 0: never

  bool operator==(const Course&) const = default;
};
inline bool operator==(const Change& a, const Change& b) {
  return a.after == b.after && a.kernel_slowdown == b.kernel_slowdown && a.is_lost == b.is_lost;
}

// What a device of this process has been through.
struct Age {
  Seconds worked{0};
  double bytes = 0;

  // The last change so far; null before the first.
  const Change* change(const Course&) const;
  // So many more: how many bits changed meanwhile.
  std::uint64_t move(const Course&, double more);
};
// The device's own, as long as the process lives.
Age& age_of(const std::string& id);

class JsonObject;
Course read_course(const JsonObject& spec);
Telemetry read_telemetry(const JsonObject& from);

// The state of a simulated device, as NVML would report it of a GPU: settings, counters, clocks under load, its link,
// and who else uses it.

struct Neighbour {
  std::string name;  // "python3 (4711)"
  std::uint32_t causes = 0;
};

struct Condition {
  Facts facts;           // by the names that a GPU's have
  Facts counters, rise;  // before a run, and what a run adds to them
  LinkState link;
  std::optional<Telemetry> telemetry;
  std::optional<Neighbour> neighbour;
};

Condition read_condition(const JsonObject& spec);

}  // namespace npgpu::simulated
