// Every fact that a trace has of a device: a row each. data/TRACE_FORMAT.md's tables are made from these rows by
// tests/facts_test.cpp, which fails for a fact that is written or judged and has no row. A fact's name ends in its
// unit.
#pragma once

#include <span>

namespace npgpu::devices {

struct FactRow {
  const char* name;       // a * stands for a part that varies
  const char* source;     // what says it
  const char* judged_by;  // metrics of npgpu check, and what else rests on it
  const char* meaning;
};

inline constexpr FactRow of_any_device[] = {
    {"id", "npgpu", "", "as the user types it"},
    {"name", "the driver", "expected_name, sms", "what it calls itself"},
    {"simulated", "npgpu", "", "1: a simulated device, no measurement of hardware"},
    {"uuid", "the driver", "", "empty where there is none"},
    {"pci_bus_id", "the driver", "", "its place on the bus; empty where there is none"},
    {"numa_node", "PCI", "numa", "of the host, nearest to it; -1: the system does not say, or there is only one"},
    {"host_nodes", "hwloc", "", "the host's NUMA nodes that have processors, as `0, 1`; not where they are unknown"},
    {"memory_bytes", "the driver", "expected_memory", "of the device"},
    {"link_bytes_per_s", "npgpu", "h2d_rate, d2h_rate", "theoretical rate of its link to the host, one direction"},
    {"link_source", "npgpu", "", "where that comes from, or why it is unknown"},
    {"memory_bytes_per_s", "npgpu", "memory_*_rate, d2d_rate",
     "theoretical rate of its memory, read and write together"},
    {"memory_source", "npgpu", "", "where that comes from, or why it is unknown"},
    {"peers_bytes_per_s", "npgpu", "peer_rate",
     "theoretical rate to another device: all its NVLinks, or its PCIe link"},
    {"peers_source", "npgpu", "", "where that comes from, or why it is unknown"},
    {"error", "npgpu", "errors", "why the device could not be described, or is not available"},
    {"failure", "npgpu", "device_lost, device_defect", "the same in a word, [as of a series](#what-all-kinds-have)"}};

// Texts and numbers that the spec of a simulated GPU may state under `facts`.
inline constexpr FactRow gpu_texts[] = {
    {"driver_version", "NVML, OpenCL", "expected_driver", "of the driver"},
    {"vbios_version", "NVML", "", "of the GPU's firmware"},
    {"iommu_domain", "PCI", "iommu", "`identity`, `DMA`, `DMA-FQ`; `none`: no IOMMU is seen"},
    {"near_cpus", "PCI", "numa", "processors of its NUMA node, as `0-31,64-95`"},
    {"fabric_state", "NVML", "fabric",
     "registration with the fabric of NVSwitches: `completed`, `in progress`, `not started`, `not supported`. This and "
     "the next two are read again at the end"},
    {"fabric_health", "NVML", "fabric", "what is wrong there, as `degraded bandwidth`, or `well`"},
    {"recovery_action", "NVML", "recovery_action",
     "what the driver says would mend the GPU: `none`, `reset the GPU`, `reboot the node`, `drain P2P`, ..."}};
inline constexpr FactRow gpu_numbers[] = {
    {"max_pcie_generation", "NVML", "pcie_link, h2d_rate, d2h_rate", "the most that GPU and slot have together"},
    {"gpu_max_pcie_generation", "NVML", "pcie_link", "of the GPU alone"},
    {"max_pcie_lanes", "NVML", "pcie_link, h2d_rate, d2h_rate", "the most that GPU and slot have together"},
    {"slot_pcie_generation", "PCI", "pcie_link", "of the port above it"},
    {"slot_pcie_lanes", "PCI", "pcie_link", "of the port above it"},
    {"max_sm_clock_mhz", "NVML, sysfs", "sm_clock, compute_*_rate", "the highest"},
    {"max_memory_clock_mhz", "NVML, sysfs", "memory_clock, memory_*_rate", "the highest"},
    {"power_limit_w", "NVML, sysfs", "power, throttle", "in force"},
    {"default_power_limit_w", "NVML", "power, throttle", "the usual one"},
    {"slowdown_temperature_c", "NVML", "temperature", "at which the GPU lowers its clocks"},
    {"ecc", "CUDA, OpenCL", "ecc_uncorrected", "1: errors of memory are corrected"},
    {"persistence_mode", "NVML", "persistence", "1: on"},
    {"mig_mode", "NVML", "mig", "1: on"},
    {"acs_redirects", "PCI", "acs",
     "bridges above it with an ACS that redirects requests between devices; only where root reads their configuration"},
    {"confidential_computing", "NVML", "confidential_computing", "1: on"},
    {"c2c_mb_s", "NVML", "h2d_rate, d2h_rate", "rate of one link to a Grace processor, in one direction"},
    {"pageable_memory_access_uses_host_page_tables", "CUDA", "pcie_link", "1: the GPU is reached over a coherent link"},
    {"fabric_status", "NVML", "fabric", "NVML's result of the registration, 0 where all is well"},
    {"xids_logged", "kernel log", "xid",
     "lines before the run that report an Xid of this GPU, except those that programs cause, and 154 where it says "
     "that "
     "the recovery action became None; also that it fell off the bus, in words"},
    {"xid_logged_last", "kernel log", "xid", "number of the last of these"},
    {"sxids_logged", "kernel log", "xid", "the same of the node's NVSwitches, except for errors marked as non-fatal"},
    {"sxid_logged_last", "kernel log", "xid", "number of the last of these"}};

inline constexpr FactRow gpu_more[] = {
    {"unread_*", "NVML", "every metric of the group",
     "why a group of facts or counters is not there: `not supported`, `no permission`, `not in this driver`, `lost`, "
     "`needs a reset`, `timeout`, `error 999 (Unknown Error)`. Groups: `clocks` `power` `temperature` `throttle` "
     "(under "
     "load), `link` `max_clocks` `power_limit` `slowdown_temperature` `persistence` `mig` `confidential_computing`; of "
     "counters `ecc` `rows` `replays` `nvlink` `c2c` `fabric` `recovery` `xids`; `kernel_log`. `unread_device`: NVML "
     "says so of the GPU itself, which is lost or needs a reset"},
    {"telemetry", "NVML", "every metric that NVML answers", "`unavailable: ` and why NVML cannot be asked at all"},
    {"pcie_generation_now", "NVML, sysfs", "pcie_link", "before the run, when an idle GPU may save power"},
    {"pcie_lanes_now", "NVML, sysfs", "pcie_link", "the same of its lanes"},
    {"pci_path", "PCI", "", "the bridges above it, the outermost first: `0000:14:01.0 > 0000:15:00.0`"},
    {"nvlinks", "NVML", "", "active ones"},
    {"nvlink_version", "NVML", "", "as `4.0`"},
    {"nvlink_mb_s", "NVML", "peer_rate", "rate of one link in one direction"},
    {"nvlinks_to", "NVML", "nvlink, fabric", "to whom they lead: `0000:18:00.0 x18`, `switch x18`"},
    {"c2c_links", "NVML", "h2d_rate, d2h_rate", "links to a Grace processor"},
    {"cuda_of_driver", "CUDA", "", "the newest CUDA that the driver has"},
    {"cuda_runtime", "CUDA", "", "version of the runtime that npgpu was built with"},
    {"compute_capability", "CUDA", "compute_*_rate", "as `9.0`"},
    {"multiprocessors", "CUDA", "sms, expected_sms", "that the driver reports"},
    {"sm_clock_khz", "CUDA", "compute_*_rate", "the highest"},
    {"memory_clock_khz", "CUDA", "memory_*_rate", "the highest"},
    {"memory_bus_bits", "CUDA", "memory_*_rate", "width of the memory"},
    {"l2_bytes", "CUDA, hwloc", "memory_*_rate, d2d_rate", "the second-level cache; a host's largest"},
    {"copy_engines", "CUDA", "", "that work at the same time"},
    {"warp_size", "CUDA, OpenCL", "", "threads that run in step"},
    {"threads_per_multiprocessor", "CUDA", "", "at most"},
    {"blocks_per_multiprocessor", "CUDA", "", "at most"},
    {"registers_per_multiprocessor", "CUDA", "", "of 32 bit"},
    {"shared_memory_per_multiprocessor_bytes", "CUDA", "", "at most"},
    {"shared_memory_per_block_optin_bytes", "CUDA", "", "at most, for a kernel that asks for it"},
    {"concurrent_kernels", "CUDA", "", "1: kernels run at the same time"},
    {"integrated", "CUDA", "", "1: it shares the host's memory"},
    {"compute_mode", "CUDA", "", "0: any process may use it; 2: none; 3: one"},
    {"unified_addressing", "CUDA", "", "1: host and device share addresses"},
    {"managed_memory", "CUDA", "", "1: there is some"},
    {"concurrent_managed_access", "CUDA", "", "1: host and device may use managed memory at the same time"},
    {"pageable_memory_access", "CUDA", "", "1: kernels may use the host's ordinary memory"},
    {"host_native_atomics", "CUDA", "", "1: over its link to the host"},
    {"cooperative_launch", "CUDA", "", "1: a grid may wait for all its blocks"}};

inline constexpr FactRow counted[] = {
    {"ecc_corrected_volatile", "NVML", "ecc_corrected", "errors since the driver was loaded"},
    {"ecc_uncorrected_volatile", "NVML", "ecc_uncorrected", "errors since the driver was loaded"},
    {"ecc_corrected_aggregate", "NVML", "ecc_corrected", "errors in the GPU's life"},
    {"ecc_uncorrected_aggregate", "NVML", "ecc_uncorrected", "errors in the GPU's life"},
    {"remapped_rows_corrected", "NVML", "remapped_rows", "rows of memory that were remapped for corrected errors"},
    {"remapped_rows_uncorrected", "NVML", "remapped_rows", "and for uncorrected ones"},
    {"remapped_rows_pending", "NVML", "remapped_rows", "1: one waits for a reset"},
    {"remapped_rows_failed", "NVML", "remapped_rows", "1: one failed"},
    {"retired_pages", "NVML", "retired_pages", "of GPUs that retire pages instead of rows"},
    {"retired_pages_pending", "NVML", "retired_pages", "1: some wait for a reset"},
    {"pcie_replays", "NVML", "pcie_replays", "packets that were sent again"},
    {"nvlinks_active", "NVML", "nvlink, fabric", "links that are up"},
    {"nvlinks_inactive", "NVML", "nvlink", "links that are not"},
    {"nvlink_replay_errors", "NVML", "nvlink", "of all links"},
    {"nvlink_recovery_errors", "NVML", "nvlink", "of all links"},
    {"nvlink_crc_errors", "NVML", "nvlink", "of all links"},
    {"c2c_links_active", "NVML", "c2c", "to a Grace processor; only where there are such links"},
    {"c2c_links_inactive", "NVML", "c2c", "those that are not up"},
    {"xids", "NVML", "xid",
     "Xid errors since the run began, of NVML's events, except those that programs cause or that are information "
     "(NVIDIA's Xid catalogue: 13, 31, 43, 45, those of video engines, ...) and 154, which `recovery_action` says"},
    {"xid_last", "NVML", "xid, device_lost", "number of the last of these"}};
inline constexpr FactRow counted_more[] = {
    {"fabric_health_mask", "NVML", "", "what `fabric_health` is made of, as it came"},
    {"pcie_generation_copying", "NVML, sysfs", "pcie_link",
     "`gpu0_after` only: the most that the link was trained to right after copies of 1 MiB or more"},
    {"pcie_lanes_copying", "NVML, sysfs", "pcie_link", "the same of its lanes"}};

inline constexpr FactRow of_opencl[] = {
    {"device_type", "OpenCL", "", "`GPU`, `CPU`, `accelerator` or `other`"},
    {"same_as", "npgpu", "", "the name that the same device has in another family: `cuda:0`, `host`"},
    {"vendor", "OpenCL", "", "who made the device"},
    {"platform", "OpenCL", "", "who made the driver"},
    {"platform_version", "OpenCL", "", "of OpenCL and of the driver"},
    {"opencl_version", "OpenCL", "launch_time, copy_time", "a device that has this fact has no CUDA calls"},
    {"opencl_c_version", "OpenCL", "", "of the language of kernels"},
    {"compute_units", "OpenCL", "", "what a GPU of NVIDIA calls multiprocessors"},
    {"max_clock_mhz", "OpenCL", "", "of these units, the highest"},
    {"address_bits", "OpenCL", "", "of a pointer"},
    {"cache_bytes", "OpenCL", "", "the cache as OpenCL calls it (NVIDIA: all first levels)"},
    {"cache_line_bytes", "OpenCL", "", "of that cache"},
    {"base_alignment_bits", "OpenCL", "", "of a buffer within another"},
    {"vector_width_*", "OpenCL", "", "elements of a vector register: `fp16`, `fp32`, `fp64`, `int32`"},
    {"fp16", "OpenCL", "", "1: the type is there"},
    {"fp64", "OpenCL", "", "1: the type is there"},
    {"unified_memory", "OpenCL", "", "1: it shares the host's memory"},
    {"registers_per_block", "OpenCL", "", "of devices of NVIDIA"},
    {"simds_per_compute_unit", "OpenCL", "", "of devices of AMD"},
    {"simd_width", "OpenCL", "", "of devices of AMD"},
    {"local_memory_banks", "OpenCL", "", "of devices of AMD"},
    {"memory_channels", "OpenCL", "", "of devices of AMD"},
    {"max_allocation_bytes", "OpenCL", "", "the largest buffer"},
    {"local_memory_bytes", "OpenCL", "", "of a work-group"},
    {"max_work_group_size", "OpenCL", "", "the most work-items of a work-group"},
    {"timer_resolution_ns", "OpenCL", "", "of the times of commands"}};

inline constexpr FactRow of_host[] = {
    {"cpu_model", "/proc", "references of a model", "what the processors call themselves"},
    {"sockets", "hwloc", "", "with processors"},
    {"cores", "hwloc", "", "of all sockets"},
    {"threads", "hwloc", "numa, cpu_quota", "processors as the system counts them"},
    {"numa_nodes", "hwloc", "numa", "with processors and memory"},
    {"memory_only_nodes", "hwloc", "", "NUMA nodes without processors, as `2, 3`"},
    {"allowed_cpus", "hwloc", "numa", "processors that this process may use, as `0-31`"},
    {"cpu_quota", "cgroup", "cpu_quota", "processors that a quota gives this process; only where there is one"},
    {"cpu_quota_cgroup", "cgroup", "cpu_quota", "the group that has that quota"},
    {"l1d_bytes", "hwloc", "", "the largest first-level cache for data"},
    {"l3_bytes", "hwloc", "", "the largest third-level cache"},
    {"free_memory_bytes", "/proc", "", "before the run"},
    {"page_bytes", "sysconf", "", "of ordinary memory"},
    {"transparent_huge_pages", "/sys", "huge_pages", "`always`, `madvise`, `never`"},
    {"huge_pages", "/proc", "", "that are reserved"},
    {"mps_daemon", "/proc", "mps", "1: an MPS daemon runs"},
    {"numa_distances", "/sys", "", "a row for each NUMA node: `10 21, 21 10`"},
    {"cpu_governor", "/sys", "every time of a call", "of the first processor"},
    {"cpu_driver", "/sys", "", "that sets the processors' clocks"},
    {"numa_balancing", "/proc", "", "1: the system moves pages to those who use them"},
    {"hostname", "uname", "", "of the machine"},
    {"kernel", "uname", "", "name and release"},
    {"architecture", "uname", "", "as `x86_64`"},
    {"in_virtual_machine", "/proc", "h2d_rate, d2h_rate", "1: the processor says that it runs in one"}};

inline constexpr FactRow of_simulated[] = {
    {"spec_file", "npgpu", "", "where the spec was read"},
    {"spec_source", "the spec", "", "where its figures come from"},
    {"*_gb_s", "the spec", "", "rate of a link: `h2d_pinned`, `d2h_pageable`, ..., `d2d`, `h2h`"},
    {"*_latency_us", "the spec", "", "of the same link"},
    {"*_gap_us", "the spec", "", "of the same link"},
    {"duplex_sl_*", "the spec", "", "how many times longer a transfer takes while one goes the other way; `h`, `d`"},
    {"copy_us", "the spec", "", "host's cost of a blocking copy"},
    {"copy_async_us", "the spec", "", "host's cost of an asynchronous copy"},
    {"launch_us", "the spec", "", "host's cost of closing a gate"},
    {"record_us", "the spec", "", "host's cost of an event"},
    {"synchronize_us", "the spec", "", "host's cost after the wait"},
    {"gate_capacity", "the spec", "", "operations behind a gate"},
    {"noise_*", "the spec", "",
     "`seed`, `sigma`, `operation_sigma`, `outlier_rate`, `outlier_factor`, `drift`, `cost_drift`"},
    {"faults", "the spec", "", "what goes wrong, and when"},
    {"node", "the spec", "", "of a GPU of a simulated node: what the node calls itself"},
    {"node_file", "npgpu", "", "where the node's spec was read"}};

inline constexpr FactRow of_census[] = {
    {"gpus_on_bus", "PCI", "gpus_on_bus", "display and 3D controllers of NVIDIA, without virtual functions"},
    {"gpus_lost", "PCI, NVML", "gpus_on_bus",
     "those that do not answer, with the reason: `0000:b3:00.0: NVML: GPU is lost`; only where there are some"},
    {"gpus_hidden", "PCI, NVML", "",
     "those that this process may not see (CUDA_VISIBLE_DEVICES, a container, MIG) or that another driver has"},
    {"gpus_unknown", "PCI, NVML", "", "those of which nothing can be known from here"}};

// The tables of the page, each of several lists of rows.
struct FactTable {
  const char* title;
  std::span<const FactRow> rows[3];
};
inline constexpr FactTable fact_tables[] = {{"fact of any device", {of_any_device}},
                                            {"fact of a GPU", {gpu_texts, gpu_numbers, gpu_more}},
                                            {"fact of a device of OpenCL", {of_opencl}},
                                            {"fact of `host`", {of_host}},
                                            {"fact of a simulated device", {of_simulated}},
                                            {"counter", {counted, counted_more}},
                                            {"fact of `census`", {of_census}}};

}  // namespace npgpu::devices
