#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "npgpu/error.hpp"
#include "npgpu/job.hpp"
#include "probes/trials.hpp"

namespace npgpu {

namespace {

constexpr int max_voids = 3;  // gates that time out in a row before the point is given up

JobSample sample_of(const JobTimes& ran, std::uint32_t trial, std::uint64_t number) {
  const auto us = [](const std::optional<Seconds>& t) { return t ? microseconds(*t) : not_measured; };
  JobSample sample;
  sample.trial = trial;
  sample.number = number;
  sample.host_us = microseconds(ran.host);
  sample.issue_us = microseconds(ran.issue);
  sample.create_us = us(ran.create);
  sample.destroy_us = us(ran.destroy);
  sample.device_us = us(ran.device);
  return sample;
}

double median_seconds(Runner<Jobs>& runner, const JobCase& c, const JobShape& job) {
  constexpr int runs = 3;
  runner.prepare(c, job);
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) times.push_back(runner.run().host.count());
  return median(times);
}

}  // namespace

std::optional<Measured<Jobs>> measure_job(Runner<Jobs>& runner, Schedule& schedule, const JobCase& c, const JobShape& job,
                                       std::uint64_t& number, const std::function<bool()>& interrupted) {
  const Seconds begin = steady_clock().now();
  Measured<Jobs> measured;
  measured.point.axes = job;
  runner.prepare(c, job);
  schedule.begin(job.bytes_in + job.bytes_out + job.kernel_bytes, 1);

  int voids = 0;
  const auto run = [&](std::uint64_t) -> std::optional<JobTimes> {
    JobTimes ran = runner.run();
    voids = ran.voided ? voids + 1 : 0;
    if (voids == max_voids)
      throw Error(ErrorKind::failed, fmt::format("{}: the gate timed out {} times in a row", title(c), voids));
    if (ran.voided) return std::nullopt;
    return ran;
  };
  const auto keep = [&](const JobTimes& ran, std::uint64_t) {
    measured.samples.push_back(sample_of(ran, static_cast<std::uint32_t>(measured.samples.size()), number++));
  };
  const auto stop = run_trials(schedule, runner.clock(), interrupted, run, keep);
  if (!stop) return std::nullopt;
  measured.point.stop = *stop;
  end_point(measured, runner, begin);
  return measured;
}

std::uint64_t iterations_for(Runner<Jobs>& runner, const JobCase& c, const JobShape& job, double ratio) {
  if (c.workload == Workload::none) throw Error(ErrorKind::usage, "a workload is needed to choose its iterations");
  JobCase copies = c, kernel = c;
  copies.workload = Workload::none;
  copies.gating = kernel.gating = Gating::open;
  copies.pool = kernel.pool = StreamPool::pooled;
  JobShape unsplit = job;
  unsplit.chunks = unsplit.streams = 1;
  JobShape only_copies = unsplit, only_kernel = unsplit;
  only_copies.kernel_bytes = 0;
  only_copies.iterations = 0;
  only_kernel.bytes_in = only_kernel.bytes_out = 0;
  const double wanted = ratio * median_seconds(runner, copies, only_copies);

  // Doubling until the kernel takes at least half of what is wanted; then a straight line through the last and 1.
  only_kernel.iterations = 1;
  const double first = median_seconds(runner, kernel, only_kernel);
  if (first >= wanted) return 1;
  std::uint64_t iterations = 1;
  double time = first;
  while (time < wanted / 2 && iterations < 500'000) {
    const double grow = std::clamp(wanted / time, 2.0, 16.0);
    iterations = static_cast<std::uint64_t>(static_cast<double>(iterations) * grow);
    only_kernel.iterations = iterations;
    time = median_seconds(runner, kernel, only_kernel);
  }
  if (iterations == 1 || time <= first) return iterations;
  const double each = (time - first) / static_cast<double>(iterations - 1);
  return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::llround(1 + (wanted - first) / each)), 1, 1'000'000);
}

}  // namespace npgpu
