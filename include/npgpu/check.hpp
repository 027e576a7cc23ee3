// The outcome of a check of a node, for people and for machines.
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");
//   npgpu::CheckOf check;
//   check.root = trace.root;
//   check.gpus = npgpu::gpus_of(trace);
//   check.findings = npgpu::health_of(trace);
//   check.verdict = npgpu::verdict_of(check.findings);
//   npgpu::check_text(std::cout, check, false, {.width = 80});
//   std::cout << npgpu::check_reason(check) << '\n';  // what fails, in few words
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
  std::size_t measured_again = 0;  // points with figures beyond their limits, or with intervals that hold them
  double wall_s = not_measured;
  std::string trace;  // its path; empty if it is not kept
  std::vector<SoakDevice> soaks{};
};
std::vector<CheckOf::Gpu> gpus_of(const Trace&);

// A line for each GPU, then each failure and warning with causes and remedies; `every_finding`: also what passes.
void check_text(std::ostream&, const CheckOf&, bool every_finding, const TextStyle&);
void check_json(std::ostream&, const CheckOf&);
// What fails, in few words: "cuda:3 PCIe x8/x16, H2D 27/52 GB/s; cuda:5 too hot". The finding that decides the verdict
// comes first, and its first twenty characters name the device and the fault. Empty where nothing fails.
std::string check_reason(const CheckOf&);
// JUnit XML: a suite for each GPU, a case for each finding.
void check_junit(std::ostream&, const CheckOf&);
// OpenMetrics text. It has gauges only, so that the older parsers of Prometheus read it, too.
void check_openmetrics(std::ostream&, const CheckOf&);

}  // namespace npgpu
