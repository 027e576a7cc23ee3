// What operations do to each other: the jobs that show it, and the cost with which the simulator gives their times.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "netpipe/engine/distributions.hpp"
#include "netpipe/model/jobs/costs.hpp"
#include "netpipe/model/medians.hpp"
#include "netpipe/model/probes/derivation.hpp"

namespace npgpu::model {

namespace {

// A variable of the environment is text.
double number(const Facts& facts, std::string_view name) {
  const std::string text = text_fact(facts, name);
  return text.empty() ? number_fact(facts, name) : std::atof(text.c_str());
}

constexpr std::uint64_t line_bytes = 128;            // a block's words, at least
constexpr std::uint64_t computed_chunk = 512 * KiB;  // of jobs without copies out
constexpr double short_kernel_us = 1;
constexpr double most_slow_down = 10;  // of copies while others go the other way

// By the first of the two that is there; 0 where none is.
std::uint32_t count(double a, double b) {
  const double known = std::isfinite(a) ? a : b;
  return known > 0 ? static_cast<std::uint32_t>(known) : 0;
}

}  // namespace

StreamFacts stream_facts(const Provenance& provenance, const JobSeries& first, MeasuredCosts& into) {
  StreamFacts own;
  for (const auto& of : provenance) {
    const auto& [group, facts] = of;
    if (group == "environment") own.max_connections = number(facts, "CUDA_DEVICE_MAX_CONNECTIONS");
    if (!describes(of, first.question.device, first.device_uuid)) continue;
    own.copy_engines = number(facts, "copy_engines");
    into.multiprocessors = count(number(facts, "multiprocessors"), number(facts, "sms"));
    into.threads_per_multiprocessor = count(number(facts, "threads_per_multiprocessor"), 32 * number(facts, "warps"));
    into.blocks_per_multiprocessor = count(number(facts, "blocks_per_multiprocessor"), number(facts, "blocks"));
    if (first.simulated) own.max_connections = number(facts, "hardware_queues");
  }
  own.max_connections_source = first.simulated ? "the spec's hardware_queues" : "CUDA_DEVICE_MAX_CONNECTIONS";
  return own;
}

Job CostMeasuring::job(const JobShape& shape, double kernel_us, Workload sort) const {
  Job job{.in_bytes = shape.bytes_in, .out_bytes = shape.bytes_out};
  if (shape.kernel_bytes && kernel_us > 0) {
    job.kernel = from_microseconds(kernel_us);
    job.blocks = blocks_of(shape);
    job.last_block = last_block_of(shape);
    describe_kernel(job, out_, shape.threads, sort, shape.iterations);
  }
  return job;
}

StreamCosts CostMeasuring::costs_behind_gate() const {
  StreamCosts costs = out_.costs;
  costs.issue = {};
  costs.issue_h2d = costs.issue_kernel = costs.issue_d2h = {};
  costs.submit = Seconds{0};
  return costs;
}

double CostMeasuring::simulated_us(const StreamCosts& costs, const JobShape& shape, Order order, double kernel_us,
                                   Workload sort) const {
  return gate_us_ +
         microseconds(simulate_total(job(shape, kernel_us, sort), shape.chunks, costs, order, shape.streams).total);
}

double CostMeasuring::kernel_us(Workload workload, const JobShape& shape) const {
  JobShape alone = shape;
  alone.bytes_in = alone.bytes_out = 0;
  alone.chunks = alone.streams = 1;
  const auto t = points_.time(workload, Order::breadth_first, true, alone);
  const double us = t ? t->value - empty_kernel_us_ : not_measured;
  return us < 1e-3 ? 1e-3 : us;  // NaN stays
}

void CostMeasuring::both_directions() {
  const JobShape both{.bytes_in = 64 * MiB, .bytes_out = 64 * MiB},
      more_in{.bytes_in = 64 * MiB, .bytes_out = 16 * MiB}, more_out{.bytes_in = 16 * MiB, .bytes_out = 64 * MiB};
  const auto measured = [&](const JobShape& job) {
    return points_.time(Workload::none, Order::independent, true, job);
  };
  const auto t_both = measured(both);
  if (!t_both || !measured(more_in) || !measured(more_out)) return miss("copies both ways at once");
  StreamCosts& costs = out_.costs;

  // With two engines the times of both ways overlap; with one they add up.
  costs.copy_engines = 1;
  const double one = simulated_us(both, Order::independent);
  costs.copy_engines = 2;
  const double two = simulated_us(both, Order::independent);
  const auto engines = [&](double us) { return us > (one + two) / 2 ? 1.0 : us <= (one + two) / 2 ? 2.0 : us; };
  costs.copy_engines = engines(t_both->value) > 1 ? 2 : 1;
  hold_against(add(Cost::copy_engines,
                   {engines(t_both->value), engines(t_both->high), engines(t_both->low), "1",
                    "64 MiB both ways at once, and each way alone: together or one after the other"},
                   "directions in which copies run at the same time"),
               facts_.copy_engines > 2 ? 2 : facts_.copy_engines,
               facts_.copy_engines > 0
                   ? fmt::format("asyncEngineCount is {:g}, of which copies to and from the device use two at most",
                                 facts_.copy_engines)
                   : not_reported(out_.device),
               0.01);
  if (costs.copy_engines == 1) return;

  const std::vector<Beside> beside = large_copies_beside();
  std::vector<double> us;
  for (const Beside& job : beside) us.push_back(job.time.value);
  const std::array best = slow_downs(beside, us);
  // Times scatter by themselves: what each alone would move adds up in squares.
  std::array<double, 2> below{}, above{};
  for (std::size_t i = 0; i < beside.size(); ++i)
    for (const double bound : {beside[i].time.low, beside[i].time.high}) {
      std::vector<double> moved = us;
      moved[i] = bound;
      const auto at = std::isfinite(bound) ? slow_downs(beside, moved) : std::array{not_measured, not_measured};
      for (std::size_t way = 0; way < best.size(); ++way) {
        const double by = at[way] - best[way];
        (by < 0 ? below : above)[way] += by * by;  // NaN stays
      }
    }
  const auto estimate = [&](std::size_t way) {
    return Estimate{best[way], best[way] - std::sqrt(below[way]), best[way] + std::sqrt(above[way]), "1",
                    fmt::format("{} jobs of 16 MiB and more each way at once, through the simulator: least squares",
                                beside.size())};
  };
  costs.duplex_slowdown_h2d = best[0];
  costs.duplex_slowdown_d2h = best[1];
  add(Cost::duplex_slowdown_h2d, estimate(0), "how many times longer copies to the device take during a copy from it");
  add(Cost::duplex_slowdown_d2h, estimate(1), "how many times longer copies from the device take during a copy to it");
}

// Both ways at once, in one piece each, and so long that gaps and latencies hardly count.
std::vector<CostMeasuring::Beside> CostMeasuring::large_copies_beside() const {
  std::vector<Beside> found;
  for (const JobResult& s : points_.find([](const JobCase&c, const JobShape&j) {
         return c.workload == Workload::none && c.order == Order::independent && c.gating == Gating::gated &&
                j.chunks == 1 && std::min(j.bytes_in, j.bytes_out) >= 16 * MiB;
       }))
    found.push_back({s.axes, s.time_us});
  return found;
}

// To the device and from it: those with which the simulator comes closest to these times, each weighed by its interval.
// The slower way alone sets the time of equal sizes; a way with more bytes sets it too, but is slowed down during a
// part of them only. So all are taken together.
std::array<double, 2> CostMeasuring::slow_downs(const std::vector<Beside>& beside,
                                                const std::vector<double>& us) const {
  StreamCosts costs = costs_behind_gate();
  const auto distance = [&] {
    double sum = 0;
    for (std::size_t i = 0; i < beside.size(); ++i) {
      const Estimate& t = beside[i].time;
      const double width = half_for_weight(t.value, (t.high - t.low) / 2) / t.value;
      const double off = (simulated_us(costs, beside[i].shape, Order::independent) / us[i] - 1) / width;
      sum += off * off;
    }
    return sum;
  };
  const std::array both = {&costs.duplex_slowdown_h2d, &costs.duplex_slowdown_d2h};
  // Each from the jobs of which it alone sets the time.
  std::array<double, 2> alone{1, 1};
  for (std::size_t way : {0, 1, 0, 1})
    for (std::size_t k = 0; k < beside.size(); ++k) {
      const JobShape& shape = beside[k].shape;
      if (way ? shape.bytes_out < 2 * shape.bytes_in : shape.bytes_in < 2 * shape.bytes_out) continue;
      const auto time = [&](double s) {
        *both[way] = s;
        return simulated_us(costs, shape, Order::independent);
      };
      *both[1 - way] = alone[1 - way];
      alone[way] = time(1) < us[k] ? where_reaches(us[k], 1, most_slow_down, time) : 1;
    }
  // Which way sets the time of equal sizes may be either: the nearest minimum from both sides.
  std::array<double, 2> best{not_measured, not_measured};
  double least = std::numeric_limits<double>::infinity();
  for (const std::array start : {alone, std::array{1.0, alone[1]}, std::array{alone[0], 1.0}}) {
    for (std::size_t way : {0, 1}) *both[way] = start[way];
    for (double moved = 1; moved > 1e-6;) {
      moved = 0;
      for (double* slow : both) {
        const double before = *slow;
        const auto at = [&](double s) {
          *slow = s;
          return distance();
        };
        *slow = least_place(at, std::max(1.0, 0.9 * before), 1.1 * before, 30);
        moved = std::max(moved, std::abs(*slow - before));
      }
    }
    if (const double now = distance(); now < least) {
      least = now;
      best = {*both[0], *both[1]};
    }
  }
  return best;
}

bool copied_in_and_out(const JobCase& c, const JobShape& j) {
  return c.workload == Workload::increment && c.order == Order::breadth_first && c.gating == Gating::open &&
         c.pool == StreamPool::pooled && j.chunks == j.streams && j.bytes_in == j.chunks * MiB &&
         j.bytes_out == j.bytes_in && j.kernel_bytes == j.chunks * line_bytes && j.iterations == 1;
}

// Chunks that are copied in and computed next to nothing, in a stream each.
bool copied_in_and_computed(const JobCase& c, const JobShape& j) {
  return c.workload == Workload::increment && c.order == Order::breadth_first && c.gating == Gating::open &&
         c.pool == StreamPool::pooled && j.chunks > 1 && j.chunks == j.streams &&
         j.bytes_in == j.chunks * computed_chunk && !j.bytes_out && j.kernel_bytes == j.chunks * line_bytes &&
         j.iterations == 1;
}

// The gap with which the simulator has what one chunk more of these jobs costs: the slope of their time over their
// number. What all of them have, as the way of the first call, is not in it.
Estimate CostMeasuring::gap_by_slope(const JobPoints::Wanted& which, Seconds StreamCosts::*gap, std::string method) {
  constexpr double most_us = 100;
  StreamCosts& costs = out_.costs;
  const Estimate slope = theil_sen(points_.over_chunks(which), "us", "");
  if (!std::isfinite(slope.value)) return {};
  const auto slope_with = [&](double us) {
    costs.*gap = from_microseconds(us);
    std::vector<XY> simulated;
    for (const JobResult& s : points_.find(which)) {
      const StreamRun run = simulate_total(job(s.axes, short_kernel_us), s.axes.chunks, costs, Order::breadth_first);
      simulated.push_back({static_cast<double>(s.axes.chunks), microseconds(run.total)});
    }
    return theil_sen_slope(simulated);
  };
  const auto solve = [&](double wanted) {
    if (!std::isfinite(wanted)) return not_measured;
    return slope_with(0) >= wanted ? 0 : where_reaches(wanted, 0, most_us, slope_with);
  };
  Estimate e{solve(slope.value), solve(slope.low), solve(slope.high), "us", std::move(method) + slope.method};
  costs.*gap = from_microseconds(e.value);
  return e;
}

// A copy in that a kernel waits for keeps its engine after its end. On an H200 the copies of four streams came 1.0 to
// 1.5 us further apart than copies alone, by the GPU's clock; without kernels behind them 0.2.
void CostMeasuring::gap_ahead_of_kernel() {
  const Estimate e = gap_by_slope(copied_in_and_computed, &StreamCosts::gap_ahead_of_kernel,
                                  "slope of chunks of 512 KiB in and a kernel, in a stream each, over their number, "
                                  "through the simulator");
  if (!std::isfinite(e.value)) return miss("the gap of copies in ahead of kernels");
  add(Cost::gap_ahead_of_kernel, e, "for how long a copy in keeps its engine after its end if a kernel follows");
}

// From stream to stream the gaps of copies are longer while the other direction works; within a stream hardly.
// Not more chunks than 24: beyond, queues get in each other's way, differently from run to run.
void CostMeasuring::duplex_extra_gap() {
  if (out_.costs.copy_engines == 1) return;
  const Estimate e = gap_by_slope(copied_in_and_out, &StreamCosts::duplex_extra_gap,
                                  "slope of chunks of 1 MiB in and out, in a stream each, over their number, through "
                                  "the simulator");
  if (!std::isfinite(e.value)) return miss("the gap of copies during copies the other way");
  add(Cost::duplex_extra_gap, e, "by how much the gap of a copy grows during a copy the other way");
}

// All streams but the last wait behind a gate: the last one is held up where there are more streams than queues.
std::uint32_t CostMeasuring::queues_of(Stage stage, Cost cost) {
  const auto jobs = points_.find(
      [&](const JobCase& c, const JobShape& j) {
        return (stage == Stage::h2d) == (j.bytes_in > 0) && (stage == Stage::d2h) == (j.bytes_out > 0) &&
               (stage == Stage::kernel) == (c.workload != Workload::none);
      },
      true);
  if (jobs.empty()) return miss(fmt::format("the number of hardware {}", name(cost))), 0;
  std::uint32_t free = 1, held = 0;  // the most streams with which it was not held up; the fewest with which it was
  for (const JobResult& s : jobs) {
    const bool waited = s.time_us.value - s.issue_us > microseconds(last_stream_free_patience) / 2;
    if (waited && (!held || s.axes.streams < held)) held = s.axes.streams;
  }
  for (const JobResult& s : jobs)
    if ((!held || s.axes.streams < held) && s.axes.streams > free) free = s.axes.streams;
  Estimate e{not_measured, not_measured, not_measured, "1",
             "all streams but one wait behind a gate: the most streams with which that one is not held up"};
  if (held) e = {static_cast<double>(free), static_cast<double>(free), static_cast<double>(held - 1), "1", e.method};
  Parameter& p = add(cost, e, "streams beyond which one waits for another's, on this engine");
  if (!held) p.note = fmt::format("the free stream was not held up, with {} streams at most", free);
  // Kernels have 8 if nothing is set; of copies nothing is said.
  const bool set = std::isfinite(facts_.max_connections);
  hold_against(p,
               set                                         ? facts_.max_connections
               : stage == Stage::kernel && !out_.simulated ? 8
                                                           : not_measured,
               facts_.max_connections_source + (set ? "" : ", 8 if not set"), 0.01);
  return held ? free : 0;
}

// Small chunks in a stream each, whose calls come late, with and without copies out.
std::vector<JobResult> CostMeasuring::small_chunks() const {
  return points_.find([](const JobCase& c, const JobShape& j) {
    return c.workload == Workload::increment && c.order == Order::breadth_first && c.gating == Gating::open &&
           c.pool == StreamPool::pooled && j.chunks == j.streams && (j.bytes_out == j.bytes_in || !j.bytes_out) &&
           j.bytes_in == j.kernel_bytes && j.bytes_in <= j.chunks * usual_call_bytes && j.iterations == 1;
  });
}

// A copy out that follows a kernel keeps its engine for longer than those that follow each other in one stream: by 0.3
// to 0.5 us on H200s, in eleven runs and at all sizes from 128 bytes to 64 KiB. It shows in what such jobs still take
// when the host has made its calls, so each is simulated with the calls that it had. With fewer streams scatter hides
// it.
void CostMeasuring::gap_behind_kernel() {
  constexpr std::uint32_t least_streams = 4;
  constexpr double most_us = 10;
  StreamCosts& costs = out_.costs;
  std::vector<double> gaps;
  for (const JobResult& s : small_chunks()) {
    if (!s.axes.bytes_out || s.axes.chunks < least_streams || !std::isfinite(s.issue_us)) continue;
    const Job of = job(s.axes, short_kernel_us);
    const auto run = [&](const StreamCosts& with) {
      return simulate_total(of, s.axes.chunks, with, Order::breadth_first);
    };
    StreamCosts own = with_calls(costs, s.issue_us / microseconds(run(costs).busy.host));
    const auto us_with = [&](double gap_us) {
      own.gap_behind_kernel = from_microseconds(gap_us);
      return microseconds(run(own).total);
    };
    gaps.push_back(us_with(0) >= s.time_us.value ? 0 : where_reaches(s.time_us.value, 0, most_us, us_with));
  }
  if (gaps.empty()) return miss("the gap of copies out behind kernels");
  const Estimate e = median_of(
      gaps, "us", "what small chunks in a stream each take after their last call, through the simulator: median");
  costs.gap_behind_kernel = from_microseconds(e.value);
  add(Cost::gap_behind_kernel, e, "by how much the gap of a copy out grows behind a kernel");
  // A copy that waits for its kernel's end has this gap as well, and its latency was measured with it.
  const auto without = [&](double us) { return us < e.value ? 0 : us - e.value; };  // NaN stays
  costs.latency.kernel = from_microseconds(without(microseconds(costs.latency.kernel)));
  for (CostParameter& p : out_.parameters)
    if (p.cost == Cost::latency_kernel)
      for (double* us : {&p.estimate.value, &p.estimate.low, &p.estimate.high}) *us = without(*us);
}

// The time of a call to the device and back, and whether an operation that is issued late is spared the latency behind
// the one before it: whichever gives the better times of small chunks in a stream each, whose calls come late, with
// and without copies out.
void CostMeasuring::way_to_device() {
  StreamCosts& costs = out_.costs;
  const auto simulated = [&](const JobShape& shape) {
    return microseconds(
        simulate_total(job(shape, kernel_us(Workload::increment, shape)), shape.chunks, costs, Order::breadth_first)
            .total);
  };
  // Jobs of one operation: there none can come in time or too late for another's end.
  costs.submit = Seconds{0};
  std::vector<double> rest;
  for (const std::uint64_t bytes : {4 * KiB, 64 * KiB, MiB})
    for (const JobShape& shape : {JobShape{.bytes_in = bytes}, JobShape{.bytes_out = bytes},
                                  JobShape{.kernel_bytes = bytes, .iterations = 1}}) {
      const Workload sort = shape.kernel_bytes ? Workload::increment : Workload::none;
      const auto t = points_.time(sort, Order::breadth_first, false, shape);
      if (t && (!shape.kernel_bytes || std::isfinite(kernel_us(sort, shape))))
        rest.push_back(t->value - simulated(shape));
    }
  if (rest.empty()) return miss("the way of a call to the device and back");
  const Estimate submit = median_of(
      rest, "us", "host time of a copy or a kernel by itself, less its call and the device's: median over sizes");
  costs.submit = from_microseconds(std::max(0.0, submit.value));
  const std::vector<JobResult> chunks = small_chunks();
  const auto error_with = [&](bool waiting_only) {
    costs.latency_of_waiting_only = waiting_only;
    std::vector<double> errors;
    for (const JobResult& s : chunks) {
      const double us =
          microseconds(simulate_total(job(s.axes, short_kernel_us), s.axes.chunks, costs, Order::breadth_first).total);
      errors.push_back(std::abs(us / s.time_us.value - 1));
    }
    return errors.empty() ? 0 : mean_of(errors);
  };
  constexpr double clearly = 0.005;  // of the times; H200s differed by 0.010 to 0.021
  const double of_all = error_with(false);
  costs.latency_of_waiting_only = error_with(true) < of_all - clearly;
  add(Cost::submit, submit,
      std::string("from a call until the device may begin, and from the last end until the host knows; an operation "
                  "that is issued after the one before it has ended ") +
          (costs.latency_of_waiting_only ? "starts at once" : "waits as long as others"));
}

}  // namespace npgpu::model
