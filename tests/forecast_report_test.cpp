// A prediction written down by hand, as text and JSON.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "npgpu/report/report.hpp"

namespace forecast_report_test {

using namespace npgpu;
using Json = nlohmann::json;

namespace {

Estimate us(double value, double low, double high) { return {value, low, high, "us", ""}; }

// 60 MiB either way and a kernel of 1 ms; 3000 us in one stream, 1500 in six, up to eight tried.
struct Made {
  MeasuredCosts costs;
  ForecastReport of;
  Made() {
    costs.device = "cuda:0";
    costs.device_name = "Test GPU";
    of.costs = &costs;
    of.job = {.in_bytes = 60 * MiB, .out_bytes = 60 * MiB, .kernel = Seconds{1e-3}, .blocks = 1000, .slots = 264};
    Prediction& p = of.forecast.prediction;
    p.streams = 6;
    p.time = Seconds{1500e-6};
    p.speed_up = 2;
    p.bound = Bound::d2h_engine;
    p.bound_time = Seconds{1200e-6};
    const double times[] = {3000, 2250, 1900, 1650, 1530, 1500, 1520, 1560};
    for (std::uint32_t n = 1; n <= 8; ++n) {
      p.candidates.push_back({n, {}});
      const double t = times[n - 1];
      of.forecast.candidates_us.push_back(us(t, t - 10, t + 20));
    }
    of.forecast.time_us = us(1500, 1490, 1520);
    of.forecast.fewest = 5;
    of.forecast.most = 7;
    of.advice.best = of.advice.advised = split(6, 6, 1500);
  }
  static SplitTime split(std::uint32_t chunks, std::uint32_t streams, double us) {
    SplitTime s{chunks, streams};
    s.run.total = from_microseconds(us);
    return s;
  }
};

std::string text(const Made& made, int width = 100, bool color = false) {
  std::ostringstream out;
  TextStyle style;
  style.width = width;
  style.color = color;
  forecast_text(out, made.of, style);
  return out.str();
}

bool has(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

}  // namespace

TEST_CASE("the text answers first: how many, how long, what is gained, and what bounds it") {
  const std::string told = text({});
  CAPTURE(told);
  CHECK(told.starts_with(
      "prediction for cuda:0 (Test GPU)\n  job       60 MiB in, kernel 1.000 ms, 60 MiB out, breadth-first\n"));
  CHECK(has(told, "best      6 streams (5 .. 7) with a chunk in each, 1.500 ms (1.490 ms .. 1.520 ms)\n"));
  CHECK(has(told, "speed-up  2.000 over one stream\n"));
  CHECK(has(told, "bottleneck D2H copy engine, 80 % busy\n"));
  CHECK(has(told, "advised   6 streams, the best; fewer are more than 1 % slower\n"));
  CHECK(has(told, "buffers   6 in flight, each for a chunk of 10 MiB in and 10 MiB out; 120 MiB of device memory\n"));
  CHECK(has(told, "error     not known: predictions were never compared with measurements on this architecture\n"));
  CHECK(has(told, "graph     not known: the trace has no launches of graphs"));
  CHECK(has(told, "intervals: the scatter of the measured costs, and not the error of the model"));
  CHECK_FALSE(has(told, "SIMULATED"));
}

TEST_CASE("the fewest streams within 1 % of the best are advised, with both times") {
  Made made;
  made.of.advice.advised = Made::split(4, 4, 1512);
  const std::string told = text(made);
  CAPTURE(told);
  CHECK(has(told, "advised   4 streams, 1.512 ms, +0.8 % over the best: the least power of two within 1 %\n"));
  CHECK(has(told, "best      6 streams (5 .. 7) with a chunk in each, 1.500 ms"));
  CHECK(has(told, "buffers   4 in flight, each for a chunk of 15 MiB in and 15 MiB out"));
}

TEST_CASE("the lean way, the model's error and the graph are said with their numbers") {
  Made made;
  made.of.advice.lean = Made::split(60, 3, 1530);
  made.of.advice.error = LengthClass{1000, 5000, 52, {0.0096, 0.047, 0.13}};
  made.of.advice.error_source = "205 jobs of mine";
  made.costs.graph = GraphCosts{};
  GraphAdvice graph;
  graph.advised = Made::split(8, 8, 1440);
  graph.gain = 0.04;
  graph.instantiate = Seconds{150e-6};
  graph.pays_after = 3;
  made.of.advice.graph = graph;
  std::string told = text(made, 200);
  CAPTURE(told);
  CHECK(has(told,
            "lean      6 MiB of device memory with 60 chunks in turn through 3 buffers of 1 MiB in and 1 MiB out, "
            "depth-first: 1.530 ms, +2.0 % over the best\n"));
  CHECK(told.find("lean ") > told.find("best "));
  Made as_good;
  as_good.of.advice.lean = Made::split(60, 3, 1490);
  const std::string sooner = text(as_good, 200);
  CHECK(sooner.find("lean ") < sooner.find("advised "));  // as good, and of less memory
  CHECK(has(told,
            "error     1.0 % in the median, 4.7 % at the 95th percentile: of predicted times of 52 jobs of 1 ms "
            "to 5 ms (205 jobs of mine)\n"));
  CHECK(has(told,
            "graph     8 chains, 1.440 ms, 4.0 % sooner than the advised streams; to instantiate it takes 150.0 us, "
            "and pays after 3 launches\n"));
  made.of.advice.error_source = known_errors().source;
  CHECK_FALSE(has(text(made, 200), "all of which were issued"));
  made.of.advice.advised.order = Order::depth_first;
  CHECK(has(text(made, 300), "), all of which were issued breadth-first\n"));
  made.of.advice.graph->pays_after.reset();
  made.of.advice.graph->gain = -0.002;
  told = text(made, 200);
  CHECK(has(told, "graph     gains nothing: 8 chains, 1.440 ms, +0.2 % over the advised streams\n"));
}

TEST_CASE("limited memory: what fits, what that costs, and a table of chunks in turn") {
  Made made;
  made.of.advice.max_memory = 8 * MiB;
  made.of.advice.advised = Made::split(45, 3, 1545);
  made.of.advice.best = Made::split(60, 4, 1533);
  made.of.advice.in_memory = {Made::split(20, 1, 3000), made.of.advice.advised, made.of.advice.best};
  const std::string told = text(made, 200);
  CAPTURE(told);
  CHECK(has(told, "memory    at most 8 MiB: "));
  CHECK(has(told,
            "advised   3 streams with 45 chunks in turn, 1.545 ms, +3.0 % over a chunk in each stream: the fewest "));
  CHECK(has(told, "best      4 streams with 60 chunks in turn, 1.533 ms, +2.2 % over a chunk in each stream\n"));
  CHECK(has(told, "unlimited 6 streams (5 .. 7) with a chunk in each, 1.500 ms"));
  CHECK(has(told, "\n        3      45   8 MiB"));
  CHECK_FALSE(has(told, "lean"));
}

TEST_CASE("JSON: advice, lean way and graph") {
  Made made;
  made.of.advice.advised = Made::split(4, 4, 1512);
  made.of.advice.lean = Made::split(60, 3, 1530);
  made.of.notes = {"a sentence"};
  std::ostringstream out;
  forecast_json(out, made.of);
  const Json json = Json::parse(out.str());
  CHECK(json["advised"]["streams"] == 4);
  CHECK(json["advised"]["device_bytes"] == 120 * MiB);
  CHECK(json["lean"]["chunks"] == 60);
  CHECK(json["lean"]["chunk_in_bytes"] == MiB);
  CHECK(json["lean"]["device_bytes"] == 6 * MiB);
  CHECK(json["graph"].is_null());
  CHECK(json["error"].is_null());
  CHECK(json["max_memory_bytes"].is_null());
  CHECK(json["notes"][0] == "a sentence");
}

TEST_CASE("a size is echoed as it was typed: 64MB is no 62500 KiB") {
  Made made;
  made.of.job.in_bytes = 64'000'000;
  CHECK(has(text(made), "job       64 MB in, kernel"));
}

TEST_CASE("the table has powers of two and the neighbours of the best, each against the best") {
  const std::string told = text({});
  CAPTURE(told);
  CHECK(has(told, "\n        1  3.000 ms  2.990 ms .. 3.020 ms       +100.0 %\n"));
  CHECK(has(told, "\n        2  2.250 ms  2.240 ms .. 2.270 ms        +50.0 %\n"));
  CHECK_FALSE(has(told, "\n        3  "));
  CHECK(has(told, "\n        4  1.650 ms"));
  CHECK(has(told, "\n        5  1.530 ms"));
  CHECK(has(told, "\n        6  1.500 ms  1.490 ms .. 1.520 ms         +0.0 %\n"));
  CHECK(has(told, "\n        7  1.520 ms"));
  CHECK(has(told, "\n        8  1.560 ms"));
}

TEST_CASE("one number of streams that is sure needs no range, and one stream is no plural") {
  Made made;
  made.of.forecast.fewest = made.of.forecast.most = made.of.forecast.prediction.streams = 1;
  CHECK(has(text(made), "best      1 stream with a chunk in each, 1.500 ms"));
}

TEST_CASE("a simulated device is called so, in colour where there is any") {
  Made made;
  made.costs.simulated = true;
  made.costs.device = "sim:made";
  CHECK(text(made).starts_with("SIMULATED prediction for sim:made (Test GPU)\n"));
  CHECK(has(text(made, 100, true), "\x1b[1;31mSIMULATED prediction for sim:made (Test GPU)\x1b[0m"));
  CHECK_FALSE(has(text(made), "\x1b"));
}

TEST_CASE("JSON: the job as it was asked, the best with its interval, every candidate") {
  Made made;
  std::ostringstream out;
  forecast_json(out, made.of);
  const Json json = Json::parse(out.str());
  CHECK(json["document"] == "npgpu-prediction");
  CHECK(json["version"] == 1);
  CHECK(json["device"] == "cuda:0");
  CHECK(json["device_name"] == "Test GPU");
  CHECK(json["simulated"] == false);
  CHECK(json["order"] == "breadth-first");
  CHECK(json["job"]["in_bytes"] == 60 * MiB);
  CHECK(json["job"]["out_bytes"] == 60 * MiB);
  CHECK(json["job"]["kernel_us"].get<double>() == doctest::Approx(1000));
  CHECK(json["job"]["blocks"] == 1000);
  CHECK(json["job"]["slots"] == 264);
  const Json& best = json["best"];
  CHECK(best["streams"] == 6);
  CHECK(best["fewest"] == 5);
  CHECK(best["most"] == 7);
  CHECK(best["time_us"] == 1500);
  CHECK(best["low_us"] == 1490);
  CHECK(best["high_us"] == 1520);
  CHECK(best["speed_up"] == 2);
  CHECK(best["bound"] == "d2h-engine");
  CHECK(best["bound_time_us"].get<double>() == doctest::Approx(1200));
  REQUIRE(json["candidates"].size() == 8);
  CHECK(json["candidates"][2] == Json{{"streams", 3}, {"time_us", 1900}, {"low_us", 1890}, {"high_us", 1920}});
}

TEST_CASE("JSON: an interval that is not there is null") {
  Made made;
  made.of.forecast.candidates_us[0] = us(3000, not_measured, not_measured);
  std::ostringstream out;
  forecast_json(out, made.of);
  const Json json = Json::parse(out.str());
  CHECK(json["candidates"][0]["low_us"].is_null());
  CHECK(json["candidates"][0]["time_us"] == 3000);
}

}  // namespace forecast_report_test
