// What a trace says of a node's health, from traces written down by hand.
#include "npgpu/health.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>

#include "netpipe/model/health/models.hpp"
#include "netpipe/model/health/xids.hpp"
#include "npgpu/drift.hpp"
#include "npgpu/error.hpp"
#include "tests/made_probe.hpp"
#include "tests/made_sweep.hpp"

namespace health_test {

using namespace npgpu;

namespace {

std::int64_t whole(int n) { return n; }

// A GPU with PCIe Gen5 x16 (63 GB/s) that copies 64 MiB at so many GB/s, a visit a rate.
struct Made {
  Facts before{{"id", std::string("cuda:0")},     {"name", std::string("NVIDIA X1")}, {"multiprocessors", whole(132)},
               {"max_pcie_generation", whole(5)}, {"max_pcie_lanes", whole(16)},      {"pcie_generation_now", whole(5)},
               {"pcie_lanes_now", whole(16)},     {"max_sm_clock_mhz", whole(1980)}};
  Facts after{};
  TransferSeries copies = [] {
    TransferSeries series = sweep_of(Pattern::stream, Timing::gated);
    series.question.async = true;
    series.device_name = "NVIDIA X1";
    series.limit = {63e9, "PCIe Gen5 x16: 32 GT/s * 16 lanes * 128/130"};
    return series;
  }();
  std::vector<ProbeSeries> probes{};

  Visit<Transfers>& copy(std::uint64_t bytes, double gb_s) {
    return add_point(copies, bytes, {static_cast<double>(bytes) / gb_s / 1e3});
  }
  Made& at(double gb_s) {
    for (const double factor : {0.999, 1.0, 1.001}) copy(64 * MiB, gb_s * factor);
    return *this;
  }
  Trace trace() const {
    Trace made;
    made.provenance = {{"gpu0", before}};
    if (!after.empty()) {
      Facts all{{"id", std::string("cuda:0")}};
      all.insert(all.end(), after.begin(), after.end());
      made.provenance.emplace_back("gpu0_after", all);
    }
    made.of<Transfers>() = {copies};
    made.of<Probes>() = probes;
    return made;
  }
};

std::optional<HealthFinding> find(const std::vector<HealthFinding>& all, const std::string& metric) {
  const auto found = std::ranges::find(all, metric, &HealthFinding::metric);
  return found == all.end() ? std::nullopt : std::optional(*found);
}
HealthFinding finding(const Trace& trace, const std::string& metric, const HealthRules& rules = {}) {
  const auto found = find(health_of(trace, rules), metric);
  REQUIRE_MESSAGE(found, metric);
  return *found;
}
std::string cause(const HealthFinding& of) { return of.explanations.empty() ? "" : of.explanations[0].cause; }

}  // namespace

TEST_CASE("a copy's floor is the link's rate times 0.82, and 4.5 us") {
  // 64 MiB / (4.5 us + 64 MiB / (0.82 * 63 GB/s)) = 67108864 / (4.5 + 1299.05) us = 51.48 GB/s
  const HealthFinding good = finding(Made().at(55).trace(), "h2d_rate");
  CHECK(good.health == Health::pass);
  CHECK(good.value == doctest::Approx(55e9));
  CHECK(good.limit == doctest::Approx(51.48e9).epsilon(1e-4));
  CHECK(good.unit == "B/s");
  CHECK(good.basis == "PCIe Gen5 x16: 63.00 GB/s * 0.82, and 4.5 us");
  CHECK(good.device == "cuda:0");
  CHECK(good.explanations.empty());
  // Three visits that are 0.1 % apart: Student's t gives 4.303 * 0.1 % / sqrt(3) = 0.25 % on either side.
  CHECK(finding(Made().at(51.7).trace(), "h2d_rate").health == Health::pass);
  CHECK(finding(Made().at(51.6).trace(), "h2d_rate").health == Health::pass);  // and all three visits reach it
  CHECK(finding(Made().at(51.5).trace(), "h2d_rate").health == Health::undecided);
  CHECK(finding(Made().at(51.4).trace(), "h2d_rate").health == Health::undecided);
  CHECK(finding(Made().at(51.3).trace(), "h2d_rate").health == Health::fail);
  // What would have been seen: all that brings 55.14 GB/s, the interval's upper end, below the limit.
  CHECK(good.would_see == doctest::Approx(1 - 51.48 / 55.14).epsilon(1e-3));
  CHECK(finding(Made().at(55).trace(), "d2h_rate").health == Health::skip);
}

TEST_CASE(
    "in a virtual machine a shortfall that a busy host's memory can cause, and that nothing explains, is undecided") {
  const auto in_vm = [](Made made, double gb_s, std::int64_t is_vm = 1) {
    Trace trace = made.at(gb_s).trace();
    trace.provenance.emplace_back("host", Facts{{"in_virtual_machine", is_vm}});
    return finding(trace, "h2d_rate");
  };
  const HealthFinding seen = in_vm({}, 48);  // of at least 51.5
  CHECK(seen.health == Health::undecided);
  CHECK(cause(seen) == "host_memory");
  CHECK(in_vm({}, 48, 0).health == Health::fail);
  CHECK(in_vm({}, 40).health == Health::fail);  // no neighbour takes that much
  CHECK(in_vm({}, 55).health == Health::pass);
  Made half;
  half.after = {{"pcie_generation_copying", whole(5)}, {"pcie_lanes_copying", whole(8)}};
  CHECK(in_vm(half, 48).health == Health::fail);  // the link itself says why
}

TEST_CASE("older links reach less of what they could") {
  Made made;
  made.before[3].second = whole(4);
  made.copies.limit = {31.5e9, "PCIe Gen4 x16: 16 GT/s * 16 lanes * 128/130"};
  CHECK(finding(made.at(23).trace(), "h2d_rate").health == Health::pass);  // 73 %
  CHECK(finding(Made(made).at(14).trace(), "h2d_rate").limit == doctest::Approx(22.65e9).epsilon(1e-3));
}

TEST_CASE("small and middle copies have floors of their own") {
  Made made = Made().at(55);
  made.copy(4 * MiB, 53);
  made.copy(8, 8.0 / 2.2e3);
  CHECK(finding(made.trace(), "h2d_rate_1mib").health == Health::pass);
  CHECK(finding(made.trace(), "h2d_time").value == doctest::Approx(2.2));
  CHECK(finding(made.trace(), "h2d_time").health == Health::pass);
  Made slow = Made().at(55);
  for (const double factor : {0.999, 1.0, 1.001}) {
    slow.copy(4 * MiB, 40 * factor);
    slow.copy(8, 8.0 / 5.2e3 * factor);
  }
  CHECK(finding(slow.trace(), "h2d_rate_1mib").health == Health::fail);
  CHECK(cause(finding(slow.trace(), "h2d_rate_1mib")) == "link");
  CHECK(cause(finding(slow.trace(), "h2d_time")) == "slow_call");
}

TEST_CASE("the link is judged by what it was trained to while copying") {
  Made made = Made().at(27);
  made.before[6].second = whole(8);
  made.after = {{"pcie_generation_copying", whole(5)}, {"pcie_lanes_copying", whole(8)}};
  const HealthFinding link = finding(made.trace(), "pcie_link");
  CHECK(link.health == Health::fail);
  CHECK(link.value == 8);
  CHECK(link.limit == 16);
  CHECK(cause(link) == "link_lanes");
  CHECK(cause(finding(made.trace(), "h2d_rate")) == "link_lanes");
  made.after = {{"pcie_generation_copying", whole(4)}, {"pcie_lanes_copying", whole(16)}};
  CHECK(cause(finding(made.trace(), "pcie_link")) == "link_generation");
  made.after = {{"pcie_generation_copying", whole(5)}, {"pcie_lanes_copying", whole(16)}};
  CHECK(finding(made.trace(), "pcie_link").health == Health::pass);
}

TEST_CASE("an older generation before the run may be an idle GPU's, fewer lanes are not") {
  Made idle = Made().at(55);
  idle.before[5].second = whole(1);
  CHECK(finding(idle.trace(), "pcie_link").health == Health::skip);
  Made narrow = Made().at(55);
  narrow.before[6].second = whole(8);
  CHECK(finding(narrow.trace(), "pcie_link").health == Health::fail);
}

TEST_CASE("the middle of several sizes names those beside it, which are measured again with it") {
  Made made;
  for (const double factor : {0.999, 1.0, 1.001}) {
    made.copy(16 * MiB, 45 * factor);
    made.copy(64 * MiB, 46 * factor);
    made.copy(128 * MiB, 47 * factor);
    made.copy(4 * MiB, 44 * factor);
  }
  const HealthFinding rate = finding(made.trace(), "h2d_rate");
  CHECK(rate.of_point == "64 MiB");
  CHECK(rate.more_points ==
        std::vector<std::pair<std::string, std::string>>{{rate.of_case, "16 MiB"}, {rate.of_case, "128 MiB"}});
}

TEST_CASE("a figure below its limit that others disturbed is not judged, and they are named") {
  Made made;
  for (int i = 0; i < 3; ++i) disturb(made.copy(64 * MiB, 27), Cause::link_busy, "python3 (4711)");
  const HealthFinding rate = finding(made.trace(), "h2d_rate");
  CHECK(rate.health == Health::unjudged);
  CHECK(cause(rate) == "neighbour");
  CHECK(rate.text == "H2D pinned 64 MiB 27.00 GB/s, at least 51.48 GB/s; not judged: python3 (4711) disturbed it");
  CHECK(rate.explanations[0].evidence.find("python3 (4711)") != std::string::npos);
  CHECK(verdict_of(health_of(made.trace())) == CheckVerdict::not_judged);
  Made early;
  for (int i = 0; i < 3; ++i) disturb(early.copy(64 * MiB, 27), Cause::siblings, "");
  CHECK(cause(finding(early.trace(), "h2d_rate")) == "siblings");
  Made fast;  // at its limit nobody is asked
  for (int i = 0; i < 3; ++i) disturb(fast.copy(64 * MiB, 55), Cause::link_busy, "python3 (4711)");
  CHECK(finding(fast.trace(), "h2d_rate").health == Health::pass);
  CHECK(finding(fast.trace(), "neighbours").health == Health::warn);
  CHECK(verdict_of(health_of(fast.trace())) == CheckVerdict::ok);
}

TEST_CASE("points that scatter warn where they are more than chance explains, and only those that nobody disturbed") {
  // Nine sizes of three visits each; what scatters has a half width of 25 % and more.
  const auto with = [](int unsteady, int disturbed) {
    Made made;
    for (int i = 0; i < 9; ++i)
      for (const double factor : {0.9, 1.0, 1.1}) {
        Visit<Transfers>& visit = made.copy(MiB << i, i < unsteady ? 55 * factor : 55);
        if (i < disturbed) disturb(visit, Cause::host_busy, "make (4711)");
      }
    Trace trace = made.trace();
    set_drifts(trace);
    return trace;
  };
  CHECK(finding(with(0, 0), "converged").text == "9 of 9 points are steady from visit to visit");
  CHECK(finding(with(3, 0), "converged").health == Health::pass);
  CHECK(finding(with(3, 0), "converged").text ==
        "6 of 9 points are steady from visit to visit; so few of 9 may be chance");
  CHECK(finding(with(7, 0), "converged").health == Health::pass);
  CHECK(finding(with(8, 0), "converged").health == Health::warn);
  Made once;  // one visit shows nothing of the next
  for (int i = 0; i < 9; ++i) once.copy(MiB << i, 55);
  CHECK(finding(once.trace(), "converged").text == "steadiness: no point has several visits");
  // Beside others it is they who make points scatter.
  CHECK(finding(with(4, 4), "converged").text == "5 of 5 points are steady from visit to visit");
  CHECK(finding(with(9, 5), "converged").health == Health::skip);
  CHECK(finding(with(9, 5), "converged").text == "steadiness: cannot be said, as 5 of 9 points were disturbed");
  // One of nine that others disturbed is more than a tenth, and no more than chance.
  CHECK(finding(with(0, 1), "neighbours").health == Health::pass);
  CHECK(finding(with(0, 4), "neighbours").health == Health::pass);
  CHECK(finding(with(0, 5), "neighbours").health == Health::warn);
}

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
  CHECK(verdict_of(health_of(with(1, 1, "ecc_uncorrected_volatile"))) == CheckVerdict::broken);
  CHECK(finding(with(5, 5, "pcie_replays"), "pcie_replays").health == Health::pass);
  CHECK(finding(with(5, 6, "pcie_replays"), "pcie_replays").health == Health::warn);
  // In 3.5 s eight a minute bring 0.47: five come once in 10000 such runs, four once in 800. In a minute 19 are too
  // many.
  const auto lasting = [&](double seconds, int replays) {
    Trace trace = with(5, 5 + replays, "pcie_replays");
    trace.of<Transfers>()[0].visits[0].at_s = seconds;
    return finding(trace, "pcie_replays");
  };
  CHECK(lasting(3.5, 4).health == Health::pass);
  CHECK(lasting(3.5, 5).health == Health::warn);
  CHECK(lasting(60, 18).health == Health::pass);
  CHECK(lasting(60, 18).limit == 18);
  CHECK(lasting(60, 19).health == Health::warn);
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

TEST_CASE("rows that wait for a reset fail, rows that were remapped warn") {
  const auto with = [](int uncorrected, int pending, int failed) {
    Made made = Made().at(55);
    made.after = {{"remapped_rows_corrected", whole(0)},
                  {"remapped_rows_uncorrected", whole(uncorrected)},
                  {"remapped_rows_pending", whole(pending)},
                  {"remapped_rows_failed", whole(failed)}};
    return finding(made.trace(), "remapped_rows");
  };
  CHECK(with(0, 0, 0).health == Health::pass);
  CHECK(with(2, 0, 0).health == Health::warn);
  CHECK(with(2, 1, 0).health == Health::fail);
  CHECK(with(2, 0, 1).health == Health::fail);
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

TEST_CASE("wrong results break a node") {
  Made made = Made().at(55);
  made.copies.samples[1].intact = 1;
  CHECK(finding(made.trace(), "results").health == Health::pass);
  made.copies.samples[2].intact = 0;
  const HealthFinding results = finding(made.trace(), "results");
  CHECK(results.health == Health::fail);
  CHECK(results.value == 1);
  CHECK(cause(results) == "corrupt");
  // Its figure is void, and is not missing for another reason.
  const HealthRules rules{.reference = {}, .figures = {}, .expected = {}, .required = {"h2d_rate"}};
  CHECK(cause(finding(made.trace(), "h2d_rate", rules)) == "corrupt");
  CHECK(verdict_of(health_of(made.trace(), rules)) == CheckVerdict::broken);
}

TEST_CASE("the memory's rate is of sets that are at least four times as large as L2") {
  ProbeSeries memory = probe_sweep();
  memory.question.probe = "bandwidth";
  memory.question.operation = Operation::read;
  memory.question.form = Form::streaming;
  memory.question.space = Space::global;
  memory.limit = {3.35e12, "2619 MHz * 5120 bit * 2 (double data rate)"};
  // 2 L2 in part from L2, at twice the rate.
  for (int visit = 0; visit < 3; ++visit) {
    add_point(memory, {.blocks = 132, .threads = 1024, .bytes = 100 * MiB}, 100.0 * MiB, {100.0 * MiB / 6e6});
    add_point(memory, {.blocks = 132, .threads = 1024, .bytes = 200 * MiB}, 200.0 * MiB, {200.0 * MiB / 3e6});
  }
  Made made = Made().at(55);
  made.before.emplace_back("l2_bytes", std::int64_t{50 * MiB});
  made.probes = {memory};
  CHECK(finding(made.trace(), "memory_read_rate").value == doctest::Approx(3e12));
}

TEST_CASE("a figure that is required and not there failed to run") {
  const HealthRules rules{
      .reference = {}, .figures = {}, .expected = {}, .required = {"h2d_rate", "launch_time", "copy_time"}};
  const auto all = health_of(Made().at(55).trace(), rules);
  CHECK(find(all, "h2d_rate")->health == Health::pass);
  CHECK(find(all, "launch_time")->health == Health::fail);
  CHECK(find(all, "launch_time")->if_failed == CheckVerdict::failed_to_run);
  CHECK(find(all, "copy_time")->text == "small copies that block: not measured");
  CHECK(verdict_of(all) == CheckVerdict::failed_to_run);
}

TEST_CASE("one value has no interval that could hold the limit, and the remedy is to let the check end") {
  Made made;
  made.copy(64 * MiB, 40);
  const HealthFinding rate = finding(made.trace(), "h2d_rate");
  CHECK(rate.health == Health::undecided);
  CHECK(rate.explanations.at(0).what == "the figure has one value and no interval, as of a check that was stopped");
  CHECK(rate.explanations.at(0).remedy == "check again, and let it come to its end");
}

TEST_CASE("a device of OpenCL that does not correct errors is not said to have ECC turned off") {
  Made made = Made().at(55);
  made.before.emplace_back("ecc", std::int64_t{0});
  CHECK(finding(made.trace(), "ecc_corrected").text == "corrected ECC errors: ECC is off");
  made.before.emplace_back("opencl_version", std::string("OpenCL 3.0"));
  CHECK(finding(made.trace(), "ecc_corrected").text ==
        "corrected ECC errors: OpenCL does not say that the device corrects errors");
}

TEST_CASE("what is usual of CUDA's calls is not compared with those of another API") {
  const auto with_small_copies = [](bool is_opencl) {
    Made made = Made().at(55);
    for (int visit = 0; visit < 3; ++visit) add_point(made.copies, 4, {8.0 + 0.01 * visit});
    if (is_opencl) made.before.emplace_back("opencl_version", std::string("OpenCL 3.0"));
    return made.trace();
  };
  CHECK(finding(with_small_copies(false), "h2d_time").health == Health::fail);
  const HealthFinding seen = finding(with_small_copies(true), "h2d_time");
  CHECK(seen.health == Health::skip);
  CHECK(seen.value == doctest::Approx(8.01).epsilon(1e-3));
  CHECK(seen.text.find("not judged: what is usual is known of CUDA's calls only") != std::string::npos);
  CHECK(finding(with_small_copies(true), "h2d_rate").health == Health::pass);  // the link is the same
  // A run of the same device is a reference all the same.
  const HealthRules rules{
      .reference = "good.h5", .figures = {{"h2d_time", 3, "us"}}, .expected = {}, .required = {"h2d_time"}};
  CHECK(finding(with_small_copies(true), "h2d_time", rules).health == Health::fail);
}

TEST_CASE("a reference decides in place of the link") {
  const HealthRules rules{
      .reference = "good.h5", .figures = {{"h2d_rate", 55e9, "B/s"}}, .expected = {}, .required = {}};
  const HealthFinding slow = finding(Made().at(52).trace(), "h2d_rate", rules);  // 5 % of 55 is 2.75
  CHECK(slow.health == Health::fail);
  CHECK(slow.limit == doctest::Approx(52.25e9));
  CHECK(slow.basis == "reference good.h5: 55.00 GB/s - 5 %");
  CHECK(finding(Made().at(52.5).trace(), "h2d_rate", rules).health == Health::pass);
}

TEST_CASE("figures for a reference are rates and times, the median of several devices") {
  std::vector<HealthFinding> all;
  for (const double rate : {50e9, 55e9, 56e9}) {
    HealthFinding& one = all.emplace_back();
    one.device = "cuda:" + std::to_string(all.size());
    one.metric = "h2d_rate";
    one.value = rate;
    one.unit = "B/s";
  }
  all.push_back({.device = "cuda:0", .metric = "sms", .value = 132, .unit = "multiprocessors"});
  const auto figures = figures_of(all);
  REQUIRE(figures.size() == 1);
  CHECK(figures[0].metric == "h2d_rate");
  CHECK(figures[0].value == 55e9);
}

TEST_CASE("expectations are words with values, and nonsense is refused") {
  CHECK(expectations("gpus=8,link=gen5x16") ==
        std::vector<std::pair<std::string, std::string>>{{"gpus", "8"}, {"link", "gen5x16"}});
  for (const char* nonsense : {"", "gpus", "gpus=", "gpus=x", "link=5x16", "link=genx16", "color=red", "gpus=1,"}) {
    CAPTURE(nonsense);
    CHECK_THROWS_AS(expectations(nonsense), Error);
  }
  HealthRules rules;
  rules.expected = expectations("gpus=2,sms=132,driver=580");
  Made made = Made().at(55);
  made.before.emplace_back("driver_version", std::string("580.159.04"));
  const auto all = health_of(made.trace(), rules);
  CHECK(find(all, "expected_gpus")->health == Health::fail);
  CHECK(cause(*find(all, "expected_gpus")) == "gpus_missing");
  CHECK(find(all, "expected_sms")->health == Health::pass);
  CHECK(find(all, "expected_driver")->health == Health::pass);
  rules.expected = expectations("driver=58");
  CHECK(finding(made.trace(), "expected_driver", rules).health == Health::fail);
}

TEST_CASE("a process far from its GPU is found by the lists of processors") {
  Made made = Made().at(40);
  made.before.emplace_back("near_cpus", std::string("32-63,96"));
  Trace trace = made.trace();
  const auto allowed = [&](const char* cpus) {
    trace.provenance.resize(1);
    trace.provenance.push_back({"host", {{"numa_nodes", whole(2)}, {"allowed_cpus", std::string(cpus)}}});
    return trace;
  };
  CHECK(finding(allowed("0-31"), "numa").health == Health::fail);
  CHECK(cause(finding(allowed("0-31"), "h2d_rate")) == "numa");
  CHECK(finding(allowed("0-32"), "numa").health == Health::pass);
  CHECK(finding(allowed("90-96"), "numa").health == Health::pass);
  CHECK(finding(allowed("all"), "numa").health == Health::skip);
}

TEST_CASE("a GPU whose node the system does not know is near no processors, though it lists them all") {
  const auto judged = [](int node, const char* near) {
    Made made = Made().at(50);
    made.before.emplace_back("near_cpus", std::string(near));
    made.before.emplace_back("numa_node", whole(node));
    Trace trace = made.trace();
    trace.provenance.push_back(
        {"host", {{"numa_nodes", whole(2)}, {"threads", whole(128)}, {"allowed_cpus", std::string("0-127")}}});
    return finding(trace, "numa");
  };
  CHECK(judged(-1, "0-127").health == Health::skip);
  CHECK(judged(-1, "0-127").text == "NUMA node: the system does not say which of the host's 2 is near the GPU");
  CHECK(judged(-1, "0-255").health == Health::skip);  // of all that the machine could have
  CHECK(judged(-1, "64-127").health == Health::pass);
  CHECK(judged(1, "64-127").health == Health::pass);
  CHECK(judged(0, "0-127").health == Health::pass);  // the other node has memory only
}

TEST_CASE("a CPU quota is a cause of slow calls, and of what it stopped") {
  const auto with_quota = [](double quota, std::uint32_t causes) {
    Made made = Made().at(40);
    for (auto& visit : made.copies.visits) visit.disturbed = causes;
    Trace trace = made.trace();
    trace.provenance.push_back(
        {"host", {{"threads", whole(2)}, {"cpu_quota", quota}, {"cpu_quota_cgroup", std::string("/box")}}});
    return trace;
  };
  const auto stopped = static_cast<std::uint32_t>(Cause::host_limited);
  CHECK(finding(with_quota(0.5, 0), "cpu_quota").health == Health::warn);
  CHECK(finding(with_quota(0.5, 0), "cpu_quota").text ==
        "a CPU quota gives this process 0.5 of 2 processors (cgroup /box)");
  CHECK(cause(finding(with_quota(0.5, 0), "cpu_quota")) == "cpu_quota");
  CHECK(finding(with_quota(1.5, 0), "cpu_quota").health == Health::pass);
  // What was stopped is not judged, and nobody else is blamed.
  const HealthFinding copies = finding(with_quota(0.5, stopped), "h2d_rate");
  CHECK(cause(copies) == "cpu_quota");
  CHECK(std::ranges::count(copies.explanations, "neighbour", &Explanation::cause) == 0);
  const HealthFinding points = finding(with_quota(0.5, stopped), "neighbours");
  CHECK(cause(points) == "cpu_quota");
  CHECK(points.explanations.size() == 1);
  const auto busy = stopped | static_cast<std::uint32_t>(Cause::host_busy);
  CHECK(finding(with_quota(0.5, busy), "neighbours").explanations.size() == 2);
}

TEST_CASE("the worst decides, and what could not be judged is no pass") {
  const auto of = [](Health health, CheckVerdict if_failed = CheckVerdict::slow) {
    HealthFinding one;
    one.health = health;
    one.if_failed = if_failed;
    return one;
  };
  CHECK(verdict_of({}) == CheckVerdict::not_judged);
  CHECK(verdict_of({of(Health::skip)}) == CheckVerdict::not_judged);
  CHECK(verdict_of({of(Health::skip), of(Health::warn)}) == CheckVerdict::ok);
  CHECK(verdict_of({of(Health::fail), of(Health::fail, CheckVerdict::broken)}) == CheckVerdict::broken);
  CHECK(verdict_of({of(Health::fail, CheckVerdict::failed_to_run), of(Health::fail)}) == CheckVerdict::slow);
  CHECK(verdict_of({of(Health::undecided), of(Health::unjudged), of(Health::pass)}) == CheckVerdict::undecided);
  CHECK(verdict_of({of(Health::unjudged), of(Health::pass)}) == CheckVerdict::not_judged);
  CHECK(verdict_of({of(Health::undecided), of(Health::fail)}) == CheckVerdict::slow);
  CHECK(worst_of({of(Health::pass), of(Health::warn)}) == Health::warn);
  CHECK(worst_of({of(Health::skip)}) == Health::skip);
}

TEST_CASE("where healthy GPUs of the model are known, what they reached decides") {
  // 55.221 GB/s - 4.5 % = 52.74 GB/s; the link alone would allow 51.48.
  const auto named = [](const char* name, double gb_s) {
    Made made = Made().at(gb_s);
    made.copies.device_name = name;
    return made.trace();
  };
  CHECK(finding(named("NVIDIA H200", 55), "h2d_rate").health == Health::pass);
  CHECK(finding(named("NVIDIA H200", 52), "h2d_rate").health == Health::fail);
  CHECK(finding(named("NVIDIA H200", 52), "h2d_rate").basis == "7 healthy H200s: 55.22 GB/s - 4.5 %");
  CHECK(finding(named("NVIDIA GH200 480GB", 52), "h2d_rate").health == Health::pass);
  HealthRules own;
  own.by_model = false;
  CHECK(finding(named("NVIDIA H200", 52), "h2d_rate", own).health == Health::pass);
}

TEST_CASE("what was planned and has no valid figure failed to run") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (const double us : {not_measured, inf, -inf, 0.0, -3.0}) {
    CAPTURE(us);
    Made made;
    for (int i = 0; i < 3; ++i) add_point(made.copies, 64 * MiB, {us});
    const auto all = health_of(made.trace());
    CHECK(find(all, "figures")->text.starts_with("1 of 1 points have no valid figure"));
    CHECK(verdict_of(all) == CheckVerdict::failed_to_run);
  }
  Made never = Made();  // planned, and never visited
  CHECK(verdict_of(health_of(never.trace())) == CheckVerdict::failed_to_run);
  Made void_trials;
  void_trials.copy(64 * MiB, 55).samples = 0;
  void_trials.copies.visits.back().void_trials = 7;
  CHECK(verdict_of(health_of(void_trials.trace())) == CheckVerdict::failed_to_run);
}

TEST_CASE("a rate far above what its link could carry says that the link's report is not true") {
  Made made = Made().at(55);
  made.copies.limit = {0.25e9, "PCIe Gen1 x1: 2.5 GT/s * 1 lanes * 8/10"};
  const HealthFinding rate = finding(made.trace(), "h2d_rate");
  CHECK(rate.health == Health::unjudged);
  CHECK(rate.text.find("22000 % of it, so it is not true") != std::string::npos);
  CHECK(verdict_of(health_of(made.trace())) == CheckVerdict::not_judged);
}

TEST_CASE("without a limit a copy is not judged, and the check is not ok") {
  Made made = Made().at(11);
  made.copies.limit = {not_measured, "unknown: NVML is not there"};
  CHECK(finding(made.trace(), "h2d_rate").health == Health::unjudged);
  CHECK(verdict_of(health_of(made.trace())) == CheckVerdict::not_judged);
}

TEST_CASE("of a continued trace the last run's facts count, and what only the first one saw") {
  Made made = Made().at(55);
  made.after = {{"pcie_generation_copying", whole(5)}, {"pcie_lanes_copying", whole(8)}, {"pcie_replays", whole(1)}};
  Trace trace = made.trace();
  Facts later = made.before;
  later.emplace_back("pcie_replays", whole(4));
  trace.provenance.push_back({"resume_1/gpu0", later});
  trace.provenance.push_back({"resume_1/gpu0_after", {{"id", std::string("cuda:0")}, {"pcie_replays", whole(6)}}});
  CHECK(finding(trace, "pcie_link").health == Health::fail);
  CHECK(finding(trace, "pcie_replays").text.find("2 of them in this run") != std::string::npos);
}

TEST_CASE("pageable copies that fall to less than half of their best are said to") {
  const auto with = [](double largest) {
    Made made = Made().at(55);
    TransferSeries pageable = sweep_of();
    pageable.question.memory = Memory::pageable;
    for (const auto& [bytes, gb_s] : {std::pair{MiB, 16.0}, {64 * MiB, largest}})
      for (const double factor : {0.99, 1.0, 1.01})
        add_point(pageable, bytes, {static_cast<double>(bytes) / gb_s / 1e3 / factor});
    Trace trace = made.trace();
    trace.of<Transfers>().push_back(pageable);
    return finding(trace, "h2d_pageable_rate");
  };
  CHECK(with(8.1).health == Health::pass);
  CHECK(with(5.7).health == Health::warn);
  CHECK(with(5.7).text == "H2D pageable falls from 16.00 GB/s at 1 MiB to 5.700 GB/s at 64 MiB");
  CHECK(cause(with(5.7)) == "host_memory");
  const HealthFinding wide = [] {
    TransferSeries pageable = sweep_of();
    pageable.question.memory = Memory::pageable;
    for (const double gb_s : {16.0, 16.0, 16.0}) add_point(pageable, MiB, {static_cast<double>(MiB) / gb_s / 1e3});
    for (const double gb_s : {4.0, 7.0, 12.0})
      add_point(pageable, 64 * MiB, {static_cast<double>(64 * MiB) / gb_s / 1e3});
    Trace trace = Made().at(55).trace();
    trace.of<Transfers>().push_back(pageable);
    return finding(trace, "h2d_pageable_rate");
  }();
  CHECK(wide.health == Health::skip);
  CHECK(wide.text.ends_with(": not certain"));
}

TEST_CASE("a device that answered and then failed is broken, and that cause stands first") {
  Made made = Made().at(55);
  made.copies.error = "at 8 B: sim:x: the device is lost, seen at call 40 (copy)";
  made.copies.failure = Failure::lost;
  made.after = {{"xids", whole(1)}, {"xid_last", whole(79)}};
  made.before.emplace_back("xids", whole(0));
  HealthRules rules;
  rules.required = {"h2d_rate", "compute_rate"};
  rules.expected = {{"gpus", "1"}};
  const auto all = health_of(made.trace(), rules);
  CHECK(verdict_of(all) == CheckVerdict::broken);
  const HealthFinding device = *find(all, "device_lost");
  CHECK(device.health == Health::fail);
  CHECK(device.text.find("the device is lost, seen at call 40") != std::string::npos);
  CHECK(cause(device) == "lost");
  CHECK(device.explanations[0].evidence.find("Xid 79 (GPU has fallen off the bus)") != std::string::npos);
  CHECK(cause(*find(all, "compute_rate")) == "lost");
  CHECK_FALSE(find(all, "errors"));
  CHECK(find(all, "expected_gpus")->text == "0 GPUs, expected 1; 1 more lost");
}

TEST_CASE("what else says that a device is gone: NVML, and Xid 79 in the run") {
  Made nvml = Made().at(55);
  nvml.after = {{"unread_ecc", std::string("lost")}, {"unread_device", std::string("lost")}};
  CHECK(verdict_of(health_of(nvml.trace())) == CheckVerdict::broken);
  CHECK(finding(nvml.trace(), "device_lost").text == "the GPU is lost: NVML: lost");
  CHECK(finding(nvml.trace(), "ecc_uncorrected").text == "uncorrected ECC errors: the GPU is lost");
  Made xid = Made().at(55);
  xid.before.emplace_back("xids", whole(0));
  xid.after = {{"xids", whole(1)}, {"xid_last", whole(79)}};
  CHECK(finding(xid.trace(), "device_lost").health == Health::fail);
  CHECK_FALSE(find(health_of(Made().at(55).trace()), "device_lost"));
}

TEST_CASE("a series that another device spoiled says nothing against its own") {
  Made made = Made().at(55);
  Trace trace = made.trace();
  trace.of<Transfers>()[0].error = "cuda:1 is lost (NVML: GPU is lost): copying";
  trace.of<Transfers>()[0].failure = Failure::lost;
  trace.of<Transfers>()[0].failed_device = "cuda:1";
  CHECK_FALSE(find(health_of(trace), "device_lost"));
  trace.of<Transfers>()[0].failed_device = "cuda:0";
  CHECK(find(health_of(trace), "device_lost"));
}

TEST_CASE(
    "a defect that the hardware reported is broken; a dead context and too little memory are failures of the run") {
  const auto verdict = [](Failure failure) {
    Made made = Made().at(55);
    made.copies.error = "at 8 B: something";
    made.copies.failure = failure;
    return verdict_of(health_of(made.trace()));
  };
  CHECK(verdict(Failure::defect) == CheckVerdict::broken);
  CHECK(verdict(Failure::lost) == CheckVerdict::broken);
  CHECK(verdict(Failure::context) == CheckVerdict::failed_to_run);
  CHECK(verdict(Failure::no_memory) == CheckVerdict::failed_to_run);
  CHECK(verdict(Failure::failed) == CheckVerdict::failed_to_run);
  Made made = Made().at(55);
  made.copies.error = "at 8 B: something";
  for (const auto& [failure, name] :
       {std::pair{Failure::context, "context"}, {Failure::no_memory, "no_memory"}, {Failure::failed, "errors"}}) {
    made.copies.failure = failure;
    CHECK(cause(finding(made.trace(), "errors")) == name);
  }
}

TEST_CASE("why something was not read is said in NVML's word") {
  const auto text = [](const char* reason) {
    Made made = Made().at(55);
    made.after = {{"unread_ecc", std::string(reason)}};
    return finding(made.trace(), "ecc_uncorrected").text;
  };
  CHECK(text("not supported") == "uncorrected ECC errors: not supported by this GPU");
  CHECK(text("no permission") == "uncorrected ECC errors: needs root (no permission)");
  CHECK(text("error 999 (Unknown Error)") == "uncorrected ECC errors: NVML error 999 (Unknown Error)");
}

TEST_CASE("the fabric is judged where NVLinks are in use") {
  const auto fabric = [](const char* state, int links, const char* health = "") {
    Made made = Made().at(55);
    made.after = {
        {"fabric_state", std::string(state)}, {"nvlinks_active", whole(links)}, {"nvlinks_inactive", whole(0)}};
    if (*health) made.after.emplace_back("fabric_health", std::string(health));
    return finding(made.trace(), "fabric");
  };
  CHECK(fabric("completed", 18).health == Health::pass);
  CHECK(fabric("completed", 18, "well").health == Health::pass);
  CHECK(fabric("not supported", 18).health == Health::skip);
  CHECK(fabric("in progress", 18).health == Health::fail);
  CHECK(fabric("in progress", 18).if_failed == CheckVerdict::broken);
  CHECK(fabric("not started", 0).health == Health::skip);  // a GPU alone in a virtual machine
  CHECK(fabric("completed", 18, "degraded bandwidth").health == Health::fail);
  CHECK(fabric("completed", 18, "route recovery in progress").health == Health::warn);
  CHECK(cause(fabric("in progress", 18)) == "fabric");
}

TEST_CASE("what the driver says would mend the GPU") {
  const auto action = [](const char* word) {
    Made made = Made().at(55);
    made.after = {{"recovery_action", std::string(word)}};
    return finding(made.trace(), "recovery_action");
  };
  CHECK(action("none").health == Health::pass);
  CHECK(action("reset the GPU").health == Health::fail);
  CHECK(action("reset the GPU").text == "the driver asks for recovery: reset the GPU");
  CHECK(action("reset the GPU").if_failed == CheckVerdict::broken);
  CHECK(action("recover the IMEX domain").health == Health::warn);
}

TEST_CASE("a GPU that is reached over NVLink-C2C is not compared with its PCIe port") {
  Made made = Made().at(380);
  made.copies.limit = {447e9, "NVLink-C2C: 10 links of 44.7 GB/s"};
  made.before[6].second = whole(1);                                  // x1 of x16
  const HealthFinding by_rate = finding(made.trace(), "pcie_link");  // more than any PCIe Gen5 x16 carries
  CHECK(by_rate.health == Health::skip);
  CHECK(by_rate.text.find("over which copies do not go") != std::string::npos);
  Made slow = Made().at(40);
  slow.before[6].second = whole(1);
  CHECK(finding(slow.trace(), "pcie_link").health == Health::fail);
  slow.after = {{"c2c_links_active", whole(9)}, {"c2c_links_inactive", whole(1)}};
  CHECK(finding(slow.trace(), "pcie_link").health == Health::skip);
  CHECK(finding(slow.trace(), "c2c").health == Health::fail);
  CHECK(finding(slow.trace(), "c2c").text == "9 of 10 NVLink-C2C links active");
  CHECK(finding(slow.trace(), "c2c").if_failed == CheckVerdict::broken);
  CHECK_FALSE(find(health_of(Made().at(55).trace()), "c2c"));
}

TEST_CASE("confidential computing is named where copies are slow") {
  Made made = Made().at(10.5);
  made.before.emplace_back("confidential_computing", whole(1));
  CHECK(finding(made.trace(), "confidential_computing").health == Health::pass);
  CHECK(cause(finding(made.trace(), "h2d_rate")) == "confidential_computing");
}

TEST_CASE("a GPU that the bus shows and that does not answer breaks the node; one that is hidden does not") {
  Trace trace = Made().at(55).trace();
  trace.provenance.emplace_back("census", Facts{{"gpus_on_bus", whole(8)}});
  CHECK(finding(trace, "gpus_on_bus").health == Health::pass);
  trace.provenance.back().second.emplace_back("gpus_hidden", std::string("0000:3b:00.0: CUDA_VISIBLE_DEVICES"));
  CHECK(finding(trace, "gpus_on_bus").health == Health::pass);
  trace.provenance.back().second.emplace_back("gpus_lost", std::string("0000:b3:00.0: NVML: GPU is lost"));
  const HealthFinding lost = finding(trace, "gpus_on_bus");
  CHECK(lost.health == Health::fail);
  CHECK(lost.device.empty());
  CHECK(lost.text.find("0000:b3:00.0") != std::string::npos);
  CHECK(cause(lost) == "lost");
  CHECK(verdict_of(health_of(trace)) == CheckVerdict::broken);
}

TEST_CASE("Xids have names, and those of before the run and of switches are told apart") {
  Made made = Made().at(55);
  made.before.emplace_back("xids", whole(0));
  made.before.emplace_back("xids_logged", whole(2));
  made.before.emplace_back("xid_logged_last", whole(48));
  made.before.emplace_back("sxids_logged", whole(1));
  made.before.emplace_back("sxid_logged_last", whole(20034));
  made.after = {{"xids", whole(0)}};
  const HealthFinding xid = finding(made.trace(), "xid");
  CHECK(xid.health == Health::warn);
  CHECK(
      xid.text ==
      "no Xid error during this run; 2 in the kernel's log before, the last was Xid 48 (double-bit ECC error); 1 SXid "
      "errors of NVSwitches in the kernel's log before, the last was SXid 20034");
  CHECK(model::xid_name(79) == "GPU has fallen off the bus");
  CHECK(model::xid_name(130) == "copy engine error");
  CHECK(model::xid_name(9).empty());
  CHECK(model::xid_name(5000).empty());
}

TEST_CASE("names of GPUs are compared by words") {
  using model::has_words;
  CHECK(has_words("NVIDIA H200", "H200"));
  CHECK(has_words("NVIDIA H200", "h200"));
  CHECK_FALSE(has_words("NVIDIA GH200 480GB", "H200"));
  CHECK(has_words("NVIDIA GH200 480GB", "GH200"));
  CHECK(has_words("NVIDIA A100-SXM4-80GB", "A100"));
  CHECK(has_words("NVIDIA A100-SXM4-80GB", "A100 80GB"));
  CHECK(has_words("NVIDIA A100-SXM4-80GB", "a100-sxm4-80gb"));
  CHECK_FALSE(has_words("NVIDIA RTX A1000", "A100"));
  CHECK(has_words("NVIDIA H100 80GB HBM3", "H100 80GB HBM3"));
  CHECK_FALSE(has_words("NVIDIA H100 80GB HBM3", "HBM3 H100"));
  CHECK_FALSE(has_words("NVIDIA H100 80GB HBM3", "H100 H100"));
  CHECK_FALSE(has_words("NVIDIA H200", ""));
  CHECK_FALSE(has_words("", "H200"));
  Trace trace = Made().at(55).trace();
  trace.of<Transfers>()[0].device_name = "NVIDIA H200";
  HealthRules rules;
  rules.expected = {{"name", "H200"}};
  CHECK(finding(trace, "expected_name", rules).health == Health::pass);
  trace.of<Transfers>()[0].device_name = "NVIDIA GH200 480GB";
  CHECK(finding(trace, "expected_name", rules).health == Health::fail);
  CHECK_THROWS_AS(expectations("name=-"), Error);
}

TEST_CASE("published multiprocessors are those of the model, not of one whose name is alike") {
  using model::published_multiprocessors;
  CHECK(published_multiprocessors("NVIDIA H100 PCIe") == 114);
  CHECK(published_multiprocessors("NVIDIA H100 80GB HBM3") == 132);
  CHECK(published_multiprocessors("NVIDIA GH200 480GB") == 132);
  CHECK(published_multiprocessors("NVIDIA H800 PCIe") == 114);
  CHECK(published_multiprocessors("NVIDIA H20") == 78);
  CHECK(published_multiprocessors("NVIDIA A100-PCIE-40GB") == 108);
  CHECK(published_multiprocessors("NVIDIA L4") == 58);
  CHECK(published_multiprocessors("NVIDIA L40S") == 142);
  CHECK(published_multiprocessors("NVIDIA GeForce RTX 4090") == 128);
  CHECK(published_multiprocessors("NVIDIA GeForce RTX 4090 D") == 114);
  CHECK(published_multiprocessors("NVIDIA B200") == 148);
  CHECK(published_multiprocessors("Tesla V100-SXM2-16GB") == 80);
  CHECK(published_multiprocessors("NVIDIA RTX A1000") == 0);
}

TEST_CASE("parts of GPUs, and laptops' GPUs, are not compared with the GPU whose name they share") {
  using model::published_multiprocessors;
  for (const char* name : {"NVIDIA GeForce RTX 5090 Laptop GPU", "NVIDIA RTX A5000 Laptop GPU",
                           "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "GRID A100-3-20C", "NVIDIA A100-1-5CME"}) {
    CAPTURE(name);
    CHECK(published_multiprocessors(name) == 0);
  }
  CHECK(published_multiprocessors("GRID A100-20C") == 108);  // all of it, in turns
  CHECK(published_multiprocessors("NVIDIA A100-SXM4-80GB") == 108);
}

TEST_CASE("the memory of a part of a GPU is not judged, as its share of the rate is not known") {
  for (const bool by_nvml : {true, false}) {
    Made made = Made().at(55);
    ProbeSeries memory = probe_sweep();
    memory.question.probe = "bandwidth";
    memory.question.operation = Operation::read;
    memory.question.form = Form::streaming;
    memory.question.space = Space::global;
    memory.limit = {3.35e12, "2619 MHz * 5120 bit * 2 (double data rate)"};
    memory.device_name = by_nvml ? "NVIDIA H100 80GB HBM3" : "NVIDIA H100 80GB HBM3 MIG 1g.10gb";
    for (int visit = 0; visit < 3; ++visit)
      add_point(memory, {.blocks = 132, .threads = 1024, .bytes = GiB}, 1e9, {2000});
    made.copies.device_name = memory.device_name;
    if (by_nvml) made.before.emplace_back("mig_mode", whole(1));
    made.probes = {memory};
    const HealthFinding found = finding(made.trace(), "memory_read_rate");
    CHECK(found.health == Health::unjudged);
    CHECK(found.text.find("MIG") != std::string::npos);
  }
}

TEST_CASE("what is expected and cannot be read is not judged, and no fault") {
  HealthRules rules;
  rules.expected = expectations("driver=580,link=gen5x16,memory=80");
  Made made = Made().at(55);
  for (const char* key : {"pcie_generation_now", "pcie_lanes_now"})
    std::erase_if(made.before, [&](const auto& fact) { return fact.first == key; });
  const auto all = health_of(made.trace(), rules);
  for (const char* metric : {"expected_driver", "expected_link", "expected_memory"})
    CHECK(find(all, metric)->health == Health::unjudged);
  CHECK(find(all, "expected_driver")->text == "driver 580 is expected: not judged: it could not be read");
  CHECK(verdict_of(all) == CheckVerdict::not_judged);
  // An idle GPU may slow its link down, and takes no lanes away.
  made.before.emplace_back("pcie_generation_now", whole(1));
  made.before.emplace_back("pcie_lanes_now", whole(16));
  rules.expected = expectations("link=gen5x16");
  CHECK(finding(made.trace(), "expected_link", rules).health == Health::unjudged);
  rules.expected = expectations("link=gen5x8");
  CHECK(finding(made.trace(), "expected_link", rules).health == Health::fail);
  rules.expected = expectations("link=gen5x16");
  made.after = {{"pcie_generation_copying", whole(4)}, {"pcie_lanes_copying", whole(16)}};
  CHECK(finding(made.trace(), "expected_link", rules).health == Health::fail);
}

TEST_CASE("a GPU that others copy to is judged by its counters, and windows of energy by their results") {
  Made made = Made().at(55);
  Trace trace = made.trace();
  trace.provenance.emplace_back("gpu1", Facts{{"id", std::string("cuda:1")},
                                              {"name", std::string("NVIDIA X1")},
                                              {"uuid", std::string("GPU-1")},
                                              {"xids", whole(0)}});
  trace.provenance.emplace_back("gpu1_after",
                                Facts{{"id", std::string("cuda:1")}, {"xids", whole(1)}, {"xid_last", whole(79)}});
  const auto lost = [&] {
    const auto all = health_of(trace);
    return std::ranges::any_of(all, [](const HealthFinding& one) {
      return one.device == "cuda:1" && one.metric == "device_lost" && one.health == Health::fail;
    });
  };
  CHECK_FALSE(lost());  // nothing in the trace is of it
  TransferSeries peer = sweep_of(Pattern::stream, Timing::gated);
  peer.question.direction = Direction::peer;
  peer.question.source = "cuda:0";
  peer.question.target = "cuda:1";
  peer.device_name = "NVIDIA X1";
  add_point(peer, 64 * MiB, {300});
  trace.of<Transfers>().push_back(peer);
  CHECK(lost());

  Trace energy;
  EnergySeries windows;
  windows.question.device = "cuda:0";
  Visit<Energies>& visit = windows.visits.emplace_back();
  visit.samples = 1;
  windows.samples.push_back({.intact = 0});
  energy.of<Energies>() = {windows};
  CHECK(verdict_of(health_of(energy)) == CheckVerdict::broken);

  // Full load for seconds heats a GPU, and a window of energy is no measure of what that costs.
  windows.samples[0].intact = 1;
  windows.question.work = EnergyWork::fma;
  visit.telemetry.throttle_reasons = 0x20;
  visit.telemetry.sm_clock_mhz = 1600;
  energy.of<Energies>() = {windows};
  const HealthFinding hot = finding(energy, "throttle");
  CHECK(hot.health == Health::warn);
  CHECK(hot.text == "throttled in 1 of 1 visits: too hot; windows of energy are full load for seconds");
  // However many they are, they prove nothing of other visits, and excuse none of them.
  const auto with_windows = [&](std::uint64_t reasons_of_windows, std::uint64_t reasons_of_copies) {
    Made copies = Made().at(55);
    for (Visit<Transfers>& one : copies.copies.visits)
      one.telemetry = {.sm_clock_mhz = 1980, .throttle_reasons = reasons_of_copies};
    EnergySeries many = windows;
    many.visits[0].telemetry.throttle_reasons = reasons_of_windows;
    many.visits.resize(1000, many.visits[0]);
    Trace both = copies.trace();
    both.of<Energies>() = {many};
    return finding(both, "throttle").health;
  };
  CHECK(with_windows(0x20, 0) == Health::warn);
  CHECK(with_windows(0, 0x20) == Health::fail);
}

TEST_CASE("where the link could not be read, nobody says that it is trained as it should be") {
  Made made = Made().at(25);
  CHECK(finding(made.trace(), "h2d_rate").explanations[0].what ==
        "the link is trained as it should be, and bytes are slow");
  std::erase_if(made.before, [](const auto& fact) { return fact.first.starts_with("pcie_"); });
  CHECK(finding(made.trace(), "h2d_rate").explanations[0].what ==
        "bytes are slow, and how the link is trained could not be read");
}

TEST_CASE("a slot of an older generation than the GPU's is named as the cause") {
  Made made = Made().at(25);
  for (auto& [key, value] : made.before)
    if (key == "max_pcie_generation" || key == "pcie_generation_now") value = whole(4);
  made.before.emplace_back("gpu_max_pcie_generation", whole(5));
  HealthRules rules;
  rules.reference = "good.h5";
  rules.figures = {{"h2d_rate", 55e9, "B/s"}};
  const HealthFinding found = finding(made.trace(), "h2d_rate", rules);
  CHECK(found.health == Health::fail);
  CHECK(cause(found) == "link_slot");
  CHECK(found.explanations[0].what == "the slot has PCIe Gen4, and the GPU could have Gen5");
}

TEST_CASE("throttle reasons that could not be read are not said to be none") {
  Made made = Made().at(55);
  made.copies.visits[0].telemetry.sm_clock_mhz = 1980;
  CHECK(finding(made.trace(), "throttle").health == Health::pass);
  made.before.emplace_back("unread_throttle", std::string("no permission"));
  CHECK(finding(made.trace(), "throttle").health == Health::skip);
  CHECK(finding(made.trace(), "throttle").text == "throttle reasons: needs root (no permission)");
}

TEST_CASE("a GPU without any NVLink is alone, unless others of its model beside it reach NVSwitches") {
  const auto gpu = [](const char* id, int active) {
    return Facts{{"id", std::string(id)},
                 {"name", std::string("NVIDIA X1")},
                 {"nvlinks_active", whole(active)},
                 {"nvlinks_inactive", whole(18 - active)},
                 {"nvlinks_to", std::string(active ? "switch x18" : "")}};
  };
  Trace trace = Made().at(55).trace();
  TransferSeries second = trace.of<Transfers>()[0];
  second.question.target = "cuda:1";
  trace.of<Transfers>().push_back(second);
  const auto links_of_first = [&](int first, int second_gpu) {
    trace.provenance = {{"gpu0", gpu("cuda:0", first)}, {"gpu1", gpu("cuda:1", second_gpu)}};
    return finding(trace, "nvlink");
  };
  CHECK(links_of_first(0, 0).health == Health::skip);
  CHECK(links_of_first(18, 18).health == Health::pass);
  CHECK(links_of_first(0, 18).health == Health::fail);
  CHECK(links_of_first(0, 18).text ==
        "0 of 18 NVLinks active, and others of its model in this node reach the NVSwitches");
}

}  // namespace health_test
