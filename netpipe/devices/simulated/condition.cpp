#include "netpipe/devices/simulated/condition.hpp"

#include <limits>

#include "netpipe/devices/simulated/course.hpp"
#include "netpipe/devices/simulated/json_object.hpp"

namespace npgpu::simulated {

namespace {

constexpr const char* fact_texts[] = {"driver_version", "vbios_version", "iommu_domain",   "near_cpus",
                                      "fabric_state",   "fabric_health", "recovery_action"};
constexpr const char* fact_numbers[] = {"max_pcie_generation",
                                        "gpu_max_pcie_generation",
                                        "max_pcie_lanes",
                                        "slot_pcie_generation",
                                        "slot_pcie_lanes",
                                        "max_sm_clock_mhz",
                                        "max_memory_clock_mhz",
                                        "power_limit_w",
                                        "default_power_limit_w",
                                        "slowdown_temperature_c",
                                        "ecc",
                                        "persistence_mode",
                                        "mig_mode",
                                        "acs_redirects",
                                        "confidential_computing",
                                        "c2c_mb_s",
                                        "pageable_memory_access_uses_host_page_tables",
                                        "fabric_status",
                                        "xids_logged",
                                        "xid_logged_last",
                                        "sxids_logged",
                                        "sxid_logged_last"};
// Of what cannot be read: facts unread_ecc, ...
constexpr const char* unread_groups[] = {"clocks",
                                         "power",
                                         "temperature",
                                         "throttle",
                                         "link",
                                         "max_clocks",
                                         "ecc",
                                         "rows",
                                         "replays",
                                         "nvlink",
                                         "c2c",
                                         "fabric",
                                         "recovery",
                                         "xids",
                                         "persistence",
                                         "power_limit",
                                         "mig",
                                         "device",
                                         "confidential_computing",
                                         "kernel_log"};
constexpr const char* counter_names[] = {"ecc_corrected_volatile",
                                         "ecc_uncorrected_volatile",
                                         "ecc_corrected_aggregate",
                                         "ecc_uncorrected_aggregate",
                                         "remapped_rows_corrected",
                                         "remapped_rows_uncorrected",
                                         "remapped_rows_pending",
                                         "remapped_rows_failed",
                                         "retired_pages",
                                         "retired_pages_pending",
                                         "pcie_replays",
                                         "nvlinks_active",
                                         "nvlinks_inactive",
                                         "nvlink_replay_errors",
                                         "nvlink_recovery_errors",
                                         "nvlink_crc_errors",
                                         "c2c_links_active",
                                         "c2c_links_inactive",
                                         "xids",
                                         "xid_last"};

Facts read_counters(const JsonObject& from) {
  Facts facts;
  for (const char* key : counter_names)
    if (from.has(key))
      facts.emplace_back(key,
                         static_cast<std::int64_t>(from.integer(key, 0, std::numeric_limits<std::int64_t>::max())));
  return facts;
}

Facts read_unread(const JsonObject& from) {
  Facts facts;
  for (const char* group : unread_groups)
    if (from.has(group)) facts.emplace_back("unread_" + std::string(group), from.text(group));
  return facts;
}

Facts read_facts(const JsonObject& from) {
  Facts facts;
  for (const char* key : fact_texts)
    if (from.has(key)) facts.emplace_back(key, from.text(key));
  for (const char* key : fact_numbers) {
    if (!from.has(key)) continue;
    const double value = from.number(key, {0, 1e9});
    if (value == std::floor(value)) facts.emplace_back(key, static_cast<std::int64_t>(value));
    else facts.emplace_back(key, value);
  }
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
