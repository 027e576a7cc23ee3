// How commands that judge end: the verdict as an exit code, the last line, and what is written with it.
#pragma once

#include <string>
#include <vector>

#include "netpipe/cli/measure.hpp"
#include "netpipe/cli/options.hpp"
#include "npgpu/report/report.hpp"

namespace npgpu::cli {

// As plugins of Nagios, Icinga and their kin say it: 0 ok, 1 warning, 2 critical, 3 unknown.
int nagios_code(CheckVerdict, Health worst);

int exit_code_of_verdict(CheckVerdict, bool is_nothing = false);

// The end of a command that measures and judges: the last line, "node7: slow<said>; 56 points in 0:12; trace: ...", but
// with --json; and how to continue where a signal stopped it. Returns the exit code.
int end_with_verdict(const CampaignResult&, const MeasureOptions&, const Trace&, CheckVerdict, const std::string& said);

struct Ending {
  bool is_nothing = false;  // skipped, as there is nothing to measure
  bool is_stopped = false;
};

// Sets the verdict and the exit code, prints, and writes the files that options name. Returns the exit code.
int end_check(const Options&, CheckReport&, const Ending&);

}  // namespace npgpu::cli
