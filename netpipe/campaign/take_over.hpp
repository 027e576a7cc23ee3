// What other processes measured of a campaign, each of them one GPU: into its trace, and compared with GPUs that rest.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "netpipe/campaign/standing.hpp"
#include "npgpu/catalogue.hpp"

namespace npgpu::campaign {

// What a process measured, whose file goes; nothing where it had none yet.
std::optional<Trace> trace_of(const GpuProcesses::Part&);

// What another process measured of this course, `later` than this run began: into the course and the trace. The series
// that it had. Visits to `doubtful` points, by the titles of case and axes, are marked as disturbed by the other
// devices.
template <class K>
std::vector<SeriesProgress<K>*> take_over(BatchProgress<K>& course, const Trace& trace, Seconds later,
                                          TraceWriter& writer, const PointNames& doubtful = {}) {
  std::vector<SeriesProgress<K>*> all;
  for (const Series<K>& series : trace.of<K>()) {
    const auto known = course.series.find(series.question);
    if (known == course.series.end()) continue;
    SeriesProgress<K>& at = known->second;
    at.header = series;
    at.header.visits.clear();
    at.header.samples.clear();
    at.index = writer.begin<K>(at.header);
    for (Visit<K> visit : series.visits) {
      const auto samples = samples_of(series, visit);
      visit.at_s += later.count();
      if (!doubtful.empty() && doubtful.contains({title(series.question), text_of(visit.axes)}))
        visit.disturbed |= static_cast<std::uint32_t>(Cause::siblings);
      writer.add<K>(at.index, visit, samples);
      PointProgress& point = at.points[visit.axes];
      point.take(visit, trial_times<K>(series.question, samples));
      point.visited_now = true;
      at.wall_us += visit.wall_us;
    }
    all.push_back(&at);
  }
  return all;
}

// What kind of reference a step can be for whether GPUs disturb each other, and how good a one; "" if it is none. Of a
// large copy each way and of a kernel on all of the GPU.
template <class K> std::pair<std::string, double> reference_of(const Step<K>& step) {
  constexpr std::uint64_t large = 64 * MiB;
  if constexpr (std::is_same_v<K, Transfers>) {
    const auto question = question_of(step.question);
    const bool is_large_copy = question == CopyQuestion::to_device || question == CopyQuestion::to_host;
    if (is_large_copy && step.axes.bytes <= large)
      return {std::string(name(step.question.direction)), static_cast<double>(step.axes.bytes)};
  } else if constexpr (std::is_same_v<K, Probes>) {
    const Shape& s = step.axes;
    if (question_of(step.question) == ProbeQuestion::computing_power && step.question.type == DataType::fp32)
      return {"kernel", static_cast<double>(s.blocks) * s.threads * s.ilp};
  }
  return {};
}
template <class K> std::map<std::string, PlannedPoint<K>*> reference_points(BatchProgress<K>& course) {
  std::map<std::string, PlannedPoint<K>*> found;
  for (PlannedPoint<K>& target : course.targets) {
    const auto [what, size] = reference_of(target.step);
    if (what.empty()) continue;
    PlannedPoint<K>*& most = found[what];
    if (!most || size > reference_of(most->step).second) most = &target;
  }
  return found;
}

}  // namespace npgpu::campaign
