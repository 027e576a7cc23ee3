// What calls cost the host.
#include "netpipe/model/calls/calls.hpp"

#include "netpipe/model/health/efficiency.hpp"
#include "netpipe/model/health/findings.hpp"

namespace npgpu::model {

namespace {

struct CallCost {
  Estimate us{};
  std::string disturbed{}, of_case{}, of_point{};
  std::vector<double> by_visit{};
};

// Of the smallest shape: no arguments, one block.
CallCost call_cost(const DeviceRecord& of, Call call, Manner manner, Estimate CallSummary::*which) {
  for (const CallSeries* series : of.calls) {
    if (series->question.call != call || series->question.manner != manner) continue;
    const CallPoint* least = nullptr;
    const std::vector<CallPoint> points = points_of(*series);
    for (const CallPoint& point : points)
      if (!least || point.axes < least->axes) least = &point;
    if (!least) continue;
    CallCost cost{summarize(*series, *least).*which, others_of(*least), title(series->question), text_of(least->axes),
                  times_by_visit(*series, *least)};
    for (double& one : cost.by_visit) one *= cost.us.value;
    return cost;
  }
  return {};
}

}  // namespace

void judge_calls(Findings& findings) {
  const CallCost row = call_cost(findings.of, Call::launch, Manner::back_to_back, &CallSummary::host_us);
  const CallCost done = call_cost(findings.of, Call::launch, Manner::alone, &CallSummary::done_us);
  if (std::isnan(row.us.value)) findings.skip("launch_time", "launch of a kernel: not measured");
  else
    judge(findings, {.metric = "launch_time",
                     .name = "launch of a kernel, in a row,",
                     .estimate = row.us,
                     .unit = "us",
                     .allowed = Allowed::at_most,
                     .limit = most_launch_us,
                     .basis = "3.3 to 3.8 us on an H200's host * 1.6",
                     .tolerance = 0.25,
                     .disturbed = row.disturbed,
                     .of_case = row.of_case,
                     .of_point = row.of_point,
                     .by_visit = row.by_visit});
  if (!std::isnan(done.us.value))
    judge(findings, {.metric = "launch_done_time",
                     .name = "launch of a kernel until it is done",
                     .estimate = done.us,
                     .unit = "us",
                     .allowed = Allowed::at_most,
                     .limit = most_launch_done_us,
                     .basis = "8.3 to 9.0 us on an H200's host * 1.6",
                     .tolerance = 0.25,
                     .disturbed = done.disturbed,
                     .of_case = done.of_case,
                     .of_point = done.of_point,
                     .by_visit = done.by_visit});
}

}  // namespace npgpu::model
