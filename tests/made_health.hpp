// A GPU that copies, and what a trace of it says of its health.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>

#include "netpipe/judge/health/findings.hpp"
#include "netpipe/judge/health/references.hpp"
#include "npgpu/judge/health.hpp"
#include "npgpu/model/result.hpp"
#include "npgpu/vocabulary/units.hpp"
#include "tests/made_probe.hpp"
#include "tests/made_sweep.hpp"

namespace made_health {

using namespace npgpu;

inline std::int64_t whole(int n) { return n; }

// A GPU with PCIe Gen5 x16 (63 GB/s) that copies 64 MiB at so many GB/s, a visit a rate.
struct Made {
  Facts before{{"id", std::string("cuda:0")},     {"name", std::string("NVIDIA X1")}, {"multiprocessors", whole(132)},
               {"max_pcie_generation", whole(5)}, {"max_pcie_lanes", whole(16)},      {"pcie_generation_now", whole(5)},
               {"pcie_lanes_now", whole(16)},     {"max_sm_clock_mhz", whole(1980)}};
  Facts after{};
  TransferSeries copies = [] {
    TransferSeries series = sweep_of(Pattern::stream, Timing::gated);
    series.question.async = true;
    series.device_name = "NVIDIA X1";
    series.limit = {63e9, "PCIe Gen5 x16: 32 GT/s * 16 lanes * 128/130"};
    return series;
  }();
  std::vector<ProbeSeries> probes{};

  Visit<Transfers>& copy(std::uint64_t bytes, double gb_s) {
    return add_point(copies, bytes, {static_cast<double>(bytes) / gb_s / 1e3});
  }
  Made& at(double gb_s) {
    for (const double factor : {0.999, 1.0, 1.001}) copy(64 * MiB, gb_s * factor);
    return *this;
  }
  Trace trace() const {
    Trace made;
    made.provenance = {{"gpu0", before}};
    if (!after.empty()) {
      Facts all{{"id", std::string("cuda:0")}};
      all.insert(all.end(), after.begin(), after.end());
      made.provenance.emplace_back("gpu0_after", all);
    }
    made.of<Transfers>() = {copies};
    made.of<Probes>() = probes;
    return made;
  }
};

inline std::optional<HealthFinding> find(const std::vector<HealthFinding>& all, const std::string& metric) {
  const auto found = std::ranges::find(all, metric, &HealthFinding::metric);
  return found == all.end() ? std::nullopt : std::optional(*found);
}
inline HealthFinding finding(const Trace& trace, const std::string& metric, const HealthRules& rules = {}) {
  const auto found = find(health_of(trace, rules), metric);
  REQUIRE_MESSAGE(found, metric);
  return *found;
}
inline std::string cause(const HealthFinding& of) { return of.explanations.empty() ? "" : of.explanations[0].cause; }

}  // namespace made_health
