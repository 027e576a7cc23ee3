#include "netpipe/jobs/runner.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "npgpu/error.hpp"
#include "npgpu/statistics.hpp"

namespace npgpu {

namespace {

JobShape unsplit(JobShape job) {
  job.chunks = job.streams = 1;
  job.iterations = 0;
  return job;
}

}  // namespace

const Backend<Jobs>& find_job_backend(const std::string& device) {
  (void)devices::find(device);
  std::vector<std::string_view> kinds;
  for (const auto& backend : job_backends()) {
    if (backend->device_kind() == devices::kind_of(device)) return *backend;
    kinds.push_back(backend->device_kind());
  }
  throw Error(ErrorKind::usage, fmt::format("--device: '{}' has no streams; jobs run on devices of kind {}", device,
                                            fmt::join(kinds, ", ")));
}

void JobRunner::prepare(const JobStep& step) {
  if (step.axes.kernel_ratio > 0)
    throw Error(ErrorKind::usage, title(step.question) + ": the iterations of its kernel have not been chosen");
  PipelineRunner::prepare(step);
}

JobStep JobRunner::settled(const JobStep& step, std::span<const JobShape> known) {
  JobStep settled = step;
  const double ratio = std::exchange(settled.axes.kernel_ratio, 0);
  if (!(ratio > 0)) return settled;
  JobStep workload{step.question, unsplit(settled.axes)};
  workload.question.issue = Issuing::streams;  // the same kernel whichever way it is issued
  auto found = iterations_.find(workload);
  if (found == iterations_.end()) {
    std::uint64_t chosen = 0;
    for (const JobShape& job : known)
      if (unsplit(job) == workload.axes) chosen = job.iterations;
    if (!chosen) chosen = iterations_for(workload, ratio);
    found = iterations_.emplace(workload, chosen).first;
  }
  settled.axes.iterations = found->second;
  return settled;
}

double JobRunner::median_us(const JobStep& step) {
  constexpr int runs = 3;
  prepare(step);
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) times.push_back(launch().value().host_us);
  return median(times);
}

std::uint64_t JobRunner::iterations_for(const JobStep& unsplit, double ratio) {
  if (unsplit.question.workload == Workload::none)
    throw Error(ErrorKind::usage, "a workload is needed to choose its iterations");
  JobStep copies = unsplit, kernel = unsplit;
  copies.question.workload = Workload::none;
  copies.question.gating = kernel.question.gating = Gating::open;
  copies.question.pool = kernel.question.pool = StreamPool::pooled;
  copies.axes.kernel_bytes = 0;
  kernel.axes.bytes_in = kernel.axes.bytes_out = 0;
  const double wanted = ratio * median_us(copies);

  // The iterations grow until the kernel takes at least half of what is wanted; then a straight line through the last
  // and the first.
  constexpr std::uint64_t enough = 500'000, most = 1'000'000;
  std::uint64_t iterations = kernel.axes.iterations = 1;
  const double first = median_us(kernel);
  if (first >= wanted) return 1;
  double time = first;
  while (time < wanted / 2 && iterations < enough) {
    const double grow = std::clamp(wanted / time, 2.0, 16.0);
    iterations = std::min(static_cast<std::uint64_t>(static_cast<double>(iterations) * grow), most);
    kernel.axes.iterations = iterations;
    time = median_us(kernel);
  }
  if (iterations == 1 || time <= first) return iterations;
  const double each = (time - first) / static_cast<double>(iterations - 1);
  return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::llround(1 + (wanted - first) / each)), 1, most);
}

}  // namespace npgpu
