// A real H200, measured once and kept: what is derived of it is what NVIDIA says of it.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "npgpu/derive.hpp"
#include "npgpu/trace.hpp"

namespace derive_h200_test {

using namespace npgpu;

TEST_CASE("a real H200: 132 multiprocessors, warps of 32, 16 of them to fill one, an FMA in 4 cycles") {
  const Trace trace = read_trace(std::filesystem::path(NPGPU_SOURCE_DIR) / "data/traces/h200_probes.h5");
  const auto devices = derive(trace);
  REQUIRE(devices.size() == 1);
  const auto value = [&](const std::string& name) {
    for (const Parameter& p : devices[0].parameters)
      if (p.name == name) return p.estimate.value;
    FAIL("no parameter " << name);
    return not_measured;
  };
  CHECK(value("SM") == doctest::Approx(132).epsilon(0.005));
  CHECK(value("SM fp64") == doctest::Approx(132).epsilon(0.005));
  CHECK(value("N_PPipe") == doctest::Approx(32).epsilon(0.02));
  CHECK(value("L_Pipe") == doctest::Approx(16).epsilon(0.03));
  CHECK(value("w*") == doctest::Approx(16).epsilon(0.03));
  CHECK(value("FMA latency") == doctest::Approx(4).epsilon(0.03));
  CHECK(value("FMA latency fp64") == doctest::Approx(8).epsilon(0.03));
  CHECK(value("lanes*ports") == doctest::Approx(128).epsilon(0.02));
  for (const Parameter& p : devices[0].parameters) {
    CAPTURE(p.name);
    CHECK(p.verdict != Agreement::disagrees);
  }
}

}  // namespace derive_h200_test
