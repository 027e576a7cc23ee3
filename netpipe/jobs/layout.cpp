#include "netpipe/jobs/layout.hpp"

#include <fmt/format.h>

#include <utility>

#include "npgpu/error.hpp"

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

}  // namespace npgpu
