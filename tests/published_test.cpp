// Papers' figures beside ours: units that become one, what counts as agreement, and a real H200 beside them.
#include "npgpu/published.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "npgpu/trace.hpp"

namespace published_test {

using namespace npgpu;

namespace {

constexpr const char* gpu = "cuda:0";

Trace of_capability(const std::string& capability) {
  Trace trace;
  trace.provenance = {{"gpu0", {{"id", std::string(gpu)}, {"compute_capability", capability}}}};
  return trace;
}

DeviceParameters with(std::initializer_list<std::pair<const char*, Estimate>> values) {
  DeviceParameters device;
  device.device = gpu;
  for (const auto& [name, estimate] : values) {
    Parameter& parameter = device.parameters.emplace_back();
    parameter.name = name, parameter.estimate = estimate;
  }
  return device;
}

const PublishedRow& row_of(const std::vector<PublishedTable>& tables, const std::string& parameter,
                           const std::string& arxiv) {
  for (const PublishedRow& row : tables.at(0).rows)
    if (row.figure.parameter == parameter && row.figure.source.arxiv == arxiv) return row;
  FAIL("no row " << parameter);
  return tables.at(0).rows.front();
}

std::vector<PublishedTable> kept(const char* name) {
  const Trace trace = read_trace(std::filesystem::path(NPGPU_SOURCE_DIR) / "data/traces" / name);
  return published(trace, derive(trace));
}

}  // namespace

TEST_CASE("a card's rate is taken over its units and its clock, and what agrees is within 3 % or 2 cycles") {
  const auto tables =
      published(of_capability("9.0"), {with({{"cluster ring, 2 blocks", {16, 15.9, 16.1, "B/cycle/SM", ""}},
                                             {"FMA latency", {5.9, 5.9, 5.9, "cycles", ""}},
                                             {"FMA latency int32", {6.1, 6.1, 6.1, "cycles", ""}},
                                             {"L2 bandwidth", {40, 30, 50, "B/cycle/SM", ""}},
                                             {"L1 cycles", {35, 34.9, 35.1, "cycles", ""}},
                                             {"tensor tf32 by wgmma", {2048, 2047, 2049, "ops/cycle/SM", ""}}})});
  REQUIRE(tables.size() == 1);
  // 3.27 TB/s of 114 multiprocessors at 1755 MHz.
  const PublishedRow& ring = row_of(tables, "cluster ring, 2 blocks", "2402.13499");
  CHECK(ring.comparable == doctest::Approx(3.27e12 / (114 * 1755e6)));
  CHECK(ring.ratio.value == doctest::Approx(16 / ring.comparable));
  CHECK(ring.standing == Standing::agrees);
  CHECK(row_of(tables, "FMA latency", "2507.10789").standing == Standing::agrees);  // 4 and 5.9: less than 2 cycles
  CHECK(row_of(tables, "FMA latency int32", "2507.10789").standing == Standing::unexplained);
  // 3942.4 B a cycle of 114 multiprocessors are 34.6 each, which 30 to 50 holds.
  CHECK(row_of(tables, "L2 bandwidth", "2402.13499").comparable == doctest::Approx(3942.4 / 114));
  CHECK(row_of(tables, "L2 bandwidth", "2402.13499").standing == Standing::interval);
  CHECK(row_of(tables, "L1 cycles", "2402.13499").standing == Standing::definition);
  CHECK(row_of(tables, "L1 cycles", "2501.12084").standing == Standing::unexplained);
  CHECK(row_of(tables, "tensor tf32 by wgmma", "2402.13499").standing == Standing::card);  // 1821 at 1755 MHz
}

TEST_CASE("what is a difference of two parameters needs both, and has both their intervals") {
  const Estimate load{660, 659, 661, "cycles", ""}, copy{840, 838, 842, "cycles", ""};
  const auto both =
      published(of_capability("9.0"), {with({{"load latency, memory", load}, {"box latency, memory", copy}})});
  const PublishedRow& over = row_of(both, "box latency, memory", "2501.12084");
  CHECK(over.ours.value == 180);
  CHECK(over.ours.low == 177);
  CHECK(over.ours.high == 183);
  const auto one = published(of_capability("9.0"), {with({{"box latency, memory", copy}})});
  CHECK(one.at(0).rows.empty());
  CHECK(std::ranges::count(one.at(0).missing, "box latency, memory") == 1);
}

TEST_CASE("an architecture that no paper here has, or a device that does not say its own, has no table") {
  CHECK(published(of_capability("7.5"), {with({{"FMA latency", {4, 4, 4, "cycles", ""}}})}).empty());
  CHECK(published({}, {with({{"FMA latency", {4, 4, 4, "cycles", ""}}})}).empty());
}

TEST_CASE("a real H200 beside the H100 paper: latencies to 3 % or 2 cycles") {
  const auto tables = kept("h200_probes.h5");
  for (const char* parameter :
       {"FMA latency", "FMA latency int32", "FMA latency fp64", "L2 near cycles", "L2 far cycles", "memory cycles"}) {
    const PublishedRow& row = row_of(tables, parameter, "2507.10789");
    CAPTURE(parameter);
    CAPTURE(row.ours.value);
    CHECK(row.figure.checked);
    CHECK(std::abs(row.ratio.value - 1) < 0.05);
  }
  // Shared memory of another block, on an H100: 185.0 cycles of 180 and 181, and a ring of four.
  const auto clusters = kept("h100_cluster.h5");
  CHECK(row_of(clusters, "cluster latency, 2 blocks", "2402.13499").standing == Standing::agrees);
  CHECK(row_of(clusters, "cluster latency, 2 blocks", "2501.12084").standing == Standing::agrees);
  CHECK(row_of(clusters, "cluster ring, 4 blocks", "2402.13499").standing == Standing::agrees);
  const PublishedRow& fma = row_of(tables, "FMA latency", "2507.10789");
  CHECK(fma.standing == Standing::agrees);
  CHECK(kept("h200_tensor.h5").at(0).rows.size() >= 5);
  CHECK(kept("h200_onchip.h5").at(0).rows.size() >= 6);
}

}  // namespace published_test
