// The drawing, the JSON and the Chrome trace of a simulation, with chunks of 10, 20 and 10 ms.
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "made_chunks.hpp"
#include "npgpu/report.hpp"

using namespace npgpu;
using Json = nlohmann::json;

namespace {

Simulation simulation(std::uint32_t n, Compute compute = Compute::shared) {
  MadeJob m = made(ms(10, 20, 10), n);
  m.costs.compute = compute;
  Simulation s;
  s.node = "sim:made";
  s.job = m.job;
  s.costs = m.costs;
  s.streams = n;
  s.timeline = simulate(m.job, n, m.costs, s.order);
  s.prediction = choose_streams(m.job, m.costs, s.order, stream_counts(n));
  return s;
}

std::string text_of(const Simulation& s) {
  std::ostringstream out;
  // 60 columns for 60 ms.
  simulation_text(out, s, {.color = false, .width = 72});
  return out.str();
}

// Without its label.
std::string row(const std::string& text, const std::string& label) {
  const auto at = text.find("\n  " + label);
  REQUIRE(at != std::string::npos);
  return text.substr(at + 13, text.find('\n', at + 1) - at - 13);
}

}  // namespace

TEST_CASE("a column a millisecond") {
  const std::string text = text_of(simulation(2));
  CAPTURE(text);
  const auto times = [](int n, char c) { return std::string(static_cast<std::size_t>(n), c); };
  CHECK(row(text, "copy-in ") == times(10, '0') + times(10, '1') + times(40, '.'));
  CHECK(row(text, "compute ") == times(10, '.') + times(20, '0') + times(20, '1') + times(10, '.'));
  CHECK(row(text, "copy-out ") == times(30, '.') + times(10, '0') + times(10, '.') + times(10, '1'));
  CHECK(row(text, "host ") == times(60, '.'));  // its calls take no time
  CHECK(text.find("SIMULATED sim:made") == 0);
  CHECK(text.find("60.00 ms") != std::string::npos);
  CHECK(text.find("the kernel is at work for 40.00 ms") != std::string::npos);
}

TEST_CASE("less than half of a column is marked as such") {
  Simulation s = simulation(2);
  s.timeline.entries = {{Stage::kernel, 0, 0, Server::compute, Seconds{0.0101}, Seconds{0.0104}}};
  CHECK(row(text_of(s), "compute ").substr(9, 3) == ".:.");
}

TEST_CASE("JSON") {
  std::ostringstream out;
  simulation_json(out, simulation(2));
  const Json json = Json::parse(out.str());
  CHECK(json["document"] == "npgpu-simulation");
  CHECK(json["total_us"].get<double>() == doctest::Approx(60000));
  CHECK(json["busy_us"]["compute"].get<double>() == doctest::Approx(40000));
  CHECK(json["best"]["bound"] == "compute");
  CHECK(json["candidates"].size() == 2);
  CHECK(json["timeline"].size() == 12);
  CHECK(json["timeline"].back()["server"] == "compute");
  CHECK(json["timeline"].back()["end_us"].get<double>() == doctest::Approx(50000));
}

TEST_CASE("Chrome trace: events of one thread never overlap, kernels that run together get lanes") {
  Simulation s = simulation(4);
  // Each kernel takes half of the device for twice as long.
  s.job.kernel_of_fraction = Curve({{0.25, Seconds{0.04}}, {1, Seconds{0.08}}});
  s.timeline = simulate(s.job, 4, s.costs, s.order);
  std::ostringstream out;
  simulation_chrome(out, s);
  const Json json = Json::parse(out.str());
  CHECK(json["displayTimeUnit"] == "ns");
  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> threads;
  std::map<std::string, int> named;
  for (const Json& e : json["traceEvents"]) {
    if (e["ph"] == "M") {
      if (e["name"] == "thread_name") ++named[e["args"]["name"].get<std::string>()];
      continue;
    }
    CHECK(e["ph"] == "X");
    threads[{e["pid"].get<int>(), e["tid"].get<int>()}].emplace_back(e["ts"].get<double>(), e["dur"].get<double>());
  }
  CHECK(named["compute"] == 1);
  CHECK(named["compute 2"] == 1);
  CHECK(named.count("compute 3") == 0);
  CHECK(named["stream 3"] == 1);
  CHECK(threads.size() == 5 + 4);  // host, copy-in, copy-out, two lanes of compute; four streams
  for (auto& [thread, events] : threads) {
    std::sort(events.begin(), events.end());
    for (std::size_t i = 1; i < events.size(); ++i)
      CHECK(events[i].first >= events[i - 1].first + events[i - 1].second - 1e-9);
  }
}
