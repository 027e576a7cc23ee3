// Options that every measuring command has: where the trace goes, how points are repeated, how it is told.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "netpipe/cli/options.hpp"
#include "npgpu/runner.hpp"
#include "npgpu/statistics.hpp"
#include "npgpu/trace.hpp"

namespace npgpu::cli {

using MakeSchedule = std::function<std::unique_ptr<Schedule>()>;

struct MeasureOptions {
  std::string output;        // the trace's path
  IfExists if_exists = IfExists::refuse;
  bool quiet = false;
  bool json = false;
  bool dry_run = false;
  MakeSchedule make_schedule;        // of transfers
  MakeSchedule make_probe_schedule;  // the same, with shorter trials where no length was asked for
  MakeSchedule make_job_schedule;    // the same; a trial is one job
};

// `schedule`: the command's standard, classic or adaptive.
void declare_measure_options(Options&, const std::string& schedule);
MeasureOptions measure_options(const Options&);

}  // namespace npgpu::cli
