// The outcome of a check of a node, for people and for machines.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "npgpu/health.hpp"
#include "npgpu/report.hpp"
#include "npgpu/soak_figures.hpp"

namespace npgpu {

struct CheckOf {
  struct Gpu {
    std::string id, name, uuid;
    bool simulated = false;
  };
  TraceRoot root;  // where and when
  std::vector<Gpu> gpus;
  std::vector<HealthFinding> findings;
  CheckVerdict verdict = CheckVerdict::not_judged;
  int exit_code = 0;
  std::string decided;             // by which limits: "limits of link, clock and width", "reference node7.h5"
  std::string why_not_judged;      // of the whole check; empty where something was judged
  std::size_t measured_again = 0;  // points whose figures were beyond their limits, or whose intervals held them
  double wall_s = not_measured;
  std::string trace;  // where it is kept; empty if it is not
  std::vector<SoakDevice> soaks{};
};
std::vector<CheckOf::Gpu> gpus_of(const Trace&);

// A line for each GPU, then what is not as it should be, with causes and remedies; `every_finding`: also what passes.
void check_text(std::ostream&, const CheckOf&, bool every_finding, const TextStyle&);
void check_json(std::ostream&, const CheckOf&);
// What fails, in few words, and first what the verdict rests on: "cuda:3 PCIe x8/x16, H2D 27/52 GB/s; cuda:5 too hot".
// Where twenty characters are shown, they name the device and the fault. Empty where nothing fails.
std::string check_reason(const CheckOf&);
// JUnit's XML: a suite for each GPU, a case for each finding.
void check_junit(std::ostream&, const CheckOf&);
// OpenMetrics text of gauges only, which Prometheus' older parsers read, too.
void check_openmetrics(std::ostream&, const CheckOf&);

}  // namespace npgpu
