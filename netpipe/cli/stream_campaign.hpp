// Runs the planned jobs of one device into a trace, in the plan's order, which may go from case to case.
#pragma once

#include <functional>
#include <string>

#include "netpipe/cli/campaign.hpp"
#include "netpipe/cli/progress.hpp"
#include "npgpu/trace.hpp"

namespace npgpu::cli {

// The campaign that these jobs are part of.
struct JobCampaign {
  const MakeSchedule& make_schedule;
  Campaign& result;
  TraceWriter& writer;
  Progress& progress;
  std::uint64_t& trials;  // timed in the run so far
  std::function<void()> save;
  std::function<void(const std::string& title, const std::string& why, const std::function<void()>& set_error)> note;
};

void run_jobs(const PlannedStreams&, const JobCampaign&);

}  // namespace npgpu::cli
