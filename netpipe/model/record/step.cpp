// The step of an application that repeats: found in the order in which its operations were asked for.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "netpipe/model/medians.hpp"
#include "npgpu/model/record.hpp"

namespace npgpu {

namespace {

// What was done once, with the call that asked for it.
struct Done {
  std::size_t what = 0;                   // of Operations::kinds: equal ones are the same operation
  double start_us = 0, end_us = 0;        // on the device; of a wait the call's
  double called_us = 0, returned_us = 0;  // by the host
  bool has_call = false;                  // one was recorded
  bool is_called = false;  // by a call of its own; false: one more operation of the call before it, as in a graph
  std::uint32_t stream = 0;
};
struct OperationKind {
  StepItem item{};  // without times
};
struct Operations {
  std::string device{}, device_name{};
  std::uint32_t process = 0;
  std::vector<OperationKind> kinds{};
  std::vector<Done> done{};  // in the order of their calls
};

bool is_wait(const std::string& call) { return call.find("Synchronize") != std::string::npos; }

struct RecordedCall {
  double start_us, end_us;
  const std::string* name;
};
using RecordedCalls = std::unordered_map<std::uint32_t, RecordedCall>;  // by correlation

RecordedCalls calls_of(const Trace& trace, std::uint32_t process) {
  RecordedCalls calls;
  for (const RecordSeries& series : trace.of<Records>())
    if (series.question.activity == Activity::call && series.question.process == process)
      for (const RecordSample& s : series.samples) calls[s.correlation] = {s.start_us, s.end_us, &series.question.name};
  return calls;
}

// The process and device that are busy for longest.
std::optional<std::tuple<std::uint32_t, std::string, std::string>> busiest_of(const Trace& trace) {
  std::map<std::tuple<std::uint32_t, std::string, std::string>, double> busy;
  for (const RecordSeries& series : trace.of<Records>()) {
    if (is_host_timed(series.question)) continue;
    double& sum = busy[{series.question.process, series.question.device, series.device_uuid}];
    for (const RecordSample& s : series.samples) sum += s.end_us - s.start_us;
  }
  if (busy.empty()) return std::nullopt;
  return std::ranges::max_element(busy, {}, [](const auto& one) { return one.second; })->first;
}

// Streams of the calls that wait; of all where CUPTI said nothing.
std::unordered_map<std::uint32_t, std::uint32_t> awaited_streams(const Trace& trace, std::uint32_t process) {
  std::unordered_map<std::uint32_t, std::uint32_t> streams;
  for (const RecordSeries& series : trace.of<Records>())
    if (series.question.activity == Activity::wait && series.question.process == process &&
        series.question.name == "stream")
      for (const RecordSample& s : series.samples) streams[s.correlation] = s.stream;
  return streams;
}

// The stream of a wait for all that was asked for before.
constexpr std::uint32_t all_streams = UINT32_MAX;

Operations operations_of(const Trace& trace) {
  const auto busiest = busiest_of(trace);
  if (!busiest)
    throw Error(ErrorKind::usage,
                "the trace holds no recording of an application: npgpu record -o app.h5 -- ./app makes one");
  Operations all;
  std::string uuid;
  std::tie(all.process, all.device, uuid) = *busiest;
  const RecordedCalls calls = calls_of(trace, all.process);
  const auto awaited = awaited_streams(trace, all.process);
  std::map<std::tuple<RecordCase, RecordShape, std::uint32_t>, std::size_t> known;
  const auto kind_of = [&](const RecordCase& question, const RecordShape& shape, std::uint32_t stream,
                           const std::string& call) {
    const auto [found, is_new] = known.try_emplace({question, shape, stream}, all.kinds.size());
    if (is_new)
      all.kinds.push_back({{.activity = question.activity,
                            .name = question.name,
                            .call = call,
                            .source = question.source,
                            .target = question.target,
                            .shape = shape,
                            .stream = stream}});
    return found->second;
  };
  for (const RecordSeries& series : trace.of<Records>()) {
    const RecordCase& c = series.question;
    if (c.process != all.process) continue;
    if (c.activity == Activity::call && is_wait(c.name)) {
      RecordCase wait = c;
      wait.activity = Activity::wait;
      for (const RecordSample& s : series.samples) {
        const auto stream = awaited.find(s.correlation);
        const std::uint32_t of = stream == awaited.end() ? all_streams : stream->second;
        all.done.push_back({kind_of(wait, {}, of, c.name), s.start_us, s.end_us, s.start_us, s.end_us, true, true, of});
      }
    }
    if (is_host_timed(c) || c.device != all.device || series.device_uuid != uuid) continue;
    all.device_name = series.device_name;
    for (const Visit<Records>& visit : series.visits)
      for (const RecordSample& s : samples_of(series, visit)) {
        const auto call = calls.find(s.correlation);
        const bool is_known = call != calls.end();
        all.done.push_back({kind_of(c, visit.axes, s.stream, is_known ? *call->second.name : ""), s.start_us, s.end_us,
                            is_known ? call->second.start_us : s.start_us, is_known ? call->second.end_us : s.start_us,
                            is_known, is_known, s.stream});
      }
  }
  std::ranges::stable_sort(all.done, {}, [](const Done& d) { return std::tuple(d.called_us, d.start_us); });
  for (std::size_t i = 1; i < all.done.size(); ++i)
    if (all.done[i].is_called && all.done[i].called_us == all.done[i - 1].called_us) all.done[i].is_called = false;
  return all;
}

// ---- what repeats ----

struct Repeat {
  std::size_t first = 0, period = 0, steps = 0;
  std::size_t covers() const { return period * steps; }
};

// The longest run in which every operation is that of a period before.
Repeat longest_run(const std::vector<Done>& done, std::size_t period) {
  Repeat best{0, period, 0};
  std::size_t begin = 0;
  for (std::size_t i = 0; i + period <= done.size(); ++i) {
    if (i + period < done.size() && done[i].what == done[i + period].what) continue;
    const std::size_t steps = (i - begin) / period + 1;
    if (i > begin && steps > best.steps) best = {begin, period, steps};
    begin = i + 1;
  }
  return best;
}

// Distances between an operation and the next one of its kind, the most frequent of each kind: a step has as many
// operations as lie between those that it has once.
std::set<std::size_t> likely_periods(const Operations& of) {
  constexpr std::size_t most_kinds = 200, most_periods = 100;
  std::vector<std::vector<std::size_t>> places(of.kinds.size());
  for (std::size_t i = 0; i < of.done.size(); ++i) places[of.done[i].what].push_back(i);
  std::erase_if(places, [](const auto& one) { return one.size() < 3; });
  std::ranges::sort(places, {}, [](const auto& one) { return one.size(); });
  if (places.size() > most_kinds) places.resize(most_kinds);
  std::map<std::size_t, std::size_t> votes;
  for (const auto& one : places) {
    std::map<std::size_t, std::size_t> distances;
    for (std::size_t i = 1; i < one.size(); ++i) ++distances[one[i] - one[i - 1]];
    const auto common = std::ranges::max_element(distances, {}, [](const auto& d) { return d.second; });
    ++votes[common->first];
    if (one.size() >= 5) ++votes[one[one.size() / 2 + 1] - one[one.size() / 2 - 1]];  // it is there twice in a step
  }
  std::vector<std::pair<std::size_t, std::size_t>> ranked;
  for (const auto& [period, count] : votes) ranked.emplace_back(count, period);
  std::ranges::sort(ranked, std::greater<>());
  if (ranked.size() > most_periods) ranked.resize(most_periods);
  std::set<std::size_t> periods;
  for (const auto& [count, period] : ranked) periods.insert(period);
  return periods;
}

// The one that covers most; of those that cover nearly as much the shortest.
std::optional<Repeat> repeat_of(const Operations& of) {
  constexpr std::size_t least_steps = 3;
  constexpr double nearly = 0.9;
  std::vector<Repeat> found;
  for (const std::size_t period : likely_periods(of))
    if (const Repeat run = longest_run(of.done, period); run.steps >= least_steps) found.push_back(run);
  if (found.empty()) return std::nullopt;
  const std::size_t most = std::ranges::max_element(found, {}, &Repeat::covers)->covers();
  for (const Repeat& one : found)  // by period
    if (static_cast<double>(one.covers()) >= nearly * static_cast<double>(most)) return one;
  return std::nullopt;
}

// Where in the period a step begins: behind the longest wait, else at the first copy to the device, else anywhere.
std::size_t beginning_of(const Operations& of, const Repeat& repeat) {
  std::size_t at = 0;
  double longest = -1;
  for (std::size_t j = 0; j < repeat.period; ++j) {
    const Done& d = of.done[repeat.first + repeat.period + j];
    if (of.kinds[d.what].item.activity != Activity::wait || d.returned_us - d.called_us <= longest) continue;
    longest = d.returned_us - d.called_us;
    at = j + 1;
  }
  if (longest >= 0) return at % repeat.period;
  for (std::size_t j = 0; j < repeat.period; ++j) {
    const StepItem& item = of.kinds[of.done[repeat.first + j].what].item;
    if (item.activity == Activity::copy && item.target == RecordMemory::device) return j;
  }
  return 0;
}

// ---- what each item of the step takes ----

class StepTimes {
 public:
  StepTimes(const Operations& of, const Repeat& repeat) : of_(of), period_(repeat.period) {
    const std::size_t shift = beginning_of(of, repeat);
    first_ = repeat.first + shift;
    steps_ = shift ? repeat.steps - 1 : repeat.steps;
    find_usual_steps();
  }
  std::size_t steps() const { return steps_; }

  std::vector<StepItem> items() const {
    std::vector<StepItem> all;
    for (std::size_t j = 0; j < period_; ++j) all.push_back(item(j));
    return all;
  }
  std::vector<double> times_us() const {
    std::vector<double> all;
    for (std::size_t k = 0; k + 1 < steps_; ++k) all.push_back(at(k + 1, 0).called_us - at(k, 0).called_us);
    return all;
  }

 private:
  const Done& at(std::size_t step, std::size_t j) const { return of_.done[first_ + step * period_ + j]; }
  const StepItem& kind(std::size_t j) const { return of_.kinds[at(0, j).what].item; }

  // The item before this one in its stream, and of how many steps before; nothing where it is the only one of all.
  std::optional<StepItem::Dependence> before(std::size_t j) const {
    for (std::size_t back = 1; back <= period_; ++back) {
      const std::size_t other = (j + period_ - back) % period_;
      if (kind(other).activity != Activity::wait && kind(other).stream == kind(j).stream)
        return StepItem::Dependence{other, other >= j ? 1u : 0u};
    }
    return std::nullopt;
  }
  // The half of them whose time is nearest to the median, of those of which the one before is there, too. Means over
  // them add up to the step's time; medians of each item do not, where a few items of each step take long.
  void find_usual_steps() {
    std::vector<std::pair<double, std::size_t>> timed;
    for (std::size_t k = 1; k + 1 < steps_; ++k) timed.emplace_back(at(k + 1, 0).called_us - at(k, 0).called_us, k);
    std::ranges::sort(timed);
    const std::size_t cut = timed.size() < 6 ? 0 : timed.size() / 4;
    for (std::size_t i = cut; i < timed.size() - cut; ++i) usual_.push_back(timed[i].second);
    if (usual_.empty()) usual_.push_back(1);
  }
  template <class Value> std::vector<double> over_steps(Value value) const {
    std::vector<double> all;
    for (const std::size_t k : usual_) all.push_back(value(k));
    return all;
  }
  double end_of(std::size_t k, const StepItem::Dependence& d) const { return at(k - d.steps_before, d.item).end_us; }

  StepItem item(std::size_t j) const {
    StepItem one = kind(j);
    const bool is_called = at(1, j).is_called || one.activity == Activity::wait;
    one.gap_us = is_called ? std::max(0.0, model::mean_of(over_steps(
                                               [&](std::size_t k) { return at(k, j).called_us - last_return(k, j); })))
                           : 0;
    one.call_us =
        is_called ? model::mean_of(over_steps([&](std::size_t k) { return at(k, j).returned_us - at(k, j).called_us; }))
                  : 0;
    if (one.activity == Activity::wait) set_wait(one, j);
    else set_operation(one, j);
    return one;
  }

  // When the host had returned from all calls before this one.
  double last_return(std::size_t k, std::size_t j) const {
    std::size_t place = first_ + k * period_ + j;
    while (place-- > 0)
      if (of_.done[place].has_call) return of_.done[place].returned_us;
    return at(k, j).called_us;
  }

  void set_operation(StepItem& one, std::size_t j) const {
    const auto lasts = [&](std::size_t k) { return at(k, j).end_us - at(k, j).start_us; };
    one.device_us = model::mean_of(over_steps(lasts));
    std::vector<double> lasted;
    for (std::size_t k = 1; k < steps_; ++k) lasted.push_back(lasts(k));
    std::ranges::sort(lasted);
    one.shortest_us = model::quantile(lasted, 0.05);
    one.longest_us = model::quantile(lasted, 0.95);
    const auto ahead = before(j);
    const auto since = [&](auto when) {
      return std::max(0.0, median(over_steps([&](std::size_t k) { return at(k, j).start_us - when(k); })));
    };
    const auto called = [&](std::size_t k) { return at(k, j).called_us; };
    // So soon after its call that it waited for nothing else.
    const double after_call = since(called);
    one.was_idle = ahead && after_call < near_us;
    one.lag_us = one.was_idle || !ahead ? after_call
                                        : since([&](std::size_t k) { return std::max(called(k), end_of(k, *ahead)); });
    if (ahead && !one.was_idle)
      one.was_idle = median(over_steps([&](std::size_t k) { return called(k) - end_of(k, *ahead); })) >= 0;
    if (one.lag_us > long_lag_us) find_reason(one, j);
    const double to_end = median(over_steps([&](std::size_t k) { return at(k, j).returned_us - at(k, j).end_us; }));
    // It is in the call for most of what the device does.
    if (at(1, j).is_called && one.call_us > 0.5 * one.device_us && to_end > -0.2 * one.device_us &&
        one.activity != Activity::kernel && one.call_us > long_lag_us) {
      one.blocks = true;
      one.return_us = to_end;
      one.call_us = 0;
    }
  }

  // The end of an operation in another stream right before which it never starts, and right after which it does.
  void find_reason(StepItem& one, std::size_t j) const {
    double least = one.lag_us;
    StepItem::Dependence reason;
    for (std::size_t other = 0; other < period_; ++other) {
      if (kind(other).activity == Activity::wait || kind(other).stream == one.stream) continue;
      for (const std::uint32_t steps_before : {0u, 1u}) {
        if (steps_before == 0 && other >= j) continue;
        const double after = median(over_steps([&](std::size_t k) {
          return at(k, j).start_us - end_of(k, {other, steps_before});
        }));
        if (after < 0 || after >= std::min(least, near_us)) continue;
        least = after;
        reason = {other, steps_before};
      }
    }
    if (least >= one.lag_us) return;
    one.lag_us = least;
    one.was_idle = false;
    one.after.push_back(reason);
  }

  // A wait for a stream is for the last operation before it there; one for the device or an event is for the last that
  // ended before it returned.
  void set_wait(StepItem& one, std::size_t j) const {
    one.blocks = true;
    std::optional<StepItem::Dependence> last;
    double latest = -INFINITY;
    std::set<std::uint32_t> streams;
    for (std::size_t back = 1; back <= period_; ++back) {
      const std::size_t other = (j + period_ - back) % period_;
      const StepItem& its = kind(other);
      if (its.activity == Activity::wait || (one.stream != all_streams && its.stream != one.stream)) continue;
      if (!streams.insert(its.stream).second) continue;  // an earlier one of a stream that was looked at
      const StepItem::Dependence d{other, other >= j ? 1u : 0u};
      const double end = median(over_steps([&](std::size_t k) { return end_of(k, d) - at(k, j).returned_us; }));
      if (end > near_us || end <= latest) continue;
      latest = end;
      last = d;
    }
    if (!last) return;
    const double waits = median(over_steps([&](std::size_t k) { return end_of(k, *last) - at(k, j).called_us; }));
    one.after.push_back(*last);
    if (waits > 0) one.return_us = std::max(0.0, -latest), one.call_us = 0;
    else one.return_us = 0;  // what it waits for was done before: it takes its call
  }

  static constexpr double long_lag_us = 20, near_us = 10;
  const Operations& of_;
  std::size_t first_ = 0, period_ = 1, steps_ = 0;
  std::vector<std::size_t> usual_{};
};

}  // namespace

AppStep step_of(const Trace& trace) {
  const Operations all = operations_of(trace);
  const auto repeat = repeat_of(all);
  if (!repeat)
    throw Error(
        ErrorKind::usage,
        fmt::format("nothing repeats among {} operations: a step is found where the same ones follow each other "
                    "three times; npgpu report lists them",
                    all.done.size()));
  const StepTimes measured(all, *repeat);
  AppStep step;
  step.device = all.device;
  step.device_name = all.device_name;
  step.process = all.process;
  step.steps = measured.steps();
  if (step.steps < 3)
    throw Error(ErrorKind::usage, "only two whole steps were recorded, and three are the least: record for longer");
  step.items = measured.items();
  step.covered = static_cast<double>(repeat->covers()) / static_cast<double>(all.done.size());
  std::vector<double> times = measured.times_us();
  step.time_us = median_over_visits({times}, "us");
  std::ranges::sort(times);
  step.shortest_us = model::quantile(times, 0.05);
  step.longest_us = model::quantile(times, 0.95);
  for (const StepItem& item : step.items) {
    if (item.activity == Activity::kernel) step.kernels_us += item.device_us;
    if (item.activity == Activity::copy) step.copies_us += item.device_us;
  }
  return step;
}

}  // namespace npgpu
