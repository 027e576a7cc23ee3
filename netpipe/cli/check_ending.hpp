// How commands that judge end: a second look at what is not settled, the verdict as an exit code, the last line, and
// what is written with it.
#pragma once

#include <string>
#include <vector>

#include "netpipe/cli/measure.hpp"
#include "netpipe/cli/options.hpp"
#include "npgpu/judge/health.hpp"
#include "npgpu/report/report.hpp"

namespace npgpu::cli {

// Figures that are beyond their limits, or whose intervals hold them, are measured again before they are reported.

// The points of findings that are not settled: slow or undecided, or not judged because others disturbed them.
PointNames doubtful_points(const std::vector<HealthFinding>&);

struct SecondLook {
  std::size_t points = 0;  // that were measured again
  std::uint32_t passes = 0;
  bool stopped = false;  // by a signal
  Seconds wall{0};
};

// As many visits again to what is undecided, at most six, at once and in the context that is there: they settle most of
// it. REQUIRES: this process measured the trace at how.output, in how.rounds() rounds.
SecondLook look_on(const Plan&, MeasureOptions how, const HealthRules&);

// Measures doubtful points of the trace at how.output again, each pass of up to sixteen visits in a fresh context and
// in fresh buffers, and adds the visits to the trace. The first pass has as many as the quiet visits of a disturbed
// point need to outnumber the others. A figure that is still slow after four passes, spread over `time`, is slow. One
// that is still disturbed after one stays so. Others are measured until they are settled, or `time` is over. The
// findings that result are in the trace for whoever judges it.
SecondLook look_again(const Plan&, MeasureOptions how, const HealthRules&, Seconds time);

// The same for matrix and collectives, which have no reference.
void settle(const Plan&, const MeasureOptions&, CampaignResult&);

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

// The screen of every sickness that there is a simulated device of.
int demonstrate(const Options&);

}  // namespace npgpu::cli
