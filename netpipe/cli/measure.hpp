// The whole of a measuring command: its plan, --dry-run, the campaign, and what is printed at its end.
#pragma once

#include <functional>
#include <string>

#include "netpipe/cli/measure_options.hpp"
#include "npgpu/campaign.hpp"
#include "npgpu/trace.hpp"

namespace npgpu::cli {

// Measures until signals ask to stop (catch_signals() before it), and prints progress on standard error. Throws Error
// if the trace cannot be written.
CampaignResult run_campaign(const Plan&, const MeasureOptions&);
int exit_code_of(const CampaignResult&);

// For --dry-run. Returns the exit code.
int print_plan(const Plan&, const MeasureOptions&);

// ", 3 kept from before, 2 disturbed (others used the host's processors)"
std::string rest_of(const Tally&);

// What npgpu report prints of a trace.
void print_report(const Trace&, const std::string& path);

// The whole of a measuring command. At its end `summary` prints, unless --json or --quiet was given. Returns the exit
// code.
using Summary = std::function<void(const Trace&, const std::string& path)>;
int measure(const Options&, Plan (*plan_of)(const Options&), const Summary& summary = print_report);
void print_summary(const CampaignResult&, const MeasureOptions&, const Summary&);

// The same for a command that ends in its own way: `end` prints, and returns the exit code.
using CampaignEnd = std::function<int(const CampaignResult&, const MeasureOptions&)>;
int measure(const Options&, const MeasureOptions&, Plan (*plan_of)(const Options&), const CampaignEnd& end);

}  // namespace npgpu::cli
