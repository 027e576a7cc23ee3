#include "netpipe/devices/simulated/course.hpp"

#include <cmath>
#include <limits>
#include <map>
#include <mutex>

#include "netpipe/devices/simulated/json_object.hpp"

namespace npgpu::simulated {

const Change* Age::change(const Course& course) const {
  const Change* last = nullptr;
  for (const Change& one : course.changes)
    if (one.after <= worked) last = &one;
  return last;
}

std::uint64_t Age::move(const Course& course, double more) {
  const double before = bytes;
  bytes += more;
  if (!(course.flip_every_bytes > 0)) return 0;
  return static_cast<std::uint64_t>(std::floor(bytes / course.flip_every_bytes) -
                                    std::floor(before / course.flip_every_bytes));
}

Age& age_of(const std::string& id) {
  static std::mutex mutex;
  static std::map<std::string, Age> all;  // whose elements stay where they are
  const std::lock_guard lock(mutex);
  return all[id];
}

Telemetry read_telemetry(const JsonObject& from) {
  Telemetry t;
  t.sm_clock_mhz = from.number_or("sm_clock_mhz", not_measured, {0, 1e6});
  t.memory_clock_mhz = from.number_or("memory_clock_mhz", not_measured, {0, 1e6});
  t.power_w = from.number_or("power_w", not_measured, {0, 1e6});
  t.temperature_c = from.number_or("temperature_c", not_measured, {0, 1000});
  t.throttle_reasons = from.integer_or("throttle_reasons", 0, 0, std::numeric_limits<std::uint32_t>::max());
  return t;
}

Course read_course(const JsonObject& spec) {
  Course course;
  course.flip_every_bytes = spec.number_or("flip_every_bytes", 0, {1, 1e18});
  spec.maybe_objects("course", [&](const JsonObject& from) {
    Change change;
    change.after = Seconds{from.number("after_s", {0, 1e9})};
    if (!course.changes.empty() && change.after <= course.changes.back().after)
      from.wrong("after_s", "a later time than the change before it");
    change.kernel_slowdown = from.number_or("kernel_slowdown", 1, {1, 1e6});
    from.maybe_object("telemetry", [&](const JsonObject& one) { change.telemetry = read_telemetry(one); });
    change.is_lost = from.integer_or("lost", 0, 0, 1) == 1;
    course.changes.push_back(change);
  });
  return course;
}

}  // namespace npgpu::simulated
