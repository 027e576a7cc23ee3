// Values that cannot be: they are not used, they are said, and no verdict is better for them.
#include "tests/made_health.hpp"

namespace doubts_test {

using namespace made_health;
using namespace npgpu;

namespace {

Trace sound() { return Made().at(55).trace(); }

CheckVerdict verdict_with(Trace trace) {
  set_doubts(trace);
  return verdict_of(health_of(trace));
}

}  // namespace

TEST_CASE("a sound trace raises no doubt, and what is not known is no doubt") {
  Made made = Made().at(55);
  made.before.emplace_back("numa_node", whole(-1));
  made.before.emplace_back("noise_seed", std::int64_t{1} << 61);
  made.before.emplace_back("peers_bytes_per_s", not_measured);
  made.before.emplace_back("noise_seed", Fact(std::int64_t{1} << 61));  // any number is one
  Trace trace = made.trace();
  set_doubts(trace);
  CHECK(trace.doubts.empty());
}

TEST_CASE("a fact that cannot be is taken out, by its range") {
  for (const auto& [name, value] : {std::pair<const char*, double>{"multiprocessors", 0},
                                    {"multiprocessors", -1},
                                    {"max_pcie_lanes", 4.6e18},
                                    {"ecc_uncorrected_volatile", -1},
                                    {"power_limit_w", -1},
                                    {"power_limit_w", not_measured},
                                    {"slowdown_temperature_c", 5000},
                                    {"memory_bytes_per_s", -1}}) {
    CAPTURE(name);
    CAPTURE(value);
    Made made = Made().at(55);
    std::erase_if(made.before, [&](const auto& fact) { return fact.first == name; });
    made.before.emplace_back(name, value);
    Trace trace = made.trace();
    set_doubts(trace);
    REQUIRE(trace.doubts.size() == 1);
    CHECK(trace.doubts[0].starts_with(std::string("gpu0: ") + name + " of "));
    CHECK(std::isnan(number_fact(trace.provenance[0].second, name)));
    CHECK(finding(trace, "values").health == Health::unjudged);
    CHECK(verdict_of(health_of(trace)) != CheckVerdict::ok);
  }
}

TEST_CASE("a limit of 0 is not known, as some drivers answer so where they cannot read") {
  Made made = Made().at(55);
  made.before.emplace_back("power_limit_w", 0.0);
  made.before.emplace_back("gpu_max_pcie_generation", whole(0));
  Trace trace = made.trace();
  set_doubts(trace);
  CHECK(trace.doubts.empty());
  CHECK(std::isnan(number_fact(trace.provenance[0].second, "power_limit_w")));
  CHECK(std::isnan(number_fact(trace.provenance[0].second, "gpu_max_pcie_generation")));
}

TEST_CASE("times that cannot be become unknown, and each column has one sentence") {
  Trace trace = sound();
  TransferSeries& series = trace.of<Transfers>()[0];
  series.visits[0].at_s = 1e300;
  series.visits[1].wall_us = -1;
  for (TransferSample& sample : series.samples) sample.host_us = -5;
  set_doubts(trace);
  REQUIRE(trace.doubts.size() == 3);
  CHECK(trace.doubts[0] == title(series.question) + ", visits: at_s of 1e+300");
  CHECK(trace.doubts[2].starts_with(title(series.question) + ", samples: host_us of -5 (and "));
  CHECK(std::isnan(series.visits[0].at_s));
  CHECK(std::isnan(series.samples[0].host_us));
  CHECK(std::isfinite(finding(trace, "h2d_rate").value));  // its times are the device's
}

TEST_CASE("a visit with other work than its axes say has no times") {
  Trace trace = sound();
  TransferSeries& series = trace.of<Transfers>()[0];
  Visit<Transfers>& visit = series.visits[0];
  visit.work = 1;
  set_doubts(trace);
  REQUIRE(trace.doubts.size() == 1);
  CHECK(trace.doubts[0] == title(series.question) + ", visits: " + text_of(visit.axes) + " with work of 1");
  CHECK(samples_of(series, visit).empty());
  CHECK(verdict_of(health_of(trace)) != CheckVerdict::ok);
  for (const Pattern pattern : {Pattern::stream, Pattern::pingpong, Pattern::flag, Pattern::duplex})
    CHECK(Transfers::work({.pattern = pattern}, {1000}) == (is_round_trip(pattern) ? 2000 : 1000));
}

TEST_CASE("no machine does more than 1e18 in a second") {
  for (const double work : {1e15, 1e16}) {
    Made made = Made().at(55);
    made.probes = {probe_sweep()};
    add_point(made.probes[0], {.blocks = 132, .threads = 256, .bytes = 4 * GiB}, work, {2000});
    Trace trace = made.trace();
    set_doubts(trace);
    CHECK(trace.doubts.empty() == (work < 2e15));
  }
}

TEST_CASE("work of 0, or none, is a point without a figure") {
  for (const double work : {0.0, -1.0, not_measured, std::numeric_limits<double>::infinity()}) {
    CAPTURE(work);
    Made made = Made().at(55);
    made.probes = {probe_sweep()};
    add_point(made.probes[0], {.blocks = 132, .threads = 256, .bytes = 4 * GiB}, work, {1000});
    CHECK(verdict_with(made.trace()) == CheckVerdict::failed_to_run);
  }
}

TEST_CASE("a launch whose end has no valid time is a point without a figure") {
  for (const double done : {9.0, not_measured, -1.0}) {
    Trace trace = sound();
    CallSeries& calls = trace.of<Calls>().emplace_back();
    calls.question = {"cuda:0", Call::launch, Spacing::alone};
    calls.visits.push_back({});
    calls.visits[0].axes.blocks = 1;
    calls.visits[0].samples = 1;
    calls.samples.push_back({.repeats = 1, .host_us = 3, .done_us = done});
    set_doubts(trace);
    const auto figures = find(health_of(trace), "figures");
    CHECK(figures.has_value() == !(done > 0));
    if (figures) CHECK(figures->text.find("launch") != std::string::npos);
  }
}

TEST_CASE("a launch whose return has no valid time is a point without a figure") {
  for (const double host : {4.0, not_measured, -1.0}) {
    Trace trace = sound();
    CallSeries& calls = trace.of<Calls>().emplace_back();
    calls.question = {"cuda:0", Call::launch, Spacing::back_to_back};
    calls.visits.push_back({});
    calls.visits[0].axes.blocks = 1;
    calls.visits[0].samples = 1;
    calls.samples.push_back({.repeats = 1, .host_us = host, .done_us = 9});
    set_doubts(trace);
    const HealthFinding launch = finding(trace, "launch_time");
    CHECK(launch.health == (host > 0 ? Health::pass : Health::fail));
    if (!(host > 0)) CHECK(launch.if_failed == CheckVerdict::failed_to_run);
  }
}

TEST_CASE("runs shorter than any clock's tick, and readings that cannot be, become unknown") {
  Trace trace = sound();
  TransferSeries& series = trace.of<Transfers>()[0];
  for (TransferSample& sample : series.samples) sample.repeats = std::uint64_t{1} << 40;
  series.visits[0].telemetry.power_w = 1e300;
  series.visits[1].telemetry.sm_clock_mhz = -1;
  series.visits[2].telemetry.temperature_c = 1e6;
  set_doubts(trace);
  CHECK(trace.doubts.size() == 4);
  CHECK(std::isnan(series.samples[0].device_us));
  CHECK(std::isnan(series.visits[0].telemetry.power_w));
  CHECK(std::isnan(series.visits[1].telemetry.sm_clock_mhz));
  CHECK(std::isnan(series.visits[2].telemetry.temperature_c));
}

TEST_CASE("a figure far beyond its limit cannot be, and a limit of the user's may be as wide as they like") {
  HealthRules rules{.reference = "good.h5", .figures = {{"h2d_rate", 55e9, "B/s"}}, .expected = {}, .required = {}};
  for (const double gb_s : {55.0, 200.0, 5e4}) {
    const bool can_be = gb_s < 1000;
    const HealthFinding rate = finding(Made().at(gb_s).trace(), "h2d_rate", rules);
    CHECK(rate.health == (can_be ? Health::pass : Health::unjudged));
    CHECK((rate.text.find("cannot be") == std::string::npos) == can_be);
  }
  rules.expected = {{"h2d_rate", "1000000"}};
  CHECK(finding(Made().at(55).trace(), "h2d_rate", rules).health == Health::pass);
}

TEST_CASE("a collective of one device is refused") {
  CHECK(flaw_of(CollectiveCase{.devices = "cuda:0"})->find("two at least") != std::string::npos);
  CHECK_FALSE(flaw_of(CollectiveCase{.devices = "cuda:0,cuda:1"}));
}

}  // namespace doubts_test
