// Kernels: how their time goes with their blocks, and what those of different streams do to each other.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "netpipe/model/jobs/costs.hpp"

namespace npgpu {

namespace model {

namespace {

constexpr Workload sorts[] = {Workload::increment, Workload::memory, Workload::compute};

bool kernel_alone(const JobCase& c, const JobShape& j) {
  return c.workload != Workload::none && c.gating == Gating::gated && c.order == Order::breadth_first && !j.bytes_in &&
         !j.bytes_out && j.iterations > 0 && j.threads > 32;
}

// NaN of nothing.
double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

// A part of a kernel takes as many waves as its blocks need: the number of blocks of a multiprocessor with which the
// times of parts follow from that of the whole. Where blocks share what one of them could take alone, it is 1.
void CostMeasuring::blocks() {
  const auto parts = points_.find([](const JobCase& c, const JobShape& j) {
    return c.workload != Workload::none && c.gating == Gating::gated && !j.bytes_in && !j.bytes_out && j.chunks == 1 &&
           j.iterations > 1 && j.threads > 32;
  });
  const auto whole = std::max_element(
      parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.job.kernel_bytes < b.job.kernel_bytes; });
  if (whole == parts.end() || !slots_of(out_, whole->job.threads)) return;
  const std::uint64_t resident = slots_of(out_, whole->job.threads) / out_.multiprocessors;
  double least = not_measured;
  std::uint32_t best = 0;
  for (std::uint32_t at_once = 1; at_once <= resident; at_once *= 2) {
    out_.threads_at_once = at_once * whole->job.threads;
    std::vector<double> errors;
    for (const Workload w : sorts) {
      const double all_us = kernel_us(w, whole->job);
      const Job all = job(whole->job, all_us);
      const auto waves = [&](std::uint64_t n) { return static_cast<double>((n + all.slots - 1) / all.slots); };
      for (const JobSummary& s : parts) {
        const double part_us = kernel_us(w, s.job);
        if (!(all_us > 0) || !(part_us > 0) || s.job.kernel_bytes == whole->job.kernel_bytes) continue;
        errors.push_back(std::abs(all_us * waves(job(s.job, part_us).blocks) / waves(all.blocks) / part_us - 1));
      }
    }
    if (errors.empty()) break;
    const double error = median(errors);
    if (!(error >= least)) least = error, best = at_once;
  }
  out_.threads_at_once = best * whole->job.threads;
  if (best)
    add(Cost::blocks_at_once,
        {static_cast<double>(best), not_measured, not_measured, "1",
         "times of parts of a kernel: the number of blocks in a wave with which they follow from the whole's"},
        "blocks of a multiprocessor that work without slowing each other");
}

// Unsplit kernels of two counts of iterations, down to a block for each multiprocessor: without so few nothing tells
// how blocks share one.
void CostMeasuring::kernel_times() {
  out_.costs.compute = Compute::slots;
  for (const Workload sort : sorts) {
    KernelTimes times;
    times.workload = sort;
    std::map<std::uint64_t, std::map<std::uint64_t, double>> us_of;  // by iterations, by blocks
    for (const JobSummary& s : points_.find([&](const JobCase&c, const JobShape&j) {
           return c.workload == sort && kernel_alone(c, j) && j.chunks == 1;
         })) {
      times.threads = s.job.threads;
      us_of[s.job.iterations].emplace(blocks_of(s.job), kernel_us(sort, s.job));
    }
    std::erase_if(us_of, [&](const auto& one) {
      return one.second.size() < 4 || one.second.begin()->first > out_.multiprocessors;
    });
    if (us_of.size() < 2) continue;
    const auto curve = [](const std::map<std::uint64_t, double>& us) {
      std::vector<Curve::Point> points;
      for (const auto& [blocks, t] : us) points.push_back({static_cast<double>(blocks), from_microseconds(t)});
      return Curve(std::move(points));
    };
    times.few = us_of.begin()->first;
    times.many = us_of.rbegin()->first;
    times.time_of_few = curve(us_of.begin()->second);
    times.time_of_many = curve(us_of.rbegin()->second);
    out_.kernels.push_back(std::move(times));
  }
}

// How far the simulator is from kernels cut into streams: a mean, because what sets rules apart shows in few of them.
double CostMeasuring::error_of_cut_kernels(Workload sort) const {
  std::vector<double> errors;
  for (const JobSummary& s : points_.find([&](const JobCase&c, const JobShape&j) {
         return c.workload == sort && kernel_alone(c, j) && j.chunks > 1 && j.streams == j.chunks;
       })) {
    const double kernel = kernel_us(sort, s.job);
    if (std::isfinite(kernel))
      errors.push_back(std::abs(simulated_us(s.job, Order::breadth_first, kernel, sort) / s.time_us.value - 1));
  }
  return mean(errors);
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
    const double error = mean(errors);
    if (!std::isfinite(least) || error < clearly * least - same) {
      least = error;
      best = kind;
    }
  }
  out_.costs.compute = best;
  if (!std::isfinite(least)) miss("what kernels of different streams do to each other");
}

}  // namespace model

KernelParts kernel_parts(const KernelTimes& times, std::uint64_t blocks, Seconds whole, std::uint64_t slots) {
  const auto all = static_cast<double>(blocks);
  const auto each = [&](double b) {
    return (times.time_of_many(b) - times.time_of_few(b)).count() / static_cast<double>(times.many - times.few);
  };
  const double beyond = each(all) > 0 ? std::max(0.0, (whole - times.time_of_few(all)).count() / each(all)) : 0;
  const auto time = [&](double b) { return times.time_of_few(b).count() + beyond * std::max(0.0, each(b)); };
  const double factor = whole.count() / time(all);
  const auto below = [&](double most, double unit, const Curve::Point& last) {
    std::vector<Curve::Point> points;
    for (const Curve::Point& p : times.time_of_many.points())
      if (p.x < most) points.push_back({p.x / unit, Seconds{time(p.x) * factor}});
    points.push_back(last);
    return Curve(std::move(points));
  };
  // All slots taken and never empty, as in the middle of the longest kernel.
  const double longest = times.time_of_many.points().back().x, full = static_cast<double>(slots);
  return {below(all, all, {1, whole}), below(full, 1, {full, Seconds{time(longest) * factor * full / longest}})};
}

namespace {

std::uint32_t whole_warps(std::uint32_t threads) { return (threads + 31) / 32 * 32; }

// Blocks that a multiprocessor holds; 0: not known.
std::uint64_t resident_blocks(const MeasuredCosts& m, std::uint32_t threads) {
  if (!m.multiprocessors || !m.threads_per_multiprocessor || threads == 0) return 0;
  const std::uint64_t blocks = m.threads_per_multiprocessor / whole_warps(threads);
  return m.blocks_per_multiprocessor ? std::min<std::uint64_t>(blocks, m.blocks_per_multiprocessor) : blocks;
}

}  // namespace

std::uint64_t slots_of(const MeasuredCosts& m, std::uint32_t threads) {
  std::uint64_t blocks = resident_blocks(m, threads);
  if (blocks && m.threads_at_once)
    blocks = std::min<std::uint64_t>(blocks, std::max(1u, m.threads_at_once / whole_warps(threads)));
  return blocks * m.multiprocessors;
}

void describe_kernel(Job& job, const MeasuredCosts& m, std::uint32_t threads, Workload sort) {
  job.slots = slots_of(m, threads);
  for (const KernelTimes& times : m.kernels) {
    if (times.workload != sort || times.threads != threads || !job.blocks || !(job.kernel.count() > 0)) continue;
    // All that fit, not those that work without slowing each other: by how much they do is measured.
    job.slots = m.multiprocessors * resident_blocks(m, threads);
    KernelParts parts = kernel_parts(times, job.blocks, job.kernel, job.slots);
    job.kernel_of_fraction = std::move(parts.of_fraction);
    job.block_time = std::move(parts.block_time);
  }
}

}  // namespace npgpu
