// A step played again and again: the host goes from call to call, each stream from operation to operation, and copies
// of one direction take turns.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "netpipe/model/record/copies.hpp"
#include "npgpu/model/record.hpp"

namespace npgpu {

AppTimeline played(const AppStep& step) {
  // Enough for what goes ahead by a step to come into its rhythm; the step that is shown lies between two others.
  constexpr std::size_t rounds = 24, settled = 8;
  // From the end of one operation to the start of the next one that was asked for long before.
  constexpr double usual_lag_us = 1.5;
  const std::size_t n = step.items.size();
  std::vector<double> ends[2]{std::vector<double>(n, -INFINITY), std::vector<double>(n, -INFINITY)};
  std::map<std::uint32_t, double> stream_free;
  std::array<double, 2> engine_free{-INFINITY, -INFINITY};
  double host = 0, from = 0;
  AppTimeline all;
  // No queue is endless: a host that never waits is two steps ahead of its devices, and then as fast as they are.
  const auto first_call = [&](double when, const std::vector<double>& ends_before_last) {
    return std::max(when, std::ranges::max(ends_before_last)) + step.items.front().gap_us;
  };
  for (std::size_t k = 0; k < rounds; ++k) {
    std::vector<double>& now = ends[k % 2];
    const bool is_shown = k + 1 >= settled && k <= settled + 1;
    const auto show = [&](std::size_t j, bool on_host, double start, double end) {
      if (is_shown && end > start) all.spans.push_back({j, on_host, start, end});
    };
    host = first_call(host, now);
    for (std::size_t j = 0; j < n; ++j) {
      const StepItem& item = step.items[j];
      if (j > 0) host += item.gap_us;
      if (j == 0 && k == settled) from = host;
      const double called = host;
      double ready = -INFINITY;
      for (const StepItem::Dependence& d : item.after) ready = std::max(ready, ends[(k + d.steps_before) % 2][d.item]);
      if (item.activity == Activity::wait) {
        host = std::max(host + item.call_us, ready > host ? ready + item.return_us : host);
        show(j, true, called, host);
        continue;
      }
      double& stream = stream_free.try_emplace(item.stream, -INFINITY).first->second;
      ready = std::max(ready, stream);
      const CopyWay way = way_of(item);
      double* const engine = way == CopyWay::elsewhere ? nullptr : &engine_free[way == CopyWay::to_host];
      if (engine) ready = std::max(ready, *engine);
      const double behind = item.was_idle ? std::min(item.lag_us, usual_lag_us) : item.lag_us;
      now[j] = std::max(host + item.lag_us, ready + behind) + item.device_us;
      stream = now[j];
      if (engine) *engine = now[j];
      host = item.blocks ? std::max(host, now[j] + item.return_us) : host + item.call_us;
      show(j, true, called, host);
      show(j, false, now[j] - item.device_us, now[j]);
    }
  }
  all.step_us = (first_call(host, ends[rounds % 2]) - from) / static_cast<double>(rounds - settled);
  std::erase_if(all.spans, [&](AppSpan& span) {
    span.start_us = std::max(0.0, span.start_us - from);
    span.end_us = std::min(all.step_us, span.end_us - from);
    return span.end_us <= span.start_us;
  });
  return all;
}

double played_us(const AppStep& step) { return played(step).step_us; }

}  // namespace npgpu
