// How far the simulator is from measured jobs whose chunks take turns in fewer streams.
#include <cmath>
#include <map>

#include "npgpu/advice.hpp"

namespace npgpu {

InTurnErrors errors_in_turn(const Trace& trace, const MeasuredCosts& measured) {
  std::vector<double> errors;
  for (const JobSeries& series : trace.of<Jobs>()) {
    const JobCase& c = series.question;
    if (c.gating != Gating::open || c.pool != StreamPool::pooled || c.issue != Issuing::streams ||
        c.order != Order::depth_first || c.workload == Workload::none)
      continue;
    std::map<JobShape, MeasuredWorkload> whole;  // unsplit
    const auto unsplit = [](JobShape job) {
      job.chunks = job.streams = 1;
      return job;
    };
    const std::vector<JobResult> all = results(series);
    for (const JobResult& s : all)
      if (s.axes.chunks == 1 && s.time_us.value > 0)
        whole.try_emplace(unsplit(s.axes), MeasuredWorkload{c, unsplit(s.axes), {1}, {s.time_us}});
    for (const JobResult& s : all) {
      const auto found = whole.find(unsplit(s.axes));
      if (s.axes.chunks <= s.axes.streams || found == whole.end() || !(s.time_us.value > 0)) continue;
      const Job job = job_of(found->second, measured);
      const StreamRun run = simulate_total(job, s.axes.chunks, measured.costs, c.order, s.axes.streams);
      errors.push_back(std::abs(microseconds(run.total) / s.time_us.value - 1));
    }
  }
  InTurnErrors result{static_cast<std::uint32_t>(errors.size()), {}};
  result.error = spread_of(std::move(errors));
  return result;
}

}  // namespace npgpu
