// The simulated probes as probes: what they refuse, what goes wrong, and that nothing is silently wrong.
#include "npgpu/error.hpp"
#include "probed.hpp"

namespace probe_simulated_test {

using namespace npgpu;
using nlohmann::json;

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

}  // namespace probe_simulated_test
