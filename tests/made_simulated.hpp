// Copies on simulated devices of their own, driven by the engine.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "npgpu/measuring/runner.hpp"
#include "npgpu/model/statistics.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace made_simulated {

using namespace npgpu;
using nlohmann::json;
namespace fs = std::filesystem;

inline const Module& module() {
  const Module* found = find_module("simulated");
  REQUIRE(found);
  return *found;
}

// A spec of its own for every test: a lost device stays lost, and open ones are shared, by name.
class SpecFile {
 public:
  explicit SpecFile(const std::function<void(json&)>& change = [](json&) {}) {
    std::ifstream plain(fs::path(NPGPU_SOURCE_DIR) / "data/devices/plain.json");
    json spec = json::parse(plain);
    change(spec);
    static int number = 0;
    path_ =
        fs::temp_directory_path() / ("npgpu-" + std::to_string(getpid()) + '-' + std::to_string(number++) + ".json");
    std::ofstream(path_) << spec.dump();
  }
  ~SpecFile() { fs::remove(path_); }
  SpecFile(const SpecFile&) = delete;
  SpecFile& operator=(const SpecFile&) = delete;
  std::string id() const { return "sim:" + path_.string(); }

 private:
  fs::path path_;
};

inline TransferCase simulated_case(const std::string& device = "sim:plain") { return case_on("simulated", device); }

inline TransferCase async_case(Timing timing, const std::string& device = "sim:plain") {
  TransferCase c = simulated_case(device);
  c.async = true;
  c.timing = timing;
  return c;
}

inline std::vector<Step<Transfers>> at(const TransferCase& c, std::uint64_t bytes) { return {{c, {bytes}}}; }

inline Measured<Transfers> measure(const TransferCase& c, std::uint64_t bytes, std::uint64_t repeats, int trials = 2) {
  const auto steps = at(c, bytes);
  const auto runner = module().open(steps);
  const auto schedule = classic_schedule({.trials = trials, .fixed_repeats = repeats});
  const auto measured = npgpu::measure(*runner, *schedule, steps[0], {});
  REQUIRE(measured);
  return *measured;
}

inline bool close(double a, double b) { return std::abs(a - b) <= 1e-12 * std::abs(b); }

#define CHECK_US(a, b) CHECK_MESSAGE(close((a), (b)), (a), " us is not ", (b))

inline std::string refusal(const TransferCase& c) { return module().refuses(at(c, 8)[0]).value_or(""); }

}  // namespace made_simulated
