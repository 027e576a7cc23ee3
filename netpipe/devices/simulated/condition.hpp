// The state of a simulated device, and how it changes while it works: what its spec states under "course" and
// "flip_every_bytes". It ages by the time that its calls and copies take, and by the bytes that they move, as long as
// the process lives, however often it is opened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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

// What a spec may state under `facts` and `counters`: some of what a GPU has (data/TRACE_FORMAT.md).
inline constexpr std::string_view stated_texts =
    "driver_version vbios_version iommu_domain near_cpus fabric_state fabric_health recovery_action kernel_log_says "
    "xids_ignored";
inline constexpr std::string_view stated_numbers =
    "max_pcie_generation gpu_max_pcie_generation max_pcie_lanes slot_pcie_generation slot_pcie_lanes "
    "max_sm_clock_mhz max_memory_clock_mhz power_limit_w default_power_limit_w slowdown_temperature_c ecc "
    "persistence_mode mig_mode integrated acs_redirects confidential_computing c2c_mb_s "
    "pageable_memory_access_uses_host_page_tables fabric_status xids_logged xid_logged_last sxids_logged "
    "sxid_logged_last";
inline constexpr std::string_view stated_counters =
    "ecc_corrected_volatile ecc_uncorrected_volatile ecc_corrected_aggregate ecc_uncorrected_aggregate "
    "remapped_rows_corrected remapped_rows_uncorrected remapped_rows_pending remapped_rows_failed retired_pages "
    "retired_pages_pending pcie_replays nvlinks_active nvlinks_inactive nvlink_replay_errors "
    "nvlink_recovery_errors nvlink_crc_errors c2c_links_active c2c_links_inactive xids xid_last xids_of_nvlink "
    "aer_fatal aer_nonfatal";

// What a spec may state under `healthy`, by the metrics of npgpu check and in their units: facts healthy_h2d_rate, ...
inline constexpr std::string_view healthy_figures =
    "h2d_rate d2h_rate h2d_rate_1mib d2h_rate_1mib h2d_rate_duplex d2h_rate_duplex h2d_time d2h_time copy_time "
    "d2d_rate memory_read_rate "
    "memory_write_rate memory_copy_rate memory_triad_rate memory_rmw_rate compute_fp32_rate compute_fp64_rate "
    "compute_int24_rate launch_time launch_done_time h2d_pageable_rate d2h_pageable_rate memory_latency l2_rate";

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
