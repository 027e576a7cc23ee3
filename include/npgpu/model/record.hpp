// What a recorded application would gain. Its repeating step is found, with what each copy, kernel and call of it
// takes; the step is played as it is, which has to give the time that was measured, and then as it could be. What data
// depends on what is not in a recording: advice that needs to know says so. Pure functions of a trace and of a node's
// costs.
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("app.h5");  // of npgpu record -o app.h5 -- ./app
//   const npgpu::AppStep step = npgpu::step_of(trace);
//   const npgpu::AppForecast of = npgpu::forecast(step, npgpu::costs_of_spec(npgpu::devices::find("sim:h200")));
//   std::cout << step.time_us.value << " us a step, played " << of.as_it_is_us << " us\n";
//   for (const npgpu::AppAdvice& one : of.advice) std::cout << one.what << ": " << one.times.value << " times\n";
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/model/device_model.hpp"
#include "npgpu/model/predict.hpp"
#include "npgpu/model/statistics.hpp"
#include "npgpu/vocabulary/record.hpp"
#include "npgpu/vocabulary/trace.hpp"

namespace npgpu {

// An operation of one step, or a wait, in the order in which the host asked for them. Times are means over the steps of
// usual length, us.
struct StepItem {
  Activity activity = Activity::kernel;
  std::string name{};  // of the kernel, or of the call that waits
  std::string call{};  // that asked for it; empty where none was recorded
  RecordMemory source = RecordMemory::unknown, target = RecordMemory::unknown;
  RecordShape shape{};
  std::uint32_t stream = 0;
  double gap_us = 0;                       // of the host, from the call before to this one: the application's own work
  double call_us = 0;                      // of the host, in the call; of one that blocks: besides the waiting
  double device_us = 0;                    // on the device; 0 of a wait
  double shortest_us = 0, longest_us = 0;  // the same of the middle 90 % of steps
  double lag_us = 0;                       // from when it could start until it started
  bool was_idle = false;  // its stream had nothing to do when it was asked for: the lag is what a launch takes
  bool blocks = false;    // its call returns when the device has done it, or nearly; every wait does
  double return_us = 0;   // of one that blocks, from that end to the call's; negative: before it
  // Another item that it waits for, besides those before it in its stream, and of how many steps before; of a wait all
  // that it waits for is in `after`.
  struct Dependence {
    std::size_t item = 0;
    std::uint32_t steps_before = 0;
  };
  std::vector<Dependence> after{};
};

// The step that repeats: of the process and device that are busiest.
struct AppStep {
  std::string device{}, device_name{};
  std::uint32_t process = 0;
  std::vector<StepItem> items{};
  std::size_t steps = 0;  // that were found, one behind the other
  Estimate time_us;       // of one, from its first call to the next one's: the median
  double shortest_us = not_measured, longest_us = not_measured;  // of the middle 90 % of steps
  double copies_us = 0, kernels_us = 0;                          // on the device, in one step
  double covered = 0;  // share of all operations of that process and device that are in these steps
};
// Throws Error(usage) where the trace holds no recording, or nothing in it repeats three times.
AppStep step_of(const Trace&);

// What one item does, from the beginning of a step on, us.
struct AppSpan {
  std::size_t item = 0;
  bool on_host = false;  // in its call, or waiting; else on the device
  double start_us = 0, end_us = 0;
};
// One of many steps, played. What the steps before and after it do at that time is there, too: a copy of the next
// step's input beside this one's kernels.
struct AppTimeline {
  double step_us = not_measured;  // the mean of many
  std::vector<AppSpan> spans{};   // none beyond the step's ends
};
AppTimeline played(const AppStep&);

// The time of a step that goes on and on, us.
double played_us(const AppStep&);

// What the shape of a kernel says of its time: its bytes and operations are not in a recording.
enum class AppBound {
  unknown,     // nothing: what it does may bound it
  launch,      // it takes no more than twice an empty kernel's time
  few_blocks,  // fewer than multiprocessors
  last_wave,   // blocks that are left for the last wave fill little of the device
};
template <>
inline constexpr std::array<std::string_view, 4> names_of<AppBound>{"unknown", "launch", "few-blocks", "last-wave"};

// What one launch of a kernel does, as its author or a profiler counts it.
struct AppKernelCount {
  std::string name{};  // with which the kernel's begins
  double flops = 0, bytes = 0;
  DataType type = DataType::fp32;
};
struct AppKernel {
  std::string name{};
  RecordShape shape{};
  std::size_t times = 0;  // in a step
  double total_us = 0, each_us = 0;
  AppBound bound = AppBound::unknown;
  std::uint32_t multiprocessors = 0;    // of the device; 0: not known
  double waves = not_measured;          // blocks over those that the device holds at once
  std::optional<KernelTime> allowed{};  // of a kernel that was counted: the time that the device allows
};
// All of a step, the longest in all first. Costs of another model of device say nothing of bounds. Throws Error(usage)
// where a count is of no kernel of the step, or the device's figures do not give its time.
std::vector<AppKernel> kernels_of(const AppStep&, const MeasuredCosts&, std::span<const AppKernelCount> = {});
// What a kernel does and how it was launched; nothing where nobody counted it.
std::optional<KernelCounts> counts_of(const StepItem&, std::span<const AppKernelCount>);

// What can be changed about a step.
enum class AppChange {
  pinned,        // memory in place of pageable
  behind,        // copies of the next step's input behind the kernels, of pinned memory
  chunks,        // copies and kernels in parts, each in its own stream, of pinned memory
  side_by_side,  // kernels of few blocks
  batched,       // small copies that follow each other
  graph,         // in place of launches
  all,           // of what was not said to need several streams, with copies behind the kernels
};
template <>
inline constexpr std::array<std::string_view, 7> names_of<AppChange>{"pinned",  "behind", "chunks", "side-by-side",
                                                                     "batched", "graph",  "all"};

struct AppAdvice {
  AppChange change = AppChange::pinned;
  std::string what{};  // the same for people: "pinned memory"
  double step_us = not_measured;
  Estimate times;                   // faster than as it is
  bool needs_independence = false;  // of what goes at once: the recording does not show whether it is
  std::string note{};               // on what it rests, a sentence; may be empty
};
// A step, played: as it is, or with a change.
struct AppPlayed {
  std::string what{};  // "as it is"; what was changed
  std::vector<StepItem> items{};
  AppTimeline timeline{};
};
// The step on another model of device, whose kernels take between the least and the most that any rate or latency which
// bounds kernels is worse there.
struct AppElsewhere {
  Estimate step_us;         // one step there
  Estimate times;           // faster than as it was recorded
  Estimate kernels_longer;  // how many times as long kernels take
};
struct AppForecast {
  double as_it_is_us = not_measured;  // played; the step's own time stands beside it
  double off_by = not_measured;       // as_it_is over the measured time, less 1
  std::vector<AppAdvice> advice{};    // best first; none whose interval holds 1
  // Without the recorder, which makes launches take longer: played with launches that take what the node's own do. NaN
  // where that is hardly less. All advice is about this time.
  double unrecorded_us = not_measured;
  double pageable_us = 0;                   // of the step's copies, from and to pageable memory
  std::vector<AppPlayed> played{};          // as it is, and with the best advice
  std::vector<AppKernel> kernels{};         // of the step
  std::vector<std::string> notes{};         // what could not be judged, and why
  std::optional<AppElsewhere> elsewhere{};  // where it is of another model: all but the step's own items are as there
};
// `costs`: of the node that it ran on, or of one like it. With those of another model there is no advice.
AppForecast forecast(const AppStep&, const MeasuredCosts& costs, std::span<const AppKernelCount> = {});
// The same step on another model of device. `here`: costs of the model that it was recorded on. Pageable copies and
// calls stay as they are: the host is taken to be the same. A kernel that was counted takes as many times as long as
// the two devices' figures say.
AppForecast forecast_elsewhere(const AppStep&, const MeasuredCosts& here, const MeasuredCosts& there,
                               std::span<const AppKernelCount> = {});
// Whether the costs are of a device of that name, with or without the vendor's; an unknown name is taken to be.
bool is_of_model(const MeasuredCosts&, std::string_view device_name);

// What npgpu predict says of a recorded application.
struct AppForecastReport {
  const AppStep* step = nullptr;
  const MeasuredCosts* costs = nullptr;
  std::string source{};  // of the costs: "node.h5", "sim:h200"
  AppForecast forecast{};
};
void app_forecast_text(std::ostream&, const AppForecastReport&, const TextStyle&);
void app_forecast_json(std::ostream&, const AppForecastReport&);

}  // namespace npgpu
