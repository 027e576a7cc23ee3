// What `predict` says of a trace is what `simulate` says of the device that was measured.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/made_costs.hpp"

namespace predict_simulated_test {

using namespace npgpu;

namespace {

const std::vector<std::uint32_t> divisors{1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 16, 20, 24, 30, 32, 40, 48, 60, 64};

// Of the fixed and the asymmetric experiment of Gomez-Luna et al. 2012, with kernels of 0.1 to 4 times the copies'
// time: how far predicted times are off, and how much longer the chosen number of streams takes than the best.
class Experiments {
 public:
  double error = 0, regret = 0;

  explicit Experiments(const std::string& id) : truth_(simulated_costs(devices::find(id), Memory::pinned)) {
    const MeasuredCosts m = made_costs::measured(id);
    measured_ = m.costs;
    measured_.stream_create = m.create;  // made for the job, as in the paper
    for (int i = 0; i < 20; ++i) play(60 * MiB, 60 * MiB, 0.1 * std::pow(40, i / 19.0), divisors);
    for (const std::uint64_t in : {1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 23})
      for (const double ratio : {0.1, 0.3, 1.0, 2.0, 4.0}) play(in * MiB, (24 - in) * MiB, ratio, {16});
  }

 private:
  void play(std::uint64_t in, std::uint64_t out, double ratio, const std::vector<std::uint32_t>& counts) {
    const Seconds copies = truth_.copy_h2d(double(in)) + truth_.copy_d2h(double(out));
    const Job job{.in_bytes = in, .out_bytes = out, .kernel = ratio * copies};
    const auto time = [&](std::uint32_t n, const StreamCosts& costs) {
      return simulate_total(job, n, costs, Order::breadth_first).total;
    };
    std::uint32_t best = counts.front(), chosen = counts.front();
    for (const std::uint32_t n : counts) {
      error = std::max(error, std::abs(time(n, measured_) / time(n, truth_) - 1));
      if (time(n, truth_) < time(best, truth_)) best = n;
      if (time(n, measured_) < time(chosen, measured_)) chosen = n;
    }
    regret = std::max(regret, time(chosen, truth_) / time(best, truth_) - 1);
  }

  StreamCosts truth_, measured_;
};

void without_noise(nlohmann::json& spec) { spec.erase("noise"); }

}  // namespace

TEST_CASE("what is predicted from a trace is what is simulated on its device, within 1 %") {
  const ChangedSpec h200("h200", without_noise);
  const ChangedSpec starts("h200", [](nlohmann::json& spec) {
    without_noise(spec);
    spec["hardware"]["implicit_sync"] = "start";
    spec["links"]["d2h"]["pinned"]["rate_gb_s"] = 31;
  });
  const ChangedSpec confidential("h200", [](nlohmann::json& spec) {
    without_noise(spec);
    spec["hardware"]["serial_copies"] = 1;
    spec["host"]["copy_async_us"] = 20;
    for (const char* way : {"h2d", "d2h"})
      spec["links"][way]["pinned"] = {{"rate_gb_s", 10}, {"latency_us", 10}, {"gap_us", 25}};
  });
  const ChangedSpec old("gtx280", [](nlohmann::json& spec) {
    spec["links"]["h2d"]["pinned"]["rate_gb_s"] = 2.1;
    spec["links"]["d2h"]["pinned"]["gap_us"] = 11;
    spec["host"]["launch_us"] = 13;
  });
  for (const std::string& id :
       {std::string("sim:gtx480"), std::string("sim:gtx280"), h200.id(), starts.id(), confidential.id(), old.id()}) {
    CAPTURE(id);
    const Experiments found(id);
    CHECK(found.error < 0.01);
    CHECK(found.regret < 0.005);
  }
}

TEST_CASE("what waits for what in other streams is found") {
  const auto costs = [](const std::function<void(nlohmann::json&)>& change) {
    const ChangedSpec spec("h200", [&](nlohmann::json& json) {
      without_noise(json);
      change(json);
    });
    return made_costs::measured(spec.id()).costs;
  };
  for (const ImplicitSync sync : {ImplicitSync::none, ImplicitSync::start, ImplicitSync::end})
    for (const int engines : {1, 2}) {
      const StreamCosts found = costs([&](nlohmann::json& spec) {
        spec["hardware"]["implicit_sync"] = name(sync);
        spec["copy_engines"] = engines;
      });
      CHECK(found.implicit_sync == sync);
      CHECK_FALSE(found.serial_copies);
      CHECK(found.copy_engines == engines);
    }
  CHECK(costs([](nlohmann::json& spec) { spec["hardware"]["serial_copies"] = 1; }).serial_copies);
}

}  // namespace predict_simulated_test
