// The drawing and the JSON of a simulation, with chunks of 10, 20 and 10 ms.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "made_simulation.hpp"

namespace simulation_report_test {

using namespace npgpu;
using Json = nlohmann::json;

namespace {

Simulation simulation(std::uint32_t n) { return simulation_of(made(ms(10, 20, 10), n), n); }

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
  CHECK(text.find("bottleneck kernel, 67 % busy") != std::string::npos);
}

TEST_CASE("the bottleneck is that of the drawn run, not of the best") {
  MadeJob job = made(ms(10, 20, 10), 2);
  job.costs.copy_h2d = job.costs.copy_d2h = Curve::line(Seconds{0}, Seconds{10e-6});
  Simulation s = simulation_of(job, 2);
  CHECK(text_of(s).find("bottleneck kernel, 67 % busy") != std::string::npos);
  s.streams = 1;
  s.timeline = simulate(s.job, 1, s.costs, s.order);  // 20, 40 and 20 ms, one after the other
  CHECK(text_of(s).find("bottleneck kernel, 50 % busy") != std::string::npos);
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

}  // namespace simulation_report_test
