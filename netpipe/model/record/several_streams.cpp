// Changes of a step that need several streams: copies a step ahead, parts of the data in turn, small kernels at once.
#include "netpipe/model/record/several_streams.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace npgpu {

namespace {

using Index = std::size_t;

// The application has no streams of such numbers.
constexpr std::uint32_t first_new_stream = 0xffff0000;

// The same items, some of them as several others. Whatever waited for one waits for all that it became.
class Rewritten {
 public:
  explicit Rewritten(std::vector<StepItem> before) : before_(std::move(before)), became_(before_.size()) {}
  const StepItem& before(Index i) const { return before_[i]; }
  Index size() const { return before_.size(); }

  // `made`: in place of item i. What it waits for besides is given by `wait_for`, by the indices that add() returns.
  Index add(Index i, StepItem made) {
    became_[i].push_back(after_.size());
    after_.push_back(std::move(made));
    waits_.emplace_back();
    return after_.size() - 1;
  }
  void keep(Index i) { (void)add(i, before_[i]); }
  void wait_for(Index made, Index other) { waits_[made].push_back({other, 0}); }

  std::vector<StepItem> items() && {
    for (Index i = 0; i < after_.size(); ++i) {
      std::vector<StepItem::Dependence> all = std::move(waits_[i]);
      for (const StepItem::Dependence& d : after_[i].after)
        for (const Index one : became_[d.item]) all.push_back({one, d.steps_before});
      after_[i].after = std::move(all);
    }
    return std::move(after_);
  }

 private:
  std::vector<StepItem> before_, after_{};
  std::vector<std::vector<Index>> became_;
  std::vector<std::vector<StepItem::Dependence>> waits_{};
};

bool is_kernel(const StepItem& item) { return item.activity == Activity::kernel; }
bool is_copy_out(const StepItem& item) { return way_of(item) == CopyWay::to_host; }

// Copies in, kernels that work on them, and copies of what comes out: one behind the other in one stream.
struct Chain {
  Index from = 0, kernels = 0, out = 0, end = 0;
  bool is_one() const { return from < kernels && kernels < out; }
};

// The first of them, with at most so many kernels: nobody cuts a whole network.
Chain chain_of(const AppStep& step) {
  constexpr Index most_kernels = 8;
  constexpr std::uint64_t least_bytes = MiB;
  const auto& items = step.items;
  for (Index i = 0; i < items.size(); ++i) {
    Chain c{i, i, i, i};
    const auto goes_on = [&](auto is_such) {
      return c.end < items.size() && items[c.end].stream == items[i].stream && is_such(items[c.end]);
    };
    std::uint64_t bytes = 0;
    while (goes_on(is_copy_in)) bytes += items[c.end++].shape.bytes;
    c.kernels = c.end;
    while (goes_on(is_kernel)) ++c.end;
    c.out = c.end;
    while (goes_on(is_copy_out)) bytes += items[c.end++].shape.bytes;
    const bool is_short = c.out - c.kernels <= most_kernels;
    if (c.is_one() && is_short && bytes >= least_bytes) return c;
    if (c.end > i) i = c.end - 1;
  }
  return {};
}

// Items [from, end) leave their stream, and stay behind what was before them there, and before what comes next.
void keep_order(AppStep& step, Index from, Index end) {
  auto& items = step.items;
  const auto is_neighbour = [&](Index i) {
    return items[i].stream == items[from].stream && items[i].activity != Activity::wait;
  };
  std::optional<StepItem::Dependence> before;
  for (Index i = items.size(); !before && i-- > end;)
    if (is_neighbour(i)) before = {i, 1};
  for (Index i = 0; i < from; ++i)
    if (is_neighbour(i)) before = {i, 0};
  Index next = end;
  while (next < items.size() && !is_neighbour(next)) ++next;
  for (Index i = from; i < end; ++i) {
    if (before) items[i].after.push_back(*before);
    if (next < items.size()) items[next].after.push_back({i, 0});
  }
}

}  // namespace

std::size_t send_ahead(AppStep& step) {
  std::size_t sent = 0;
  std::uint32_t streams = 0;
  const Index n = step.items.size();
  for (Index j = 0; j < n; ++j) {
    StepItem& copy = step.items[j];
    if (!is_copy_in(copy) || copy.blocks) continue;
    const std::uint32_t stream = copy.stream;
    const auto follower = std::find_if(
        step.items.begin() + static_cast<std::ptrdiff_t>(j) + 1, step.items.end(), [&](const StepItem& one) {
          return one.activity != Activity::wait && one.stream == stream && !is_copy_in(one);
        });
    if (follower == step.items.end()) continue;
    copy.stream = first_new_stream + streams++;
    ++sent;
    follower->after.push_back({j, 1});
    // What waited for this very copy waits for what follows it.
    for (StepItem& other : step.items)
      if (other.activity == Activity::wait)
        std::erase_if(other.after, [&](const StepItem::Dependence& d) { return d.item == j; });
  }
  return sent;
}

bool cut_in_chunks(AppStep& step, const MeasuredCosts& costs, std::uint32_t chunks, double worse) {
  const Chain chain = chain_of(step);
  if (!chain.is_one()) return false;
  const StreamCosts& c = costs.costs;
  const double n = chunks;
  const bool both_ways = chain.out < chain.end;
  // Where every multiprocessor has blocks, these may loop over the data: a part takes a part of the time, and one goes
  // after the other. Else, and at worst, parts have fewer blocks in fewer waves, each as long as before, and several
  // parts are on the device at once.
  const auto loops = [&](const StepItem& kernel) {
    return worse <= 0 && static_cast<double>(kernel.shape.blocks()) >= costs.multiprocessors;
  };
  const auto waves = [&](const StepItem& kernel) { return std::fmax(waves_of(kernel.shape, costs), 1e-6); };
  const auto part_of = [&](const StepItem& whole, std::uint32_t chunk) {
    StepItem part = whole;
    part.stream = first_new_stream + chunk;
    part.gap_us = chunk ? 0 : whole.gap_us;
    part.lag_us = std::min(whole.lag_us, pinned_lag_us);
    part.shape.bytes = whole.shape.bytes / chunks;
    if (is_kernel(whole)) {
      const double all = waves(whole), share = loops(whole) ? 1 / n : std::ceil(all / n) / std::ceil(all);
      part.device_us = whole.device_us * share + microseconds(c.gap.kernel);
      return part;
    }
    const bool in = is_copy_in(whole);
    const auto bytes = static_cast<double>(part.shape.bytes);
    const double slower = in ? c.duplex_slowdown_h2d : c.duplex_slowdown_d2h;
    part.device_us = std::max(whole.device_us / n,
                              microseconds(in ? c.copy_h2d(bytes) + c.gap.h2d : c.copy_d2h(bytes) + c.gap.d2h)) *
                     (1 + worse * rate_off_by) * (both_ways ? 1 + (slower - 1) * (1 + worse) / 2 : 1);
    part.call_us = microseconds(in ? c.issue.h2d : c.issue.d2h);
    part.blocks = false;
    return part;
  };
  keep_order(step, chain.from, chain.end);
  Rewritten made(std::move(step.items));
  step.items.clear();
  for (Index i = 0; i < made.size(); ++i) {
    if (i != chain.from) {
      made.keep(i);
      continue;
    }
    std::vector<Index> last_kernels;  // of each chunk
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
      for (Index j = chain.from; j < chain.end; ++j) {
        const StepItem& whole = made.before(j);
        const Index at = made.add(j, part_of(whole, chunk));
        if (!is_kernel(whole)) continue;
        const double at_once = loops(whole) ? 1 : std::clamp(std::floor(n / waves(whole)), 1.0, n);
        if (chunk >= at_once) made.wait_for(at, last_kernels[chunk - static_cast<std::uint32_t>(at_once)]);
        last_kernels.resize(chunk + 1, at);
        last_kernels[chunk] = at;
      }
    }
    i = chain.end - 1;
  }
  step.items = std::move(made).items();
  return true;
}

std::size_t put_side_by_side(AppStep& step, const MeasuredCosts& costs, double worse) {
  constexpr std::size_t least = 2;
  std::size_t moved = 0;
  std::uint32_t streams = 0;
  std::vector<bool> waits;  // for another stream, before anything is moved
  for (const StepItem& one : step.items) waits.push_back(!one.after.empty());
  for (Index i = 0; i < step.items.size();) {
    Index end = i;
    double blocks = 0, sum = 0, longest = 0;
    for (; end < step.items.size(); ++end) {
      const StepItem& one = step.items[end];
      const auto more = static_cast<double>(one.shape.blocks());
      if (!is_kernel(one) || waits[end] || one.stream != step.items[i].stream) break;
      if (blocks + more > costs.multiprocessors) break;
      blocks += more;
      sum += one.device_us;
      longest = std::max(longest, one.device_us);
    }
    if (end - i >= least) {
      // At worst half of what they take one after the other is left: they share the memory.
      const double longer = worse > 0 ? 0.5 * (1 + sum / longest) : 1;
      const auto group_before = step.items[i].after;
      keep_order(step, i, end);
      for (Index k = i; k < end; ++k) step.items[k].device_us *= longer;
      for (Index k = i + 1; k < end; ++k) {
        step.items[k].stream = first_new_stream + streams++;
        step.items[k].after.insert(step.items[k].after.end(), group_before.begin(), group_before.end());
      }
      moved += end - i;
    }
    i = std::max(end, i + 1);
  }
  return moved;
}

}  // namespace npgpu
