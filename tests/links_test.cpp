// What NVLinks and copies through the host can carry.
#include <doctest/doctest.h>

#include <array>
#include <cmath>

#include "netpipe/engine/nvlink.hpp"
#include "npgpu/vocabulary/transfer.hpp"

namespace links_test {

using namespace npgpu;

// Messages in chunks: times a reader can add up.

namespace {

// `start` seconds and `each` for a byte.
StageCost line(double start, double each, int worker) {
  return {.curve = {{0, Seconds{start}}, {1, Seconds{start + each}}}, .worker = worker};
}

}  // namespace

TEST_CASE("a cost is a line between measured sizes, and goes on after the last") {
  const StageCost stage{.curve = {{10, Seconds{1}}, {20, Seconds{3}}, {40, Seconds{4}}}};
  CHECK(stage.time(5).count() == doctest::Approx(1));
  CHECK(stage.time(15).count() == doctest::Approx(2));
  CHECK(stage.time(30).count() == doctest::Approx(3.5));
  CHECK(stage.time(60).count() == doctest::Approx(5));
  CHECK(StageCost{.curve = {{10, Seconds{1}}}}.time(100).count() == doctest::Approx(1));
}

TEST_CASE("one chunk goes through all stages; behind it the busiest worker is never idle") {
  // 100 bytes: 1 + 100, 2 + 200 and 0 + 100 seconds.
  const std::array stages{line(1, 1, 0), line(2, 2, 1), line(0, 1, 2)};
  CHECK(staged_time(stages, 100, 1).count() == doctest::Approx(403));
  // Chunks of 50 bytes: 51 + 102 + 50, and once more 102.
  CHECK(staged_time(stages, 100, 2).count() == doctest::Approx(305));
}

TEST_CASE("stages of one worker do not overlap") {
  const std::array stages{line(0, 1, 0), line(0, 1, 1), line(0, 1, 1)};
  // Chunks of 50: 150 for the first, then 100 for the worker that has two.
  CHECK(staged_time(stages, 100, 2).count() == doctest::Approx(250));
}

TEST_CASE("the advised chunk is that of the formula, where one worker is always the busiest") {
  // n = sqrt(bytes (sum b - B) / s) = sqrt(2^20 * 2 / 32) = 256: chunks of 4096, or larger within 1 %.
  const std::array stages{line(0, 1, 0), line(32, 2, 1), line(0, 1, 2)};
  const std::uint64_t chunk = advised_chunk(stages, MiB, MiB, 1024);
  CHECK(chunk >= 4096);
  const auto time = [&](std::uint64_t c) { return staged_time(stages, MiB, (MiB + c - 1) / c).count(); };
  CHECK(time(chunk) <= 1.01 * time(4096));
  CHECK(time(2 * chunk) > 1.01 * time(4096));
}

TEST_CASE("what has one stage, or costs nothing but a start, is sent whole") {
  CHECK(advised_chunk(std::array{line(1, 0, 0), line(1, 0, 1)}, 1000, 5000) == 1000);
  CHECK(advised_chunk(std::array{line(1, 1, 0)}, 1000000, 5000000) == 1000000);
}

TEST_CASE("a chunk that caches hold is advised, where larger ones cost more a byte") {
  // A byte costs 1 up to 64 KiB, and 3 beyond.
  const double edge = 65536;
  StageCost stage{.curve = {{0, Seconds{100}}, {edge, Seconds{100 + edge}}, {4 * edge, Seconds{100 + 10 * edge}}}};
  CHECK(advised_chunk(std::array{stage}, MiB, MiB) <= 2 * 65536);
  CHECK(advised_chunk(std::array{stage}, MiB, MiB) >= 65536);
}

TEST_CASE("a chunk is no larger than a slot, and of whole grains") {
  const std::array starts{line(1, 0, 0), line(1, 0, 1)};
  const std::uint64_t chunk = advised_chunk(starts, 10 * MiB, MiB);
  CHECK(chunk <= MiB);
  CHECK(chunk % 4096 == 0);
  CHECK(advised_chunk(starts, 1, MiB) == 1);
}

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

}  // namespace links_test
