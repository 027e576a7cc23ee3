// GPUs measured at once, each by a process of its own: this program again, for that device alone, into a trace of its
// own beside the campaign's, which takes it over. Processes, and not threads, so that no call into the driver waits for
// another GPU's.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "netpipe/cli/course.hpp"
#include "npgpu/catalogue.hpp"
#include "npgpu/device.hpp"
#include "npgpu/trace.hpp"

namespace npgpu::cli {

struct Part {
  std::string device, trace;
  Seconds begun{0};    // of the steady clock
  std::string failed;  // how it ended before its time; empty: it did not
  bool stopped = false;
};

// Starts them all, as this program was started, and returns when all have ended. When `stop` says so they are told to
// save what they have, and end. Throws Error if one cannot be started; the others then end.
std::vector<Part> measure_side_by_side(const std::vector<std::string>& devices, const std::string& output,
                                       const std::function<bool()>& stop);

// Where this process is one of those: it is told to stop also when the one that started it is gone, however that ended.
void stop_with_parent();

// What a process measured, whose file goes; nothing where it had none yet.
std::optional<Trace> trace_of(const Part&);

// What another process measured of this course, `later` than this run began: into the course and the trace. The series
// that it had. Visits to `doubtful` points, by the titles of case and axes, are marked as disturbed by the other
// devices.
template <class K>
std::vector<Begun<K>*> take_over(Course<K>& course, const Trace& trace, Seconds later, TraceWriter& writer,
                                 const std::set<std::pair<std::string, std::string>>& doubtful = {}) {
  std::vector<Begun<K>*> all;
  for (const Series<K>& series : trace.of<K>()) {
    const auto known = course.series.find(series.question);
    if (known == course.series.end()) continue;
    Begun<K>& at = known->second;
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
      Progressed& point = at.points[visit.axes];
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
template <class K> std::map<std::string, Target<K>*> reference_points(Course<K>& course) {
  std::map<std::string, Target<K>*> found;
  for (Target<K>& target : course.targets) {
    const auto [what, size] = reference_of(target.step);
    if (what.empty()) continue;
    Target<K>*& most = found[what];
    if (!most || size > reference_of(most->step).second) most = &target;
  }
  return found;
}

}  // namespace npgpu::cli
