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

// A change of a step, as likely as can be said, and at its worst and best: what it gains lies between.
struct ChangedStep {
  AppStep likely, worst, best;

  explicit ChangedStep(const AppStep& step) : likely(step), worst(step), best(step) {}
  void each(const std::function<void(AppStep&, double)>& change) {
    change(likely, 0);
    change(worst, 1);
    change(best, -1);
  }
};

// ---- pinned memory ----

// `worse`: 1 at its worst, -1 at its best.
void pin(AppStep& step, const StreamCosts& costs, double worse) {
  for (StepItem& item : step.items) {
    if (!is_pageable_copy(item)) continue;
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
      // What the application does between two calls: at worst it does it all the same.
      for (std::size_t k = j + 1; k < end; ++k) {
        goes[k] = true;
        first.gap_us += step.items[k].gap_us * (worse > 0 ? 1 : worse < 0 ? 0 : 0.5);
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

// Launches that follow each other become one call. `worse` > 0: the application's own work between them stays.
std::size_t make_graphs(AppStep& step, const MeasuredCosts& costs, double worse) {
  constexpr std::size_t least_nodes = 5;
  constexpr double usual_launch_us = 6, usual_node_us = 1.5;
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
        item.lag_us = std::min(item.lag_us, k > j ? usual_node_us * (1 + 0.5 * worse) : item.lag_us);
      }
      step.items[j].call_us = launch * (1 + 0.5 * worse);
      // Before the launch: no kernel starts earlier for it.
      if (worse > 0) step.items[j].gap_us += own;
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

using Touches = bool (*)(const StepItem&);

class Gains {
 public:
  Gains(const AppStep& step, AppForecast& of) : step_(step), of_(of), error_(error_of_change(step, of.off_by)) {}
  // Kept only if its interval is above 1. `touches`: the items that the change replaces. They were not equally long in
  // all steps, and in another run their median is anywhere among these: what a gain is compared with scatters so much.
  void add(AppChange change, std::string what, const ChangedStep& changed, Touches touches, bool needs_independence,
           std::string note) {
    AppAdvice one{change, std::move(what), not_measured, {}, needs_independence, std::move(note)};
    AppTimeline likely = played(changed.likely);
    one.step_us = likely.step_us / (1 + of_.off_by);
    const auto [least, most] = std::minmax({likely.step_us, played_us(changed.worst), played_us(changed.best)});
    one.times = {of_.as_it_is_us / likely.step_us, as_it_was(touches, &StepItem::shortest_us) / most / (1 + error_),
                 as_it_was(touches, &StepItem::longest_us) / least * (1 + error_), "1",
                 "the step played as it is over the step played with the change"};
    if (!(one.times.low > 1)) return;
    const auto best = [](const AppAdvice& a) { return a.times.value; };
    if (of_.advice.empty() || one.times.value > std::ranges::max(of_.advice, {}, best).times.value)
      best_ = {one.what, changed.likely.items, std::move(likely)};
    of_.advice.push_back(std::move(one));
  }
  std::optional<AppPlayed>& best() { return best_; }

 private:
  double as_it_was(Touches touches, double StepItem::*which) const {
    AppStep step = step_;
    for (StepItem& item : step.items)
      if (touches(item)) item.device_us = item.*which;
    return played_us(step);
  }

  const AppStep& step_;
  AppForecast& of_;
  double error_;
  std::optional<AppPlayed> best_{};
};

constexpr const char* independent =
    "if no copy needs what the step before it computes; the buffer it fills must be another one than the kernels read";
constexpr const char* together_in_memory = "if the pieces can lie one behind the other on both sides";
constexpr const char* parts_by_themselves = "if the kernels, on a part of the input, give that part of the output";
constexpr const char* no_dependence = "if none of them needs what another one computes";
constexpr const char* same_shapes = "if every step launches the same kernels on the same buffers";

// A change that leaves more of the time than this is no better.
constexpr double worth_it = 0.98;

// In as many parts as gain most; of those within 1 % of that, the fewest.
void add_chunks(Gains& gains, const ChangedStep& pinned, const MeasuredCosts& costs, bool has_pageable) {
  std::vector<std::pair<std::uint32_t, double>> tried;
  for (std::uint32_t chunks = 2; chunks <= 64; chunks *= 2)
    if (AppStep cut = pinned.likely; cut_in_chunks(cut, costs, chunks, 0)) tried.emplace_back(chunks, played_us(cut));
  if (tried.empty()) return;
  const double best = std::ranges::min_element(tried, {}, [](const auto& one) { return one.second; })->second;
  if (!(best < worth_it * played_us(pinned.likely))) return;
  const std::uint32_t chunks =
      std::ranges::find_if(tried, [&](const auto& one) { return one.second <= 1.01 * best; })->first;
  ChangedStep cut = pinned;
  cut.each([&](AppStep& s, double worse) { (void)cut_in_chunks(s, costs, chunks, worse); });
  gains.add(
      AppChange::chunks,
      fmt::format("{}copies and kernels in {} chunks", has_pageable ? "pinned memory, and " : "", chunks), cut,
      [](const StepItem& item) { return is_pageable_copy(item) || way_of(item) != CopyWay::elsewhere; }, true,
      parts_by_themselves);
}

}  // namespace

double error_of_change(const AppStep& step, double off_by) {
  const double half = half_width(step.time_us);
  return std::max(change_off_by, std::abs(off_by)) + (std::isfinite(half) ? half : 0);
}

AppForecast forecast(const AppStep& step, const MeasuredCosts& costs, std::span<const AppKernelCount> counts) {
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
  for (const StepItem& item : step.items)
    if (is_pageable_copy(item)) of.pageable_us += item.device_us;
  Gains gains(step, of);
  const bool has_pageable = of.pageable_us > 0;
  ChangedStep pinned(step);
  pinned.each([&](AppStep& s, double worse) { pin(s, costs.costs, worse); });
  if (has_pageable) gains.add(AppChange::pinned, "pinned memory", pinned, is_pageable_copy, false, "");
  ChangedStep ahead = pinned;
  std::size_t sent = 0;
  ahead.each([&](AppStep& s, double) { sent = send_ahead(s); });
  if (sent)
    gains.add(
        AppChange::behind, has_pageable ? "pinned memory, and copies behind the kernels" : "copies behind the kernels",
        ahead, [](const StepItem& item) { return is_pageable_copy(item) || is_copy_in(item); }, true, independent);
  add_chunks(gains, pinned, costs, has_pageable);
  ChangedStep at_once(step);
  std::size_t kernels = 0;
  at_once.each([&](AppStep& s, double worse) { kernels = put_side_by_side(s, costs, worse); });
  if (kernels)
    gains.add(
        AppChange::side_by_side, fmt::format("{} kernels of few blocks side by side", kernels), at_once,
        [](const StepItem&) { return false; }, true, no_dependence);
  ChangedStep batched(step);
  Batches batches;
  batched.each([&](AppStep& s, double worse) { batches = batch(s, costs.costs, worse); });
  if (batches.copies)
    gains.add(AppChange::batched, fmt::format("{} small copies as {}", batches.copies, batches.batches), batched,
              is_small_copy, false, together_in_memory);
  ChangedStep graph(step);
  std::size_t nodes = 0;
  graph.each([&](AppStep& s, double worse) { nodes = make_graphs(s, costs, worse); });
  if (nodes)
    gains.add(
        AppChange::graph, fmt::format("graphs of {} launches", nodes), graph, [](const StepItem&) { return false; },
        false, same_shapes);
  ChangedStep together = ahead;
  together.each([&](AppStep& s, double worse) {
    batch(s, costs.costs, worse);
    make_graphs(s, costs, worse);
  });
  std::vector<std::string> parts;
  if (has_pageable) parts.emplace_back("pinned memory");
  if (sent) parts.emplace_back("copies behind the kernels");
  if (batches.copies) parts.emplace_back("small copies together");
  if (nodes) parts.emplace_back("graphs");
  // Where one of them is as good as all, it is enough.
  const auto least = std::ranges::min_element(of.advice, {}, &AppAdvice::step_us);
  if (of.advice.size() > 1 && parts.size() > 1 &&
      played_us(together.likely) / (1 + of.off_by) < worth_it * least->step_us)
    gains.add(
        AppChange::all, fmt::format("{}", fmt::join(parts, ", ")), together,
        [](const StepItem& item) { return item.activity == Activity::copy; }, sent > 0,
        "under all of their conditions");
  std::ranges::stable_sort(of.advice, std::greater<>(), [](const AppAdvice& one) { return one.times.value; });
  if (gains.best()) of.played.push_back(std::move(*gains.best()));
  if (std::abs(of.off_by) > 0.05)
    of.notes.push_back(
        fmt::format("the step as it is, played, takes {:+.1f} % of its measured time more or less: what the gains are "
                    "is as uncertain",
                    100 * of.off_by));
  if (step.covered < 0.3)
    of.notes.push_back(fmt::format("only {:.0f} % of all operations are in steps that repeat", 100 * step.covered));
  return of;
}

}  // namespace npgpu
