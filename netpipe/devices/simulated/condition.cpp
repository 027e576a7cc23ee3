#include "netpipe/devices/simulated/condition.hpp"

#include <algorithm>
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

namespace {

// What cannot be read: facts unread_ecc, ...
constexpr std::string_view unread_groups =
    "clocks power temperature throttle link max_clocks ecc rows replays nvlink c2c fabric recovery xids persistence "
    "power_limit mig device confidential_computing kernel_log";

// Calls visit(key) for each of these keys, between which are spaces, that is there.
template <class Visit> void each_key(const JsonObject& from, std::string_view keys, Visit visit) {
  for (std::size_t at = 0; at < keys.size();) {
    const std::size_t end = std::min(keys.find(' ', at), keys.size());
    if (const std::string key(keys.substr(at, end - at)); from.has(key.c_str())) visit(key.c_str());
    at = end + 1;
  }
}

Facts read_counters(const JsonObject& from) {
  Facts facts;
  each_key(from, stated_counters, [&](const char* key) {
    facts.emplace_back(key, static_cast<std::int64_t>(from.integer(key, 0, std::numeric_limits<std::int64_t>::max())));
  });
  return facts;
}

Facts read_unread(const JsonObject& from) {
  Facts facts;
  each_key(from, unread_groups,
           [&](const char* group) { facts.emplace_back(std::string("unread_") + group, from.text(group)); });
  return facts;
}

Facts read_facts(const JsonObject& from) {
  Facts facts;
  each_key(from, stated_texts, [&](const char* key) { facts.emplace_back(key, from.text(key)); });
  each_key(from, stated_numbers, [&](const char* key) {
    const double value = from.number(key, {0, 1e9});
    if (value == std::floor(value)) facts.emplace_back(key, static_cast<std::int64_t>(value));
    else facts.emplace_back(key, value);
  });
  return facts;
}

Facts read_healthy(const JsonObject& from) {
  Facts facts;
  each_key(from, healthy_figures, [&](const char* metric) {
    facts.emplace_back(std::string("healthy_") + metric, from.number(metric, {0, 1e18, true}));
  });
  return facts;
}

Neighbour read_neighbour(const JsonObject& from) {
  Neighbour neighbour;
  neighbour.name = from.text("name");
  const auto uses = [&](const char* key, Cause cause) {
    if (from.integer_or(key, 0, 0, 1)) neighbour.causes |= static_cast<std::uint32_t>(cause);
  };
  uses("device", Cause::device_busy);
  uses("link", Cause::link_busy);
  if (neighbour.causes == 0) from.wrong("device", "1 for device, link or both");
  return neighbour;
}

}  // namespace

Condition read_condition(const JsonObject& spec) {
  Condition condition;
  spec.maybe_object("facts", [&](const JsonObject& from) { condition.facts = read_facts(from); });
  spec.maybe_object("unread", [&](const JsonObject& from) {
    for (auto& fact : read_unread(from)) condition.facts.push_back(std::move(fact));
  });
  spec.maybe_object("healthy", [&](const JsonObject& from) {
    for (auto& fact : read_healthy(from)) condition.facts.push_back(std::move(fact));
  });
  spec.maybe_object("counters", [&](const JsonObject& from) { condition.counters = read_counters(from); });
  spec.maybe_object("counters_rise", [&](const JsonObject& from) { condition.rise = read_counters(from); });
  spec.maybe_object("telemetry", [&](const JsonObject& from) { condition.telemetry = read_telemetry(from); });
  spec.maybe_object("neighbour", [&](const JsonObject& from) { condition.neighbour = read_neighbour(from); });
  spec.maybe_object("link", [&](const JsonObject& from) {
    condition.link = {static_cast<std::uint32_t>(from.integer("generation", 1, 9)),
                      static_cast<std::uint32_t>(from.integer("lanes", 1, 64))};
  });
  return condition;
}

}  // namespace npgpu::simulated
