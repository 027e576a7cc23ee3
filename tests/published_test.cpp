// Simulated devices probed: published figures come back, and data that moves.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/trace.hpp"
#include "npgpu/vocabulary/units.hpp"
#include "probed.hpp"
#include "probes/migration/shapes.hpp"

namespace published_test {

using namespace npgpu;
using nlohmann::json;

// Papers' figures beside ours: units that become one, what counts as agreement, and a real H200 beside them.

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

TEST_CASE("a figure beside our interval is not within it, however near") {
  // The paper's are 34.58 bytes a cycle: 35.2 is 1.8 % from there.
  const auto tables = published(of_capability("9.0"), {with({{"L2 bandwidth", {40, 35.2, 45, "B/cycle/SM", ""}}})});
  CHECK(row_of(tables, "L2 bandwidth", "2402.13499").standing != Standing::interval);
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

// The simulated probes as probes: what they refuse, what goes wrong, and that nothing is silently wrong.

namespace {

ProbeCase compute_case(const std::string& device) { return {.probe = "compute", .device = device}; }

std::unique_ptr<Runner<Probes>> open(const Probe& probe, const ProbeCase& question, std::uint64_t max_bytes = 0) {
  const ProbeStep step{question, {.bytes = max_bytes}};
  return probe.open({&step, 1});
}

Measured<Probes> measured(const std::string& device, const Shape& shape, std::uint64_t repeats = 1000) {
  const auto runner = open(find_probe("compute", device), compute_case(device));
  const auto schedule = classic_schedule({.trials = 3, .fixed_repeats = repeats});
  return measure<Probes>(*runner, *schedule, {compute_case(device), shape}, {}).value();
}

}  // namespace

TEST_CASE("one thread: 256 FMAs a repeat, each waiting 18 cycles, and the time to begin") {
  const Measured<Probes> m = measured("sim:gtx470", {.blocks = 1, .threads = 1, .ilp = 1});
  CHECK(m.mismatch == "");
  CHECK(m.visit.work == 512);
  REQUIRE(m.samples.size() == 3);
  for (const ProbeSample& s : m.samples) {
    CHECK(s.cycles == doctest::Approx(18.0 * 256 * 1000));
    CHECK(s.device_us == doctest::Approx(3 + 18.0 * 256 * 1000 / 1215));
    CHECK(s.host_us == doctest::Approx(5 + 3 + 18.0 * 256 * 1000 / 1215 + 4));  // launch, begin, synchronize
    CHECK(s.units == 1);
    CHECK(s.max_blocks_on_unit == 1);
  }
  CHECK(m.samples.back().intact == 1);
}

TEST_CASE("cycles are of one block: with waves they are less than the kernel's") {
  const Measured<Probes> m = measured("sim:gtx470", {.blocks = 14 * 16, .threads = 1, .ilp = 1});  // two waves of 8
  CHECK(m.samples[0].cycles == doctest::Approx(18.0 * 256 * 1000));
  CHECK(m.samples[0].device_us == doctest::Approx(3 + 2 * 18.0 * 256 * 1000 / 1215));
  CHECK(m.samples[0].max_blocks_on_unit == 16);
}

TEST_CASE("blocks that were to have an SM each and shared one are a mismatch, although their results are right") {
  CHECK(measured("sim:gtx470", {.blocks = 14, .threads = 1, .ilp = 1, .one_block_per_sm = true}).mismatch == "");
  const Measured<Probes> shared =
      measured("sim:gtx470", {.blocks = 15, .threads = 1, .ilp = 1, .one_block_per_sm = true});
  CHECK(shared.mismatch == "2 blocks ran on one unit, and each was to have one to itself");
  CHECK(shared.samples.back().intact == 1);
}

TEST_CASE("a corrupt result is found, a failed call is an error that names it") {
  // Calls: 1 poison, then launch and synchronize of each run; a result is whole again with the next run.
  const auto with = [](int call, const char* kind) {
    return [=](json& j) { j["faults"] = json::array({{{"call", call}, {"kind", kind}}}); };
  };
  const Shape shape{.blocks = 1, .threads = 32, .ilp = 1};
  int found = 0, calls = 0;
  for (int call = 1; call < 20; ++call) {
    const ChangedSpec spec("gtx470", with(call, "corrupt"));
    const Measured<Probes> m = measured(spec.id(), shape);
    found += m.mismatch.find("of the result is") != std::string::npos;
    CHECK((m.samples.back().intact == 1) == m.mismatch.empty());
  }
  CHECK(found >= 1);
  for (int call = 1; call < 40; ++call) {
    const ChangedSpec spec("gtx470", with(call, "fail"));
    try {
      measured(spec.id(), shape);
      break;
    } catch (const Error& e) {
      CHECK(std::string(e.what()).find("call " + std::to_string(call)) != std::string::npos);
      ++calls;
    }
  }
  CHECK(calls >= 8);  // poison, three trials of two calls, and reading back
}

TEST_CASE("what a device cannot answer is refused with what would help") {
  const Probe& compute = find_probe("compute", "sim:plain");
  CHECK(compute.cases("sim:plain").empty());
  CHECK(compute.refuses_case(compute_case("sim:plain"))->find("add hardware.warps") != std::string::npos);
  CHECK_THROWS_AS(open(compute, compute_case("sim:plain")), Error);
  ProbeCase half = compute_case("sim:h200");
  half.type = DataType::fp16;
  CHECK(compute.refuses_case(half)->find(
            "compute sim:h200 fma fp16: a simulated device has no such kernel; it has compute "
            "sim:h200 fma fp32") == 0);
  CHECK_FALSE(compute.refuses_case(compute_case("sim:h200")));
  const Probe& bandwidth = find_probe("bandwidth", "sim:h200");
  CHECK(bandwidth.cases("sim:h200").size() == 6);
  for (const ProbeCase& c : bandwidth.cases("sim:h200")) CHECK_FALSE(bandwidth.refuses_case(c));
}

TEST_CASE("device memory is counted and given back") {
  const ChangedSpec spec("gtx470", [](json& j) { j["memory_bytes"] = 1000000; });
  const Probe& bandwidth = find_probe("bandwidth", spec.id());
  const ProbeCase c = bandwidth.cases(spec.id()).front();
  for (int i = 0; i < 3; ++i) {
    const auto runner = open(bandwidth, c, 900000);
    CHECK_THROWS_WITH_AS(open(bandwidth, c, 900000), doctest::Contains("no device memory"), Error);
    CHECK_THROWS_AS(runner->prepare({c, {.blocks = 1, .threads = 1, .ilp = 1, .access_bytes = 4, .bytes = 900001}}),
                    Error);
    CHECK_THROWS_AS(runner->prepare({c, {.blocks = 1, .threads = 1, .ilp = 1, .bytes = 900000}}), Error);
    CHECK_NOTHROW(runner->prepare({c, {.blocks = 1, .threads = 1, .ilp = 1, .access_bytes = 4, .bytes = 900000}}));
    CHECK(runner->work() == 8);
  }
}

// Memory whose pages move, on a simulated device: what a fault takes, what its way takes, and what derive() makes of
// it.
namespace migration_simulated {

namespace {

// No noise, no launch: 20 us and 2 MiB a fault, 50 and 40 GB/s on the way, 12 GB/s of reads by the host.
ChangedSpec exact() {
  return ChangedSpec("h200", [](json& j) {
    j["noise"] = {{"seed", 1}};
    j["host"]["launch_us"] = 0;
    j["hardware"]["kernel_latency_us"] = 0;
    j["hardware"]["page_fault_us"] = 20;
    j["hardware"]["fault_bytes"] = 2097152;
    j["hardware"]["migrate_to_device_gb_s"] = 50;
    j["hardware"]["migrate_to_host_gb_s"] = 40;
    j["links"]["h2h"]["rate_gb_s"] = 12;
  });
}

ProbeCase migration(const std::string& device, Operation operation, Space space = Space::managed) {
  for (const ProbeCase& c : migration::cases(device))
    if (c.operation == operation && c.space == space) return c;
  FAIL("no such case");
  return {};
}

ProbeSeries measured(const ProbeCase& c) { return probed(c, *classic_schedule({.trials = 3, .fixed_repeats = 10})); }

// Of one repeat, in us.
double time_of(const ProbeSeries& series, Pages pages, std::uint64_t bytes, std::uint32_t stride = 1) {
  for (const auto& visit : series.visits)
    if (visit.axes.pages == pages && visit.axes.bytes == bytes && visit.axes.stride == stride) {
      const ProbeSample& one = series.samples[visit.first_sample];
      return one.device_us / static_cast<double>(one.repeats);
    }
  FAIL("no such shape");
  return 0;
}

}  // namespace

TEST_CASE("pages that move: a fault for every 2 MiB, and the bytes' way") {
  const ChangedSpec spec = exact();
  const ProbeSeries reads = measured(migration(spec.id(), Operation::read));
  CHECK(time_of(reads, Pages::host, 2 * MiB) == doctest::Approx(20 + 2.097152e6 / 50e3));
  CHECK(time_of(reads, Pages::host, 128 * MiB) == doctest::Approx(64 * 20 + 134.217728e6 / 50e3));
  CHECK(time_of(reads, Pages::copied, 128 * MiB) == doctest::Approx(64 * 20 + 134.217728e6 / 50e3));
  CHECK(time_of(reads, Pages::in_place, 128 * MiB) == doctest::Approx(134.217728e6 / 50e3));
  CHECK(time_of(reads, Pages::device, 128 * MiB) == doctest::Approx(134.217728e6 / (2 * 2141e3)));
  const ProbeSeries writes = measured(migration(spec.id(), Operation::write));
  CHECK(time_of(writes, Pages::untouched, 16 * MiB) == doctest::Approx(8 * 20));
  CHECK(time_of(writes, Pages::in_place, 16 * MiB) == doctest::Approx(16.777216e6 / 50e3));
  const ProbeSeries prefetches = measured(migration(spec.id(), Operation::prefetch));
  CHECK(time_of(prefetches, Pages::host, 16 * MiB) == doctest::Approx(16.777216e6 / 50e3));
  CHECK(time_of(prefetches, Pages::device, 16 * MiB) == doctest::Approx(16.777216e6 / 40e3));
  const ProbeSeries host = measured(migration(spec.id(), Operation::host_read));
  CHECK(time_of(host, Pages::host, 16 * MiB) == doctest::Approx(16.777216e6 / 12e3));
  CHECK(time_of(host, Pages::device, 16 * MiB) == doctest::Approx(16.777216e6 / 12e3 + 8 * 20 + 16.777216e6 / 40e3));
}

TEST_CASE(
    "loads that touch a page each wait for a fault; of smaller strides, most find what an earlier fault brought") {
  const ChangedSpec spec = exact();
  const ProbeSeries chase = measured(migration(spec.id(), Operation::chase));
  const double fault = 20 + 2.097152e6 / 50e3, load = 685 / 1980.0;
  CHECK(time_of(chase, Pages::host, 64 * MiB, 524288) == doctest::Approx(32 * (load + fault)));
  CHECK(time_of(chase, Pages::host, 64 * MiB, 1024) == doctest::Approx(16384 * load + 32 * fault));
  CHECK(time_of(chase, Pages::device, 64 * MiB, 1024) == doctest::Approx(16384 * load));

  Trace trace;
  trace.of<Probes>() = {chase, measured(migration(spec.id(), Operation::read)),
                        measured(migration(spec.id(), Operation::prefetch))};
  const DeviceParameters device = derive(trace).at(0);
  CHECK(value_of(device, "page fault") == doctest::Approx(1e3 * (load + fault)));
  CHECK(value_of(device, "B migrated by faults") == doctest::Approx(134.217728e6 / (64 * 20e-6 + 134.217728e6 / 50e9)));
  CHECK(value_of(device, "B prefetched to device") == doctest::Approx(50e9));
  CHECK(value_of(device, "B prefetched to host") == doctest::Approx(40e9));
  CHECK(value_of(device, "B managed in place") == doctest::Approx(50e9));
}

TEST_CASE("sets that could hang a device, and places that an operation has not, are refused in a sentence") {
  const Probe& probe = find_probe("migration", "sim:h200");
  const ProbeCase read = migration("sim:h200", Operation::read);
  Shape shape = probe.shapes(read).front();
  CHECK_FALSE(probe.refuses({read, shape}));
  shape.bytes = 2 * GiB;
  CHECK(probe.refuses({read, shape}) ==
        "2 GiB of memory that moves page by page: at most 1 GiB, as more than a device has free can hang it");
  shape.bytes = 2 * MiB;
  shape.pages = Pages::untouched;
  CHECK(probe.refuses({read, shape}) == "pages untouched: read of managed memory takes device, host, in-place, copied");
  // A device whose spec says nothing of faults has no such probe.
  const ChangedSpec plain("h200", [](json& j) { j["hardware"].erase("page_fault_us"); });
  CHECK(probe.cases(plain.id()).empty());
}

}  // namespace migration_simulated

}  // namespace published_test
