// What a device says of itself: counters, rows, links, multiprocessors, clocks.
#include "npgpu/judge/fleet.hpp"
#include "tests/made_health.hpp"

namespace device_health_test {

using namespace made_health;
using namespace npgpu;

TEST_CASE("what the trace does not hold is skipped, and says so") {
  const auto all = health_of(Made().at(55).trace());
  for (const char* metric : {"ecc_uncorrected", "remapped_rows", "pcie_replays", "nvlink", "xid", "iommu", "acs"}) {
    CAPTURE(metric);
    CHECK(find(all, metric)->health == Health::skip);
    CHECK(find(all, metric)->text.find("not in this trace") != std::string::npos);
  }
  Made read = Made().at(55);
  read.after = {{"pcie_replays", whole(0)}};
  CHECK(finding(read.trace(), "ecc_uncorrected").text.find("not reported by this GPU") != std::string::npos);
  read.before.emplace_back("ecc", whole(0));
  CHECK(finding(read.trace(), "ecc_uncorrected").text.find("ECC is off") != std::string::npos);
}

TEST_CASE("errors that were there are told from those that came in the run") {
  const auto with = [](int before, int after, const char* name) {
    Made made = Made().at(55);
    made.before.emplace_back(name, whole(before));
    made.after = {{name, whole(after)}};
    return made.trace();
  };
  CHECK(finding(with(7, 7, "ecc_corrected_volatile"), "ecc_corrected").health == Health::pass);
  CHECK(finding(with(700, 700, "ecc_corrected_volatile"), "ecc_corrected").health == Health::warn);
  const HealthFinding rose = finding(with(7, 9, "ecc_corrected_volatile"), "ecc_corrected");
  CHECK(rose.health == Health::warn);
  CHECK(rose.text == "9 corrected ECC errors since the driver was loaded, 2 of them in this run");
  CHECK(finding(with(1, 1, "ecc_uncorrected_volatile"), "ecc_uncorrected").health == Health::fail);
  Made mended = Made().at(55);
  mended.after = {{"ecc_uncorrected_volatile", whole(0)}, {"ecc_uncorrected_aggregate", whole(3)}};
  CHECK(finding(mended.trace(), "ecc_uncorrected").health == Health::pass);
  CHECK(verdict_of(health_of(with(1, 1, "ecc_uncorrected_volatile"))) == CheckVerdict::broken);
  CHECK(finding(with(5, 5, "pcie_replays"), "pcie_replays").health == Health::pass);
  CHECK(finding(with(5, 6, "pcie_replays"), "pcie_replays").health == Health::warn);
  // In 3.5 s eight a minute bring 0.47: five come once in 10000 such runs, four once in 800. In a minute 19 are too
  // many. A link of Gen1 x16 has 4.8 a minute at 1e-12, fewer than these; one of Gen5 x16 has 61.4.
  const auto lasting = [&](double seconds, int replays, int generation = 1) {
    Trace trace = with(5, 5 + replays, "pcie_replays");
    for (auto& [key, value] : trace.provenance[0].second)
      if (key == "pcie_generation_now") value = whole(generation);
    trace.of<Transfers>()[0].visits[0].at_s = seconds;
    return finding(trace, "pcie_replays");
  };
  CHECK(lasting(3.5, 4).health == Health::pass);
  CHECK(lasting(3.5, 5).health == Health::warn);
  CHECK(lasting(60, 18).health == Health::pass);
  CHECK(lasting(60, 18).limit == 18);
  CHECK(lasting(60, 19).health == Health::warn);
  CHECK(lasting(60, 80, 5).health == Health::pass);
  CHECK(lasting(60, 95, 5).health == Health::warn);
  CHECK(lasting(0.5, 2, 5).health == Health::pass);
  CHECK(lasting(0.5, 5, 5).health == Health::warn);
  CHECK(finding(with(0, 1, "xids"), "xid").health == Health::fail);
  CHECK(finding(with(0, 0, "xids"), "xid").health == Health::pass);

  // A run that continues it, or measures again what is open, begins where the counter stands.
  Trace continued = with(3, 5, "xids");
  const Provenance first = continued.provenance;
  for (const auto& [group, facts] : first) {
    if (!group.starts_with("gpu0")) continue;
    continued.provenance.emplace_back("resume_1/" + group, facts);
    for (auto& [key, value] : continued.provenance.back().second)
      if (key == "xids") value = std::int64_t{5};
  }
  CHECK(finding(continued, "xid").health == Health::fail);
  CHECK(finding(continued, "xid").text.starts_with("2 Xid errors during this run"));
}

TEST_CASE("uncorrected errors of PCIe warn where they were there, and break where they come") {
  const auto with = [](int before, int after) {
    Made made = Made().at(55);
    made.before.insert(made.before.end(), {{"aer_fatal", whole(before)}, {"aer_nonfatal", whole(0)}});
    made.after = {{"aer_fatal", whole(after)}, {"aer_nonfatal", whole(0)}};
    return finding(made.trace(), "pcie_errors");
  };
  CHECK(with(0, 0).health == Health::pass);
  CHECK(with(2, 2).health == Health::warn);
  CHECK(with(2, 2).text == "2 uncorrected PCIe errors since the system started, 2 of them fatal");
  CHECK(with(2, 3).health == Health::fail);
  CHECK(with(2, 3).if_failed == CheckVerdict::broken);
  CHECK(finding(Made().at(55).trace(), "pcie_errors").health == Health::skip);
}

TEST_CASE("rows that wait for a reset fail, those that failed need a new GPU, rows that were remapped are well") {
  const auto with = [](int uncorrected, int pending, int failed) {
    Made made = Made().at(55);
    made.after = {{"remapped_rows_corrected", whole(0)},
                  {"remapped_rows_uncorrected", whole(uncorrected)},
                  {"remapped_rows_pending", whole(pending)},
                  {"remapped_rows_failed", whole(failed)}};
    return finding(made.trace(), "remapped_rows");
  };
  const auto page = [](int retired, int pending) {
    Made made = Made().at(55);
    made.after = {{"retired_pages", whole(retired)}, {"retired_pages_pending", whole(pending)}};
    return finding(made.trace(), "retired_pages");
  };
  CHECK(with(0, 0, 0).health == Health::pass);
  CHECK(with(2, 0, 0).health == Health::pass);
  CHECK(with(2, 1, 0).health == Health::fail);
  CHECK(with(2, 1, 0).explanations.at(0).remedy.find("reset the GPU") != std::string::npos);
  for (const int pending : {0, 1}) {  // a failure outweighs what waits
    CHECK(with(2, pending, 1).health == Health::fail);
    REQUIRE(with(2, pending, 1).explanations.size() == 1);
    CHECK(cause(with(2, pending, 1)) == "remapping_failed");
    CHECK(with(2, pending, 1).explanations[0].remedy.starts_with("replace the GPU"));
  }
  CHECK(page(3, 0).health == Health::pass);
  CHECK(page(3, 1).health == Health::fail);
  CHECK(page(3, 1).explanations.at(0).remedy.find("reboot") != std::string::npos);
  CHECK(page(62, 0).explanations.at(0).remedy.starts_with("replace the GPU"));
}

TEST_CASE("NVLinks: all active, one down, errors in the run, none in use") {
  const auto with = [](int active, int inactive, int errors) {
    Made made = Made().at(55);
    made.before.emplace_back("nvlink_crc_errors", whole(10));
    made.after = {{"nvlinks_active", whole(active)},
                  {"nvlinks_inactive", whole(inactive)},
                  {"nvlink_crc_errors", whole(10 + errors)}};
    return finding(made.trace(), "nvlink").health;
  };
  CHECK(with(18, 0, 0) == Health::pass);
  CHECK(with(17, 1, 0) == Health::fail);
  CHECK(with(18, 0, 3) == Health::warn);
  CHECK(with(0, 18, 0) == Health::skip);
}

TEST_CASE("multiprocessors: those that ran, against the driver's report and the model's") {
  const auto ran = [](unsigned units, int reported) {
    Made made = Made().at(55);
    made.before[2].second = whole(reported);
    ProbeSeries probe = probe_sweep();
    made.copies.device_name = probe.device_name = "NVIDIA H200";
    add_point(probe, {.blocks = 1056, .threads = 256, .ilp = 8}, 1e9, {100});
    for (ProbeSample& sample : probe.samples) sample.units = units;
    made.probes = {probe};
    return finding(made.trace(), "sms");
  };
  CHECK(ran(132, 132).health == Health::pass);
  CHECK(ran(129, 132).health == Health::fail);
  CHECK(ran(129, 132).text == "129 of 132 multiprocessors ran");
  CHECK(ran(129, 129).health == Health::fail);  // the driver hides them; an H200 has 132
  CHECK(cause(ran(129, 129)) == "sms_missing");
}

TEST_CASE("what was read and cannot be is not known, and is said so") {
  const auto read_as = [](Telemetry telemetry, Facts limits = {}) {
    Made made = Made().at(55);
    made.before.insert(made.before.end(), limits.begin(), limits.end());
    made.before.emplace_back("max_memory_clock_mhz", whole(3201));
    for (Visit<Transfers>& visit : made.copies.visits) visit.telemetry = telemetry;
    return made.trace();
  };
  const Telemetry zeros{.sm_clock_mhz = 0, .memory_clock_mhz = 0, .power_w = 0, .temperature_c = 0},
      huge{
          .sm_clock_mhz = 4294967295.0, .memory_clock_mhz = 4294967295.0, .power_w = 4294967.295, .temperature_c = 255},
      true_ones{.sm_clock_mhz = 1980, .memory_clock_mhz = 3201, .power_w = 500, .temperature_c = 50};
  for (const char* metric : {"sm_clock", "memory_clock", "power", "temperature"}) {
    CAPTURE(metric);
    CHECK(finding(read_as(true_ones), metric).health == Health::pass);
    for (const Telemetry& one : {zeros, huge}) {
      CHECK(finding(read_as(one), metric).health == Health::skip);
      CHECK(finding(read_as(one), metric).text.ends_with(", which cannot be"));
    }
  }
  CHECK(finding(read_as(huge), "temperature").text == "temperature: read as 255 C, which cannot be");
  // Reasons count all the same, and limits of 0 are none.
  Telemetry held = zeros;
  held.throttle_reasons = 0x20;
  CHECK(finding(read_as(held), "throttle").health == Health::fail);
  const auto no_limits = read_as(
      true_ones,
      {{"power_limit_w", whole(0)}, {"default_power_limit_w", whole(700)}, {"slowdown_temperature_c", whole(0)}});
  CHECK(finding(no_limits, "power").text == "at most 500 W");
  CHECK(finding(no_limits, "power").health == Health::pass);
  CHECK(finding(no_limits, "temperature").health == Health::pass);
}

TEST_CASE("clocks and throttling, and what they explain") {
  const auto at = [](double mhz, std::uint64_t reasons, double celsius) {
    Made made = Made().at(55);
    for (Visit<Transfers>& visit : made.copies.visits)
      visit.telemetry = {.sm_clock_mhz = mhz, .temperature_c = celsius, .throttle_reasons = reasons};
    return made.trace();
  };
  CHECK(finding(at(1980, 0, 50), "sm_clock").health == Health::pass);
  CHECK(finding(at(1935, 0, 50), "sm_clock").health == Health::pass);  // 97.7 %
  CHECK(finding(at(1850, 0, 50), "sm_clock").health == Health::pass);  // NVML's maximum is no promise
  CHECK(finding(at(1600, 0, 50), "sm_clock").health == Health::warn);
  CHECK(finding(at(1410, 0x4, 50), "sm_clock").text ==
        "SM clock 1410 MHz under load, of 1980 at most: held at the usual power limit");
  CHECK(verdict_of(health_of(at(1410, 0x4, 50))) == CheckVerdict::ok);
  CHECK(cause(finding(at(1410, 0, 50), "sm_clock")) == "clock_cap");
  // Held at its power limit a GPU draws it. One that draws far less and is slow is held by something else.
  const auto drawing = [&](double watts, double mhz, double limit = 400) {
    Made made;
    for (int i = 0; i < 3; ++i) made.at(55);
    made.before.insert(made.before.end(), {{"power_limit_w", limit}, {"default_power_limit_w", limit}});
    for (Visit<Transfers>& visit : made.copies.visits)
      visit.telemetry = {.sm_clock_mhz = mhz, .power_w = watts, .throttle_reasons = 0x4};
    return made.trace();
  };
  for (const char* metric : {"throttle", "sm_clock"}) {
    CHECK(finding(drawing(238, 1180), metric).health == Health::fail);
    CHECK(cause(finding(drawing(238, 1180), metric)) == "throttle_power_feed");
    CHECK(finding(drawing(396, 1180), metric).health == Health::pass);
    CHECK(finding(drawing(238, 1700), metric).health == Health::pass);  // readings lag behind
  }
  CHECK(verdict_of(health_of(drawing(238, 1180))) == CheckVerdict::slow);
  CHECK(finding(drawing(238, 1180), "throttle").explanations[0].remedy.find("power cables") != std::string::npos);
  CHECK(finding(at(1410, 0x20, 92), "throttle").health == Health::fail);
  CHECK(cause(finding(at(1410, 0x20, 92), "sm_clock")) == "throttle_thermal");
  CHECK(cause(finding(at(1410, 0x20, 92), "temperature")) == "throttle_thermal");
  CHECK(finding(at(1980, 0x4, 50), "throttle").health == Health::pass);  // at its usual power limit
  CHECK(cause(finding(at(1980, 0x80, 50), "throttle")) == "throttle_brake");
  CHECK(cause(finding(at(1980, 0, 85), "temperature")) == "hot");
  CHECK(finding(at(1980, 0, 99), "temperature").explanations.at(0).what.ends_with("slows down, or above it"));
  // So many visits at a low clock, of nine; so many with a reason.
  const auto some = [](std::size_t low, std::size_t held) {
    Made made;
    for (int i = 0; i < 3; ++i) made.at(55);
    for (std::size_t i = 0; i < made.copies.visits.size(); ++i)
      made.copies.visits[i].telemetry = {.sm_clock_mhz = i < low ? 1000.0 : 1980.0,
                                         .throttle_reasons = i < held ? std::uint64_t{0x20} : 0};
    return made.trace();
  };
  CHECK(finding(some(9, 0), "sm_clock").health == Health::fail);
  CHECK(finding(some(5, 0), "sm_clock").health == Health::pass);
  CHECK(finding(some(5, 0), "sm_clock").text ==
        "SM clock 1000 MHz under load, and 1980 is its maximum; 9 readings cannot say that it is held there");
  // Others lower no clock: it is low by the median's interval, though a third of the readings are high.
  Made most_are_low;
  for (int i = 0; i < 20; ++i) most_are_low.at(55);
  for (std::size_t i = 0; i < most_are_low.copies.visits.size(); ++i)
    most_are_low.copies.visits[i].telemetry.sm_clock_mhz = i % 3 == 0 ? 1980 : 1000;
  CHECK(finding(most_are_low.trace(), "sm_clock").health == Health::fail);
  CHECK(finding(some(0, 2), "throttle").health == Health::warn);  // one visit of a hundred: a chance of 0.3 %
  CHECK(finding(some(0, 3), "throttle").health == Health::fail);
}

TEST_CASE("a fleet knows of a GPU's Xids, as its check does") {
  Made made = Made().at(55);
  made.before.emplace_back("xids", whole(0));
  made.after = {{"xids", whole(2)}, {"xid_last", whole(48)}};
  const HealthFinding alone = finding(made.trace(), "xid");
  CHECK(alone.health == Health::fail);
  const FleetRun run = fleet_run(made.trace());
  REQUIRE(run.gpus.size() == 1);
  const auto found = std::ranges::find(run.gpus[0].defects, "xid", &FleetDefect::metric);
  REQUIRE(found != run.gpus[0].defects.end());
  CHECK(found->text == alone.text);
  CHECK(found->remedy == alone.explanations.at(0).remedy);
}

}  // namespace device_health_test
