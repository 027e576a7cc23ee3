// From a simulated device's build to kernels' times, and from those times alone back to its build.
#include <cmath>
#include <map>

#include "probed.hpp"

namespace derive_simulated_test {

using namespace npgpu;

namespace {

// Each device is measured once.
const DeviceParameters& derived(const std::string& device) {
  static std::map<std::string, DeviceParameters> known;
  const auto [found, is_new] = known.try_emplace(device);
  if (is_new) {
    const auto all = derive(probed_trace(device));
    REQUIRE(all.size() == 1);
    CHECK(all[0].device == device);
    CHECK(all[0].simulated);
    found->second = all[0];
  }
  return found->second;
}

struct Built {
  double sm, n, l;
};

void check_paper(const DeviceParameters& d, const Built& is) {
  for (const char* suffix : {"", " by time"}) {
    CHECK(value_of(d, std::string("SM") + suffix) == doctest::Approx(is.sm).epsilon(0.01));
    CHECK(value_of(d, std::string("N_PPipe") + suffix) == doctest::Approx(is.n).epsilon(0.01));
    CHECK(value_of(d, std::string("L_Pipe") + suffix) == doctest::Approx(is.l).epsilon(0.01));
  }
}

void check_agrees(const DeviceParameters& d, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const Parameter* p = find(d, name);
    REQUIRE_MESSAGE(p, name);
    CAPTURE(name);
    CAPTURE(p->estimate.value);
    CAPTURE(p->reference);
    CAPTURE(p->note);
    CHECK(p->verdict == Agreement::agrees);
  }
}

bool misses(const DeviceParameters& d, const std::string& text) {
  return std::any_of(d.missing.begin(), d.missing.end(),
                     [&](const auto& m) { return m.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("GTS 250: 16 SMs, warps of 32, 5 of them fill an SM") {
  const DeviceParameters& d = derived("sim:gts250");
  check_paper(d, {16, 32, 5});
  check_agrees(d, {"P", "SM", "N_PPipe", "L_Pipe", "Sigma", "FMA latency", "lanes*ports", "lanes", "w*"});
  CHECK(value_of(d, "w*") == doctest::Approx(5).epsilon(0.01));
  CHECK(value_of(d, "plateau") == doctest::Approx(5 * 32).epsilon(0.01));
  CHECK(value_of(d, "FMA latency") == doctest::Approx(20).epsilon(0.01));
  CHECK(value_of(d, "lanes*ports") == doctest::Approx(8).epsilon(0.01));
  CHECK(value_of(d, "ports") == doctest::Approx(0.25).epsilon(0.01));  // an instruction takes four cycles to issue
}

TEST_CASE("GTX 260: 27 SMs, 6 warps fill one") {
  const DeviceParameters& d = derived("sim:gtx260");
  check_paper(d, {27, 32, 6});
  check_agrees(d, {"P", "SM", "N_PPipe", "L_Pipe", "Sigma", "FMA latency", "lanes*ports", "lanes", "w*"});
  CHECK(value_of(d, "w*") == doctest::Approx(6).epsilon(0.01));
}

TEST_CASE("GTX 470: the 8 blocks that an SM holds come before the 18 that fill it") {
  const DeviceParameters& d = derived("sim:gtx470");
  check_paper(d, {14, 72, 8});
  check_agrees(d, {"P", "SM", "N_PPipe", "L_Pipe", "Sigma", "FMA latency", "lanes*ports", "lanes"});
  CHECK(find(d, "w*") == nullptr);
  CHECK(misses(d, "w*: the rate still grows at 8 one-thread blocks of a unit"));
  CHECK(misses(d, "Sigma / warp width gives 18.0"));
  CHECK(find(d, "N_PPipe")->reference == doctest::Approx(72).epsilon(0.01));
  CHECK(find(d, "N_PPipe")->reference_source.find("18.0 warps that fill a unit / 8 blocks that it holds") !=
        std::string::npos);
}

TEST_CASE("with that limit lifted GTX 470 shows its warps and its latency: so the limit explains the paper's 2.25") {
  const ChangedSpec lifted("gtx470", [](nlohmann::json& j) { j["hardware"]["blocks"] = 32; });
  const DeviceParameters& d = derived(lifted.id());
  check_paper(d, {14, 32, 18});
  check_agrees(d, {"SM", "N_PPipe", "L_Pipe", "w*"});
  CHECK(value_of(d, "w*") == doctest::Approx(18).epsilon(0.01));
}

TEST_CASE("10 warps of an SM hold 10 one-thread blocks, whatever number of blocks it says, and 16 would fill it") {
  const ChangedSpec spec("h200", [](nlohmann::json& s) {
    s["hardware"]["warps"] = 10;
    s["hardware"]["block_threads"] = 256;
  });
  const DeviceParameters d = derive(probed_trace(spec.id())).at(0);
  check_agrees(d, {"SM", "N_PPipe", "L_Pipe"});
  CHECK(value_of(d, "L_Pipe") == doctest::Approx(10).epsilon(0.01));
  CHECK(misses(d, "w*: the rate still grows at 10 one-thread blocks of a unit"));
}

TEST_CASE("H200: 132 SMs, 4 schedulers a SM, through its noise") {
  const DeviceParameters& d = derived("sim:h200");
  check_paper(d, {132, 32, 16});
  check_agrees(d, {"P", "SM", "N_PPipe", "L_Pipe", "Sigma", "FMA latency", "lanes*ports", "lanes", "w*"});
  CHECK(value_of(d, "w*") == doctest::Approx(16).epsilon(0.01));
  CHECK(value_of(d, "Sigma") == doctest::Approx(512).epsilon(0.01));
  CHECK(value_of(d, "ports") == doctest::Approx(4).epsilon(0.01));
  CHECK(value_of(d, "P reached") == doctest::Approx(100).epsilon(0.01));
  const Estimate& sm = find(d, "SM")->estimate;
  CHECK(sm.low < 132);
  CHECK(sm.high > 132);
  CHECK(sm.high / sm.low < 1.03);
}

TEST_CASE("whatever the noise, the same whole numbers") {
  for (int seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    const ChangedSpec spec("h200", [&](nlohmann::json& j) { j["noise"]["seed"] = seed; });
    const DeviceParameters& d = derived(spec.id());
    CHECK(std::lround(value_of(d, "SM")) == 132);
    CHECK(std::lround(value_of(d, "N_PPipe")) == 32);
    CHECK(std::lround(value_of(d, "L_Pipe")) == 16);
    CHECK(std::lround(value_of(d, "w*")) == 16);
    CHECK(std::lround(value_of(d, "FMA latency")) == 4);
  }
}

TEST_CASE("noise that no schedule can narrow is in the interval, and agreement by luck is none") {
  const ChangedSpec wild("gts250", [](nlohmann::json& j) { j["noise"] = {{"seed", 1}, {"sigma", 0.5}}; });
  const DeviceParameters& d = derived(wild.id());
  for (const char* name : {"SM", "N_PPipe", "L_Pipe"}) {
    CAPTURE(name);
    CHECK(find(d, name)->estimate.high - find(d, name)->estimate.low > 0.02 * find(d, name)->estimate.value);
    CHECK(find(d, name)->verdict != Agreement::agrees);
  }
}

TEST_CASE("bandwidth: the bus by full blocks, the latency by one thread") {
  const DeviceParameters& gts = derived("sim:gts250");
  CHECK(value_of(gts, "B") == doctest::Approx(57.312e9).epsilon(0.01));
  CHECK(value_of(gts, "rmw latency") == doctest::Approx(619 / 1.836).epsilon(0.01));  // cycles over GHz
  CHECK(value_of(gts, "T_delay") == doctest::Approx(16 * 8).epsilon(0.01));           // blocks that the device holds
  // One-thread blocks move 8 B of 64 on the bus at 128 in flight: 128 * 8 B / 337 ns.
  CHECK(value_of(gts, "W_bus") == doctest::Approx(57.312 / (128 * 8 / (619 / 1.836))).epsilon(0.01));
  const DeviceParameters& h200 = derived("sim:h200");
  CHECK(value_of(h200, "B") == doctest::Approx(4282e9).epsilon(0.01));
  CHECK(value_of(h200, "B reached") == doctest::Approx(100 * 4282 / 4814.0).epsilon(0.01));
  CHECK(find(h200, "B")->verdict == Agreement::undecided);  // 89 % of the limit: no error, and no proof
  CHECK(value_of(h200, "N_MINBl streaming") == doctest::Approx(4282 / (49 * 1.98)).epsilon(0.01));
  // A block of words, one in flight a thread, reaches less of its multiprocessor's share.
  CHECK(value_of(h200, "N_MINBl") > 2 * value_of(h200, "N_MINBl streaming"));
  for (const char* name : {"B copy", "B triad"}) CHECK(value_of(h200, name) == doctest::Approx(4282e9).epsilon(0.01));
  CHECK(value_of(h200, "B read") == doctest::Approx(1.076 * 4282e9).epsilon(0.01));
  CHECK(value_of(h200, "B write") == doctest::Approx(1.097 * 4282e9).epsilon(0.01));
}

}  // namespace derive_simulated_test
