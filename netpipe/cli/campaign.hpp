// Runs a plan into a trace. Whatever happens, what was measured is saved and what was not is said.
#pragma once

#include <string>
#include <vector>

#include "netpipe/cli/measure_options.hpp"
#include "netpipe/cli/plan.hpp"

namespace npgpu::cli {

struct Campaign {
  std::vector<std::string> failures;  // a sentence each
  bool stopped = false;               // by a signal
  std::size_t measured = 0;           // points
  std::size_t kept = 0;               // points that a resumed trace already had
  Seconds wall{0};
  Seconds saving{0};                  // of it, for checkpoints

  int exit_code() const;
};

// Opens the trace, measures, prints progress on standard error. Throws Error if the trace cannot be written.
Campaign run_campaign(const Plan&, const MeasureOptions&);

// The whole of a measuring command once its plan stands: --dry-run, the run, what to print at its end.
enum class ClosingReport { full_report, overview };
int measure(const Plan&, const MeasureOptions&, ClosingReport);

}  // namespace npgpu::cli
