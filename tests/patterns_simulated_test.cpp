// The patterns on simulated devices: laws that agree with a device that is built as the guide says, and that do not
// with one that is built otherwise.
#include <fmt/format.h>

#include "netpipe/devices/simulated/multiprocessors.hpp"
#include "npgpu/model/derive.hpp"
#include "probed.hpp"
#include "probes/patterns/patterns.hpp"

namespace patterns_simulated_test {

using namespace npgpu;
using nlohmann::json;

namespace {

ProbeCase pattern(const char* probe, const std::string& device, Space space) {
  for (const ProbeCase& c : find_probe(probe, device).cases(device))
    if (c.space == space) return c;
  FAIL("no such case");
  return {};
}

ProbeSeries measured(const char* probe, const std::string& device, Space space) {
  const std::uint64_t repeats = probe == std::string_view("product") ? 20 : 200000;
  const auto schedule = classic_schedule({.trials = 9, .fixed_repeats = repeats});
  return probed(pattern(probe, device, space), *schedule);
}

int with(const Law& law, Agreement verdict) {
  return static_cast<int>(std::ranges::count(law.points, verdict, &LawPoint::verdict));
}

const LawPoint& at(const Law& law, std::uint32_t stride, std::uint32_t offset = 0, std::uint32_t ways = 1) {
  for (const LawPoint& p : law.points)
    if (pattern_of(p.shape) == std::tuple(stride, offset, ways, 0u, 0u, 0u, 0u, 0u, Pages::fixed, 0u)) return p;
  FAIL("no such shape");
  return law.points.front();
}

DeviceParameters derived(std::vector<ProbeSeries> all) {
  Trace trace;
  trace.of<Probes>() = std::move(all);
  return derive(trace).at(0);
}

const std::pair<const char*, Space> lawful[] = {
    {"onchip", Space::shared},  {"onchip", Space::constant},      {"access", Space::l2},      {"access", Space::l1},
    {"atomics", Space::shared}, {"divergence", Space::registers}, {"product", Space::global}, {"occupancy", Space::l2}};

// A spec with one figure changed.
ChangedSpec built(const char* figure, double value) {
  return ChangedSpec("h200", [=](json& j) { j["hardware"][figure] = value; });
}

}  // namespace

TEST_CASE("the laws' formulas count what counting lane by lane does") {
  for (std::uint32_t stride = 0; stride <= 130; ++stride) {
    CAPTURE(stride);
    CHECK(bank_passes(stride) == simulated::shared_cycles(stride, 32, 32, 4));
    CHECK(constant_passes(stride) == simulated::pieces(stride, 0, 32, 4));
    for (std::uint32_t offset = 0; offset <= 128; offset += 4)
      for (const std::uint32_t piece : {32u, 128u})
        CHECK(pieces_touched(stride, offset, piece) == simulated::pieces(stride, offset, 32, piece));
  }
  for (const std::uint32_t stride : {0u, 1u, 2u, 4u, 8u, 16u, 32u, 64u})
    for (std::uint32_t ways = 1; ways <= 32; ways *= 2)
      CHECK(ways_of_warp(stride, ways) == simulated::ways_taken(stride, ways, 1024, 32));
  // 32 lanes in runs of 3: ten of them, and two lanes more.
  CHECK(ways_of_warp(3, 32) == 11);
  CHECK(simulated::ways_taken(3, 32, 32, 32) == 11);
}

TEST_CASE("counted by hand: two lanes of stride 16 meet in each of two banks' rows, 16 times") {
  CHECK(simulated::shared_cycles(16, 32, 32, 4) == 16);
  CHECK(simulated::shared_cycles(1, 32, 32, 4) == 1);
  CHECK(simulated::shared_cycles(2, 32, 32, 8) == 1);  // banks of 8 bytes: 64 words lie in one row of all
  CHECK(simulated::shared_cycles(1, 32, 16, 4) == 2);  // 16 banks serve half a warp
  CHECK(simulated::shared_cycles(0, 32, 32, 4) == 1);  // one word for all
  CHECK(simulated::pieces(1, 4, 32, 32) == 5);         // 128 bytes that begin within a sector
  CHECK(simulated::pieces(8, 0, 32, 32) == 32);
  CHECK(simulated::ways_taken(32, 4, 128, 64) == 2);  // pairs of warps that go together
}

// The slides' block of 512: 16 warps while s is below a warp, then 8, 4, 2 and 1; and 8, 4, 2, 1, 1, 1, 1, 1, 1.
TEST_CASE("warps at work in a reduction of 512 words: 95 by neighbours, 20 by halves") {
  CHECK(simulated::reduction_warps(512, true) == 95);
  CHECK(simulated::reduction_warps(512, false) == 20);
}

TEST_CASE("the ladder: no rung is slower than the one before, and the last reaches memory") {
  const auto schedule = classic_schedule({.trials = 5, .fixed_repeats = 20});
  const ProbeSeries series = probed(pattern("reduction", "sim:h200", Space::global), *schedule);
  REQUIRE(series.visits.size() == 8);
  double before = 1e9, first = 0, last = 0;
  for (const auto& visit : series.visits) {
    last = series.samples[visit.first_sample].device_us;
    if (!first) first = last;
    CHECK(last < before * 1.02);
    before = last;
  }
  CHECK(first > 1.2 * last);
  const auto device = derived({series});
  CHECK(value_of(device, "B sum") == doctest::Approx(2 * 2141e9).epsilon(0.05));
  CHECK(value_of(device, "B sum reached") == doctest::Approx(100 * 2 * 2141.0 / 4814).epsilon(0.05));
  CHECK(value_of(device, "gain of the ladder") == doctest::Approx(first / last).epsilon(0.02));
}

TEST_CASE("tiles under way hide the latency: alone a block brings one in a latency, eight ahead eight times as fast") {
  const auto schedule = classic_schedule({.trials = 3, .fixed_repeats = 20});
  const ProbeCase c = pattern("staging", "sim:h200", Space::global);
  const auto rate = [&](std::uint32_t rung, std::uint32_t ilp) {
    const ProbeStep step{
        c, {.blocks = 1, .threads = 256, .ilp = ilp, .access_bytes = 16, .bytes = 64 * MiB, .rung = rung}};
    const auto runner = find_probe("staging", "sim:h200").open({&step, 1});
    const auto m = measure<Probes>(*runner, *schedule, step, {}).value();
    return m.visit.work * static_cast<double>(m.samples[0].repeats) / m.samples[0].device_us * 1e6;
  };
  CHECK(rate(2, 1) == doctest::Approx(4096 / (685 / 1980e6)).epsilon(0.02));
  CHECK(rate(3, 8) == doctest::Approx(8 * rate(2, 1)).epsilon(0.02));
}

TEST_CASE("a device that is built as the guide says: every law agrees at every shape") {
  for (const auto& [probe, space] : lawful) {
    CAPTURE(probe);
    const auto law = law_of(measured(probe, "sim:h200", space));
    REQUIRE(law);
    CHECK(law->points.size() >= 2);
    CHECK(with(*law, Agreement::agrees) == static_cast<int>(law->points.size()));
    for (const LawPoint& p : law->points) CHECK(p.measured.value == doctest::Approx(p.law).epsilon(0.02));
  }
  CHECK_FALSE(law_of(measured("onchip", "sim:h200", Space::l1)));
  CHECK_FALSE(law_of(measured("atomics", "sim:h200", Space::global)));
}

TEST_CASE("occupancy: a device of which each block takes more shared memory than it says breaks the law") {
  const auto law = law_of(measured("occupancy", "sim:h200", Space::l2));
  REQUIRE(law);
  CHECK(law->points.size() == 14);
  CHECK(law->points[0].passes == 3);  // 48 blocks of a unit, 16 at once
  CHECK(law->points[0].law == 1);
  ProbeSeries series = measured("occupancy", "sim:h200", Space::l2);
  series.layout.shared_bytes_reserved = 0;  // 76 KiB of 228 are three blocks' without it: four of 56 KiB either way
  series.layout.shared_bytes_per_unit = 227 * static_cast<std::uint32_t>(KiB) * 2;
  const auto other = law_of(series);
  CHECK(with(*other, Agreement::disagrees) >= 6);
  CHECK(with(*other, Agreement::agrees) >= 7);  // those that registers limit, and the first
}

TEST_CASE("what the law says, by hand") {
  const auto banks = law_of(measured("onchip", "sim:h200", Space::shared));
  CHECK(at(*banks, 32).law == 32);
  CHECK(at(*banks, 33).law == 1);
  CHECK(at(*banks, 0).law == 1);
  const auto sectors = law_of(measured("access", "sim:h200", Space::l2));
  CHECK(at(*sectors, 8).passes == 32);
  CHECK(at(*sectors, 8).law == 8);
  CHECK(at(*sectors, 1, 4).passes == 5);
  CHECK(at(*sectors, 1, 32).passes == 4);
  const auto tiles = law_of(measured("product", "sim:h200", Space::global));
  REQUIRE(tiles->points.size() == 6);
  const auto law_at = [&](std::uint32_t threads, std::uint32_t rung) {
    const auto found = std::ranges::find_if(
        tiles->points, [&](const LawPoint& p) { return p.shape.threads == threads && p.shape.rung == rung; });
    return found == tiles->points.end() ? not_measured : found->law;
  };
  CHECK(law_at(64, 1) == 32);   // from global memory
  CHECK(law_at(64, 2) == 4);    // tiles of 8
  CHECK(law_at(1024, 2) == 1);  // tiles of 32
  const auto ways = law_of(measured("divergence", "sim:h200", Space::registers));
  CHECK(at(*ways, 1, 0, 32).law == 32);
  CHECK(at(*ways, 32, 0, 32).law == 1);
}

TEST_CASE("a device that is built otherwise: the law says where, and by how much") {
  const auto broken = [](const char* figure, double value, const char* probe, Space space) {
    const ChangedSpec spec = built(figure, value);
    return law_of(measured(probe, spec.id(), space)).value();
  };
  const Law wide_banks = broken("bank_bytes", 8, "onchip", Space::shared);
  CHECK(at(wide_banks, 1).verdict == Agreement::agrees);
  CHECK(at(wide_banks, 2).verdict == Agreement::disagrees);
  CHECK(law_error_percent(at(wide_banks, 2)) == doctest::Approx(-50).epsilon(0.02));
  CHECK(at(broken("sector_bytes", 64, "access", Space::l2), 16).verdict == Agreement::disagrees);
  CHECK(at(broken("line_bytes", 64, "access", Space::l1), 32).verdict == Agreement::disagrees);
  CHECK(at(broken("shared_atomic_lanes", 32, "atomics", Space::shared), 0).verdict == Agreement::disagrees);
  const Law pairs = broken("branch_lanes", 64, "divergence", Space::registers);
  CHECK(at(pairs, 1, 0, 8).verdict == Agreement::agrees);
  CHECK(at(pairs, 32, 0, 8).verdict == Agreement::disagrees);
  CHECK(law_error_percent(at(pairs, 32, 0, 8)) == doctest::Approx(100).epsilon(0.02));
}

TEST_CASE(
    "what follows: banks, sectors, lines and rates come out of the spec's figures, and are compared with the guide") {
  const auto device =
      derived({measured("onchip", "sim:h200", Space::shared), measured("onchip", "sim:h200", Space::l1),
               measured("onchip", "sim:h200", Space::l2), measured("onchip", "sim:h200", Space::constant),
               measured("access", "sim:h200", Space::l2), measured("access", "sim:h200", Space::l1)});
  for (const auto& [name, value] :
       std::vector<std::pair<const char*, double>>{{"shared bandwidth", 128},
                                                   {"L1 bandwidth", 128},
                                                   {"L2 bandwidth", 10500e9 / 132 / 1980e6},
                                                   {"L2 bandwidth of a large set", 10500e9 / 132 / 1980e6},
                                                   {"constant bandwidth", 64},
                                                   {"banks", 32},
                                                   {"bank width", 4},
                                                   {"sector size", 32},
                                                   {"line size", 128}}) {
    CAPTURE(name);
    CHECK(value_of(device, name) == doctest::Approx(value).epsilon(0.02));
    CHECK(find(device, name)->verdict == Agreement::agrees);
  }
}

TEST_CASE("what follows of a device that is built otherwise is found, and disagrees with the guide") {
  const auto of = [](const char* figure, double value, const char* probe, Space space, const char* name) {
    const ChangedSpec spec = built(figure, value);
    return *find(derived({measured(probe, spec.id(), space)}), name);
  };
  const Parameter banks = of("shared_banks", 16, "onchip", Space::shared, "banks");
  CHECK(banks.estimate.value == doctest::Approx(16).epsilon(0.02));
  CHECK(banks.verdict == Agreement::disagrees);
  const Parameter width = of("bank_bytes", 8, "onchip", Space::shared, "bank width");
  CHECK(width.estimate.value == 8);
  CHECK(width.verdict == Agreement::disagrees);
  CHECK(of("sector_bytes", 64, "access", Space::l2, "sector size").estimate.value == 64);
  CHECK(of("line_bytes", 64, "access", Space::l1, "line size").estimate.value == 64);
}

TEST_CASE("a set that L1 does not hold comes from L2, one that L2 does not hold from memory") {
  const ChangedSpec spec = built("l1_bytes", 100000);
  const auto schedule = classic_schedule({.trials = 3, .fixed_repeats = 100000});
  const auto rate = [&](Space space, std::uint64_t bytes) {
    const ProbeCase c = pattern("onchip", spec.id(), space);
    const Shape shape{
        .blocks = 132 * 4, .threads = patterns::wide_threads, .ilp = 4, .access_bytes = 16, .bytes = bytes};
    const ProbeStep step{c, shape};
    const auto runner = find_probe("onchip", spec.id()).open({&step, 1});
    const auto m = measure<Probes>(*runner, *schedule, step, {}).value();
    return m.visit.work * static_cast<double>(m.samples[0].repeats) / m.samples[0].device_us * 1e6;
  };
  CHECK(rate(Space::l1, 96 * KiB) == doctest::Approx(128 * 132 * 1980e6).epsilon(0.02));
  CHECK(rate(Space::l1, 128 * KiB) == doctest::Approx(10500e9).epsilon(0.02));
  CHECK(rate(Space::l2, 60 * MiB) == doctest::Approx(10500e9).epsilon(0.02));
  CHECK(rate(Space::l2, 61 * MiB) == doctest::Approx(2 * 2141e9).epsilon(0.02));
}

TEST_CASE("a device whose spec does not say how it is built is refused with what would help") {
  const Probe& probe = find_probe("onchip", "sim:gtx470");
  CHECK(probe.cases("sim:gtx470").empty());
  const ProbeCase c{.probe = "onchip", .device = "sim:gtx470", .operation = Operation::read, .space = Space::shared};
  CHECK(probe.refuses_case(c)->find("add hardware.l1_bytes") != std::string::npos);
  CHECK(find_probe("atomics", "sim:gtx470").cases("sim:gtx470").empty());
  CHECK(find_probe("divergence", "sim:gtx470").cases("sim:gtx470").size() == 1);
}

TEST_CASE("probes that have no pattern refuse one") {
  const Probe& compute = find_probe("compute", "sim:h200");
  const ProbeCase c = compute.cases("sim:h200").front();
  CHECK(compute.refuses({c, {.stride = 2}})->find("no stride") != std::string::npos);
  CHECK_FALSE(compute.refuses({c, {}}));
  const ProbeCase banks = pattern("onchip", "sim:h200", Space::shared);
  const Probe& onchip = find_probe("onchip", "sim:h200");
  Shape shape = onchip.shapes(banks).front();
  CHECK_FALSE(onchip.refuses({banks, shape}));
  for (const auto& [change, what] :
       {std::pair<void (*)(Shape&), const char*>{[](Shape& s) { s.registers = 40; }, "registers"},
        {[](Shape& s) { s.offset_bytes = 4; }, "offset"},
        {[](Shape& s) { s.ways = 2; }, "ways"},
        {[](Shape& s) { s.rung = 1; }, "rungs"},
        {[](Shape& s) { s.intensity = 64; }, "intensity"},
        {[](Shape& s) { s.sm = 1; }, "sm"},
        {[](Shape& s) { s.cluster = 2; }, "clusters"},
        {[](Shape& s) { s.panels = 2; }, "m, n, k"}}) {
    Shape changed = shape;
    change(changed);
    CHECK(onchip.refuses({banks, changed})->find(fmt::format("probe onchip has no {}", what)) == 0);
  }
}

}  // namespace patterns_simulated_test
