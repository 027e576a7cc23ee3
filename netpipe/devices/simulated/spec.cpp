#include "netpipe/devices/simulated/spec.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "netpipe/devices/simulated/json_object.hpp"

namespace npgpu::simulated {

namespace {

constexpr JsonObject::Range rate_gb_s{0, 1e6, true};  // a petabyte per second is a slip of the keyboard
constexpr JsonObject::Range time_us{0, 1e9};

Seconds time_or_zero(const JsonObject& from, const std::string& key) {
  return from_microseconds(from.number_or(key, 0, time_us));
}

Link read_link(const JsonObject& from) {
  Link link;
  link.bytes_per_s = from.number("rate_gb_s", rate_gb_s) * 1e9;
  link.latency = time_or_zero(from, "latency_us");
  link.gap = time_or_zero(from, "gap_us");
  from.done();
  return link;
}

// Links by the host side's memory: {"pinned": {...}, "pageable": {...}}.
std::map<Memory, Link> read_links(const JsonObject& links, const std::string& direction) {
  std::map<Memory, Link> all;
  const auto found = links.maybe_object(direction);
  if (!found) return all;
  for (const Memory memory : {Memory::pageable, Memory::pinned, Memory::write_combined, Memory::managed})
    if (const auto link = found->maybe_object(std::string(name(memory)))) all[memory] = read_link(*link);
  found->done();
  return all;
}

std::optional<Link> read_link_or_none(const JsonObject& links, const std::string& direction) {
  if (const auto link = links.maybe_object(direction)) return read_link(*link);
  return std::nullopt;
}

HostCosts read_host(const JsonObject& from) {
  HostCosts host;
  host.copy = from_microseconds(from.number("copy_us", time_us));
  host.copy_async = from_microseconds(from.number("copy_async_us", time_us));
  host.launch = time_or_zero(from, "launch_us");
  host.record = time_or_zero(from, "record_us");
  host.synchronize = time_or_zero(from, "synchronize_us");
  host.gate_capacity = from.integer_or("gate_capacity", host.gate_capacity, 2, 1000000);
  from.done();
  return host;
}

Noise read_noise(const JsonObject& from) {
  Noise noise;
  noise.seed = from.integer_or("seed", noise.seed, 0, std::numeric_limits<std::int64_t>::max());
  noise.sigma = from.number_or("sigma", 0, {0, 1});
  noise.operation_sigma = from.number_or("operation_sigma", 0, {0, 1});
  noise.outlier_rate = from.number_or("outlier_rate", 0, {0, 1});
  noise.outlier_factor = from.number_or("outlier_factor", noise.outlier_factor, {1, 1e6});
  from.done();
  return noise;
}

Fault read_fault(const JsonObject& from) {
  Fault fault;
  fault.call = from.integer("call", 1, std::numeric_limits<std::uint64_t>::max());
  const auto kind = named<FaultKind>(from.text("kind"));
  if (!kind) from.wrong("kind", "one of " + choices<FaultKind>());
  fault.kind = *kind;
  from.done();
  return fault;
}

// What transfers do not need: shown with the device, and read by simulations of kernels. The names carry the units.
constexpr const char* hardware_keys[] = {
    "sms",
    "schedulers",  // of an SM
    "lanes",       // FP32, of an SM
    "shader_clock_mhz", "memory_clock_mhz", "memory_bus_bits", "l2_bytes",
    "shared_bytes",   // of an SM
    "registers",      // of an SM
    "warps",          // resident on an SM
    "blocks",         // resident on an SM
    "block_threads",  // most, of a block
    "fma_latency_cycles", "memory_latency_cycles",
    "transaction_bytes",   // least that the bus moves
    "sm_bytes_per_cycle",  // between an SM and memory
    "hardware_queues",
    "stream_create_us",  // t_sc
    "stream_destroy_us", "kernel_launch_us", "kernel_gap_us", "kernel_latency_us",
    // calls, which npgpu calls times
    "empty_kernel_us", "call_launch_us", "call_argument_byte_us", "call_cooperative_launch_us", "call_signal_us",
    "call_event_wait_us", "call_event_elapsed_us", "call_callback_us", "call_memset_us", "call_malloc_free_us",
    "call_pool_alloc_free_us", "call_graph_launch_us", "graph_chain_kernel_us", "graph_fork_kernel_us",
    "call_graph_instantiate_us", "graph_instantiate_kernel_us", "call_graph_update_us", "graph_update_kernel_us"};

Facts read_hardware(const JsonObject& from) {
  Facts facts;
  if (from.has("compute_capability")) facts.emplace_back("compute_capability", from.text("compute_capability"));
  for (const char* key : hardware_keys) {
    if (!from.has(key)) continue;
    const double value = from.number(key, {0, 1e15});
    if (value == static_cast<double>(static_cast<std::int64_t>(value)))
      facts.emplace_back(key, static_cast<std::int64_t>(value));
    else
      facts.emplace_back(key, value);
  }
  from.done();
  return facts;
}

}  // namespace

const Link* Spec::link(Direction direction, Memory memory) const {
  const auto by_memory = [&](const std::map<Memory, Link>& links) -> const Link* {
    const auto found = links.find(memory);
    return found == links.end() ? nullptr : &found->second;
  };
  switch (direction) {
    case Direction::h2d:
      return by_memory(h2d);
    case Direction::d2h:
      return by_memory(d2h);
    case Direction::d2d:
      return d2d ? &*d2d : nullptr;
    case Direction::h2h:
      return h2h ? &*h2h : nullptr;
    case Direction::peer:
      break;
  }
  return nullptr;
}

Spec read_spec(const std::filesystem::path& file) {
  const JsonObject from = JsonObject::read(file);
  Spec spec;
  spec.file = file;
  spec.name = from.text("name");
  spec.source = from.text("source");
  spec.memory_bytes = from.integer("memory_bytes", 1, std::numeric_limits<std::int64_t>::max());
  spec.host = read_host(from.object("host"));

  const JsonObject links = from.object("links");
  spec.h2d = read_links(links, "h2d");
  spec.d2h = read_links(links, "d2h");
  spec.d2d = read_link_or_none(links, "d2d");
  spec.h2h = read_link_or_none(links, "h2h");
  links.done();

  spec.copy_engines = static_cast<int>(from.integer_or("copy_engines", 2, 1, 2));
  if (const auto duplex = from.maybe_object("duplex")) {
    spec.duplex_slowdown_h2d = duplex->number_or("sl_h", 1, {1, 1000});
    spec.duplex_slowdown_d2h = duplex->number_or("sl_d", 1, {1, 1000});
    duplex->done();
  }
  if (const auto limits = from.maybe_object("limits")) {
    spec.link_limit_bytes_per_s = limits->number_or("link_gb_s", not_measured, rate_gb_s) * 1e9;
    spec.memory_limit_bytes_per_s = limits->number_or("memory_gb_s", not_measured, rate_gb_s) * 1e9;
    limits->done();
  }
  if (const auto noise = from.maybe_object("noise")) spec.noise = read_noise(*noise);
  for (const JsonObject& fault : from.objects_or_none("faults")) spec.faults.push_back(read_fault(fault));
  if (const auto hardware = from.maybe_object("hardware")) spec.hardware = read_hardware(*hardware);
  from.done();
  return spec;
}

}  // namespace npgpu::simulated
