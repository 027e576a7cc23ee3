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
  static SplitTime split(std::uint32_t chunks, std::uint32_t streams, double us, Order order = Order::breadth_first) {
    SplitTime s{chunks, streams, order, {}};
    s.run.total = from_microseconds(us);
    s.run.busy.copy_out = Seconds{1200e-6};
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

TEST_CASE("the first line answers: how to cut the job, the memory, the time, and what that gains") {
  const std::string told = text({});
  CAPTURE(told);
  CHECK(
      told.starts_with("6 chunks in 6 streams, 120 MiB: 1.50 ms instead of 3.00 ms (2.0 times)\n"
                       "  device    cuda:0 (Test GPU)\n  job       60 MiB in, kernel 1.000 ms, 60 MiB out\n"
                       "  buffers   6 streams, each for 10 MiB in and 10 MiB out; breadth-first\n"));
  CHECK(
      has(told, "spread    with a chunk in each stream 6 streams (5 .. 7) are best, 1.500 ms (1.490 ms .. 1.520 ms)"));
  CHECK(has(told, "bottleneck D2H copy engine, 80 % busy\n"));
  CHECK(has(told, "error     not known: predictions were never compared with measurements on this architecture\n"));
  CHECK(has(told, "graph     not known: the trace has no launches of graphs"));
  CHECK(has(told, "intervals: the scatter of the measured costs, and not the error of the model"));
  for (const char* other : {"SIMULATED", "cap ", "fastest", "memory "}) CHECK_FALSE(has(told, other));
}

TEST_CASE("chunks in turn: what is faster, and that none such were measured") {
  Made made;
  made.of.advice.advised = Made::split(60, 3, 1512, Order::depth_first);
  made.of.advice.error = LengthClass{1000, 5000, 52, {0.0096, 0.047, 0.13}};
  made.of.advice.error_source = "205 jobs of mine";
  std::string told = text(made, 250);
  CAPTURE(told);
  CHECK(told.starts_with("60 chunks in 3 streams, 6 MiB: 1.51 ms instead of 3.00 ms (2.0 times)\n"));
  CHECK(
      has(told,
          "buffers   3 streams, each for 1 MiB in and 1 MiB out; depth-first: the chunks of a stream take turns in its "
          "buffers\n"));
  CHECK(has(told, "fastest   6 chunks in 6 streams, 120 MiB: 1.500 ms, 0.8 % sooner\n"));
  CHECK(has(told, "error     not known with chunks in turn: none were measured"));
  CHECK(has(told, "With a chunk in each stream 4.7 % at the 95th percentile, of 52 jobs of 1 ms to 5 ms"));
  made.of.advice.error_in_turn = LengthClass{0, 1e9, 9, {0.02, 0.031, 0.04}};
  told = text(made, 250);
  CHECK(told.starts_with("60 chunks in 3 streams, 6 MiB: 1.51 ms instead of 3.00 ms (2.0 times), +-4 %\n"));
  CHECK(has(told,
            "error     2.0 % in the median, 3.1 % at the 95th percentile: of predicted times of 9 jobs with chunks "));
}

TEST_CASE("a job that gains nothing stays whole") {
  Made made;
  made.of.advice.advised = Made::split(1, 1, 3000);
  CHECK(text(made).starts_with("one stream, not split, 120 MiB: 3.00 ms; splitting gains less than 1 %\n"));
}

TEST_CASE("the cap is named where it is what stops") {
  Made made;
  made.of.advice.is_capped = true;
  CHECK(has(text(made), "cap       6 streams is the most that was tried, and the fastest has as many: --max-streams "));
  made.of.forecast.prediction.streams = 8;
  CHECK(has(text(made, 200), "with a chunk in each stream 8 streams (5 .. 7), the most that were tried, are best"));
}

TEST_CASE("the model's error and the graph are said with their numbers") {
  Made made;
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
  CHECK(told.starts_with("6 chunks in 6 streams, 120 MiB: 1.50 ms instead of 3.00 ms (2.0 times), +-5 %\n"));
  CHECK(has(told,
            "error     1.0 % in the median, 4.7 % at the 95th percentile: of predicted times of 52 jobs of 1 ms "
            "to 5 ms (205 jobs of mine)\n"));
  CHECK(has(told,
            "graph     8 chains, 1.440 ms, 4.0 % sooner than the advice; to instantiate it takes 150.0 us, "
            "and pays after 3 launches\n"));
  made.of.advice.error_source = known_errors().source;
  CHECK_FALSE(has(text(made, 200), "all of which were issued"));
  made.of.advice.advised.order = Order::depth_first;
  CHECK(has(text(made, 300), "), all of which were issued breadth-first\n"));
  made.of.advice.graph->pays_after.reset();
  made.of.advice.graph->gain = -0.002;
  told = text(made, 200);
  CHECK(has(told, "graph     gains nothing: 8 chains, 1.440 ms, +0.2 % over the advice\n"));
}

TEST_CASE("limited memory: what fits, and a table of chunks in turn") {
  Made made;
  made.of.advice.max_memory = 8 * MiB;
  made.of.advice.is_limited = true;
  made.of.advice.advised = Made::split(45, 3, 1545, Order::depth_first);
  made.of.advice.best = Made::split(60, 4, 1533, Order::depth_first);
  made.of.advice.in_memory = {Made::split(20, 1, 3000), made.of.advice.advised, made.of.advice.best};
  const std::string told = text(made, 200);
  CAPTURE(told);
  CHECK(told.starts_with("45 chunks in 3 streams, 8 MiB: 1.54 ms instead of 3.00 ms (1.9 times)\n"));
  CHECK(has(told, "memory    at most 8 MiB, as --max-memory says; the whole job takes 120 MiB\n"));
  CHECK(has(told, "fastest   60 chunks in 4 streams, 8 MiB: 1.533 ms, 0.8 % sooner\n"));
  CHECK(has(told, "\n        3      45   8 MiB"));
  CHECK_FALSE(has(told, "spread"));
}

TEST_CASE("JSON: the answer, its form, the fastest, and the graph") {
  Made made;
  made.of.advice.advised = Made::split(60, 3, 1512, Order::depth_first);
  made.of.notes = {"a sentence"};
  std::ostringstream out;
  forecast_json(out, made.of);
  const Json json = Json::parse(out.str());
  CHECK(json["answer"] == "60 chunks in 3 streams, 6 MiB: 1.51 ms instead of 3.00 ms (2.0 times)");
  CHECK(json["advised"]["streams"] == 3);
  CHECK(json["advised"]["chunk_in_bytes"] == MiB);
  CHECK(json["advised"]["device_bytes"] == 6 * MiB);
  CHECK(json["fastest"]["chunks"] == 6);
  CHECK(json["fastest"]["device_bytes"] == 120 * MiB);
  CHECK(json["capped"] == false);
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

TEST_CASE("the chart has powers of two and the neighbours of the best, each with a bar as long as its time") {
  const std::string told = text({});
  CAPTURE(told);
  CHECK(has(told, "\n        1  3.000 ms  2.990 ms .. 3.020 ms  ##############################\n"));
  CHECK(has(told, "\n        2  2.250 ms  2.240 ms .. 2.270 ms  #######################\n"));
  CHECK_FALSE(has(told, "\n        3  "));
  CHECK(has(told, "\n        4  1.650 ms"));
  CHECK(has(told, "\n        5  1.530 ms"));
  CHECK(has(told, "\n        6  1.500 ms  1.490 ms .. 1.520 ms  ###############\n"));
  CHECK(has(told, "\n        7  1.520 ms"));
  CHECK(has(told, "\n        8  1.560 ms"));
}

TEST_CASE("one number of streams that is sure needs no range, and one stream is no plural") {
  Made made;
  made.of.forecast.fewest = made.of.forecast.most = made.of.forecast.prediction.streams = 1;
  CHECK(has(text(made), "with a chunk in each stream 1 stream is best, 1.500 ms"));
}

TEST_CASE("a simulated device is called so, in colour where there is any") {
  Made made;
  made.costs.simulated = true;
  made.costs.device = "sim:made";
  CHECK(text(made).starts_with("SIMULATED 6 chunks in 6 streams"));
  CHECK(has(text(made, 100, true), "\x1b[1;31mSIMULATED 6 chunks in 6 streams"));
  CHECK_FALSE(has(text(made), "\x1b"));
}

TEST_CASE("JSON: the job as it was asked, the best with its interval, every candidate") {
  Made made;
  std::ostringstream out;
  forecast_json(out, made.of);
  const Json json = Json::parse(out.str());
  CHECK(json["document"] == "npgpu-prediction");
  CHECK(json["version"] == 2);
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
