#include "netpipe/devices/host/pci.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

#include "netpipe/devices/host/cgroup.hpp"
#include "netpipe/files/output.hpp"

namespace npgpu::host {

namespace {

namespace fs = std::filesystem;

// "32.0 GT/s PCIe" -> 5; 0 for anything else.
int generation_of(const std::string& speed) {
  constexpr std::array speeds{"2.5 ", "5.0 ", "8.0 ", "16.0 ", "32.0 ", "64.0 "};
  const auto found = std::ranges::find_if(speeds, [&](const char* one) { return speed.starts_with(one); });
  return found == speeds.end() ? 0 : static_cast<int>(found - speeds.begin()) + 1;
}

// Folders of the bridges above a device, the nearest first: those on its path whose names are bus ids.
std::vector<fs::path> bridges_above(const fs::path& device) {
  std::vector<fs::path> all;
  for (fs::path at = device.parent_path(); std::ranges::count(at.filename().string(), ':') == 2; at = at.parent_path())
    all.push_back(at);
  return all;
}

// Whether a bridge's ACS redirects requests between devices; nothing where it has no ACS, or its extended configuration
// cannot be read (PCI Express Base Specification: capability 0x0d; control register at 6, bit 2).
std::optional<bool> redirects(const fs::path& bridge) {
  std::ifstream file(bridge / "config", std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  const auto byte = [&](std::size_t at) { return static_cast<unsigned>(static_cast<unsigned char>(bytes[at])); };
  constexpr std::size_t first = 0x100;
  constexpr unsigned acs = 0x0d, request_redirect = 1u << 2;
  std::size_t at = first;
  for (int hops = 0; hops < 100 && at >= first && at + 8 <= bytes.size(); ++hops) {
    const unsigned id = byte(at) | byte(at + 1) << 8;
    if (id == acs) return (byte(at + 6) & request_redirect) != 0;
    at = (byte(at + 2) | byte(at + 3) << 8) >> 4;
  }
  return std::nullopt;
}

}  // namespace

std::string linux_bus_id(std::string bus_id) {
  for (char& c : bus_id) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  constexpr std::string_view more = "0000";
  if (bus_id.find(':') == 8 && bus_id.starts_with(more)) bus_id.erase(0, more.size());
  return bus_id;
}

bool is_off_the_bus(std::string bus_id, const fs::path& sys) {
  std::ifstream file(sys / "bus/pci/devices" / linux_bus_id(std::move(bus_id)) / "config", std::ios::binary);
  std::array<char, 4> ids{};  // vendor and device: 0xffff is no vendor
  return file.read(ids.data(), ids.size()) && std::ranges::all_of(ids, [](char c) { return c == '\xff'; });
}

std::vector<PciGpu> nvidia_gpus(const fs::path& sys) {
  constexpr std::string_view nvidia = "0x10de", vga = "0x0300", controller_3d = "0x0302";
  std::vector<PciGpu> all;
  std::error_code error;
  for (const fs::path& device : files::entries_of(sys / "bus/pci/devices", error)) {
    std::error_code none;
    const std::string of_class = first_line(device / "class");  // kept by the kernel, also of a device that has gone
    if (first_line(device / "vendor") != nvidia || fs::exists(device / "physfn", none)) continue;
    const bool is_3d = of_class.starts_with(controller_3d);
    if (!is_3d && !of_class.starts_with(vga)) continue;
    const fs::path driver = fs::read_symlink(device / "driver", none);
    const std::string bus_id = device.filename().string();
    all.push_back({bus_id, first_line(device / "device"), none ? "" : driver.filename().string(), is_3d,
                   !is_off_the_bus(bus_id, sys)});
  }
  std::ranges::sort(all, {}, &PciGpu::bus_id);
  return all;
}

Facts pcie_errors(std::string bus_id, const fs::path& sys) {
  std::error_code error;
  const fs::path device = fs::canonical(sys / "bus/pci/devices" / linux_bus_id(std::move(bus_id)), error);
  Facts facts;
  if (error) return facts;
  std::vector<fs::path> places = bridges_above(device);
  places.resize(std::min<std::size_t>(places.size(), 1));
  places.push_back(device);
  for (const auto& [name, total] : {std::pair{"fatal", "TOTAL_ERR_FATAL"}, {"nonfatal", "TOTAL_ERR_NONFATAL"}}) {
    std::int64_t sum = 0;
    bool any = false;
    for (const fs::path& place : places) {
      std::ifstream file(place / (std::string("aer_dev_") + name));
      std::int64_t count = 0;
      for (std::string word; file >> word >> count;)
        if (word == total) any = true, sum += count;
    }
    if (any) facts.emplace_back(std::string("aer_") + name, sum);
  }
  return facts;
}

Facts pci_facts(std::string bus_id, const fs::path& sys) {
  std::error_code error;
  const fs::path device = fs::canonical(sys / "bus/pci/devices" / linux_bus_id(std::move(bus_id)), error);
  Facts facts;
  if (error) return facts;
  if (const std::string cpus = first_line(device / "local_cpulist"); !cpus.empty())
    facts.emplace_back("near_cpus", cpus);

  const std::vector<fs::path> bridges = bridges_above(device);
  if (!bridges.empty()) {
    if (const int generation = generation_of(first_line(bridges.front() / "max_link_speed")))
      facts.emplace_back("slot_pcie_generation", std::int64_t{generation});
    const std::string width = first_line(bridges.front() / "max_link_width");
    if (!width.empty() && width.size() < 4 &&
        std::ranges::all_of(width, [](unsigned char c) { return std::isdigit(c); }))
      if (const int lanes = std::stoi(width); lanes > 0 && lanes <= 32)
        facts.emplace_back("slot_pcie_lanes", std::int64_t{lanes});
  }
  std::string path;
  for (const fs::path& bridge : bridges) path = bridge.filename().string() + (path.empty() ? "" : " > ") + path;
  if (!path.empty()) facts.emplace_back("pci_path", path);
  const std::string domain = first_line(device / "iommu_group/type");
  if (!domain.empty()) facts.emplace_back("iommu_domain", domain);
  else if (!fs::exists(device / "iommu_group", error)) facts.emplace_back("iommu_domain", std::string("none"));

  std::ranges::move(pcie_errors(device.filename().string(), sys), std::back_inserter(facts));

  std::int64_t redirecting = 0;
  bool any = false;
  for (const fs::path& bridge : bridges)
    if (const auto is = redirects(bridge)) any = true, redirecting += *is;
  if (any) facts.emplace_back("acs_redirects", redirecting);
  return facts;
}

Limit pcie_limit(unsigned generation, unsigned lanes) {
  struct Signalling {
    double gigatransfers_per_s;
    int payload_bits, line_bits;
  };
  // PCI Express Base Specification; generation 6 by its 256-byte flits with 242 bytes of them for packets.
  static constexpr Signalling signalling[] = {{2.5, 8, 10},   {5, 8, 10},     {8, 128, 130},
                                              {16, 128, 130}, {32, 128, 130}, {64, 242, 256}};
  if (generation < 1 || generation > std::size(signalling))
    return {not_measured, fmt::format("unknown: PCIe generation {}", generation)};
  const Signalling& s = signalling[generation - 1];
  return {s.gigatransfers_per_s * 1e9 * lanes * s.payload_bits / s.line_bits / 8,
          fmt::format("PCIe Gen{} x{}: {:g} GT/s * {} lanes * {}/{}", generation, lanes, s.gigatransfers_per_s, lanes,
                      s.payload_bits, s.line_bits)};
}

LinkState pci_link(std::string bus_id, LinkAt at, const fs::path& sys) {
  const fs::path device = sys / "bus/pci/devices" / linux_bus_id(std::move(bus_id));
  const std::string prefix = at == LinkAt::now ? "current" : "max";
  LinkState link;
  link.generation = static_cast<std::uint32_t>(generation_of(first_line(device / (prefix + "_link_speed"))));
  constexpr std::uint32_t most_lanes = 32;
  std::ifstream(device / (prefix + "_link_width")) >> link.lanes;
  if (link.lanes > most_lanes) link.lanes = 0;  // 255: there is no link
  return link;
}

int pci_numa_node(std::string bus_id, const fs::path& sys) {
  int node = -1;
  if (!(std::ifstream(sys / "bus/pci/devices" / linux_bus_id(std::move(bus_id)) / "numa_node") >> node)) return -1;
  return node;
}

}  // namespace npgpu::host
