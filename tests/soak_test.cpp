#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "netpipe/devices/simulated/condition.hpp"
#include "netpipe/devices/simulated/library.hpp"
#include "netpipe/soak/memory_test.hpp"
#include "npgpu/judge/fleet.hpp"
#include "npgpu/judge/health.hpp"
#include "npgpu/measuring/runner.hpp"
#include "npgpu/model/figures.hpp"
#include "npgpu/vocabulary/load.hpp"
#include "scratch.hpp"

namespace soak_test {

using namespace npgpu;

namespace {

// A load in thirty slices of 2 s, of which each is as `of` makes it from its number.
template <class Of>
void add_load(Trace& trace, const std::string& device, SoakLoad load, Of of, std::uint32_t slices = 30) {
  SoakSeries& series = trace.of<Soaks>().emplace_back();
  series.question = {.device = device, .load = load};
  series.device_name = "GPU";
  for (std::uint32_t i = 0; i < slices; ++i) {
    SoakSample sample{.visit = i,
                      .intact = 1,
                      .repeats = 1,
                      .part = load,
                      .elapsed_s = 20.0 * i,
                      .done = 2e12,
                      .compared = 2e12,
                      .busy_us = 2e6,
                      .sm_clock_mhz = 1980,
                      .power_w = 500,
                      .temperature_c = 60};
    of(i, sample);
    if (sample.throttle_reasons & slowing_reasons) sample.throttled_s = sample.elapsed_s;
    Visit<Soaks> visit;
    visit.axes = {10 * i, 2000};
    visit.first_sample = series.samples.size();
    visit.samples = 1;
    visit.telemetry = {.sm_clock_mhz = sample.sm_clock_mhz, .temperature_c = sample.temperature_c};
    visit.telemetry.throttle_reasons = sample.throttle_reasons;
    series.visits.push_back(visit);
    series.samples.push_back(sample);
  }
}

const HealthFinding* find(const std::vector<HealthFinding>& all, const std::string& device, std::string_view metric) {
  const auto found = std::ranges::find_if(all, [&](const auto& f) { return f.device == device && f.metric == metric; });
  return found == all.end() ? nullptr : &*found;
}
const HealthFinding& must_find(const std::vector<HealthFinding>& all, const std::string& device,
                               std::string_view metric) {
  const HealthFinding* const one = find(all, device, metric);
  REQUIRE_MESSAGE(one, device, " ", metric);
  return *one;
}

// 1 % up and down by turns.
double wobble(std::uint32_t i) { return i % 2 ? 1.01 : 0.99; }

constexpr std::uint64_t power_cap = 4, hot = 64;

std::vector<HealthFinding> after_a_fall(double to, std::uint64_t reasons) {
  Trace trace;
  add_load(trace, "cuda:0", SoakLoad::tensor, [&](std::uint32_t i, SoakSample& s) {
    s.done *= wobble(i) * (i < 12 ? 1 : to);
    if (i >= 12) s.throttle_reasons = reasons;
  });
  return health_of(trace);
}

const Backend<Soaks>& simulated_backend() {
  for (const auto& one : backends<Soaks>())
    if (one->device_kind() == "sim") return *one;
  throw Error(ErrorKind::usage, "no backend");
}

std::string device_with(const ScratchFolder& scratch, const std::string& keys) {
  const std::string path = (scratch / "soak.json").string();
  std::ofstream(path) << R"({"like": ")" << NPGPU_SOURCE_DIR << R"(/data/devices/h200-node.json", )" << keys << "}";
  return "sim:" + path;
}

}  // namespace

TEST_CASE("a soak's case says what runs, and where to") {
  CHECK(title(SoakCase{.device = "cuda:0", .load = SoakLoad::peer, .target = "cuda:1"}) ==
        "soak cuda:0 peer to cuda:1");
  CHECK(text_of(SoakSlice{12, 2000}) == "slice 12 of 2 s");
  CHECK(soak_time_text(242) == "4 min 2 s");
  CHECK(soak_time_text(59.6) == "1 min");
  CHECK(soak_time_text(3780) == "1 h 3 min");
}

TEST_CASE("begin and end are the medians of the first and the last third, and the change lies between them") {
  Trace trace;
  add_load(trace, "cuda:0", SoakLoad::memory,
           [](std::uint32_t i, SoakSample& s) { s.done = s.compared = i < 15 ? 2e12 : 1e12; });
  const SoakFigure f = soak_devices(trace).front().loads.front();
  CHECK(f.slices == 30);
  CHECK(f.begin.value == doctest::Approx(1e12));  // 2e12 bytes in 2 s
  CHECK(f.end.value == doctest::Approx(0.5e12));
  CHECK(f.lowest == doctest::Approx(0.5e12));
  CHECK(f.change.value == doctest::Approx(-0.5));
  CHECK(f.compared == doctest::Approx(1));
  CHECK(f.last_third_s == doctest::Approx(400));  // slice 20
}

TEST_CASE("a change needs slices on both sides that show how they scatter") {
  const auto change = [](std::uint32_t slices) {
    Trace trace;
    add_load(
        trace, "cuda:0", SoakLoad::memory, [](std::uint32_t i, SoakSample& s) { s.done = i == 0 ? 1.9e12 : 2e12; },
        slices);
    const SoakFigure f = soak_devices(trace).front().loads.front();
    CHECK(std::isfinite(f.change.value) == std::isfinite(f.change.low));
    CHECK(must_find(health_of(trace), "cuda:0", slices < 6 ? "soak_course" : "soak_memory_course").health ==
          (slices < 6 ? Health::skip : Health::pass));
    return f.change.value;
  };
  for (const std::uint32_t few : {1, 2, 3}) CHECK(std::isnan(change(few)));
  CHECK(std::isfinite(change(12)));
}

TEST_CASE("a rate that falls by more than 5 % is slow where the device says that it is too hot") {
  const auto slow = must_find(after_a_fall(0.9, hot), "cuda:0", "soak_tensor_course");
  CHECK(slow.health == Health::fail);
  CHECK(slow.if_failed == CheckVerdict::slow);
  CHECK(slow.text.find("too hot") != std::string::npos);
  CHECK(slow.high < 0.95);
  const auto findings = after_a_fall(0.9, hot);
  CHECK(verdict_of(findings) == CheckVerdict::slow);
  const auto throttle = must_find(findings, "cuda:0", "throttle");
  CHECK(throttle.text.find("too hot after 4 min") != std::string::npos);  // slice 12 began at 240 s
}

TEST_CASE("the same is a warning where the device gives no reason, or its own power cap alone") {
  for (const std::uint64_t reasons : {std::uint64_t{0}, power_cap}) {
    const auto findings = after_a_fall(0.9, reasons);
    CHECK(must_find(findings, "cuda:0", "soak_tensor_course").health == Health::warn);
    CHECK(verdict_of(findings) == CheckVerdict::ok);
  }
}

TEST_CASE("a rate that falls by less than 5 %, or whose interval holds 5 %, is none that falls") {
  CHECK(must_find(after_a_fall(0.97, hot), "cuda:0", "soak_tensor_course").health == Health::pass);
  Trace trace;  // 0.94 in the middle, and some slices are far above and below
  add_load(trace, "cuda:0", SoakLoad::tensor, [](std::uint32_t i, SoakSample& s) {
    s.done *= (i < 10 ? 1 : 0.94) * (1 + 0.1 * (static_cast<int>(i % 5) - 2));
    s.throttle_reasons = hot;
  });
  const auto straddles = must_find(health_of(trace), "cuda:0", "soak_tensor_course");
  CHECK(straddles.value < 0.95);
  CHECK(straddles.high > 0.95);
  CHECK(straddles.health == Health::pass);
}

TEST_CASE("a power cap at the usual limit is a note that says since when") {
  Trace trace;
  add_load(trace, "cuda:0", SoakLoad::tensor, [](std::uint32_t i, SoakSample& s) {
    if (i > 0) s.throttle_reasons = power_cap;
  });
  const auto note = must_find(health_of(trace), "cuda:0", "throttle");
  CHECK(note.health == Health::pass);
  CHECK(note.text.find("power cap after 20 s") != std::string::npos);
}

TEST_CASE("a device that is too hot, and whose rates hold, is no slow one") {
  const auto findings = after_a_fall(1, hot);
  const auto throttle = must_find(findings, "cuda:0", "throttle");
  CHECK(throttle.health == Health::warn);
  CHECK(throttle.text.find("too hot after 4 min; no rate fell") != std::string::npos);
  CHECK(verdict_of(findings) == CheckVerdict::ok);
  CHECK(must_find(after_a_fall(0.9, hot), "cuda:0", "throttle").health == Health::fail);
}

namespace {

// A load that has `to` of its rate, with these reasons, in slices `from` to `until`.
Trace lower_between(std::uint32_t from, std::uint32_t until, double to, std::uint64_t reasons,
                    SoakLoad load = SoakLoad::tensor) {
  Trace trace;
  add_load(trace, "cuda:0", load, [&](std::uint32_t i, SoakSample& s) {
    const bool is_lower = from <= i && i < until;
    s.done *= wobble(i) * (is_lower ? to : 1);
    if (is_lower) s.throttle_reasons = reasons;
  });
  return trace;
}

}  // namespace

TEST_CASE("a device that was too hot for a while and slower meanwhile is slow, also where it recovered") {
  for (const auto& [from, until] : {std::pair{12U, 16U}, std::pair{28U, 30U}, std::pair{1U, 4U}}) {
    const auto findings = health_of(lower_between(from, until, 0.75, hot));
    CAPTURE(from);
    const auto course = must_find(findings, "cuda:0", "soak_tensor_course");
    CHECK(course.health == Health::fail);
    CHECK(course.text.find(std::to_string(until - from) + " of 30 slices") != std::string::npos);
    CHECK(course.high < 0.95);
    CHECK(must_find(findings, "cuda:0", "throttle").health == Health::fail);
    CHECK(verdict_of(findings) == CheckVerdict::slow);
  }
  const auto as_fast = health_of(lower_between(12, 16, 1, hot));
  CHECK(must_find(as_fast, "cuda:0", "throttle").text.ends_with("; no rate fell"));
  CHECK(verdict_of(as_fast) == CheckVerdict::ok);
}

TEST_CASE("what a device would do that is too hot from the begin to the end cannot be known") {
  const auto findings = health_of(lower_between(0, 30, 0.75, hot));
  const auto throttle = must_find(findings, "cuda:0", "throttle");
  CHECK(throttle.health == Health::undecided);
  CHECK(throttle.text.find("cannot be known: it was so from the begin to the end") != std::string::npos);
  CHECK(throttle.explanations.back().remedy == "soak again, for longer, when the GPU is cool and the node is idle");
  CHECK(verdict_of(findings) == CheckVerdict::undecided);
}

TEST_CASE(
    "a rate that is lower in three slices in a row is a warning, wherever they are; of copies with the host not") {
  for (const std::uint32_t from : {0U, 13U, 27U}) {
    const auto findings = health_of(lower_between(from, from + 3, 0.9, 0));
    CAPTURE(from);
    const auto course = must_find(findings, "cuda:0", "soak_tensor_course");
    CHECK(course.health == Health::warn);
    CHECK(course.text.find("lower for 3 slices or more from " + soak_time_text(20 * from) + " on") !=
          std::string::npos);
    CHECK(verdict_of(findings) == CheckVerdict::ok);
  }
  CHECK(must_find(health_of(lower_between(13, 15, 0.9, 0)), "cuda:0", "soak_tensor_course").health == Health::pass);
  CHECK(must_find(health_of(lower_between(13, 16, 0.96, 0)), "cuda:0", "soak_tensor_course").health == Health::pass);
  CHECK(must_find(health_of(lower_between(13, 16, 0.9, 0, SoakLoad::h2d)), "cuda:0", "soak_h2d_course").health ==
        Health::pass);
}

TEST_CASE("a fleet names whom a soak shows to be slow or broken, and nobody else") {
  const auto fleet_with = [](const Trace& other) {
    std::vector<FleetRun> runs;
    for (int i = 0; i < 6; ++i) {
      Trace trace = i == 3 ? other : lower_between(0, 0, 1, 0);
      trace.root.hostname = "node" + std::to_string(i);
      trace.root.run_uuid = "run" + std::to_string(i);
      runs.push_back(fleet_run(trace));
    }
    return judge_fleet(runs);
  };
  const Fleet hot_one = fleet_with(lower_between(12, 16, 0.75, hot));
  REQUIRE(hot_one.suspects() == 1);
  const FleetSuspect& suspect = hot_one.groups[0].suspects[0];
  CHECK(suspect.member == 3);
  CHECK(std::ranges::any_of(suspect.findings, [](const auto& one) { return one.what == "soak_tensor_course"; }));
  CHECK(fleet_with(lower_between(0, 0, 1, 0)).suspects() == 0);
  Trace wrong;
  add_load(wrong, "cuda:0", SoakLoad::test_read, [](std::uint32_t i, SoakSample& s) { s.mismatches = i == 7; });
  const Fleet broken = fleet_with(wrong);
  REQUIRE(broken.suspects() == 1);
  CHECK(broken.confirmed() == 1);
}

TEST_CASE("a soak that did no work, or whose rates cannot be, has no figure") {
  for (const double done : {0.0, -1.0, std::numeric_limits<double>::infinity(), not_measured}) {
    Trace trace;
    add_load(trace, "cuda:0", SoakLoad::fp32, [&](std::uint32_t, SoakSample& s) { s.done = done; });
    CHECK(verdict_of(health_of(trace)) == CheckVerdict::failed_to_run);
  }
}

TEST_CASE("of few slices it is not known whether rates fell") {
  Trace trace = lower_between(0, 0, 1, 0);
  trace.of<Soaks>()[0].visits.resize(5);
  trace.of<Soaks>()[0].samples.resize(5);
  const auto findings = health_of(trace);
  CHECK_FALSE(find(findings, "cuda:0", "soak_tensor_course"));
  CHECK(must_find(findings, "cuda:0", "soak_course").health == Health::skip);
}

TEST_CASE("what slices counted is known of a soak that was killed") {
  Trace trace;
  add_load(trace, "cuda:0", SoakLoad::fp32, [](std::uint32_t i, SoakSample& s) {
    s.ecc_uncorrected = i < 20 ? 0 : 2;
    s.xids = 0;
  });
  trace.provenance = {
      {"gpu0",
       Facts{{"id", std::string("cuda:0")}, {"ecc_uncorrected_volatile", std::int64_t{0}}, {"xids", std::int64_t{0}}}}};
  CHECK(must_find(health_of(trace), "cuda:0", "ecc_uncorrected").text.find("2 of them in this run") !=
        std::string::npos);
  CHECK(must_find(health_of(trace), "cuda:0", "xid").health == Health::pass);
  CHECK(verdict_of(health_of(trace)) == CheckVerdict::broken);
  for (SoakSample& sample : trace.of<Soaks>()[0].samples) sample.ecc_uncorrected = 0;
  CHECK(verdict_of(health_of(trace)) == CheckVerdict::ok);
}

TEST_CASE("two reasons that have one name are named once, with the time of the first") {
  const auto text = must_find(health_of(lower_between(12, 16, 1, 0x20 | 0x40)), "cuda:0", "throttle").text;
  CHECK(text.find("too hot after 4 min") != std::string::npos);
  CHECK(text.find("too hot") == text.rfind("too hot"));
}

TEST_CASE("a temperature that no device has is not compared with its neighbours'") {
  Trace trace;
  for (const int gpu : {0, 1, 2})
    add_load(trace, "cuda:" + std::to_string(gpu), SoakLoad::tensor,
             [&](std::uint32_t, SoakSample& s) { s.temperature_c = gpu == 1 ? 255 : 60; });
  const auto findings = health_of(trace);
  CHECK_FALSE(find(findings, "cuda:1", "soak_temperature"));
  CHECK(must_find(findings, "cuda:1", "temperature").health == Health::skip);
}

TEST_CASE("wrong results are broken") {
  Trace trace;
  add_load(trace, "cuda:0", SoakLoad::memory, [](std::uint32_t i, SoakSample& s) {
    if (i == 7) s.intact = 0, s.mismatches = 1;
  });
  const auto findings = health_of(trace);
  CHECK(must_find(findings, "cuda:0", "results").health == Health::fail);
  CHECK(verdict_of(findings) == CheckVerdict::broken);
}

TEST_CASE("a device that is hotter than three others is named; of two it is said that they differ") {
  Trace trace;
  for (const int gpu : {0, 1, 2, 3})
    add_load(trace, "cuda:" + std::to_string(gpu), SoakLoad::tensor,
             [&](std::uint32_t, SoakSample& s) { s.temperature_c = gpu == 2 ? 70.5 : 60; });
  auto findings = health_of(trace);
  CHECK(must_find(findings, "cuda:2", "soak_temperature").health == Health::warn);
  for (const char* other : {"cuda:0", "cuda:1", "cuda:3"}) CHECK_FALSE(find(findings, other, "soak_temperature"));
  for (auto& s : trace.of<Soaks>()[2].samples) s.temperature_c = 70;  // 10 K above is not more than 10
  CHECK_FALSE(find(health_of(trace), "cuda:2", "soak_temperature"));

  Trace pair;
  add_load(pair, "cuda:0", SoakLoad::tensor, [](std::uint32_t, SoakSample&) {});
  add_load(pair, "cuda:1", SoakLoad::tensor, [](std::uint32_t, SoakSample& s) { s.temperature_c = 80; });
  CHECK(must_find(health_of(pair), "cuda:1", "soak_temperature").text.find("differ") != std::string::npos);
}

TEST_CASE("a device that is slower than its neighbours is slow with a reason, and a warning without") {
  for (const std::uint64_t reasons : {std::uint64_t{0}, hot}) {
    Trace trace;
    for (const int gpu : {0, 1, 2})
      add_load(trace, "cuda:" + std::to_string(gpu), SoakLoad::fp32, [&](std::uint32_t i, SoakSample& s) {
        s.done *= wobble(i) * (gpu == 1 ? 0.9 : 1);
        if (gpu == 1) s.throttle_reasons = reasons;
      });
    const auto findings = health_of(trace);
    CHECK(must_find(findings, "cuda:1", "soak_fp32_rate").health == (reasons ? Health::fail : Health::warn));
    CHECK_FALSE(find(findings, "cuda:0", "soak_fp32_rate"));
    CHECK_FALSE(find(findings, "cuda:2", "soak_fp32_rate"));
  }
}

TEST_CASE("a wrong word of memory is broken, and its address and bits are told") {
  Trace trace;
  add_load(trace, "cuda:0", SoakLoad::memory_test, [](std::uint32_t, SoakSample& s) { s.part = SoakLoad::test_read; });
  SoakSeries& series = trace.of<Soaks>()[0];
  series.samples[29].intact = 0;
  series.samples[29].mismatches = 1;
  series.samples.push_back({.visit = 29,
                            .repeats = 1,
                            .part = SoakLoad::test_read,
                            .pattern = MemoryPattern::random,
                            .address = 0x7f0000001238,
                            .expected = 0xff,
                            .found = 0xfb,
                            .again = 1});
  series.visits[29].samples = 2;
  const auto finding = must_find(health_of(trace), "cuda:0", "memory_test");
  CHECK(finding.health == Health::fail);
  CHECK(finding.if_failed == CheckVerdict::broken);
  CHECK(finding.text.find("0x7f0000001238") != std::string::npos);
  CHECK(finding.text.find("bits 0x4") != std::string::npos);
  CHECK(finding.text.find("the same when read again") != std::string::npos);
  CHECK(soak_devices(trace).front().words.size() == 1);
}

TEST_CASE("each bit of each word is tested at 1 and at 0") {
  std::uint64_t ones = 0, zeros = 0;
  for (const soak::Pass& pass : soak::all_passes()) {
    const std::uint64_t word = soak::word_of(pass.pattern, pass.number, 41, 0x1000);
    if (pass.pattern == MemoryPattern::walking) ones |= word;
    if (pass.pattern == MemoryPattern::inverse) zeros |= ~word;
    if (pass.pattern == MemoryPattern::address) CHECK(word == 0x1000);
  }
  CHECK(ones == ~std::uint64_t{0});
  CHECK(zeros == ~std::uint64_t{0});
}

TEST_CASE("a memory test of a simulated device finds the bits that its spec flips, each at its place") {
  const ScratchFolder scratch;
  const std::string id = device_with(scratch, R"("memory_bytes": 8000000000, "flip_every_bytes": 1e10)");
  // Each pass moves 16e9 bytes: 8 to write and 8 to read. The flips lie at 10e9, in the first reading, 20e9, in the
  // second writing, and 30e9, in the second reading.
  const auto found =
      soak::memory_tester_for(id)->test(id, {.passes = {{MemoryPattern::walking, 0}, {MemoryPattern::random, 3}}});
  CHECK(found.mismatches == 3);
  REQUIRE(found.words.size() == 3);
  CHECK(found.words[0].pattern == MemoryPattern::walking);
  CHECK(found.words[0].address - found.words[1].address + 2000000000 == 0);  // 2e9 into a reading, 4e9 into a writing
  CHECK_FALSE(found.words[0].again);
  CHECK(found.words[1].again);
  for (const auto& word : found.words) CHECK(std::popcount(word.expected ^ word.found) == 1);
}

TEST_CASE("what a spec says of a device's course is refused where it is no course") {
  const ScratchFolder scratch;
  const auto why = [&](const std::string& keys) {
    try {
      simulated::spec_of(device_with(scratch, keys));
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(why(R"("course": [{"after_s": 1}, {"after_s": 2, "lost": 1}])") == "");
  CHECK(why(R"("course": [{"after_s": 2}, {"after_s": 2}])").find("course[1].after_s") != std::string::npos);
  CHECK(why(R"("course": [{"kernel_slowdown": 2}])").find("after_s") != std::string::npos);
  CHECK(why(R"("course": [{"after_s": 1, "kernel_slowdown": 0.5}])").find("kernel_slowdown") != std::string::npos);
  CHECK(why(R"("course": [{"after_s": 1, "lost": 2}])").find("lost") != std::string::npos);
  CHECK(why(R"("course": [{"after_s": 1, "melts": 1}])").find("melts") != std::string::npos);
  CHECK(why(R"("flip_every_bytes": 0)").find("flip_every_bytes") != std::string::npos);
}

TEST_CASE("a simulated device's course comes at its time: a clock that falls, and its loss") {
  const ScratchFolder scratch;
  const std::string id = device_with(scratch, R"("noise": null, "course": [
      {"after_s": 10, "kernel_slowdown": 2, "telemetry": {"temperature_c": 90, "throttle_reasons": 64}},
      {"after_s": 20, "lost": 1}])");
  std::vector<Step<Soaks>> steps;
  for (std::uint32_t i = 0; i < 30; ++i) steps.push_back({{.device = id, .load = SoakLoad::fp32}, {i, 1000}});
  const auto runner = simulated_backend().open(steps);
  std::vector<double> rates;
  std::vector<std::uint64_t> reasons;
  try {
    for (const auto& step : steps) {
      runner->prepare(step);
      std::vector<SoakSample> samples;
      runner->run(1, samples);
      samples.clear();
      runner->run(1, samples);
      CHECK_FALSE(runner->check(samples));
      rates.push_back(samples.at(0).done / samples.at(0).busy_us);
      reasons.push_back(samples.at(0).throttle_reasons);
    }
    FAIL("it is not lost");
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::lost);
    CHECK(e.device() == id);
  }
  CHECK(rates.size() >= 18);
  CHECK(rates.size() <= 21);
  CHECK(rates[15] == doctest::Approx(rates[3] / 2).epsilon(1e-3));
  CHECK(reasons[3] == 0);
  CHECK(reasons[15] == 64);
}

}  // namespace soak_test
