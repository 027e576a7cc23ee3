#include "netpipe/engine/nvlink.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace npgpu::nvlink_test {

DeviceInfo gpu(const std::string& id, const std::string& bus, std::int64_t links, const std::string& to,
               const std::string& version = "3.0") {
  DeviceInfo info;
  info.id = id;
  info.pci_bus_id = bus;
  info.link = {31.5e9, "PCIe Gen4 x16"};
  info.peers = {not_measured, "unknown: NVML does not say how fast the NVLinks are"};
  if (links > 0) info.facts = {{"nvlinks", links}, {"nvlink_version", version}};
  if (!to.empty()) info.facts.emplace_back("nvlinks_to", to);
  return info;
}

const std::vector<std::string> buses{"0000:01:00.0", "0000:02:00.0", "0000:03:00.0"};

TEST_CASE("a copy between two GPUs is limited by the NVLinks that join just these two") {
  // Six links each, as in a V100 of a cube: two to one neighbour, one to the other.
  const DeviceInfo a = gpu("cuda:0", buses[0], 6, "0000:02:00.0 x2, 0000:03:00.0 x1", "2.2");
  const DeviceInfo b = gpu("cuda:1", buses[1], 6, "0000:01:00.0 x2", "2.2");
  const DeviceInfo c = gpu("cuda:2", buses[2], 6, "0000:01:00.0 x1", "2.2");
  CHECK(peer_limit(a, b, buses) == Limit{50e9, "2 NVLinks 2.2 of 25 GB/s"});
  CHECK(peer_limit(a, c, buses).per_s == 25e9);
  SUBCASE("where none joins them, it goes over PCIe") { CHECK(peer_limit(b, c, buses) == b.link); }
}

TEST_CASE("all NVLinks lead everywhere through switches, and where the driver does not say where they lead") {
  for (const char* const to : {"switch x18", "", "0009:01:00.0 x18"}) {
    CAPTURE(to);
    const DeviceInfo a = gpu("cuda:0", buses[0], 18, to, "4.0"), b = gpu("cuda:1", buses[1], 18, to, "4.0");
    CHECK(peer_limit(a, b, buses) == Limit{450e9, "18 NVLinks 4.0 of 25 GB/s"});
  }
}

TEST_CASE("the fewer links of the two GPUs count") {
  const DeviceInfo a = gpu("cuda:0", buses[0], 18, "switch x18", "4.0"),
                   b = gpu("cuda:1", buses[1], 9, "switch x9", "4.0");
  CHECK(peer_limit(a, b, buses).per_s == 225e9);
}

TEST_CASE("what the driver says of a link's rate goes before its generation; without both the limit is not known") {
  DeviceInfo a = gpu("cuda:0", buses[0], 12, "switch x12", "unknown"),
             b = gpu("cuda:1", buses[1], 12, "switch x12", "unknown");
  CHECK(std::isnan(peer_limit(a, b, buses).per_s));
  CHECK(peer_limit(a, b, buses).source == a.peers.source);
  a.facts.emplace_back("nvlink_mb_s", std::int64_t{26'562});
  b.facts.emplace_back("nvlink_mb_s", std::int64_t{26'562});
  CHECK(peer_limit(a, b, buses).per_s == doctest::Approx(12 * 26.562e9));
}

TEST_CASE("a GPU without NVLinks has the limit that it names") {
  DeviceInfo a = gpu("cuda:0", buses[0], 0, ""), b = gpu("cuda:1", buses[1], 0, "");
  a.peers = a.link;
  CHECK(peer_limit(a, b, buses) == a.link);
}

}  // namespace npgpu::nvlink_test
