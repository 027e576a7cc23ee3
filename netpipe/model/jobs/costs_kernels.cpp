// Kernels: how their time goes with their blocks, and what those of different streams do to each other.
#include <algorithm>
#include <cmath>
#include <map>

#include "netpipe/model/jobs/costs.hpp"
#include "netpipe/model/medians.hpp"
#include "netpipe/simulate/servers.hpp"

namespace npgpu {

namespace model {

namespace {

constexpr Workload sorts[] = {Workload::increment, Workload::memory, Workload::compute};

bool kernel_alone(const JobCase& c, const JobShape& j) {
  return c.workload != Workload::none && c.gating == Gating::gated && c.order == Order::breadth_first && !j.bytes_in &&
         !j.bytes_out && j.iterations > 0 && j.threads > 32;
}

// The kernel's blocks; less than 1 where it has fewer threads than a block.
double blocks_in(const JobShape& job) {
  constexpr double word_bytes = 4;
  return static_cast<double>(job.kernel_bytes) / word_bytes / job.threads;
}

// Blocks that share what bounds them, as memory, take longer with each one more. Where the warps of one block keep a
// multiprocessor's units busy, time goes in steps instead: one block more than multiprocessors takes as long as twice
// as many. There a multiprocessor issues from its oldest warps first, so that its blocks end one after the other, and
// so do kernels of several streams. On H200s (132 multiprocessors), kernels of `compute` with 344 and 366 blocks in two
// streams hid half of their copies. If all blocks went alike, both kernels would end together, and hide 6 %.
std::uint32_t oldest_first(const KernelTimes& times, std::uint32_t multiprocessors) {
  constexpr double flat = 0.05, step = 0.3;
  const auto points = times.time_of_many.points();
  for (std::uint32_t held = 1; held <= 4; held *= 2) {
    const double full = double(held) * multiprocessors;
    const Curve::Point *before = nullptr, *first = nullptr, *last = nullptr;
    for (const Curve::Point& p : points)
      if (p.x <= full) before = &p;
      else if (p.x <= 2 * full) first = first ? first : &p, last = &p;
    if (!before || !first || last->x < 1.5 * first->x) continue;
    const auto work = [&](const Curve::Point* p) { return p->time.count() - times.time_of_few(p->x).count(); };
    if (work(first) > (1 + step) * work(before) && work(last) < (1 + flat) * work(first)) return held;
  }
  return 0;
}

// In seconds over blocks. Blocks are whole: between the last number of them with which a multiprocessor has at most k,
// and the first with which one has more, time goes in a step, not in a line. Only where both are so near to that number
// that nothing else changes between them.
Curve with_steps(const std::map<double, double>& us_of_blocks, std::uint32_t multiprocessors) {
  constexpr double near = 0.15;  // of one block for each multiprocessor
  std::vector<Curve::Point> points;
  for (const auto& [blocks, us] : us_of_blocks) {
    const Seconds time = from_microseconds(us);
    if (!points.empty()) {
      const Curve::Point before = points.back();
      const double step = std::floor(blocks / multiprocessors) * multiprocessors;
      if (before.x < step && step + 1 < blocks && blocks - before.x < near * multiprocessors) {
        points.push_back({step, before.time});
        points.push_back({step + 1, time});
      }
    }
    points.push_back({blocks, time});
  }
  return Curve(std::move(points));
}

// Kernels of one block and less by themselves, in us over blocks.
using PartTimes = std::map<double, double>;

// Gives parts of a block the share of a whole block's time that they take in kernels of more iterations.
void shape_parts(KernelTimes& times, const PartTimes& us_of_blocks) {
  const auto more = [&](double blocks, double us) { return from_microseconds(us) - times.time_of_few(blocks); };
  const auto whole = us_of_blocks.find(1);
  if (whole == us_of_blocks.end() || !(more(1, whole->second) > Seconds{0})) return;
  const Seconds of_whole = times.time_of_many(1) - times.time_of_few(1);
  std::vector<Curve::Point> points;
  for (const auto& [blocks, us] : us_of_blocks)
    if (blocks < 1)
      points.push_back(
          {blocks, times.time_of_few(blocks) + of_whole * std::max(0.0, more(blocks, us) / more(1, whole->second))});
  for (const Curve::Point& p : times.time_of_many.points())
    if (p.x >= 1) points.push_back(p);
  times.time_of_many = Curve(std::move(points));
}

}  // namespace

// A part of a kernel takes as many waves as its blocks need: the number of blocks of a multiprocessor with which the
// times of parts follow from that of the whole. Where blocks share what one of them could take alone, it is 1.
void CostMeasuring::blocks() {
  const auto parts = points_.find([](const JobCase& c, const JobShape& j) {
    return c.workload != Workload::none && c.gating == Gating::gated && !j.bytes_in && !j.bytes_out && j.chunks == 1 &&
           j.iterations > 1 && j.threads > 32;
  });
  const auto whole = std::max_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
    return a.axes.kernel_bytes < b.axes.kernel_bytes;
  });
  if (whole == parts.end() || !slots_of(out_, whole->axes.threads)) return;
  const std::uint64_t resident = slots_of(out_, whole->axes.threads) / out_.multiprocessors;
  double least = not_measured;
  std::uint32_t best = 0;
  for (std::uint32_t at_once = 1; at_once <= resident; at_once *= 2) {
    out_.threads_at_once = at_once * whole->axes.threads;
    std::vector<double> errors;
    for (const Workload w : sorts) {
      const double all_us = kernel_us(w, whole->axes);
      const Job all = job(whole->axes, all_us);
      const auto waves = [&](std::uint64_t n) { return static_cast<double>((n + all.slots - 1) / all.slots); };
      for (const JobResult& s : parts) {
        const double part_us = kernel_us(w, s.axes);
        if (!(all_us > 0) || !(part_us > 0) || s.axes.kernel_bytes == whole->axes.kernel_bytes) continue;
        errors.push_back(std::abs(all_us * waves(job(s.axes, part_us).blocks) / waves(all.blocks) / part_us - 1));
      }
    }
    if (errors.empty()) break;
    const double error = median(errors);
    if (!(error >= least)) least = error, best = at_once;
  }
  out_.threads_at_once = best * whole->axes.threads;
  if (best)
    add(Cost::blocks_at_once,
        {static_cast<double>(best), not_measured, not_measured, "1",
         "times of parts of a kernel: the number of blocks in a wave with which they follow from the whole's"},
        "blocks of a multiprocessor that work without slowing each other");
}

// Unsplit kernels of two counts of iterations, down to a block for each multiprocessor: without so few nothing tells
// how blocks share one. And of less than a block, whose few threads may be done sooner.
void CostMeasuring::kernel_times() {
  out_.costs.compute = Compute::slots;
  for (const Workload sort : sorts) {
    KernelTimes times;
    times.workload = sort;
    std::map<std::uint64_t, std::map<double, double>> us_of;  // by iterations, by blocks
    for (const JobResult& s : points_.find([&](const JobCase&c, const JobShape&j) {
           return c.workload == sort && kernel_alone(c, j) && j.chunks == 1;
         })) {
      // What few threads read in these few iterations lay in L2 on an H200, and did not in longer kernels: a part of a
      // block that waits for memory takes as long as the block.
      if (sort == Workload::memory && blocks_in(s.axes) < 1) continue;
      times.threads = s.axes.threads;
      us_of[s.axes.iterations].emplace(blocks_in(s.axes), kernel_us(sort, s.axes));
    }
    const auto is_of_parts = [](const auto& one) { return one.second.rbegin()->first <= 1; };
    std::pair<std::uint64_t, PartTimes> parts;  // those with the most iterations
    for (const auto& one : us_of)
      if (is_of_parts(one)) parts = one;
    std::erase_if(us_of, is_of_parts);
    std::erase_if(us_of, [&](const auto& one) {
      return one.second.size() < 4 || one.second.begin()->first > out_.multiprocessors;
    });
    if (us_of.size() < 2) continue;
    times.few = us_of.begin()->first;
    times.many = us_of.rbegin()->first;
    times.time_of_few = with_steps(us_of.begin()->second, out_.multiprocessors);
    times.time_of_many = with_steps(us_of.rbegin()->second, out_.multiprocessors);
    times.oldest_first = model::oldest_first(times, out_.multiprocessors);
    if (parts.first > times.many) shape_parts(times, parts.second);
    out_.kernels.push_back(std::move(times));
  }
}

// How far the simulator is from kernels cut into streams: a mean, because what sets rules apart shows in few of them;
// of errors of 25 % at most, because no rule has them all (on an H200, blocks of several small kernels may all go to
// the same few multiprocessors, and then take twice as long).
double CostMeasuring::error_of_cut_kernels(Workload sort) const {
  std::vector<double> errors;
  for (const JobResult& s : points_.find([&](const JobCase&c, const JobShape&j) {
         return c.workload == sort && kernel_alone(c, j) && j.chunks > 1 && j.streams == j.chunks;
       })) {
    const double kernel = kernel_us(sort, s.axes);
    if (std::isfinite(kernel))
      errors.push_back(
          std::min(0.25, std::abs(simulated_us(s.axes, Order::breadth_first, kernel, sort) / s.time_us.value - 1)));
  }
  return mean_of(errors);
}

void CostMeasuring::compute() {
  // What comes first stays unless another is clearly better.
  constexpr double clearly = 0.8, same = 1e-3;
  constexpr Compute kinds[] = {Compute::slots, Compute::shared, Compute::serial};
  double least = not_measured;
  Compute best = Compute::slots;
  for (const Compute kind : kinds) {
    out_.costs.compute = kind;
    std::vector<double> errors;
    for (const Workload sort : sorts)
      if (const double one = error_of_cut_kernels(sort); std::isfinite(one)) errors.push_back(one);
    if (errors.empty()) break;
    const double error = mean_of(errors);
    if (!std::isfinite(least) || error < clearly * least - same) {
      least = error;
      best = kind;
    }
  }
  out_.costs.compute = best;
  if (!std::isfinite(least)) miss("what kernels of different streams do to each other");
}

}  // namespace model

namespace {

// Seconds of an iteration more, in so many blocks.
double each_iteration(const KernelTimes& times, double blocks) {
  return std::max(0.0, times.time_of_many(blocks).count() - times.time_of_few(blocks).count()) /
         static_cast<double>(times.many - times.few);
}

// The time of a kernel of so many blocks.
Seconds time_of(const KernelTimes& times, std::uint64_t iterations, double blocks) {
  const double more = static_cast<double>(iterations) - static_cast<double>(times.few);
  return Seconds{std::max(0.0, times.time_of_few(blocks).count() + more * each_iteration(times, blocks))};
}

std::uint64_t whole_warps(std::uint64_t threads) { return (threads + 31) / 32 * 32; }

// Blocks that a multiprocessor holds; 0: not known.
std::uint64_t resident_blocks(const MeasuredCosts& m, std::uint32_t threads) {
  if (!m.multiprocessors || !m.threads_per_multiprocessor || threads == 0) return 0;
  const std::uint64_t blocks = m.threads_per_multiprocessor / whole_warps(threads);
  return m.blocks_per_multiprocessor ? std::min<std::uint64_t>(blocks, m.blocks_per_multiprocessor) : blocks;
}

Curve stretched(const Curve& curve, double beyond, double factor) {
  std::vector<Curve::Point> points(curve.points().begin(), curve.points().end());
  for (Curve::Point& p : points)
    if (p.x > beyond) p.time *= factor;
  return Curve(std::move(points));
}

// Played block by block, the whole takes what it took. Blocks that have a multiprocessor each take what so many
// iterations took, if it is known how many they are: on H200s that time is the same in each run, and what several
// blocks on one do to each other varies by a fifth.
void fit_to_whole(Job& job, const KernelTimes& times, std::uint32_t multiprocessors, std::uint64_t iterations) {
  const bool alone_known =
      iterations && job.multiprocessors && !job.active_blocks_per_sm && job.blocks > multiprocessors;
  if (alone_known) {
    std::vector<Curve::Point> points;
    for (const Curve::Point& p : job.block_time.points()) points.push_back({p.x, time_of(times, iterations, p.x)});
    job.block_time = Curve(std::move(points));
  }
  const double beyond = alone_known ? multiprocessors : 0;
  const int steps = alone_known ? 4 : 1;  // the rest follows the factor nearly, not quite
  for (int i = 0; i < steps; ++i)
    if (const double played = model::BlockServer::time_alone(job); played > 0)
      job.block_time = stretched(job.block_time, beyond, job.kernel.count() / played);
}

}  // namespace

std::optional<Seconds> kernel_time(const MeasuredCosts& m, Workload sort, const JobShape& shape) {
  const double blocks = model::blocks_in(shape);
  for (const KernelTimes& times : m.kernels) {
    if (times.workload != sort || times.threads != shape.threads) continue;
    // More blocks than any measured kernel's take their turns.
    const double most = times.time_of_many.points().back().x, turns = std::max(1.0, blocks / most);
    return turns * time_of(times, shape.iterations, blocks / turns);
  }
  return std::nullopt;
}

KernelParts kernel_parts(const KernelTimes& times, std::uint64_t blocks, Seconds whole, std::uint64_t slots) {
  const auto few = [&](double b) { return times.time_of_few(b).count(); };
  const auto each = [&](double b) { return each_iteration(times, b); };
  // All slots taken and never empty, as in the middle of the longest kernel.
  const auto full = static_cast<double>(slots);
  const double longest = times.time_of_many.points().back().x;
  // All blocks alone on the device, in waves.
  const auto alone = [&](const auto& time) {
    const std::uint64_t waves = blocks / slots, rest = blocks % slots;
    return static_cast<double>(waves) * time(longest) * full / longest + (rest ? time(static_cast<double>(rest)) : 0);
  };
  const double more = alone(each), beyond = more > 0 ? std::max(0.0, (whole.count() - alone(few)) / more) : 0;
  const auto time = [&](double b) { return few(b) + beyond * each(b); };
  const auto below = [&](double most, double unit, double factor, const Curve::Point& last) {
    std::vector<Curve::Point> points;
    for (const Curve::Point& p : times.time_of_many.points())
      if (p.x < most) points.push_back({p.x / unit, Seconds{time(p.x) * factor}});
    points.push_back(last);
    return Curve(std::move(points));
  };
  const auto all = static_cast<double>(blocks);
  const double of_waves = whole.count() / alone(time);
  return {below(all, all, whole.count() / time(all), {1, whole}),
          below(full, 1, of_waves, {full, Seconds{of_waves * time(longest) * full / longest}})};
}

std::uint64_t slots_of(const MeasuredCosts& m, std::uint32_t threads) {
  std::uint64_t blocks = resident_blocks(m, threads);
  if (blocks && m.threads_at_once)
    blocks = std::min<std::uint64_t>(blocks, std::max<std::uint64_t>(1, m.threads_at_once / whole_warps(threads)));
  return blocks * m.multiprocessors;
}

void describe_kernel(Job& job, const MeasuredCosts& m, std::uint32_t threads, Workload sort, std::uint64_t iterations) {
  job.slots = slots_of(m, threads);
  for (const KernelTimes& times : m.kernels) {
    if (times.workload != sort || times.threads != threads || !job.blocks || !(job.kernel.count() > 0)) continue;
    // All that fit, not those that work without slowing each other: by how much they do is measured.
    job.slots = m.multiprocessors * resident_blocks(m, threads);
    if (!job.slots) continue;  // a trace that does not say what fits
    job.warp = 32.0 / static_cast<double>(whole_warps(threads));
    if (times.oldest_first && job.blocks <= model::BlockServer::max_waves * job.slots)
      job.active_blocks_per_sm = times.oldest_first;
    // Where more blocks than fit at once all go alike, new ones come in wherever one ends: there a multiprocessor
    // hardly ever has more than its part.
    job.multiprocessors = job.active_blocks_per_sm || job.blocks <= job.slots ? m.multiprocessors : 0;
    KernelParts parts =
        kernel_parts(times, job.blocks, job.kernel,
                     job.active_blocks_per_sm ? m.multiprocessors * job.active_blocks_per_sm : job.slots);
    job.kernel_of_fraction = std::move(parts.of_fraction);
    job.block_time = std::move(parts.block_time);
    fit_to_whole(job, times, m.multiprocessors, iterations);
  }
}

}  // namespace npgpu
