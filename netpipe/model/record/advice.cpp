// What would make a step faster: each change is made to its items, and the step is played again.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>

#include "netpipe/model/record/several_streams.hpp"
#include "npgpu/model/record.hpp"

namespace npgpu {

namespace {

// What is done to a step, with `worse`: 0 as is likely, 1 at its worst, -1 at its best. What it gains lies between.
using StepChange = std::function<void(AppStep&, double worse)>;

AppStep with(const StepChange& change, AppStep step, double worse) {
  change(step, worse);
  return step;
}

// ---- pinned memory ----

// The call right behind a copy in that waits for this copy alone: copies of frameworks that are asked to block do so.
template <class Step> auto* wait_for_copy(Step& step, std::size_t copy) {
  if (copy + 1 == step.items.size() || !is_copy_in(step.items[copy]))
    return static_cast<decltype(&step.items[0])>(nullptr);
  auto& next = step.items[copy + 1];
  const bool is_for_it = next.activity == Activity::wait && next.after.size() == 1 && next.after[0].item == copy &&
                         next.after[0].steps_before == 0;
  return is_for_it ? &next : nullptr;
}

void pin(AppStep& step, const StreamCosts& costs, double worse) {
  for (std::size_t j = 0; j < step.items.size(); ++j) {
    StepItem& item = step.items[j];
    if (!is_pageable_copy(item)) continue;
    // A copy that does not block needs none; at worst it stays.
    if (StepItem* const wait = wait_for_copy(step, j); wait && worse <= 0) {
      wait->after.clear();
      wait->call_us = wait->return_us = 0;
    }
    const bool in = is_copy_in(item);
    const auto bytes = static_cast<double>(item.shape.bytes);
    const Seconds pinned = in ? costs.copy_h2d(bytes) + costs.gap.h2d : costs.copy_d2h(bytes) + costs.gap.d2h;
    // A copy that was faster than that (it was staged) stays as it was.
    item.device_us = std::min(item.device_us, microseconds(pinned) * (1 + worse * rate_off_by));
    // A pageable copy begins when its first part is staged: 0.14 ms after its call where it has 64 MiB.
    item.lag_us = std::min(item.lag_us, pinned_lag_us * (1 + worse));
    if (in) item.source = RecordMemory::pinned;
    else item.target = RecordMemory::pinned;
    if (item.call.find("Async") != std::string::npos) {
      item.blocks = false;
      item.call_us = microseconds(in ? costs.issue.h2d : costs.issue.d2h);
    }
    item.return_us = std::max(0.0, item.return_us);
  }
}

// ---- small copies together ----

constexpr std::uint64_t small_bytes = 64 * KiB;

bool is_small_copy(const StepItem& item) {
  return item.activity == Activity::copy && item.shape.bytes <= small_bytes && item.after.empty() && !item.blocks &&
         is_of_host(item.source) != is_of_host(item.target);
}

struct Batches {
  std::size_t batches = 0, copies = 0;
};
Batches batch(AppStep& step, const StreamCosts& costs, double worse) {
  Batches done;
  std::vector<bool> goes(step.items.size(), false);
  for (std::size_t j = 0; j < step.items.size();) {
    std::size_t end = j + 1;
    const auto is_like_first = [&](const StepItem& one) {
      const StepItem& first = step.items[j];
      return is_small_copy(one) && one.stream == first.stream && one.source == first.source &&
             one.target == first.target;
    };
    if (is_small_copy(step.items[j]))
      while (end < step.items.size() && is_like_first(step.items[end])) ++end;
    if (end - j >= 2) {
      StepItem& first = step.items[j];
      const bool in = is_copy_in(first);
      const std::uint64_t bytes = std::accumulate(
          step.items.begin() + static_cast<std::ptrdiff_t>(j), step.items.begin() + static_cast<std::ptrdiff_t>(end),
          std::uint64_t{0}, [](std::uint64_t sum, const StepItem& one) { return sum + one.shape.bytes; });
      const auto size = static_cast<double>(bytes);
      const double us = microseconds(in ? costs.copy_h2d(size) : costs.copy_d2h(size));
      first.device_us = std::max(first.device_us, us * (1 + worse * rate_off_by));
      first.shape.bytes = bytes;
      // What the application does between two calls goes with them, for the most part. Of a CuPy program that set 32
      // tables of 4 KiB, 0.42 of 0.56 ms went that it took between and in its calls.
      for (std::size_t k = j + 1; k < end; ++k) {
        goes[k] = true;
        first.gap_us += step.items[k].gap_us * (worse > 0 ? 0.75 : worse < 0 ? 0 : 0.25);
      }
      ++done.batches;
      done.copies += end - j;
    }
    j = end;
  }
  // Indices of those that stay.
  std::vector<std::size_t> moved(step.items.size());
  std::size_t kept = 0;
  for (std::size_t j = 0; j < step.items.size(); ++j) moved[j] = goes[j] ? kept - 1 : kept++;
  std::vector<StepItem> items;
  for (std::size_t j = 0; j < step.items.size(); ++j)
    if (!goes[j]) items.push_back(std::move(step.items[j]));
  for (StepItem& item : items)
    for (StepItem::Dependence& d : item.after) d.item = moved[d.item];
  step.items = std::move(items);
  return done;
}

// ---- a graph ----

bool can_be_node(const StepItem& item) {
  return (item.activity == Activity::kernel || item.activity == Activity::memset) && !item.blocks && item.after.empty();
}

// Launches that follow each other become one call. What the application does between them goes with them, as it did in
// a C++, a CuPy and a PyTorch program; `worse` > 0: half of it stays.
std::size_t make_graphs(AppStep& step, const MeasuredCosts& costs, double worse) {
  constexpr std::size_t least_nodes = 5;
  constexpr double usual_launch_us = 6;
  // From a node's end to the start of the next. Kernels of a steps.cu, a CuPy and a PyTorch program in graphs on an
  // H200 started 0.03 to 0.13 us after the one before (28,337 nodes), and in a stream 0.9 us at the soonest.
  constexpr double usual_node_us = 0.1, most_node_us = 0.3;
  std::size_t nodes = 0;
  for (std::size_t j = 0; j < step.items.size();) {
    std::size_t end = j;
    while (end < step.items.size() && can_be_node(step.items[end]) && step.items[end].stream == step.items[j].stream)
      ++end;
    if (end - j >= least_nodes) {
      const auto count = static_cast<double>(end - j);
      const double launch = costs.graph ? microseconds(costs.graph->launch(count)) : usual_launch_us;
      double own = 0;
      for (std::size_t k = j; k < end; ++k) {
        StepItem& item = step.items[k];
        if (k > j) own += item.gap_us;
        if (k > j) item.gap_us = 0;
        item.call_us = 0;
        item.lag_us = std::min(item.lag_us, k == j ? item.lag_us : worse > 0 ? most_node_us : usual_node_us);
      }
      step.items[j].call_us = launch * (1 + 0.5 * worse);
      // Before the launch: no kernel starts earlier for it.
      if (worse > 0) step.items[j].gap_us += 0.5 * own;
      nodes += end - j;
    }
    j = std::max(end, j + 1);
  }
  return nodes;
}

// ---- what they come to ----

// How far a changed step may be off where the step as it is is not. Two that were carried out on an H200 were off by 1
// and 2 %; no other was compared.
constexpr double change_off_by = 0.05;

// A change that leaves more of the time than this is no better.
constexpr double worth_it = 0.98;

// A recorder makes launches take longer. Without it they take what the node's own do, as likely as can be said; at the
// ends they take what was recorded, and as much less than the node's as these took more.
AppStep with_launches(AppStep step, const MeasuredCosts& costs, double slower) {
  const double own = microseconds(costs.costs.issue.kernel);
  for (StepItem& item : step.items)
    if (item.activity == Activity::kernel && !item.blocks && own > 0 && item.call_us > own)
      item.call_us = std::max(0.5 * own, own + slower * (item.call_us - own));
  return step;
}

using Touches = bool (*)(const StepItem&);

class Gains {
 public:
  Gains(const AppStep& step, const MeasuredCosts& costs, bool with_recorder, AppForecast& of)
      : likely_(step), of_(of), as_it_is_us_(of.as_it_is_us), error_(error_of_change(step, of.off_by)) {
    const AppStep unrecorded = with_launches(step, costs, 0);
    const double us = played_us(unrecorded);
    if (with_recorder || us > worth_it * as_it_is_us_) return;
    of_.unrecorded_us = us / (1 + of_.off_by);
    ends_ = {step, with_launches(step, costs, -1)};
    likely_ = unrecorded;
    as_it_is_us_ = us;
  }
  // As it is most likely without the recorder.
  const AppStep& step() const { return likely_; }

  // Kept only if its interval is above 1. `touches`: the items that the change replaces. They were not equally long in
  // all steps, and in another run their median is anywhere among these: what a gain is compared with scatters so much.
  void add(AppChange kind, std::string what, const StepChange& change, Touches touches, bool needs_independence,
           std::string note) {
    AppAdvice one{kind, std::move(what), not_measured, {}, needs_independence, std::move(note)};
    AppStep changed = with(change, likely_, 0);
    AppTimeline likely = played(changed);
    one.step_us = likely.step_us / (1 + of_.off_by);
    one.times = {as_it_is_us_ / likely.step_us, INFINITY, 0, "1",
                 "the step played as it is over the step played with the change"};
    widen(one.times, likely_, change, touches);
    for (const AppStep& end : ends_) widen(one.times, end, change, touches);
    if (!(one.times.low > 1)) return;
    const auto best = [](const AppAdvice& a) { return a.times.value; };
    if (of_.advice.empty() || one.times.value > std::ranges::max(of_.advice, {}, best).times.value)
      best_ = {one.what, std::move(changed.items), std::move(likely)};
    of_.advice.push_back(std::move(one));
  }
  std::optional<AppPlayed>& best() { return best_; }

 private:
  void widen(Estimate& times, const AppStep& step, const StepChange& change, Touches touches) const {
    const auto [least, most] = std::minmax(
        {played_us(with(change, step, 0)), played_us(with(change, step, 1)), played_us(with(change, step, -1))});
    times.low = std::min(times.low, as_it_was(step, touches, &StepItem::shortest_us) / most / (1 + error_));
    times.high = std::max(times.high, as_it_was(step, touches, &StepItem::longest_us) / least * (1 + error_));
  }
  static double as_it_was(AppStep step, Touches touches, double StepItem::*which) {
    for (StepItem& item : step.items)
      if (touches(item)) item.device_us = item.*which;
    return played_us(step);
  }

  AppStep likely_;
  std::vector<AppStep> ends_{};  // where launches take less than recorded
  AppForecast& of_;
  double as_it_is_us_, error_;
  std::optional<AppPlayed> best_{};
};

constexpr const char* independent =
    "if no copy needs what the step before it computes; the buffer it fills must be another one than the kernels read";
constexpr const char* no_wait_for_copies = "if the host no longer waits for each copy (non_blocking=True in PyTorch)";
constexpr const char* together_in_memory = "if the pieces can lie one behind the other on both sides";
constexpr const char* parts_by_themselves = "if the kernels, on a part of the input, give that part of the output";
constexpr const char* no_dependence = "if none of them needs what another one computes";
constexpr const char* same_shapes = "if every step launches the same kernels on the same buffers";

// In as many parts as gain most; of those within 1 % of that, the fewest.
void add_chunks(Gains& gains, const StepChange& pinned, const MeasuredCosts& costs, bool has_pageable) {
  const AppStep whole = with(pinned, gains.step(), 0);
  std::vector<std::pair<std::uint32_t, double>> tried;
  for (std::uint32_t chunks = 2; chunks <= 64; chunks *= 2)
    if (AppStep cut = whole; cut_in_chunks(cut, costs, chunks, 0)) tried.emplace_back(chunks, played_us(cut));
  if (tried.empty()) return;
  const double best = std::ranges::min_element(tried, {}, [](const auto& one) { return one.second; })->second;
  if (!(best < worth_it * played_us(whole))) return;
  const std::uint32_t chunks =
      std::ranges::find_if(tried, [&](const auto& one) { return one.second <= 1.01 * best; })->first;
  gains.add(
      AppChange::chunks,
      fmt::format("{}copies and kernels in {} chunks", has_pageable ? "pinned memory, and " : "", chunks),
      [&](AppStep& s, double worse) {
        pinned(s, worse);
        (void)cut_in_chunks(s, costs, chunks, worse);
      },
      [](const StepItem& item) { return is_pageable_copy(item) || way_of(item) != CopyWay::elsewhere; }, true,
      parts_by_themselves);
}

}  // namespace

double error_of_change(const AppStep& step, double off_by) {
  const double half = half_width(step.time_us);
  return std::max(change_off_by, std::abs(off_by)) + (std::isfinite(half) ? half : 0);
}

AppForecast forecast_of(const AppStep& step, const MeasuredCosts& costs, std::span<const AppKernelCount> counts,
                        bool with_recorder) {
  AppForecast of;
  AppTimeline as_it_is = played(step);
  of.as_it_is_us = as_it_is.step_us;
  of.played.push_back({"as it is", step.items, std::move(as_it_is)});
  of.kernels = kernels_of(step, costs, counts);
  of.off_by = of.as_it_is_us / step.time_us.value - 1;
  if (!is_of_model(costs, step.device_name)) {
    of.notes.push_back(fmt::format(
        "the costs are those of {}: what the step takes there is not known, as there are none of {} to compare with",
        costs.device_name, step.device_name));
    return of;
  }
  bool waits_for_copies = false;
  for (std::size_t j = 0; j < step.items.size(); ++j)
    if (is_pageable_copy(step.items[j])) {
      of.pageable_us += step.items[j].device_us;
      waits_for_copies = waits_for_copies || wait_for_copy(step, j);
    }
  Gains gains(step, costs, with_recorder, of);
  const bool has_pageable = of.pageable_us > 0;
  // What a change found to do in the last step that it was made to.
  std::size_t sent = 0, kernels = 0, nodes = 0;
  Batches batches;
  const StepChange pinned = [&](AppStep& s, double worse) { pin(s, costs.costs, worse); };
  const StepChange ahead = [&](AppStep& s, double worse) {
    pinned(s, worse);
    sent = send_ahead(s);
  };
  const StepChange at_once = [&](AppStep& s, double worse) { kernels = put_side_by_side(s, costs, worse); };
  const StepChange batched = [&](AppStep& s, double worse) { batches = batch(s, costs.costs, worse); };
  const StepChange graph = [&](AppStep& s, double worse) { nodes = make_graphs(s, costs, worse); };
  const StepChange together = [&](AppStep& s, double worse) {
    ahead(s, worse);
    batched(s, worse);
    graph(s, worse);
  };
  for (const StepChange* one : {&ahead, &at_once, &batched, &graph}) (void)with(*one, gains.step(), 0);
  if (has_pageable)
    gains.add(AppChange::pinned, "pinned memory", pinned, is_pageable_copy, false,
              waits_for_copies ? no_wait_for_copies : "");
  if (sent)
    gains.add(
        AppChange::behind, has_pageable ? "pinned memory, and copies behind the kernels" : "copies behind the kernels",
        ahead, [](const StepItem& item) { return is_pageable_copy(item) || is_copy_in(item); }, true, independent);
  add_chunks(gains, pinned, costs, has_pageable);
  if (kernels)
    gains.add(
        AppChange::side_by_side, fmt::format("{} kernels of few blocks side by side", kernels), at_once,
        [](const StepItem&) { return false; }, true, no_dependence);
  if (batches.copies)
    gains.add(AppChange::batched, fmt::format("{} small copies as {}", batches.copies, batches.batches), batched,
              is_small_copy, false, together_in_memory);
  if (nodes)
    gains.add(
        AppChange::graph, fmt::format("graphs of {} launches", nodes), graph, [](const StepItem&) { return false; },
        false, same_shapes);
  std::vector<std::string> parts;
  if (has_pageable) parts.emplace_back("pinned memory");
  if (sent) parts.emplace_back("copies behind the kernels");
  if (batches.copies) parts.emplace_back("small copies together");
  if (nodes) parts.emplace_back("graphs");
  // Where one of them is as good as all, it is enough.
  const auto least = std::ranges::min_element(of.advice, {}, &AppAdvice::step_us);
  if (of.advice.size() > 1 && parts.size() > 1 &&
      played_us(with(together, gains.step(), 0)) / (1 + of.off_by) < worth_it * least->step_us)
    gains.add(
        AppChange::all, fmt::format("{}", fmt::join(parts, ", ")), together,
        [](const StepItem& item) { return item.activity == Activity::copy; }, sent > 0,
        "under all of their conditions");
  std::ranges::stable_sort(of.advice, std::greater<>(), [](const AppAdvice& one) { return one.times.value; });
  if (gains.best()) of.played.push_back(std::move(*gains.best()));
  if (std::abs(of.off_by) > 0.05)
    of.notes.push_back(fmt::format("played as it is, the step takes {:.1f} % {} than measured: gains are as uncertain",
                                   100 * std::abs(of.off_by), of.off_by > 0 ? "more" : "less"));
  if (step.covered < 0.3)
    of.notes.push_back(fmt::format("only {:.0f} % of all operations are in steps that repeat", 100 * step.covered));
  return of;
}

AppForecast forecast(const AppStep& step, const MeasuredCosts& costs, std::span<const AppKernelCount> counts) {
  return forecast_of(step, costs, counts, false);
}

}  // namespace npgpu
