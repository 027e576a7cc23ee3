#include "netpipe/jobs/runner.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "npgpu/model/statistics.hpp"

namespace npgpu {

JobLayout layout_of(Order order, const JobShape& job) {
  constexpr std::uint64_t line = 128;
  const auto up = [](std::uint64_t bytes) { return padded(bytes, line); };
  JobLayout layout;
  for (std::uint32_t c = 0; c < job.chunks; ++c) {
    ChunkPlaces p;
    p.in = piece_of(job.bytes_in, job.chunks, c);
    p.work = piece_of(job.kernel_bytes, job.chunks, c);
    p.out = piece_of(job.bytes_out, job.chunks, c);
    if (order == Order::independent) {
      p.in_at = p.in.first;
      p.work_at = up(job.bytes_in) + p.work.first;
      p.out_at = up(job.bytes_in) + up(job.kernel_bytes) + p.out.first;
    } else {
      p.in_at = p.work_at = p.out_at = layout.device_bytes;
      layout.device_bytes += up(std::max({p.in.bytes, p.work.bytes, p.out.bytes}));
    }
    layout.chunks.push_back(p);
  }
  if (order == Order::independent) layout.device_bytes = up(job.bytes_in) + up(job.kernel_bytes) + up(job.bytes_out);
  return layout;
}

void LaidOutJob::take(const JobStep& step) {
  const auto& [question, job] = step;
  JobLayout layout = layout_of(question.order, job);
  if (job.bytes_in > sizes_.in || job.bytes_out > sizes_.out || layout.device_bytes > sizes_.device ||
      (question.workload == Workload::memory && !sizes_.scratch))
    throw Error(ErrorKind::usage, title(question) + ": the runner was opened for smaller jobs");
  case_ = question;
  job_ = job;
  layout_ = std::move(layout);
}

const RunWords& LaidOutJob::next_run() {
  ++now_.number;
  now_.factor = 2 * now_.number + 1;
  now_.start += stride() * static_cast<std::uint32_t>(job_.iterations);
  return now_;
}

std::vector<Left> LaidOutJob::left() const {
  std::vector<Left> all;
  for (std::uint32_t c = 0; c < job_.chunks; ++c) {
    const ChunkPlaces& p = layout_.chunks[c];
    const std::string chunk = fmt::format("chunk {} of {}", c, job_.chunks), output = "output of " + chunk + " on the ";
    if (case_.order == Order::independent) {
      all.push_back({false, p.in_at, p.in.bytes, p.in_at, &p, nullptr, "input of " + chunk + " on the device"});
      all.push_back({false, p.work_at, p.work.bytes, p.work_at, nullptr, &p, "the kernel's part of " + chunk});
      all.push_back({false, p.out_at, p.out.bytes, p.out_at, nullptr, nullptr, output + "device"});
      all.push_back({true, p.out.first, p.out.bytes, p.out_at, nullptr, nullptr, output + "host"});
    } else {
      const std::uint64_t longest = std::max({p.in.bytes, p.work.bytes, p.out.bytes});
      all.push_back({false, p.in_at, longest, p.in_at, &p, &p, chunk + " on the device"});
      all.push_back({true, p.out.first, p.out.bytes, p.in_at, &p, &p, output + "host"});
    }
  }
  return all;
}

std::string LaidOutJob::wrong_text(const Left& one, std::uint32_t word) {
  return fmt::format("{}: word {} is not what the job leaves", one.what, word);
}

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
  workload.question.pool = StreamPool::pooled;
  std::map<double, std::uint64_t>& chosen = iterations_[workload];
  if (const auto found = chosen.find(ratio); found != chosen.end()) {
    settled.axes.iterations = found->second;
    return settled;
  }
  std::set<std::uint64_t> in_trace;  // those of the ratios that were chosen before are not this one's
  for (const JobShape& job : known)
    if (unsplit(job) == workload.axes) in_trace.insert(job.iterations);
  for (const auto& [other, iterations] : chosen) in_trace.erase(iterations);
  constexpr double near = 0.1;
  const bool is_only_one = in_trace.size() == 1 && chosen.empty();
  std::uint64_t iterations = is_only_one ? *in_trace.begin() : iterations_for(workload, ratio);
  const auto off = [wanted = static_cast<double>(iterations)](std::uint64_t one) {
    return std::abs(static_cast<double>(one) / wanted - 1);
  };
  if (const auto nearest = std::ranges::min_element(in_trace, {}, off);
      nearest != in_trace.end() && off(*nearest) <= near)
    iterations = *nearest;
  settled.axes.iterations = chosen[ratio] = iterations;
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
