// What calls cost the host.
#include "netpipe/model/calls/calls.hpp"

#include "netpipe/model/health/efficiency.hpp"
#include "netpipe/model/health/findings.hpp"
#include "npgpu/catalogue.hpp"

namespace npgpu::model {

namespace {

// Of the smallest shape: no arguments, one block.
Evidence call_cost(const DeviceRecord& of, CallQuestion question) {
  for (const CallSeries* series : of.all<Calls>())
    if (question_of(series->question) == question)
      if (const auto all = results(*series); !all.empty())
        return evidence_of(*series, all.front(),
                           question == CallQuestion::launch_in_a_row ? all.front().host_us : all.front().done_us,
                           false);
  return {};
}

}  // namespace

void judge_calls(Findings& findings) {
  const Evidence row = call_cost(findings.of, CallQuestion::launch_in_a_row);
  const Evidence done = call_cost(findings.of, CallQuestion::launch);
  if (std::isnan(row.estimate.value)) findings.skip("launch_time", "launch of a kernel: not measured");
  else
    judge(findings, {.metric = "launch_time",
                     .name = "launch of a kernel, in a row,",
                     .seen = row,
                     .unit = "us",
                     .limit = most_launch_us,
                     .basis = "3.3 to 3.8 us on an H200's host * 1.6"});
  if (!std::isnan(done.estimate.value))
    judge(findings, {.metric = "launch_done_time",
                     .name = "launch of a kernel until it is done",
                     .seen = done,
                     .unit = "us",
                     .limit = most_launch_done_us,
                     .basis = "8.3 to 9.0 us on an H200's host * 1.6"});
}

}  // namespace npgpu::model
