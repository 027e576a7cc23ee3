#include "netpipe/devices/simulated/spec.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "npgpu/error.hpp"

namespace npgpu::simulated {

namespace {

using nlohmann::json;

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& why) {
  throw Error(ErrorKind::usage, fmt::format("{}: {}", file.string(), why));
}

// Far deeper than a spec goes. What walks a value calls itself for every level, and a hostile file would end the stack.
constexpr int max_depth = 32;

// A key that stands twice would silently count once.
json parse(const std::filesystem::path& file, const std::string& text) {
  std::vector<std::set<std::string>> open;
  const auto watch = [&](int depth, json::parse_event_t event, json& value) {
    if (depth > max_depth) refuse(file, fmt::format("brackets nest deeper than {} levels", max_depth));
    if (event == json::parse_event_t::object_start) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event == json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second)
      refuse(file, fmt::format("the key '{}' stands twice in one object", value.get<std::string>()));
    return true;
  };
  try {
    return json::parse(text, watch);
  } catch (const json::exception& e) {
    // "[json.exception.parse_error.101] parse error at line 3, column 7: ..."
    const std::string what = e.what();
    const std::size_t end = what.find("] ");
    refuse(file, "not JSON: " + (end == std::string::npos ? what : what.substr(end + 2)));
  }
}

std::string shown(const json& value) {
  std::string text = value.dump();
  if (text.size() > 40) text = text.substr(0, 37) + "...";
  return text;
}

// A JSON object that is read strictly: every key is asked for with the type it must have, and what was never asked
// for is refused. Errors name the file, the key's path and what was expected.
class JsonObject {
 public:
  JsonObject(std::filesystem::path file, std::string path, json value)
      : file_(std::move(file)), path_(std::move(path)), value_(std::move(value)) {}

  // Throws Error(usage) if the file cannot be read, is not JSON, repeats a key, or is no object.
  template <class Read> static void file(const std::filesystem::path& file, Read read) {
    std::ifstream stream(file, std::ios::binary);
    const auto unreadable = [&] { refuse(file, fmt::format("cannot be read: {}", std::strerror(errno))); };
    if (!stream) unreadable();
    std::string text;
    try {
      text.assign(std::istreambuf_iterator<char>(stream), {});
    } catch (const std::ios_base::failure&) {
      unreadable();
    }
    json value = parse(file, text);
    if (!value.is_object()) refuse(file, fmt::format("expected an object {{...}}, found {}", shown(value)));
    read_all({file, "", std::move(value)}, read);
  }

  struct Range {
    double min = 0;
    double max = std::numeric_limits<double>::max();
    bool open = false;  // `min` itself is too little
  };

  double number(const std::string& key, const Range& range) const {
    const std::string expected =
        fmt::format("a number {} to {:.0f}",
                    range.open ? fmt::format("over {}, up", range.min) : fmt::format("from {}", range.min), range.max);
    const json& value = at(key, expected, &json::is_number);
    const double number = value.get<double>();
    if (!(number >= range.min && number <= range.max) || (range.open && number == range.min)) wrong(key, expected);
    return number;
  }
  double number_or(const std::string& key, double otherwise, const Range& range) const {
    return has(key) ? number(key, range) : otherwise;
  }
  std::uint64_t integer(const std::string& key, std::uint64_t min, std::uint64_t max) const {
    const std::string expected = fmt::format("a whole number from {} to {}", min, max);
    const auto number = at(key, expected, &json::is_number_unsigned).get<std::uint64_t>();
    if (number < min || number > max) wrong(key, expected);
    return number;
  }
  std::uint64_t integer_or(const std::string& key, std::uint64_t otherwise, std::uint64_t min,
                           std::uint64_t max) const {
    return has(key) ? integer(key, min, max) : otherwise;
  }
  std::string text(const std::string& key) const {  // never empty
    std::string value = at(key, "a text", &json::is_string).get<std::string>();
    if (value.empty()) wrong(key, "a text");
    return value;
  }
  // Calls read(object) for the one under `key`, which is there or, for maybe_object(), may be; then for each of a list
  // that may be there. What `read` did not ask for is refused.
  template <class Read> void object(const std::string& key, Read read) const {
    read_all({file_, path_of(key), at(key, "an object {...}", &json::is_object)}, read);
  }
  template <class Read> void maybe_object(const std::string& key, Read read) const {
    if (has(key)) object(key, read);
  }
  template <class Read> void maybe_objects(const std::string& key, Read read) const {
    constexpr auto expected = "a list of objects [{...}]";
    if (!has(key)) return;
    int i = 0;
    for (const json& value : at(key, expected, &json::is_array)) {
      if (!value.is_object()) wrong(key, expected);
      read_all({file_, fmt::format("{}[{}]", path_of(key), i++), value}, read);
    }
  }

  bool has(const std::string& key) const {  // asks for it, too
    asked_.insert(key);
    return value_.contains(key);
  }
  [[noreturn]] void wrong(const std::string& key, const std::string& expected) const {
    const auto found = value_.find(key);
    refuse(file_, fmt::format("{}: expected {}, found {}", path_of(key), expected,
                              found == value_.end() ? "nothing" : shown(*found)));
  }

 private:
  template <class Read> static void read_all(const JsonObject& from, Read read) {
    read(from);
    for (const auto& [key, value] : from.value_.items())
      if (!from.asked_.contains(key))
        refuse(from.file_,
               fmt::format("{}: unknown key; known here: {}", from.path_of(key), fmt::join(from.asked_, ", ")));
  }
  const json& at(const std::string& key, const std::string& expected, bool (json::*is)() const noexcept) const {
    asked_.insert(key);
    const auto found = value_.find(key);
    if (found == value_.end() || !((*found).*is)()) wrong(key, expected);
    return *found;
  }
  std::string path_of(const std::string& key) const { return path_.empty() ? key : path_ + '.' + key; }

  std::filesystem::path file_;
  std::string path_;  // "links.h2d", empty at the top
  json value_;
  mutable std::set<std::string> asked_;
};

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
  const auto kind = named<FaultKind>(from.text("kind"));
  if (!kind) from.wrong("kind", "one of " + choices<FaultKind>());
  fault.kind = *kind;
  return fault;
}

// What transfers do not need: shown with the device, and read by simulations of kernels. The names carry the units.
constexpr const char* hardware_keys[] = {
    "sms",
    "idle_sms",    // of these, to which no block goes
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
    faults += (faults.empty() ? "" : ", ") + std::string(name(fault.kind)) + " at call " + std::to_string(fault.call);
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
  info.memory = limit(spec.memory_limit_bytes_per_s, spec.d2d ? 2 * spec.d2d->bytes_per_s : not_measured,
                      "the spec's d2d rate, read and write counted");
  info.facts = facts_of(spec);
  return info;
}

}  // namespace npgpu::simulated
