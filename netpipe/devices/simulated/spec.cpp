#include "netpipe/devices/simulated/spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
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
  return {from.number("rate_gb_s", rate_gb_s) * 1e9, time_or_zero(from, "latency_us"), time_or_zero(from, "gap_us")};
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
// 0 is as if a key were not there.
struct HardwareKey {
  const char* key;
  double max;
  bool is_whole;
};
constexpr HardwareKey count_key(const char* key) { return {key, 1e6, true}; }
constexpr HardwareKey bytes_key(const char* key) { return {key, 1e9, true}; }
constexpr HardwareKey figure_key(const char* key) { return {key, 1e9, false}; }
constexpr HardwareKey share_key(const char* key) { return {key, 1, false}; }
constexpr HardwareKey hardware_keys[] = {
    count_key("sms"),
    count_key("idle_sms"),    // of these, to which no block goes
    count_key("schedulers"),  // of an SM
    count_key("lanes"),       // FP32, of an SM
    figure_key("shader_clock_mhz"),
    figure_key("memory_clock_mhz"),
    count_key("memory_bus_bits"),
    bytes_key("l2_bytes"),
    bytes_key("shared_bytes"),           // of an SM
    bytes_key("shared_reserved_bytes"),  // that each block takes besides its own
    bytes_key("registers"),              // of an SM
    count_key("warps"),                  // resident on an SM
    count_key("blocks"),                 // resident on an SM
    count_key("block_threads"),          // most, of a block
    figure_key("fma_latency_cycles"),
    figure_key("memory_latency_cycles"),
    figure_key("memory_read_share"),  // of the rate of reads and writes together
    figure_key("memory_write_share"),
    count_key("transaction_bytes"),    // least that the bus moves
    figure_key("sm_bytes_per_cycle"),  // between an SM and memory
    count_key("shared_banks"),
    count_key("bank_bytes"),
    count_key("sector_bytes"),
    count_key("line_bytes"),
    bytes_key("l1_bytes"),
    figure_key("l1_bytes_per_cycle"),
    figure_key("l2_gb_s"),
    figure_key("tensor_fp16"),  // of tensor cores, multiply-adds a cycle of an SM
    figure_key("tensor_tf32"),
    figure_key("tensor_fp8"),
    figure_key("tensor_int8"),
    figure_key("tensor_fp64"),
    share_key("mma_share"),  // of wgmma's rate that mma reaches
    figure_key("tensor_latency_cycles"),
    figure_key("wgmma_latency_cycles"),
    count_key("cluster_blocks"),
    figure_key("cluster_latency_cycles"),
    figure_key("cluster_bytes_per_cycle"),
    figure_key("shared_latency_cycles"),
    figure_key("shared_conflict_cycles"),
    figure_key("l2_latency_cycles"),
    figure_key("bulk_latency_cycles"),
    figure_key("box_latency_cycles"),
    figure_key("instructions_int64_add_lanes"),
    figure_key("instructions_int64_add_cycles"),
    figure_key("instructions_special_lanes"),
    figure_key("instructions_special_cycles"),
    figure_key("instructions_fp64_lanes"),
    figure_key("instructions_fp64_cycles"),
    figure_key("instructions_int64_mul_lanes"),
    figure_key("instructions_int64_mul_cycles"),
    figure_key("instructions_convert_lanes"),
    figure_key("instructions_convert_cycles"),
    figure_key("instructions_convert_fp16_lanes"),
    figure_key("instructions_convert_fp16_cycles"),
    figure_key("instructions_convert_fp64_lanes"),
    figure_key("instructions_convert_fp64_cycles"),
    figure_key("instructions_popc_lanes"),
    figure_key("instructions_popc_cycles"),
    figure_key("instructions_shuffle_lanes"),
    figure_key("instructions_shuffle_cycles"),
    figure_key("instructions_dpx_lanes"),
    figure_key("instructions_dpx_cycles"),
    figure_key("constant_bytes_per_cycle"),
    count_key("branch_lanes"),
    count_key("shared_atomic_lanes"),
    figure_key("l2_atomics_g_s"),
    figure_key("l2_atomics_one_word_g_s"),
    count_key("hardware_queues"),
    figure_key("stream_create_us"),  // t_sc
    figure_key("stream_destroy_us"),
    figure_key("kernel_launch_us"),
    figure_key("kernel_gap_us"),
    figure_key("kernel_latency_us"),
    figure_key("energy_idle_w"),  // what npgpu energy measures: with a context, and without
    figure_key("energy_no_context_w"),
    share_key("energy_zeros_share"),  // of what other operands take
    share_key("energy_pattern_share"),
    share_key("energy_sigma"),         // of a window's power
    figure_key("energy_fma_fp32_pj"),  // an operation or a byte, over idle
    figure_key("energy_fma_fp64_pj"),
    figure_key("energy_fma_int32_pj"),
    figure_key("energy_fma_fp16_pj"),
    figure_key("energy_fma_bf16_pj"),
    figure_key("energy_mma_fp16_pj"),
    figure_key("energy_mma_bf16_pj"),
    figure_key("energy_mma_tf32_pj"),
    figure_key("energy_mma_fp8_pj"),
    figure_key("energy_mma_int8_pj"),
    figure_key("energy_mma_fp64_pj"),
    figure_key("energy_wgmma_fp16_pj"),
    figure_key("energy_wgmma_bf16_pj"),
    figure_key("energy_wgmma_tf32_pj"),
    figure_key("energy_wgmma_fp8_pj"),
    figure_key("energy_wgmma_int8_pj"),
    figure_key("energy_read_global_pj"),
    figure_key("energy_read_l2_pj"),
    figure_key("energy_read_l1_pj"),
    figure_key("energy_read_shared_pj"),
    figure_key("energy_write_global_pj"),
    figure_key("energy_copy_global_pj"),
    figure_key("energy_h2d_pj"),
    figure_key("energy_d2h_pj"),
    figure_key("energy_peer_pj"),
    figure_key("empty_kernel_us"),  // from here on what npgpu calls times
    figure_key("call_launch_us"),
    figure_key("call_argument_byte_us"),
    figure_key("call_cooperative_launch_us"),
    figure_key("call_signal_us"),
    figure_key("call_event_wait_us"),
    figure_key("call_event_elapsed_us"),
    figure_key("call_callback_us"),
    figure_key("call_memset_us"),
    figure_key("call_malloc_free_us"),
    figure_key("call_pool_alloc_free_us"),
    figure_key("call_free_us"),
    figure_key("call_pool_free_us"),
    figure_key("call_pool_trim_us"),
    figure_key("call_managed_free_us"),
    figure_key("page_fault_us"),  // of managed memory: what a fault takes, and brings; and rates of what moves
    figure_key("fault_bytes"),
    figure_key("migrate_to_device_gb_s"),
    figure_key("migrate_to_host_gb_s"),
    figure_key("clears_gb_s"),     // how fast the driver clears memory that was freed
    figure_key("clearing_slows"),  // time of a read meanwhile, over that of one alone
    figure_key("call_graph_launch_us"),
    figure_key("graph_chain_kernel_us"),
    figure_key("graph_fork_kernel_us"),
    figure_key("call_graph_instantiate_us"),
    figure_key("graph_instantiate_kernel_us"),
    figure_key("call_graph_update_us"),
    figure_key("graph_update_kernel_us"),
    figure_key("interface_row_us"),
    figure_key("pieces_loop_call_us"),  // from here on what npgpu pieces times
    figure_key("pieces_loop_host_us"),
    figure_key("pieces_loop_piece_us"),
    share_key("pieces_loop_share"),
    figure_key("pieces_copy_2d_call_us"),
    figure_key("pieces_copy_2d_host_us"),
    figure_key("pieces_copy_2d_piece_us"),
    share_key("pieces_copy_2d_share"),
    figure_key("pieces_copy_3d_call_us"),
    figure_key("pieces_copy_3d_host_us"),
    figure_key("pieces_copy_3d_piece_us"),
    share_key("pieces_copy_3d_share"),
    figure_key("pieces_batch_call_us"),
    figure_key("pieces_batch_host_us"),
    figure_key("pieces_batch_piece_us"),
    share_key("pieces_batch_share"),
    figure_key("pieces_graph_call_us"),
    figure_key("pieces_graph_host_us"),
    figure_key("pieces_graph_piece_us"),
    share_key("pieces_graph_share"),
    figure_key("pieces_kernel_call_us"),
    figure_key("pieces_kernel_host_us"),
    figure_key("pieces_kernel_piece_us"),
    share_key("pieces_kernel_share"),
    figure_key("gemm_fp32_64_gflops"),  // products of matrices whose m, n and k this divides
    figure_key("gemm_fp32_32_gflops"),
    figure_key("gemm_fp32_16_gflops"),
    figure_key("gemm_fp32_8_gflops"),
    figure_key("gemm_fp32_1_gflops"),
    figure_key("gemm_fp64_64_gflops"),
    figure_key("gemm_fp64_32_gflops"),
    figure_key("gemm_fp64_16_gflops"),
    figure_key("gemm_fp64_8_gflops"),
    figure_key("gemm_fp64_1_gflops"),
    figure_key("gemm_fp16_64_gflops"),  // and of tensor cores
    figure_key("gemm_bf16_64_gflops"),
    figure_key("gemm_tf32_64_gflops"),
    figure_key("gemm_fp8_64_gflops"),
    figure_key("gemm_int8_64_gflops"),
    figure_key("host_gemm_fp32_gflops"),  // and of the host, whatever divides m, n and k
    figure_key("host_gemm_fp64_gflops"),
};

Facts read_hardware(const JsonObject& from) {
  Facts facts;
  if (from.has("compute_capability")) facts.emplace_back("compute_capability", from.text("compute_capability"));
  for (const auto& [key, max, is_whole] : hardware_keys) {
    if (!from.has(key)) continue;
    const double value = is_whole ? from.whole_number(key, {0, max}) : from.number(key, {0, max});
    if (value == std::floor(value)) facts.emplace_back(key, static_cast<std::int64_t>(value));
    else facts.emplace_back(key, value);
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
  spec.file = file;
  JsonObject::file(file, [&](const JsonObject& from) {
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
    spec.condition = read_condition(from);
    spec.course = read_course(from);
    (void)from.has("like");  // which read_json() has taken
  });
  return spec;
}

namespace {

void add_link(Facts& facts, const std::string& prefix, const Link& link) {
  facts.emplace_back(prefix + "_gb_s", link.bytes_per_s / 1e9);
  facts.emplace_back(prefix + "_latency_us", microseconds(link.latency));
  facts.emplace_back(prefix + "_gap_us", microseconds(link.gap));
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
