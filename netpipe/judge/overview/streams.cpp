// What calls and streams cost on a device, and what that means for typical jobs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "netpipe/judge/overview/parts.hpp"
#include "netpipe/model/calls/calls.hpp"
#include "npgpu/model/advice.hpp"

namespace npgpu::model {

namespace {

constexpr std::uint32_t most_streams = 64;
// An interval takes many simulations: these numbers of streams, which a logarithmic axis shows evenly, and the best
// have one.
constexpr std::array shown_streams{1u, 2u, 3u, 4u, 6u, 8u, 12u, 16u, 24u, 32u, 48u, most_streams};

// Jobs whose copies and kernel take about as long as each other on a PCIe Gen4 or Gen5 GPU, in three proportions.
struct TypicalJob {
  std::string_view name;
  std::uint64_t in, out;
};
constexpr std::array typical_jobs{TypicalJob{"as much out as in", 64 * MiB, 64 * MiB},
                                  TypicalJob{"almost all in", 64 * MiB, MiB},
                                  TypicalJob{"almost all out", MiB, 64 * MiB}};
constexpr Seconds typical_kernel{1e-3};

StreamAdvice advice_on(const TypicalJob& typical, const MeasuredCosts& costs) {
  StreamAdvice advice;
  advice.name = typical.name;
  advice.job = Job{.in_bytes = typical.in, .out_bytes = typical.out, .kernel = typical_kernel};
  const Prediction p =
      choose_streams(advice.job, costs.costs, Order::breadth_first, stream_counts_of(advice.job, most_streams));
  std::vector<std::uint32_t> shown(shown_streams.begin(), shown_streams.end());
  const auto place = std::ranges::lower_bound(shown, p.streams);
  if (*place != p.streams) shown.insert(place, p.streams);
  const Forecast f = forecast(advice.job, costs, Order::breadth_first, shown);
  advice.best = p.streams;
  const auto splits = splits_of(advice.job, costs.costs, Order::breadth_first, p, {}, most_streams);
  const SplitTime& enough = advised_split(advice.job, splits);
  advice.enough_chunks = enough.chunks;
  advice.enough = enough.streams;
  advice.enough_us = microseconds(enough.run.total);
  advice.speed_up = p.speed_up;
  advice.bound = p.bound;
  advice.bound_time = p.bound_time;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (shown[i] == 1) advice.one_us = f.candidates_us[i].value;
    if (shown[i] == p.streams) advice.best_us = f.candidates_us[i];
    advice.times.push_back({shown[i], f.candidates_us[i]});
  }
  return advice;
}

// Parts of jobs are measured for what they cost.
bool is_whole(const JobShape& job) { return job.bytes_in && job.bytes_out && job.kernel_bytes; }

// The smallest kernel, or the least memory, that was measured; of allocations 1 MiB.
const CallResult* plainest(const std::vector<CallResult>& all) {
  const auto found =
      std::ranges::find_if(all, [](const CallResult& s) { return s.axes.bytes == MiB && s.axes.blocks == 0; });
  return found != all.end() ? &*found : all.empty() ? nullptr : &all.front();
}

struct CallLine {
  Call call;
  Spacing spacing;
  bool until_done;
  std::string_view name;
};
// What most programs do most often comes first.
constexpr std::array call_lines{
    CallLine{Call::launch, Spacing::alone, false, "launch"},
    CallLine{Call::launch, Spacing::back_to_back, false, "in a row"},
    CallLine{Call::launch, Spacing::alone, true, "until done"},
    CallLine{Call::event_record, Spacing::back_to_back, false, "event record"},
    CallLine{Call::stream_synchronize, Spacing::back_to_back, false, "synchronize"},
    CallLine{Call::signal, Spacing::alone, true, "launch until the host sees its word"},
    CallLine{Call::malloc_free, Spacing::alone, false, "malloc and free"},
    CallLine{Call::pool_alloc_free, Spacing::alone, false, "the same from a pool"},
};

}  // namespace

std::vector<Figure> call_figures(const Trace& trace, const OfDevice& device) {
  std::vector<Figure> figures;
  for (const CallLine& line : call_lines)
    for (const CallSeries& series : trace.of<Calls>()) {
      const CallCase& c = series.question;
      if (c.call != line.call || c.spacing != line.spacing || c.form != GraphForm::none || is_beside(c) ||
          !device.has(series))
        continue;
      const auto all = results(series);
      const CallResult* const one = plainest(all);
      if (!one || !one->usable()) continue;
      Figure figure;
      figure.name = line.name;
      figure.value = line.until_done ? one->done_us : one->host_us;
      figure.unsteady = series.is_unsteady(figure.value);
      figure.disturbed = one->disturbed;
      if (figure.is_known()) figures.push_back(std::move(figure));
      break;
    }
  return figures;
}

void add_streams(DeviceOverview& device, const Trace& trace, const std::vector<MeasuredCosts>& all) {
  const OfDevice its{device.id, device.uuid};
  for (const JobSeries& series : trace.of<Jobs>())
    if (its.has(series))
      for (const JobResult& job : results(series))
        if (is_whole(job.axes) && job.speed_up > (device.best_job ? device.best_job->speed_up : 1))
          device.best_job = job;

  const auto costs = std::ranges::find_if(
      all, [&](const MeasuredCosts& m) { return m.device == device.id && m.device_uuid == device.uuid; });
  if (costs == all.end()) return;
  constexpr std::array shown{std::pair{Cost::issue_h2d, "copy in"}, std::pair{Cost::issue_kernel, "kernel"},
                             std::pair{Cost::issue_d2h, "copy out"}, std::pair{Cost::stream_create, "new stream"},
                             std::pair{Cost::copy_engines, "copy engines"}};
  for (const auto& [cost, called] : shown)
    for (const CostParameter& p : costs->parameters) {
      if (p.cost != cost || !std::isfinite(p.estimate.value)) continue;
      Figure figure;
      figure.name = called;
      figure.value = p.estimate;
      figure.note = p.note;
      device.stream_costs.push_back(std::move(figure));
    }
  if (!costs->usable) {
    // Whole jobs alone were not meant to give costs.
    if (!device.stream_costs.empty()) device.why_no_advice = fmt::format("{}", fmt::join(costs->missing, "; "));
    return;
  }
  for (const TypicalJob& typical : typical_jobs) device.advice.push_back(advice_on(typical, *costs));
}

}  // namespace npgpu::model
