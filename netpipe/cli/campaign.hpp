// Runs a plan into a trace. Whatever happens, what was measured is saved and what was not is reported.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "netpipe/cli/measure_options.hpp"
#include "netpipe/cli/plan.hpp"
#include "npgpu/trace.hpp"

namespace npgpu::cli {

struct Tally {
  std::size_t measured = 0;       // points
  std::size_t not_converged = 0;  // of them
  std::size_t kept = 0;           // points that a resumed trace already had
  std::size_t disturbed = 0;      // points whose figures rest on disturbed visits
  std::uint32_t causes = 0;       // of all of them
  std::set<std::string> disturbers{};

  void operator+=(const Tally&);
};
// ", 3 kept from before, 2 not converged"
std::string rest_of(const Tally&);

struct Campaign : Tally {
  std::vector<std::string> failures{};  // a sentence each
  std::size_t told_by_others = 0;       // failures that another rank reports
  bool stopped = false;                 // by a signal, or because a rank is gone
  bool parted = false;                  // a rank is gone
  Seconds wall{0};

  int exit_code() const;
};

// Opens the trace, measures until signals ask to stop (catch_signals() before it), prints progress on standard error.
// Throws Error if the trace cannot be written.
Campaign run_campaign(const Plan&, const MeasureOptions&);

// For --dry-run. Returns the exit code.
int print_plan(const Plan&, const MeasureOptions&);

// What npgpu report prints of a trace.
void print_report(const Trace&, const std::string& path);

// The whole of a measuring command: its plan, --dry-run, the run, and what is printed at its end, which `summary` does
// unless --json or --quiet was given. Returns the exit code.
using Summary = std::function<void(const Trace&, const std::string& path)>;
int measure(const Options&, Plan (*plan_of)(const Options&), const Summary& summary = print_report);
// What is printed at a campaign's end.
void tell(const Campaign&, const MeasureOptions&, const Summary&);

}  // namespace npgpu::cli
