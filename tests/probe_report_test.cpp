// Probes and parameters as text, csv and json: numbers written down by hand, read back from what was printed.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "made_probe.hpp"
#include "netpipe/report/series_text.hpp"

namespace probe_report_test {

using namespace npgpu;

namespace {

const std::vector<double> steady(9, 2.0);
const TextStyle plain{.color = false, .width = 100};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string probe_text(const ProbeSeries& probe, const TextStyle& style) {
  Document document;
  series_text(document, probe, style.every_size);
  return to_text(document, style);
}

std::string line_with(const std::string& text, const std::string& part) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (has(line, part)) return line;
  return "no line with " + part;
}

// 1000 operations in 2 us are 0.5 GFLOP/s: 50 % of a peak of 1; at 1000 MHz 0.5 a cycle.
ProbeSeries fma_sweep() {
  ProbeSeries sweep = probe_sweep();
  sweep.limit = {1e9, "lanes * clock"};
  sweep.schedule = "made up";
  add_point(sweep, {.blocks = 1, .threads = 32, .ilp = 1}, 1000, steady);
  give_cycles(sweep, 1000);
  return sweep;
}

DeviceParameters made_parameters() {
  DeviceParameters device;
  device.device = "cuda:0";
  device.device_name = "Test GPU";
  device.parameters.push_back({"SM",
                               {132.5, 131, 134, "units", "Cp_AA / Cp_OA"},
                               "how many units",
                               132,
                               "units that the device names",
                               Agreement::agrees,
                               ""});
  device.parameters.push_back({"P",
                               {66.5e12, not_measured, not_measured, "operations per second", "the fastest"},
                               "rate",
                               67e12,
                               "lanes * clock",
                               Agreement::no_reference,
                               "it ran at 1700 of 1980 MHz"});
  device.parameters.push_back({"w*", {}, "blocks that fill a unit", not_measured, "", Agreement::no_reference, ""});
  device.missing.push_back("B: needs probe bandwidth");
  return device;
}

}  // namespace

TEST_CASE("a probe's table: rate, part of the limit, interval, rate per cycle, trials") {
  const std::string text = probe_text(fma_sweep(), plain);
  CHECK(text.starts_with("compute cuda:0 fma fp32\n"));
  CHECK(has(text, "1.000 GFLOP/s: what clock and widths give"));
  CHECK(has(line_with(text, "blocks"), "GFLOP/s"));
  std::istringstream row(line_with(text, " 32 "));
  std::string blocks, threads, ilp, rate, part, low, high, percent, cycle, trials;
  row >> blocks >> threads >> ilp >> rate >> part >> low >> high >> percent >> cycle >> trials;
  CHECK(rate == "0.5000");
  CHECK(part.starts_with("50.0"));
  CHECK(low + ' ' + high == "+0.0 +0.0");
  CHECK(cycle == "0.5000");
  CHECK(trials == "9");
  CHECK(has(line_with(text, "blocks"), "per cycle"));
  CHECK(has(text, "% of limit: the limit at the highest clock, 1000 MHz"));
  CHECK_FALSE(has(text, "access B"));
  CHECK_FALSE(has(text, "\x1b"));
}

TEST_CASE("marks of a shape are explained, and only those that are there") {
  CHECK_FALSE(has(probe_text(fma_sweep(), plain), "unsteady"));
  ProbeSeries sweep = fma_sweep();
  add_point(sweep, {.blocks = 4, .threads = 32, .one_block_per_sm = 1}, 4000,
            {1.6, 1.7, 1.8, 1.9, 2.0, 2.1, 2.2, 2.3, 2.4});
  add_point(sweep, {.blocks = 8, .threads = 32}, 4000, steady);
  for (std::size_t i = 18; i < 27; ++i) sweep.samples[i].intact = 0;
  std::string text = probe_text(sweep, plain);
  CHECK(line_with(text, " 4  ").ends_with("1*"));
  CHECK(line_with(text, " 8  ").ends_with("!"));
  CHECK(has(text, "1 one block per SM: forced, and checked"));
  CHECK(has(text, "* 1 of 3 shapes unsteady: an interval wider than +-5 %"));
  CHECK(has(text, "! no usable trial"));
  CHECK_FALSE(has(text, "disturbed"));
  disturb(sweep.visits[1], Cause::core_shared, "cc1plus (12)");
  text = probe_text(sweep, plain);
  CHECK(line_with(text, " 4  ").ends_with("1*d"));
  CHECK(has(text, "d 1 of 3 shapes were disturbed: no core of its own; most of all by cc1plus (12)\n"));
}

TEST_CASE("memory has its columns, a chase its time, and a sweep without points its reason") {
  ProbeSeries sweep = probe_sweep();
  sweep.question.probe = "bandwidth";
  sweep.question.operation = Operation::read;
  sweep.simulated = true;
  add_point(sweep, {.blocks = 1, .threads = 32, .access_bytes = 16, .bytes = 3 * MiB}, 4000, steady);
  std::string text = probe_text(sweep, plain);
  CHECK(text.starts_with("SIMULATED bandwidth"));
  CHECK(has(line_with(text, "blocks"), "access B"));
  CHECK(has(line_with(text, "3 MiB"), "2.000"));  // 4000 B in 2 us
  CHECK(point_text(sweep) == "2.000 GB/s ±0.00 %");

  sweep.question.probe = "latency";
  sweep.question.operation = Operation::chase;
  sweep.visits[0].work = 100;
  text = probe_text(sweep, plain);
  CHECK(has(line_with(text, "blocks"), "ns per load"));
  CHECK(has(line_with(text, "blocks"), "  cycles"));
  CHECK(has(line_with(text, "3 MiB"), "20.00"));  // 100 loads in 2 us

  sweep.visits.clear();
  CHECK(has(probe_text(sweep, plain), "none were measured"));
  sweep.error = "no memory";
  CHECK(line_with(probe_text(sweep, plain), "NOT RUN").ends_with("no memory"));
  CHECK(point_text(sweep) == "not usable");
}

TEST_CASE("rates of a probe in their unit") {
  ProbeCase c{.probe = "compute"};
  CHECK(probe_rate_text(c, 66.9e12) == "66.90 TFLOP/s");
  c.type = DataType::int32;
  CHECK(probe_rate_text(c, 1.5e9) == "1.500 GOP/s");
  c.operation = Operation::copy;
  CHECK(probe_rate_text(c, 4.3e12) == "4.300 TB/s");
  CHECK(probe_rate_text(c, not_measured) == "-");
}

TEST_CASE("parameters: a line each, and in full the formula, what it means, who says so and what disturbs it") {
  std::ostringstream full, brief;
  parameters_text(full, {made_parameters()}, Detail::full, plain);
  parameters_text(brief, {made_parameters()}, Detail::brief, plain);
  CHECK(full.str().substr(0, full.str().find('\n')) == "cuda:0 (Test GPU): 132 multiprocessors");
  CHECK(brief.str().substr(0, brief.str().find('\n')) == "cuda:0 (Test GPU): 132 multiprocessors");
  CHECK(has(brief.str(), "SM: how many units"));
  for (const char* part : {"= Cp_AA / Cp_OA", "how many units", "reported by the driver: units that the device names",
                           "? it ran at 1700 of 1980 MHz", "missing: B: needs probe bandwidth"})
    CHECK_MESSAGE(has(full.str(), part), part);
  const std::string sm = line_with(brief.str(), "SM ");
  CHECK(has(sm, "132.5 units"));
  CHECK(has(sm, "131.0 .. 134.0"));
  CHECK(sm.ends_with("132.0  agrees"));
  const std::string p = line_with(brief.str(), "P ");
  CHECK(has(p, "66500 GOP/s"));
  CHECK(p.ends_with("67000  - ?"));
  CHECK(has(brief.str(), "?: in doubt; npgpu derive TRACE --all explains why"));
  CHECK_FALSE(has(brief.str(), "Cp_AA / Cp_OA"));
  CHECK_FALSE(has(full.str() + brief.str(), "nan"));
  DeviceParameters simulated = made_parameters();
  simulated.simulated = true;
  std::ostringstream said;
  parameters_text(said, {simulated}, Detail::brief, plain);
  CHECK(said.str().starts_with("SIMULATED cuda:0 (Test GPU): 132 multiprocessors"));
  CHECK(has(said.str(), "reported: by its spec"));
  CHECK_FALSE(has(said.str(), "driver"));
}

TEST_CASE(
    "how a device is built is said first, with what its driver reports otherwise, and twins by time only on demand") {
  DeviceParameters device = made_parameters();
  const auto add = [&](const char* name, double value, const char* unit) {
    device.parameters.push_back({name,
                                 {value, value, value, unit, ""},
                                 "meaning of " + std::string(name),
                                 not_measured,
                                 "",
                                 Agreement::no_reference,
                                 ""});
    return &device.parameters.back();
  };
  device.parameters[0].estimate.value = 128.9;
  device.parameters[0].verdict = Agreement::disagrees;
  add("SM by time", 128.5, "units");
  add("SM fp64", 128.9, "units");
  add("lanes", 32.01, "lanes");
  add("ports", 3.976, "instructions per cycle");
  add("clock", 1980, "MHz");
  add("FMA latency", 4.039, "cycles");
  add("L2 size", 58.67 * 1024 * 1024, "bytes");
  add("L2 near latency", 142, "ns");
  add("L2 far latency", 258, "ns");
  add("B read", 4.613e12, "bytes per second");
  add("B write", 4.4e12, "bytes per second");
  std::ostringstream brief, full;
  const TextStyle wide{.width = 300};
  parameters_text(brief, {device}, Detail::brief, wide);
  parameters_text(full, {device}, Detail::full, wide);
  CHECK(brief.str().starts_with(
      "cuda:0 (Test GPU): 129 multiprocessors (the driver reports 132) of 4 x 32 lanes at 1980 MHz, FMA 4 cycles, "
      "58.7 MiB of L2 in two parts, 4.6 TB/s of memory\n"));
  CHECK_FALSE(has(brief.str(), "by time"));
  CHECK(has(full.str(), "SM by time"));
  CHECK(has(brief.str(), "SM fp64"));
  CHECK_FALSE(has(brief.str(), "meaning of SM fp64"));  // a name is explained once
  CHECK_FALSE(has(brief.str(), "meaning of L2"));       // and says itself what it is
}

TEST_CASE("parameters as json: what has no value is null") {
  std::ostringstream out;
  parameters_json(out, {made_parameters()});
  const auto json = nlohmann::json::parse(out.str());
  CHECK(json["document"] == "npgpu-parameters");
  const auto& all = json["devices"][0]["parameters"];
  CHECK(all[0]["estimate"]["value"] == 132.5);
  CHECK(all[0]["estimate"]["unit"] == "units");
  CHECK(all[0]["verdict"] == "agrees");
  CHECK(all[0]["note"].is_null());
  CHECK(all[1]["estimate"]["low"].is_null());
  CHECK(all[1]["note"] == "it ran at 1700 of 1980 MHz");
  CHECK(all[2]["estimate"]["value"].is_null());
  CHECK(all[2]["reference"].is_null());
  CHECK(json["devices"][0]["missing"][0] == "B: needs probe bandwidth");
}

TEST_CASE("a reference without a unit is no number to print") {
  DeviceParameters device = made_parameters();
  Parameter failed{"P", {}, "rate", 66908160000000, "lanes * clock", Agreement::no_reference, "it failed"};
  device.parameters = {failed};
  for (const Detail detail : {Detail::brief, Detail::full}) {
    std::ostringstream out;
    parameters_text(out, {device}, detail, plain);
    CHECK_FALSE(has(out.str(), "66908160000000"));
  }
}

TEST_CASE("what a host reports comes from the system") {
  DeviceParameters device = made_parameters();
  device.device = "host";
  std::ostringstream out;
  parameters_text(out, {device}, Detail::full, plain);
  CHECK(has(out.str(), "reported by the system: units that the device names"));
  CHECK_FALSE(has(out.str(), "driver"));
}

TEST_CASE("tables of probes and parameters keep to the width of the terminal") {
  ProbeSeries sweep = probe_sweep();
  sweep.question = {.probe = "bandwidth", .device = "cuda:0", .operation = Operation::read, .form = Form::dependent};
  sweep.limit = {4.8e12, "3201 MHz * 6016 bit * 2 (double data rate)"};
  add_point(sweep, {.blocks = 1056, .threads = 1024, .ilp = 8, .access_bytes = 16, .bytes = 15 * GiB / 4}, 4e6, steady);
  add_point(sweep, {.blocks = 1, .threads = 1, .ilp = 1, .access_bytes = 16, .bytes = 15 * GiB / 4}, 4, steady);
  Trace trace;
  trace.of<Probes>() = {sweep, sweep};
  trace.of<Probes>()[1].question.probe = "latency";
  trace.of<Probes>()[1].question.space = Space::constant;
  for (const int width : {60, 80, 100, 120}) {
    std::ostringstream out;
    const TextStyle style{.color = false, .width = width};
    report_text(out, TraceResults(trace), style);
    report_overview(out, TraceResults(trace), overview_of(trace), style);
    parameters_text(out, {made_parameters()}, Detail::full, style);
    std::istringstream lines(out.str());
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(line);
      CHECK(display_width(line) <= static_cast<std::size_t>(width));
    }
    CHECK(has(out.str(), "% of limit"));  // whatever the width
  }
}

TEST_CASE("json holds every sample of every probe") {
  Trace trace;
  trace.of<Probes>() = {fma_sweep(), fma_sweep()};
  add_point(trace.of<Probes>()[1], {.blocks = 2, .threads = 64, .one_block_per_sm = 1}, 500, {4, 4, 4});
  std::ostringstream json;
  export_json(json, trace);
  const auto whole = nlohmann::json::parse(json.str());
  REQUIRE(whole["probes"].size() == 2);
  CHECK(whole["probes"][0]["samples"]["device_us"].size() == 9);
  CHECK(whole["probes"][1]["samples"]["device_us"].size() == 12);
  CHECK(whole["probes"][1]["visits"]["threads"] == nlohmann::json({32, 64}));
  CHECK(whole["probes"][1]["visits"]["one_block_per_sm"] == nlohmann::json({0, 1}));
  CHECK(whole["probes"][0]["units"] == 4);
  CHECK(whole["probes"][0]["limit_per_s"] == 1e9);
}

}  // namespace probe_report_test
