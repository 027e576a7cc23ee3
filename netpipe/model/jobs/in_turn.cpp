// What the simulator says of measured jobs whose chunks take turns in fewer streams.
#include <map>

#include "npgpu/advice.hpp"

namespace npgpu {

std::vector<SplitInTurn> predict_in_turn(const Trace& trace, const MeasuredCosts& measured) {
  std::vector<SplitInTurn> splits;
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
        whole.try_emplace(unsplit(s.axes), MeasuredWorkload{{{1}, {s.time_us}}, c, unsplit(s.axes)});
    for (const JobResult& s : all) {
      const auto found = whole.find(unsplit(s.axes));
      if (s.axes.chunks <= s.axes.streams || found == whole.end() || !(s.time_us.value > 0)) continue;
      const Job job = job_of(found->second, measured);
      const StreamRun run = simulate_total(job, s.axes.chunks, measured.costs, c.order, s.axes.streams);
      splits.push_back({s.axes.chunks, s.axes.streams, s.time_us.value, microseconds(run.total)});
    }
  }
  return splits;
}

}  // namespace npgpu
