#include "netpipe/judge/health/metrics.hpp"

#include <algorithm>

namespace npgpu::model {

namespace rows_of {  // names that are words of the whole room

using enum SlowedBy;

constexpr LastResort slow_link{
    "link", "the link is trained as it should be, and bytes are slow",
    "look for a switch or root port that is shared, and at the BIOS's PCIe payload size and NPS setting"},
    slow_start_of_copies{"link", "each copy takes too long beyond its bytes, or the link is slow",
                         "look at the processors' power states and at the BIOS's PCIe payload size"},
    lopsided{"duplex", "this direction is slow while the other one copies too",
             "look at the BIOS's PCIe relaxed ordering, payload size and NPS setting, at the NUMA node of the buffers, "
             "and for "
             "a switch that is shared; compare with others (npgpu fleet)"},
    host_memory{
        "host_memory",
        "pageable copies go through the host's memory and processor, which are slow, busy, or outgrown by large copies",
        "use pinned memory for large copies; look for others on the host's memory"},
    slow_memory{"slow_memory", "the GPU's memory is slow, and no clock or throttle reason says why",
                "reset the GPU and check again; if it stays slow, ask the vendor"},
    slow_compute{"slow_compute", "the GPU computes slowly, and no clock or throttle reason says why",
                 "look for other processes on the GPU; reset it"},
    slow_fp64{"slow_fp64", "fp64 is slow, and no clock or throttle reason says why",
              "look for other processes on the GPU; reset it; if it stays so, ask the vendor"},
    slow_cache{"slow_cache", "the GPU's L2 cache is slow, and no clock or throttle reason says why",
               "look for other processes on the GPU; reset it and check again; if it stays slow, ask the vendor"},
    slow_loads{"slow_latency", "each load from the GPU's memory takes too long, and no clock says why",
               "reset the GPU and check again; if it stays so, ask the vendor"},
    slow_tensor{"slow_tensor", "the tensor cores compute slowly, and no clock or throttle reason says why",
                "look for other processes on the GPU; reset it; if it stays so, ask the vendor"},
    slow_peers{"peer_link", "the way to the other GPU is slow",
               "look at nvidia-smi nvlink -s and topo -m; npgpu matrix compares all pairs"},
    slow_call{"slow_call", "the host takes longer for its calls to the driver",
              "look at the processors' clocks and governor, for a profiler or debugger that is attached, and at "
              "virtualization"},
    neighbour{"neighbour", "others used the device, its link or the processors", "measure again when they are gone"},
    unsteady{"unsteady", "the figures scatter from visit to visit", "measure again, when nobody else uses the node"},
    failed_cells{"ecc", "cells of the GPU's memory failed",
                 "if the count goes on, drain the node and reset the GPU, so that rows are remapped; replace the GPU "
                 "if errors come again"},
    weak_cells{"ecc", "cells of the GPU's memory are weak", "watch the count; replace the GPU if it goes on rising"},
    wrong_words{"memory_test", "cells of the GPU's memory do not keep what was written",
                "take the GPU out of service; test its memory with the vendor's diagnostics"},
    rows{"remapped_rows", "memory rows with errors wait to be replaced by spare ones",
         "drain the node, and reset the GPU or reboot, so that the remapping takes place"},
    nvlink{"nvlink", "an NVLink is down or has errors",
           "look at nvidia-smi nvlink -s and -e, at the fabric manager's log, and reseat the GPU board"},
    c2c{"c2c", "a link between the GPU and its Grace processor is down",
        "reset the GPU or reboot, so that it is trained again; replace the module if it stays down"},
    fabric{
        "fabric", "the GPU is not well registered with the fabric of its NVSwitches",
        "look at the fabric manager's service and log (nvidia-smi -q shows Fabric); restart it, then reset the GPUs"},
    recovery{"recovery_action", "the driver says that the GPU does not work as it should before that",
             "drain the node and do what it asks for; look at dmesg for the Xid before it"},
    low_limit{"power_limit", "the power limit is below the usual one", "nvidia-smi -pl with the usual limit"},
    hot{"hot", "the GPU is near the temperature at which it slows down, or above it",
        "look at fans, air flow and the inlet temperature"},
    unloading{"persistence", "the driver unloads when nobody uses the GPU", "nvidia-smi -pm 1, or nvidia-persistenced"},
    mps{"mps", "an MPS daemon shares the GPU between processes",
        "stop it for the measurement: echo quit | nvidia-cuda-mps-control"},
    far{"numa", "the process may not use the processors near the GPU",
        "bind it near the GPU: srun --gpu-bind=closest --cpu-bind=..., or numactl --cpunodebind"},
    translation{"iommu", "the IOMMU translates every address that the GPU reads or writes",
                "boot with iommu=pt where virtual machines are not given the GPU"},
    redirection{"acs", "ACS sends traffic between GPUs through the root complex",
                "turn ACS redirection off in the bridges above the GPU (setpci, or the BIOS) on bare metal"},
    encryption{"confidential_computing",
               "confidential computing is on: every copy is encrypted, through buffers of the driver",
               "nothing, where that is wanted: compare this node with one in the same mode (--reference)"},
    broken_packets{
        "pcie_errors", "the PCIe link had errors that sending again could not mend",
        "look at AER in dmesg and at lspci -vv; reseat the GPU and its riser or cable; replace them if errors "
        "come again"},
    lost_packets{"pcie_errors", "the PCIe link loses packets, which are sent again",
                 "reseat the GPU and its riser or cable; replace them if the count goes on rising"},
    low_memory_clock{"memory_clock_cap", "the memory clock is below its maximum",
                     "lift locked memory clocks: nvidia-smi -rmc; nvidia-smi -rac"},
    missing_sms{"sms_missing", "some multiprocessors do not work, or are not given to this process",
                "look for CUDA_MPS_ACTIVE_THREAD_PERCENTAGE and MIG; else reset the GPU, and replace it if they stay "
                "away"},
    part{"mig", "this is a part of a GPU (MIG), compared with limits of the whole",
         "turn MIG off to judge the GPU: nvidia-smi -mig 0"},
    quota{"cpu_quota", "a CPU quota stops this process in every period",
          "raise the quota to the cores that are used, or lift it: docker --cpus, limits.cpu in Kubernetes, CPUQuota= "
          "in systemd, cpu.max of the cgroup"},
    impossible{"values", "the file was damaged or edited, or a driver answered nonsense", "measure again"},
    low_clock{"clock_cap", "the SM clock is below its maximum", "nvidia-smi -rgc; nvidia-smi -rac"};

// Figures, in the order in which shared nodes have them, and then all others.
constexpr Metric all[] = {
    {"h2d_rate", "H2D", &slow_link, "host to GPU, pinned", "B/s", 0.05, link, "copies to the GPU"},
    {"d2h_rate", "D2H", &slow_link, "GPU to host, pinned", "B/s", 0.05, link, "copies to the host"},
    {"h2d_rate_1mib", "H2D few MiB", &slow_start_of_copies, "host to GPU, a few MiB", "B/s", 0.05, link},
    {"d2h_rate_1mib", "D2H few MiB", &slow_start_of_copies, "GPU to host, a few MiB", "B/s", 0.05, link},
    {"h2d_rate_duplex", "H2D duplex", &lopsided, "host to GPU, both ways at once", "B/s", 0.2, link},
    {"d2h_rate_duplex", "D2H duplex", &lopsided, "GPU to host, both ways at once", "B/s", 0.2, link},
    {"h2d_pageable_rate", "H2D pageable", &host_memory, "host to GPU, pageable", "B/s", 0.3, calls},
    {"d2h_pageable_rate", "D2H pageable", &host_memory, "GPU to host, pageable", "B/s", 0.3, calls},
    {"d2d_rate", "D2D", &slow_memory, "copy within the GPU", "B/s", 0.03, memory, "copies within the GPU"},
    {"memory_read_rate", "", &slow_memory, "memory read", "B/s", 0.03, memory},
    {"memory_write_rate", "", &slow_memory, "memory write", "B/s", 0.03, memory},
    {"memory_copy_rate", "", &slow_memory, "memory copy by a kernel", "B/s", 0.03, memory},
    {"memory_triad_rate", "", &slow_memory, "memory triad", "B/s", 0.03, memory},
    {"memory_rmw_rate", "", &slow_memory, "memory read and write", "B/s", 0.03, memory},
    {"memory_latency", "latency", &slow_loads, "load from memory", "us", 0.1, memory},
    {"l2_rate", "L2", &slow_cache, "read of L2", "B/s", 0.12, compute},
    {"compute_fp64_rate", "", &slow_fp64, "fp64", "FLOP/s", 0.03, compute},
    {"compute_fp32_rate", "", &slow_compute, "fp32", "FLOP/s", 0.03, compute},
    {"compute_fp16_rate", "", &slow_compute, "fp16", "FLOP/s", 0.03, compute},
    {"compute_bf16_rate", "", &slow_compute, "bf16", "FLOP/s", 0.03, compute},
    {"compute_int32_rate", "", &slow_compute, "int32", "OP/s", 0.03, compute},
    {"h2d_time", "small H2D", &slow_call, "smallest copy to the GPU", "us", 0.3, link},
    {"d2h_time", "small D2H", &slow_call, "smallest copy to the host", "us", 0.3, link},
    {"copy_time", "small copies", &slow_call, "smallest blocking copy", "us", 0.3, calls, "small copies that block"},
    {"launch_time", "launch", &slow_call, "launches in a row", "us", 0.25, calls, "launch of a kernel"},
    {"launch_done_time", "launch", &slow_call, "launch until done", "us", 0.25, calls},
    {"sm_clock", "SM clock", &low_clock, "SM clock", "MHz"},
    {"memory_clock", "memory clock", &low_memory_clock, "memory clock", "MHz"},
    // Operations and types that are not above; with `rate` for the star, all together.
    {"memory_*rate", "", &slow_memory, "", "B/s", 0.03, memory, "memory bandwidth"},
    {"compute_*rate", "", &slow_compute, "", "FLOP/s", 0.03, compute, "computing power"},
    {"tensor_*rate", "", &slow_tensor, "", "FLOP/s", 0.03, compute},
    {"peer_rate", "", &slow_peers, "", "B/s", 0.05},
    {"results", "wrong results"},
    {"errors"},
    {"figures"},
    {"values", "values", &impossible},
    {"device_lost"},
    {"device_defect"},
    {"neighbours", "", &neighbour},
    {"converged", "", &unsteady},
    {"pcie_link"},
    {"sms", "SMs", &missing_sms, "", "", 0, nothing, "multiprocessors"},
    {"throttle"},
    {"power", "", &low_limit},
    {"temperature", "hot", &hot},
    {"ecc_uncorrected", "ECC errors", &failed_cells},
    {"ecc_corrected", "ECC corrected", &weak_cells},
    {"memory_test", "", &wrong_words},
    {"remapped_rows", "rows remapped", &rows},
    {"retired_pages", "pages retired"},
    {"pcie_replays", "PCIe replays", &lost_packets},
    {"pcie_errors", "PCIe errors", &broken_packets},
    {"nvlink", "NVLinks", &nvlink},
    {"c2c", "C2C links", &c2c},
    {"fabric", "NVLink fabric", &fabric},
    {"recovery_action", "needs recovery", &recovery},
    {"xid", "Xid errors"},
    {"mig", "", &part},
    {"persistence", "", &unloading},
    {"numa", "far from CPUs", &far},
    {"mps", "", &mps},
    {"cpu_quota", "", &quota},
    {"expected_gpus", "GPUs"},
    {"expected_*"},  // which says best itself what is wrong
    {"gpus_on_bus", "GPU lost"},
    // These warn of nothing by themselves; the first three may say why copies are slow.
    {"iommu", "", &translation},
    {"acs", "", &redirection},
    {"confidential_computing", "", &encryption},
    {"huge_pages"},
    {"soak_course"}};

}  // namespace rows_of

std::span<const Metric> metrics() { return rows_of::all; }

const Metric* metric_row(std::string_view name) {
  const auto* const found = std::ranges::find_if(rows_of::all, [&](const Metric& row) {
    const std::size_t star = row.name.find('*');
    return star == row.name.npos
               ? row.name == name
               : name.starts_with(row.name.substr(0, star)) && name.ends_with(row.name.substr(star + 1));
  });
  return found == std::end(rows_of::all) ? nullptr : found;
}

bool is_figure_name(std::string_view name) {
  const Metric* const row = metric_row(name);
  return row && row->tolerance > 0 && !name.starts_with("peer_");
}

std::string title_of(std::string_view metric) {
  if (const Metric* const row = metric_row(metric); row && !row->title.empty()) return std::string(row->title);
  // tensor_wgmma_fp16_rate, compute_int8_rate, memory_read4_rate
  std::string words(metric.substr(0, metric.rfind('_')));
  if (words.starts_with("compute_")) words.erase(0, 8);
  std::ranges::replace(words, '_', ' ');
  const std::string tensor = "tensor ";
  const std::size_t type = words.rfind(' ');
  if (!words.starts_with(tensor) || type <= tensor.size()) return words;
  return tensor + words.substr(type + 1) + " by " + words.substr(tensor.size(), type - tensor.size());
}

}  // namespace npgpu::model
