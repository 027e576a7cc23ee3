// GPUs measured at once, each by a process of its own: this program again, for that device alone, into a trace of its
// own beside the campaign's, which takes it over. Processes, and not threads, so that no call into the driver waits for
// another GPU's. Starting CUDA takes as long as a third of a short check: so the processes do it while this one does.
#pragma once

#include <functional>
#include <map>
#include <memory>
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
  Seconds begun{0};    // its first point, of the steady clock
  std::string failed;  // how it ended before its time; empty: it did not
  bool stopped = false;
};

class SideBySide {
 public:
  explicit SideBySide(std::string output);  // the campaign's trace
  ~SideBySide();                            // processes that are left are told to stop, and awaited
  SideBySide(const SideBySide&) = delete;
  SideBySide& operator=(const SideBySide&) = delete;

  // Starts a process for each of these that has none, as this program was started. Each does all that comes before its
  // first point, and waits for run(). Throws Error if one cannot be started.
  void prepare(const std::vector<std::string>& devices);
  // Lets those of these devices measure, and returns when they have ended, in the order of `devices`; others end. When
  // `stop` says so they are told to save what they have, and end. Throws as prepare() does.
  std::vector<Part> run(const std::vector<std::string>& devices, const std::function<bool()>& stop);

 private:
  struct Process;
  void start(const std::string& device);
  void tell_to_stop() const;
  void look();
  std::string output_;
  std::vector<std::unique_ptr<Process>> processes_;
};

// Where this process is one of those: it is told to stop also when the one that started it is gone, however that ended.
void stop_with_parent();
// Where it is, returns when the one that started it lets it measure, or `stop` says so.
void begin_with_parent(const std::function<bool()>& stop);

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
