#include "netpipe/devices/simulated/spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <tuple>

#include "netpipe/devices/simulated/json_object.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::simulated {

namespace {

constexpr JsonObject::Range rate_gb_s{0, 1e6, true};  // a petabyte per second is a slip of the keyboard
constexpr JsonObject::Range time_us{0, 1e9};

Seconds time_or_zero(const JsonObject& from, const std::string& key) {
  return from_microseconds(from.number_or(key, 0, time_us));
}

Link read_link(const JsonObject& from) {
  return {from.number("rate_gb_s", rate_gb_s) * 1e9, time_or_zero(from, "latency_us"), time_or_zero(from, "gap_us"),
          from.number_or("turned_gb_s", 0, rate_gb_s) * 1e9};
}

void read_links(const JsonObject& from, Spec& spec) {
  // By the host side's memory: {"pinned": {...}, "pageable": {...}}.
  const auto by_memory = [&](const char* direction, std::map<Memory, Link>& all) {
    from.maybe_object(direction, [&](const JsonObject& links) {
      for (const Memory memory : {Memory::pageable, Memory::pinned, Memory::write_combined, Memory::managed})
        links.maybe_object(std::string(name(memory)), [&](const JsonObject& link) { all[memory] = read_link(link); });
    });
  };
  by_memory("h2d", spec.h2d);
  by_memory("d2h", spec.d2h);
  from.maybe_object("d2d", [&](const JsonObject& link) { spec.d2d = read_link(link); });
  from.maybe_object("h2h", [&](const JsonObject& link) { spec.h2h = read_link(link); });
}

constexpr std::pair<const char*, Seconds HostCosts::*> host_costs[] = {{"copy_us", &HostCosts::copy},
                                                                       {"copy_async_us", &HostCosts::copy_async},
                                                                       {"launch_us", &HostCosts::launch},
                                                                       {"record_us", &HostCosts::record},
                                                                       {"synchronize_us", &HostCosts::synchronize}};

HostCosts read_host(const JsonObject& from) {
  HostCosts host;
  for (const auto& [key, cost] : host_costs) {
    const bool needed = cost == &HostCosts::copy || cost == &HostCosts::copy_async;
    host.*cost = needed ? from_microseconds(from.number(key, time_us)) : time_or_zero(from, key);
  }
  host.gate_capacity = from.integer_or("gate_capacity", host.gate_capacity, 2, 1000000);
  return host;
}

constexpr std::tuple<const char*, double Noise::*, JsonObject::Range> noise_figures[] = {
    {"sigma", &Noise::sigma, {0, 1}},
    {"operation_sigma", &Noise::operation_sigma, {0, 1}},
    {"outlier_rate", &Noise::outlier_rate, {0, 1}},
    {"outlier_factor", &Noise::outlier_factor, {1, 1e6}},
    {"drift", &Noise::drift, {0, 1}},
    {"cost_drift", &Noise::cost_drift, {0, 1}}};

Noise read_noise(const JsonObject& from) {
  Noise noise;
  noise.seed = from.integer_or("seed", noise.seed, 0, std::numeric_limits<std::int64_t>::max());
  for (const auto& [key, figure, range] : noise_figures) noise.*figure = from.number_or(key, noise.*figure, range);
  return noise;
}

Fault read_fault(const JsonObject& from) {
  Fault fault;
  fault.call = from.integer("call", 1, std::numeric_limits<std::uint64_t>::max());
  fault.every = from.integer_or("every", 0, 1, std::numeric_limits<std::uint64_t>::max());
  const auto kind = named<FaultKind>(from.text("kind"));
  if (!kind) from.wrong("kind", "one of " + choices<FaultKind>());
  fault.kind = *kind;
  return fault;
}

// What transfers do not need: shown with the device, and read by simulations of kernels. The names carry the units, and
// 0 is as if a key were not there. data/devices/README.md says what each means.
struct HardwareKeys {
  const char* keys;
  double max;
  bool are_whole;
};
constexpr HardwareKeys counts(const char* keys) { return {keys, 1e6, true}; }
constexpr HardwareKeys sizes(const char* keys) { return {keys, 1e9, true}; }
constexpr HardwareKeys figures(const char* keys) { return {keys, 1e9, false}; }
constexpr HardwareKeys shares(const char* keys) { return {keys, 1, false}; }
constexpr HardwareKeys hardware_keys[] = {
    // An SM has lanes of FP32; idle_sms are of the SMs, and get no block.
    counts("sms idle_sms schedulers"),
    figures("lanes"),
    figures("shader_clock_mhz memory_clock_mhz"),
    counts("memory_bus_bits"),
    sizes("l2_bytes"),
    // What an SM has; of shared memory each block takes shared_reserved_bytes besides its own.
    sizes("shared_bytes shared_reserved_bytes registers"),
    // Resident on an SM; block_threads is the most of a block.
    counts("warps blocks block_threads"),
    // Shares of the rate of reads and writes together; the bus moves whole transactions.
    figures("fma_latency_cycles memory_latency_cycles memory_latency_all_cycles memory_read_share memory_write_share"),
    counts("transaction_bytes"),
    figures("sm_bytes_per_cycle sm_read_bytes_per_cycle sm_write_bytes_per_cycle"),
    // How latency and rate give way to each other (0: in a corner, and blocks go in step), and what blocks take
    // besides. Twins of before have memory_walking_share, which follows from the others.
    figures("memory_knee memory_more_loads_cycles memory_wider_loads_cycles memory_walking_share block_dispatch_ns "
            "block_turnaround_ns warp_turnaround_ns store_turnaround_ns write_turnaround_ns register_reads_per_cycle"),
    figures("instructions_int32_lanes instructions_int32_cycles instructions_fp16_lanes instructions_fp16_cycles "
            "instructions_bf16_lanes instructions_bf16_cycles"),
    counts("shared_banks bank_bytes sector_bytes line_bytes"),
    sizes("l1_bytes"),
    figures("l1_bytes_per_cycle l2_gb_s"),
    // Tensor cores, multiply-adds a cycle of an SM; mma_share is the part of wgmma's rate that mma reaches.
    figures("tensor_fp16 tensor_tf32 tensor_fp8 tensor_int8 tensor_fp64"),
    shares("mma_share"),
    figures("tensor_latency_cycles wgmma_latency_cycles"),
    counts("cluster_blocks"),
    figures("cluster_latency_cycles cluster_bytes_per_cycle shared_latency_cycles shared_conflict_cycles "
            "l2_latency_cycles bulk_latency_cycles box_latency_cycles"),
    figures("instructions_int64_add_lanes instructions_int64_add_cycles instructions_special_lanes "
            "instructions_special_cycles instructions_fp64_lanes instructions_fp64_cycles "
            "instructions_int64_mul_lanes instructions_int64_mul_cycles instructions_convert_lanes "
            "instructions_convert_cycles instructions_convert_fp16_lanes instructions_convert_fp16_cycles "
            "instructions_convert_fp64_lanes instructions_convert_fp64_cycles instructions_popc_lanes "
            "instructions_popc_cycles instructions_shuffle_lanes instructions_shuffle_cycles "
            "instructions_dpx_lanes instructions_dpx_cycles instructions_mad24_lanes instructions_mad24_cycles "
            "constant_bytes_per_cycle"),
    counts("branch_lanes shared_atomic_lanes"),
    figures("l2_atomics_g_s l2_atomics_one_word_g_s"),
    // Streams: 1 where copies of all streams go one after the other; what streams and kernels cost.
    counts("hardware_queues"),
    {"serial_copies", 1, true},
    figures("stream_create_us stream_destroy_us kernel_launch_us kernel_gap_us kernel_latency_us"),
    // What npgpu energy measures: W with a context and without, shares of what other operands take, the scatter of a
    // window, and pJ an operation or a byte over idle.
    figures("energy_idle_w energy_no_context_w"),
    shares("energy_zeros_share energy_pattern_share energy_sigma"),
    figures("energy_fma_fp32_pj energy_fma_fp64_pj energy_fma_int32_pj energy_fma_fp16_pj energy_fma_bf16_pj "
            "energy_mma_fp16_pj energy_mma_bf16_pj energy_mma_tf32_pj energy_mma_fp8_pj energy_mma_int8_pj "
            "energy_mma_fp64_pj energy_wgmma_fp16_pj energy_wgmma_bf16_pj energy_wgmma_tf32_pj "
            "energy_wgmma_fp8_pj energy_wgmma_int8_pj energy_read_global_pj energy_read_l2_pj "
            "energy_read_l1_pj energy_read_shared_pj energy_write_global_pj energy_copy_global_pj "
            "energy_h2d_pj energy_d2h_pj energy_peer_pj"),
    // What npgpu calls times.
    figures("empty_kernel_us call_launch_us call_argument_byte_us call_cooperative_launch_us call_signal_us "
            "call_event_wait_us call_event_elapsed_us call_callback_us call_memset_us call_malloc_free_us "
            "call_copy_in_us call_copy_within_us early_return_bytes call_default_launches_us "
            "call_pool_alloc_free_us call_free_us call_pool_free_us call_pool_trim_us call_managed_free_us"),
    // Managed memory: what a fault takes and brings, and the rates of what moves.
    figures("page_fault_us fault_bytes migrate_to_device_gb_s migrate_to_host_gb_s"),
    // How fast the driver clears freed memory, and the time of a read meanwhile over that of one alone.
    figures("clears_gb_s clearing_slows"),
    figures("call_graph_launch_us graph_chain_kernel_us graph_fork_kernel_us call_graph_instantiate_us "
            "graph_instantiate_kernel_us call_graph_update_us graph_update_kernel_us interface_row_us "
            "partition_gb_s"),
    // What npgpu pieces times.
    figures("pieces_loop_call_us pieces_loop_host_us pieces_loop_piece_us"),
    shares("pieces_loop_share"),
    figures("pieces_copy_2d_call_us pieces_copy_2d_host_us pieces_copy_2d_piece_us"),
    shares("pieces_copy_2d_share"),
    figures("pieces_copy_3d_call_us pieces_copy_3d_host_us pieces_copy_3d_piece_us"),
    shares("pieces_copy_3d_share"),
    figures("pieces_batch_call_us pieces_batch_host_us pieces_batch_piece_us"),
    shares("pieces_batch_share"),
    figures("pieces_graph_call_us pieces_graph_host_us pieces_graph_piece_us"),
    shares("pieces_graph_share"),
    figures("pieces_kernel_call_us pieces_kernel_host_us pieces_kernel_piece_us"),
    shares("pieces_kernel_share"),
    // Products of matrices whose m, n and k the number divides; of the host, whatever divides them.
    figures("gemm_fp32_64_gflops gemm_fp32_32_gflops gemm_fp32_16_gflops gemm_fp32_8_gflops "
            "gemm_fp32_1_gflops gemm_fp64_64_gflops gemm_fp64_32_gflops gemm_fp64_16_gflops "
            "gemm_fp64_8_gflops gemm_fp64_1_gflops gemm_fp16_64_gflops gemm_bf16_64_gflops "
            "gemm_tf32_64_gflops gemm_fp8_64_gflops gemm_int8_64_gflops host_gemm_fp32_gflops "
            "host_gemm_fp64_gflops"),
};

Facts read_hardware(const JsonObject& from) {
  Facts facts;
  if (from.has("compute_capability")) facts.emplace_back("compute_capability", from.text("compute_capability"));
  if (from.has("implicit_sync")) {
    constexpr std::string_view rules[] = {"none", "start", "end"};
    if (std::ranges::find(rules, from.text("implicit_sync")) == std::end(rules))
      from.wrong("implicit_sync", "one of none, start, end");
    facts.emplace_back("implicit_sync", from.text("implicit_sync"));
  }
  for (const auto& [keys, max, are_whole] : hardware_keys) {
    std::istringstream words(keys);
    for (std::string key; words >> key;) {
      if (!from.has(key)) continue;
      const double value = are_whole ? from.whole_number(key, {0, max}) : from.number(key, {0, max});
      if (value == std::floor(value)) facts.emplace_back(key, static_cast<std::int64_t>(value));
      else facts.emplace_back(key, value);
    }
  }
  return facts;
}

}  // namespace

const Link* Spec::link(Direction direction, Memory memory) const {
  const auto by_memory = [&](const std::map<Memory, Link>& links) -> const Link* {
    const auto found = links.find(memory);
    return found == links.end() ? nullptr : &found->second;
  };
  switch (direction) {
    case Direction::h2d: return by_memory(h2d);
    case Direction::d2h: return by_memory(d2h);
    case Direction::d2d: return d2d ? &*d2d : nullptr;
    case Direction::h2h: return h2h ? &*h2h : nullptr;
    case Direction::peer: break;
  }
  return nullptr;
}

Seconds Spec::time(std::string_view key, Seconds otherwise) const {
  const double us = number_fact(hardware, key);
  return std::isnan(us) ? otherwise : from_microseconds(us);
}

Spec read_spec(const std::filesystem::path& file) {
  Spec spec;
  JsonObject::file(file, [&](const JsonObject& from) { spec = read_spec(from, file); });
  return spec;
}

Spec read_spec(const JsonObject& from, const std::filesystem::path& file) {
  Spec spec;
  spec.file = file;
  spec.name = from.text("name");
  spec.source = from.text("source");
  spec.memory_bytes = from.integer("memory_bytes", 1, std::numeric_limits<std::int64_t>::max());
  from.object("host", [&](const JsonObject& host) { spec.host = read_host(host); });
  from.object("links", [&](const JsonObject& links) { read_links(links, spec); });
  spec.copy_engines = static_cast<int>(from.integer_or("copy_engines", 2, 1, 2));
  from.maybe_object("duplex", [&](const JsonObject& duplex) {
    spec.duplex_slowdown_h2d = duplex.number_or("sl_h", 1, {1, 1000});
    spec.duplex_slowdown_d2h = duplex.number_or("sl_d", 1, {1, 1000});
  });
  from.maybe_object("limits", [&](const JsonObject& limits) {
    spec.link_limit_bytes_per_s = limits.number_or("link_gb_s", not_measured, rate_gb_s) * 1e9;
    spec.memory_limit_bytes_per_s = limits.number_or("memory_gb_s", not_measured, rate_gb_s) * 1e9;
  });
  from.maybe_object("noise", [&](const JsonObject& noise) { spec.noise = read_noise(noise); });
  from.maybe_objects("faults", [&](const JsonObject& fault) { spec.faults.push_back(read_fault(fault)); });
  from.maybe_object("hardware", [&](const JsonObject& hardware) { spec.hardware = read_hardware(hardware); });
  (void)from.has("figures");  // of a twin: the same with intervals and sources, for people
  // What streams cost on a twin: whoever asks for it reads it (npgpu/model/simulate.hpp).
  if (from.has("streams")) spec.hardware.emplace_back("stream_costs", from.raw_object("streams"));
  spec.condition = read_condition(from);
  spec.course = read_course(from);
  (void)from.has("like");  // which read_json() has taken
  return spec;
}

namespace {

void add_link(Facts& facts, const std::string& prefix, const Link& link) {
  facts.emplace_back(prefix + "_gb_s", link.bytes_per_s / 1e9);
  facts.emplace_back(prefix + "_latency_us", microseconds(link.latency));
  facts.emplace_back(prefix + "_gap_us", microseconds(link.gap));
  if (link.turned_bytes_per_s > 0) facts.emplace_back(prefix + "_turned_gb_s", link.turned_bytes_per_s / 1e9);
}

// "write-combined" -> "write_combined": fact names are snake_case.
std::string snake(std::string_view word) {
  std::string text(word);
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

double fastest(const Spec& spec) {
  double best = not_measured;
  for (const auto* links : {&spec.h2d, &spec.d2h})
    for (const auto& [memory, link] : *links)
      if (!(link.bytes_per_s <= best)) best = link.bytes_per_s;
  return best;
}

Limit limit(double stated, double derived, const std::string& from) {
  if (stated > 0) return {stated, "stated in the spec"};
  if (derived > 0) return {derived, from};
  return {};
}

Facts facts_of(const Spec& spec) {
  Facts facts{{"spec_file", spec.file.string()}, {"spec_source", spec.source}};
  facts.insert(facts.end(), spec.hardware.begin(), spec.hardware.end());
  facts.insert(facts.end(), spec.condition.facts.begin(), spec.condition.facts.end());
  if (const LinkState& link = spec.condition.link; link.lanes > 0) {
    facts.emplace_back("pcie_generation_now", std::int64_t{link.generation});
    facts.emplace_back("pcie_lanes_now", std::int64_t{link.lanes});
  }
  for (const auto& [memory, link] : spec.h2d) add_link(facts, "h2d_" + snake(name(memory)), link);
  for (const auto& [memory, link] : spec.d2h) add_link(facts, "d2h_" + snake(name(memory)), link);
  if (spec.d2d) add_link(facts, "d2d", *spec.d2d);
  if (spec.h2h) add_link(facts, "h2h", *spec.h2h);
  facts.emplace_back("copy_engines", std::int64_t{spec.copy_engines});
  facts.emplace_back("duplex_sl_h", spec.duplex_slowdown_h2d);
  facts.emplace_back("duplex_sl_d", spec.duplex_slowdown_d2h);
  for (const auto& [key, cost] : host_costs) facts.emplace_back(key, microseconds(spec.host.*cost));
  facts.emplace_back("gate_capacity", static_cast<std::int64_t>(spec.host.gate_capacity));
  facts.emplace_back("noise_seed", static_cast<std::int64_t>(spec.noise.seed));
  for (const auto& [key, figure, range] : noise_figures)
    facts.emplace_back(std::string("noise_") + key, spec.noise.*figure);
  std::string faults;
  for (const Fault& fault : spec.faults)
    faults += (faults.empty() ? "" : ", ") + std::string(name(fault.kind)) + " at call " + std::to_string(fault.call) +
              (fault.every ? " and every " + std::to_string(fault.every) : "");
  for (const Change& change : spec.course.changes)
    faults += fmt::format("{}{} after {:g} s", faults.empty() ? "" : ", ", change.is_lost ? "lost" : "changed",
                          change.after.count());
  if (spec.course.flip_every_bytes > 0)
    faults += fmt::format("{}a bit flips every {:g} bytes", faults.empty() ? "" : ", ", spec.course.flip_every_bytes);
  if (!faults.empty()) facts.emplace_back("faults", faults);
  return facts;
}

}  // namespace

DeviceInfo info_of(const Spec& spec, const std::string& id) {
  DeviceInfo info;
  info.id = id;
  info.name = spec.name;
  info.simulated = true;
  info.memory_bytes = spec.memory_bytes;
  info.link = limit(spec.link_limit_bytes_per_s, fastest(spec), "the fastest link of the spec");
  const Condition& condition = spec.condition;
  const double c2c_links =
      number_fact(condition.counters, "c2c_links_active") + number_fact(condition.counters, "c2c_links_inactive");
  if (const double mb_s = number_fact(condition.facts, "c2c_mb_s"); c2c_links * mb_s > 0)
    info.link = {c2c_links * mb_s * 1e6, "NVLink-C2C: stated in the spec"};
  info.memory = limit(spec.memory_limit_bytes_per_s, spec.d2d ? 2 * spec.d2d->bytes_per_s : not_measured,
                      "the spec's d2d rate, read and write counted");
  info.facts = facts_of(spec);
  return info;
}

}  // namespace npgpu::simulated
