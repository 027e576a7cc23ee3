#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "netpipe/devices/host/watch.hpp"
#include "netpipe/devices/polled_meter.hpp"
#include "netpipe/devices/simulated/library.hpp"
#include "netpipe/model/energy/over_idle.hpp"
#include "npgpu/measuring/campaign.hpp"
#include "npgpu/model/figures.hpp"
#include "npgpu/vocabulary/load.hpp"
#include "scratch.hpp"

namespace energy_test {

using namespace npgpu;
namespace fs = std::filesystem;

namespace {

const Backend<Energies>& backend(std::string_view kind) {
  for (const auto& one : backends<Energies>())
    if (one->device_kind() == kind) return *one;
  throw Error(ErrorKind::usage, "no backend");
}

// A device like sim:h200 whose spec states this of energy.
std::string device_with(const ScratchFolder& scratch, const std::string& hardware) {
  const std::string path = (scratch / "energy.json").string();
  std::ofstream(path) << R"({"like": ")" << NPGPU_SOURCE_DIR << R"(/data/devices/h200.json", "hardware": {)" << hardware
                      << "}}";
  return "sim:" + path;
}

std::vector<Step<Energies>> steps_for(const EnergyCase& c) {
  return {{{.device = c.device}, {0, 800}}, {c, {100, 800}}, {c, {50, 800}}};
}

Trace measured(const ScratchFolder& scratch, const std::vector<Step<Energies>>& steps) {
  Plan plan;
  const std::string& id = steps.front().question.device;
  add<Energies>(plan, backend(devices::kind_of(id)), devices::find(id), steps);
  REQUIRE(plan.left_out.empty());
  Settings settings;
  settings.output = (scratch / "energy.h5").string();
  settings.if_exists = IfExists::replace;
  const CampaignResult result = measure(plan, settings);
  CHECK(result.failures.empty());
  return read_trace(settings.output);
}

EnergyFigure figure_of(const Trace& trace, EnergyWork work) {
  for (const EnergyFigure& f : energy_figures(trace))
    if (f.question.work == work) return f;
  FAIL("there is no figure");
  return {};
}

}  // namespace

TEST_CASE("the energy of a simulated device is found: a byte, an operation, rest") {
  const ScratchFolder scratch;
  const std::string id = device_with(scratch, R"("energy_idle_w": 100, "energy_sigma": 0, "energy_zeros_share": 0.5,
      "energy_read_global_pj": 140, "energy_fma_fp32_pj": 4)");
  EnergyCase read{.device = id, .work = EnergyWork::read, .operands = Operands::random};
  const Trace random = measured(scratch, steps_for(read));
  const EnergyFigure idle = figure_of(random, EnergyWork::idle), byte = figure_of(random, EnergyWork::read);
  CHECK(idle.full.power_w.value == doctest::Approx(100).epsilon(1e-6));
  CHECK(byte.each_j.value == doctest::Approx(140e-12).epsilon(2e-3));
  CHECK(byte.half_over_line == doctest::Approx(1).epsilon(5e-3));
  CHECK(byte.full.power_w.value == doctest::Approx(100 + byte.full.rate.value * 140e-12).epsilon(2e-3));
  CHECK(byte.all_in_j() > byte.each_j.value);
  read.operands = Operands::zeros;
  CHECK(figure_of(measured(scratch, steps_for(read)), EnergyWork::read).each_j.value ==
        doctest::Approx(70e-12).epsilon(2e-3));
  const EnergyCase fma{.device = id, .work = EnergyWork::fma, .space = Space::registers};
  CHECK(figure_of(measured(scratch, steps_for(fma)), EnergyWork::fma).each_j.value ==
        doctest::Approx(4e-12).epsilon(2e-3));
}

TEST_CASE("the interval of a byte's energy holds the truth about as often as it says") {
  const ScratchFolder scratch;
  int held = 0, runs = 0;
  for (int seed = 1; seed <= 20; ++seed, ++runs) {
    const std::string path = (scratch / "energy.json").string();
    std::ofstream(path) << R"({"like": ")" << NPGPU_SOURCE_DIR << R"(/data/devices/h200.json", "noise": {"seed": )"
                        << 31 * seed << R"(}, "hardware": {"energy_idle_w": 100, "energy_sigma": 0.01,
                           "energy_read_global_pj": 140}})";
    const Trace trace = measured(scratch, steps_for({.device = "sim:" + path, .work = EnergyWork::read}));
    const Estimate e = figure_of(trace, EnergyWork::read).each_j;
    CHECK(half_width(e) < 0.1);
    held += e.low <= 140e-12 && 140e-12 <= e.high;
  }
  CHECK(held >= runs - 4);
}

TEST_CASE("a window in which the meter stood still, or went back, is none") {
  const ScratchFolder scratch;
  const std::string id = device_with(scratch, R"("energy_idle_w": 100, "energy_read_global_pj": 140)");
  const Trace good = measured(scratch, steps_for({.device = id, .work = EnergyWork::read}));
  for (const double joules : {0.0, -1.0}) {
    Trace bad = good;
    for (EnergySeries& series : bad.of<Energies>())
      if (series.question.work == EnergyWork::read)
        for (EnergySample& s : series.samples) s.energy_j = joules;
    const EnergyFigure f = figure_of(bad, EnergyWork::read);
    CHECK(f.why == "no usable window");
    CHECK_FALSE(std::isfinite(f.each_j.value));
    // One among many is left out.
    Trace mended = good;
    for (EnergySeries& series : mended.of<Energies>()) series.samples.front().energy_j = joules;
    CHECK(figure_of(mended, EnergyWork::read).each_j.value == doctest::Approx(140e-12).epsilon(0.02));
  }
}

TEST_CASE("one window at full work has an energy, and no interval") {
  model::Windows of;
  for (const double watts : {99.9, 100.0, 100.1}) of.rest.push_back({0, watts, 40});
  of.full.push_back({1e12, 240, 40});
  CHECK(model::over_idle(of, false).value == doctest::Approx(140e-12).epsilon(1e-6));
  CHECK(std::isnan(model::over_idle(of, false).low));
  of.full.push_back({1e12, 241, 40});
  CHECK(half_width(model::over_idle(of, false)) > 0);
  CHECK(half_width(model::over_idle(of, false)) < 0.05);
}

TEST_CASE("the warmth that other work left behind is not taken for the energy of copies") {
  // 100 W at 40 degrees, 1 W a kelvin; copies in of 200 pJ and out of 150 pJ a byte at 50 GB/s.
  const auto window = [](double rate, double pj, double celsius) {
    return model::Window{rate, 100 + (celsius - 40) + rate * pj * 1e-12, celsius};
  };
  const auto copies = [&](double pj, double before) {
    model::Windows of;
    for (const double kelvin : {0.0, 1.0, 2.0}) {
      of.rest.push_back(window(0, 0, 39 + kelvin));
      of.part.push_back(window(25e9, pj, before + kelvin));
      of.full.push_back(window(50e9, pj, before + 2 * kelvin));
    }
    return of;
  };
  std::vector<model::Windows> works{copies(200, 41), copies(150, 39)};
  CHECK(model::is_near_rest(works[0]));
  CHECK(model::over_idle(works[0], true).value > 1.2 * 200e-12);  // alone, and whatever the temperature
  const std::vector<Estimate> each = model::over_idle_at_one_temperature(works);
  CHECK(each[0].value == doctest::Approx(200e-12));
  CHECK(each[1].value == doctest::Approx(150e-12));
  CHECK(each[0].high - each[0].low < 1e-15);
  CHECK(model::part_over_full(works[0]) == doctest::Approx(1));

  // Nothing is known of temperatures: as each alone.
  for (model::Windows& of : works)
    for (auto* windows : {&of.rest, &of.part, &of.full})
      for (model::Window& w : *windows) w.celsius = not_measured;
  CHECK(model::over_idle_at_one_temperature(works)[0].value == model::over_idle(works[0], true).value);
}

TEST_CASE("what has no meter, no such work or no such numbers is refused in a sentence") {
  const ScratchFolder scratch;
  const auto refusal = [](const EnergyCase& c, std::uint32_t duty = 100) {
    return backend(devices::kind_of(c.device)).refuses({c, {duty, 800}}).value_or("");
  };
  CHECK(refusal({.device = "sim:gtx470"}, 0).find("states no energy") != std::string::npos);
  CHECK(refusal({.device = "sim:h200", .work = EnergyWork::read}) == "");
  CHECK(refusal({.device = "sim:h200", .work = EnergyWork::read}, 0).find("idle") != std::string::npos);
  CHECK(refusal({.device = "sim:h200", .work = EnergyWork::h2d, .operands = Operands::zeros}).find("operands usual") !=
        std::string::npos);
  CHECK(refusal({.device = "sim:h200", .work = EnergyWork::write, .space = Space::l2}).find("has no") !=
        std::string::npos);
}

TEST_CASE("a device that states no energy for a work says which key is missing") {
  const ScratchFolder scratch;
  const std::string id = device_with(scratch, R"("energy_read_global_pj": null)");
  Plan plan;
  add<Energies>(plan, backend("sim"), devices::find(id), steps_for({.device = id, .work = EnergyWork::read}));
  Settings settings;
  settings.output = (scratch / "energy.h5").string();
  const CampaignResult result = measure(plan, settings);
  REQUIRE(result.failures.size() == 1);
  CHECK(result.failures.front().find("energy_read_global_pj") != std::string::npos);
}

TEST_CASE("a meter finds the steps of a counter, and integrates power where there is none") {
  const Seconds begin = steady_clock().now();
  const auto counted = [begin] {  // 200 W in steps of 50 ms
    const double steps = std::floor((steady_clock().now() - begin).count() / 0.05);
    return std::optional(steps * 10);
  };
  const auto meter = devices::polled_meter({.name = "counter", .joules = counted, .power_w = [] { return 200.0; }});
  meter->start({});
  meter->rest(Seconds{0.4});
  const EnergyRecord record = meter->stop(begin);
  REQUIRE(record.steps.size() >= 3);
  const double watts = (record.steps.back().joules - record.steps.front().joules) /
                       (record.steps.back().at - record.steps.front().at).count();
  CHECK(watts == doctest::Approx(200).epsilon(0.25));  // a busy machine looks late
  CHECK(record.power_w == doctest::Approx(200));

  const auto readings = devices::polled_meter({.name = "power", .power_w = [] { return 150.0; }});
  CHECK_FALSE(readings->counts_energy());
  readings->start({});
  readings->rest(Seconds{0.2});
  const EnergyRecord read = readings->stop(begin);
  REQUIRE(read.steps.size() >= 2);
  CHECK((read.steps.back().joules - read.steps.front().joules) /
            (read.steps.back().at - read.steps.front().at).count() ==
        doctest::Approx(150).epsilon(1e-6));
}

TEST_CASE("a reading of power that was there before the window says nothing of it") {
  const Seconds begin = steady_clock().now();
  const auto since = [begin] { return (steady_clock().now() - begin).count(); };
  const auto counted = [since] { return std::optional(std::floor(since() / 0.05) * 10); };
  const auto read = [since] { return since() < 0.2 ? 500.0 : since() < 0.3 ? 199.0 : 201.0; };
  const auto meter = devices::polled_meter({.name = "counter", .joules = counted, .power_w = read});
  meter->start({});
  meter->rest(Seconds{0.5});
  const EnergyRecord record = meter->stop(begin);
  CHECK(record.power_w == doctest::Approx(200).epsilon(0.01));
}

TEST_CASE("the processors' counters are summed over packages, and wrap") {
  const ScratchFolder scratch;
  const fs::path root = (scratch / "powercap").string();
  const auto zone = [&](const char* name, const char* what, const char* uj) {
    fs::create_directories(root / name);
    std::ofstream(root / name / "name") << what << '\n';
    std::ofstream(root / name / "energy_uj") << uj << '\n';
    std::ofstream(root / name / "max_energy_range_uj") << "1000000\n";
  };
  std::string why;
  CHECK_FALSE(host::Rapl(root, why).is_readable());
  CHECK(why.find("no package") != std::string::npos);
  zone("intel-rapl:0", "package-0", "100");
  zone("intel-rapl:0:0", "core", "50");
  zone("intel-rapl:1", "package-1", "999900");
  host::Rapl rapl(root, why);
  REQUIRE(rapl.is_readable());
  zone("intel-rapl:0", "package-0", "300");
  zone("intel-rapl:1", "package-1", "100");
  CHECK(rapl.joules() == doctest::Approx((200 + 200) * 1e-6));
}

}  // namespace energy_test
