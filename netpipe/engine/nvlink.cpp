#include "netpipe/engine/nvlink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace npgpu {

namespace {

// How many of "0000:18:00.0 x18, switch x2" go to `bus`, or to a switch.
double links_to(const std::string& to, const std::string& bus) {
  double sum = 0;
  for (const std::string& end : {bus, std::string("switch")}) {
    const std::size_t at = end.empty() ? std::string::npos : to.find(end + " x");
    if (at != std::string::npos) sum += std::atof(to.c_str() + at + end.size() + 2);
  }
  return sum;
}

double links_from(const Nvlinks& one, const Nvlinks& other, const std::vector<std::string>& buses) {
  const double direct = links_to(one.to, other.bus);
  if (direct > 0) return direct;
  // Where they lead is not always said, or by names of a host's that a virtual machine does not know; then it is all of
  // them.
  const bool leads_elsewhere = std::ranges::any_of(buses, [&](const auto& bus) { return links_to(one.to, bus) > 0; });
  return leads_elsewhere ? 0 : one.count;
}

}  // namespace

Nvlinks nvlinks_of(const Facts& facts, std::string bus) {
  const double count = number_fact(facts, "nvlinks");
  return {.count = count > 0 ? count : 0,
          .version = text_fact(facts, "nvlink_version"),
          .to = text_fact(facts, "nvlinks_to"),
          .mb_per_s = number_fact(facts, "nvlink_mb_s"),
          .bus = std::move(bus)};
}

// NVIDIA's figures: P100 160 GB/s over four both ways, V100 300 over six, A100 600 over twelve, H100 900 over eighteen,
// B200 1800 over eighteen.
double nvlink_rate(const Nvlinks& gpu) {
  if (gpu.mb_per_s > 0) return gpu.mb_per_s * 1e6;
  const double generation = std::atof(gpu.version.c_str());
  if (generation >= 5) return 50e9;
  if (generation >= 2) return 25e9;
  return generation >= 1 ? 20e9 : not_measured;
}

std::string nvlinks_text(double count, const Nvlinks& gpu) {
  const bool is_known = !gpu.version.empty() && gpu.version != "unknown";
  return fmt::format("{:g} NVLinks{}", count, is_known ? ' ' + gpu.version : "");
}

double nvlinks_between(const Nvlinks& one, const Nvlinks& other, const std::vector<std::string>& buses) {
  if (!(one.count > 0 && other.count > 0)) return 0;
  return std::min(links_from(one, other, buses), links_from(other, one, buses));
}

Limit nvlink_limit(const Nvlinks& one, const Nvlinks& other, const std::vector<std::string>& buses) {
  const double count = nvlinks_between(one, other, buses), each = std::fmin(nvlink_rate(one), nvlink_rate(other));
  if (!(count > 0 && each > 0)) return {};
  return {count * each, fmt::format("{} of {:g} GB/s", nvlinks_text(count, one), each * 1e-9)};
}

Limit peer_limit(const DeviceInfo& from, const DeviceInfo& to, const std::vector<std::string>& buses) {
  const Nvlinks one = nvlinks_of(from.facts, from.pci_bus_id), other = nvlinks_of(to.facts, to.pci_bus_id);
  if (one.count > 0 && nvlinks_between(one, other, buses) == 0) return from.link;
  const Limit between = nvlink_limit(one, other, buses);
  return between.per_s > 0 ? between : from.peers;
}

}  // namespace npgpu
