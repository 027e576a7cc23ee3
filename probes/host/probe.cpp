#include "probes/host/probe.hpp"

#include <fmt/format.h>

#include <cmath>

namespace npgpu {

namespace {

struct Documented {
  const char* vendor;
  unsigned family, first_model, last_model;
  const char* core;
  double avx2, avx512;  // fused multiply-adds of full width a cycle; 0: it has no such registers
  const char* source;
};

constexpr const char* intel_manual = "Intel 64 and IA-32 Architectures Optimization Reference Manual (248966)";
// Zen 4 feeds a 512-bit instruction to both of its 256-bit units.
constexpr Documented known[] = {
    {"GenuineIntel", 6, 0x55, 0x55, "Skylake-SP, Cascade Lake", 2, 2, intel_manual},
    {"GenuineIntel", 6, 0x6a, 0x6a, "Ice Lake-SP", 2, 2, intel_manual},
    {"GenuineIntel", 6, 0x8f, 0x8f, "Sapphire Rapids", 2, 2, intel_manual},
    {"AuthenticAMD", 0x17, 0x31, 0x31, "Zen 2", 2, 0,
     "AMD Software Optimization Guide for Family 17h, 30h and up (56305)"},
    {"AuthenticAMD", 0x19, 0x00, 0x0f, "Zen 3", 2, 0, "AMD Software Optimization Guide for Zen 3 (56665)"},
    {"AuthenticAMD", 0x19, 0x10, 0x1f, "Zen 4", 2, 1, "AMD Software Optimization Guide for Zen 4 (57647)"},
    {"AuthenticAMD", 0x19, 0xa0, 0xaf, "Zen 4c", 2, 1, "AMD Software Optimization Guide for Zen 4 (57647)"},
    {"AuthenticAMD", 0x1a, 0x00, 0x1f, "Zen 5", 2, 2, "AMD Software Optimization Guide for Zen 5 (58455)"},
};

// Skylake-SP and Cascade Lake have the second 512-bit unit in their upper models only.
bool has_one_unit_or_two(const host::Processor& p) {
  return p.family == 6 && p.model == 0x55 && p.name.find("Platinum") == std::string::npos &&
         p.name.find("Gold 6") == std::string::npos;
}

}  // namespace

Ports documented_ports(const host::Processor& p, Isa isa, DataType type) {
  // A multiply and an add, two instructions, and no document says how a core shares its pipes between them. Zen 4 adds
  // in all four and multiplies in two of them, each 512-bit instruction taking its pipe for two cycles (57647, chapter
  // on the floating-point unit): one multiply-add a cycle if every add kept clear of the multipliers, two thirds if
  // adds go to all pipes alike. 0.59 to 0.69 were seen.
  if (type == DataType::int32)
    return {not_measured,
            "unknown: an integer multiply-add is two instructions, and how a core shares its pipes "
            "between them is not documented"};
  if (isa == Isa::neon) return {not_measured, "unknown: Arm cores do not say in user space which they are"};
  for (const Documented& one : known) {
    if (p.vendor != one.vendor || p.family != one.family || p.model < one.first_model || p.model > one.last_model)
      continue;
    const std::string core = one.core, source = core + ": " + one.source;
    if (isa != Isa::avx512) return {one.avx2, source};  // scalars run in the same units
    if (one.avx512 == 0) return {not_measured, core + " has no registers of 512 bits"};
    if (has_one_unit_or_two(p)) return {not_measured, core + ": this model may have one unit of 512 bits or two"};
    return {one.avx512, source};
  }
  if (p.vendor.empty()) return {not_measured, "unknown: a processor that does not name itself is in no table here"};
  return {not_measured, fmt::format("unknown: {} family {} model {} is in no table here", p.vendor, p.family, p.model)};
}

Limit multiply_add_limit(DataType type, const Layout& l) {
  const auto isa = widest_isa();
  if (!isa) return {not_measured, why_no_isa()};
  const Ports ports = documented_ports(host::processor(), *isa, type);
  return {2.0 * l.units * l.lanes * ports.per_cycle * l.clock_mhz * 1e6,
          std::isnan(ports.per_cycle) ? ports.source
                                      : fmt::format("{} cores * {} lanes * {} per cycle * 2 * {:.0f} MHz ({})", l.units,
                                                    l.lanes, ports.per_cycle, l.clock_mhz, ports.source)};
}

std::optional<Isa> widest_isa() {
  const auto all = isas_here();
  return all.empty() ? std::nullopt : std::optional(all.back());
}

Isa isa_for(const Shape& shape) { return shape.threads == 1 ? Isa::scalar : widest_isa().value_or(Isa::scalar); }

Layout host_layout(DataType type) {
  Layout layout;
  const auto cpus = host::core_cpus();
  const host::Caches caches = host::caches_of(cpus);
  layout.units = static_cast<std::uint32_t>(cpus.size());
  if (const auto isa = widest_isa()) layout.lanes = chains::find(*isa, type, 1).lanes;
  layout.max_threads_per_block = layout.lanes;
  layout.max_blocks_per_unit = 1;
  layout.cache_bytes = caches.last_bytes;
  layout.near_cache_bytes = caches.near_bytes;
  layout.memory_bytes = host::free_host_memory();
  static const double measured_mhz = highest_core_clock_hz() / 1e6;  // once: every layout of a run is the same
  const double driver_mhz = host::max_clock_mhz();
  layout.clock_mhz = std::isnan(driver_mhz) ? measured_mhz : driver_mhz;
  return layout;
}

Layout HostProbe::layout(const ProbeCase& c) const { return host_layout(c.type); }

std::optional<std::string> HostProbe::why_no_grid(const ProbeCase&, const Shape& shape) const {
  return refuses_blocks(shape);
}

std::optional<std::string> refuses_blocks(const Shape& shape) {
  const std::size_t cores = host::core_cpus().size();
  if (shape.blocks <= cores) return std::nullopt;
  return fmt::format("{} blocks, but the affinity mask has {} cores", shape.blocks, cores);
}

std::vector<std::uint32_t> cores_one_by_one(std::uint32_t units) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t n = 1; n < units; n += n < 16 ? 1 : n / 8 * 2) all.push_back(n);
  if (units) all.push_back(units);
  return all;
}

}  // namespace npgpu
