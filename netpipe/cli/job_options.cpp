#include "netpipe/cli/job_options.hpp"

#include <fmt/format.h>

#include "netpipe/cli/quantity.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

Job parse_job(const Options& options) {
  constexpr double day_ms = 86400e3;
  Job job;
  if (const auto text = options.maybe("bytes-in")) job.in_bytes = parse_size("bytes-in", *text);
  if (const auto text = options.maybe("bytes-out")) job.out_bytes = parse_size("bytes-out", *text);
  if (const auto text = options.maybe("kernel-ms"))
    job.kernel = Seconds{parse_number("kernel-ms", *text, 0, day_ms) * 1e-3};
  if (const auto text = options.maybe("blocks")) job.blocks = parse_count("blocks", *text, 1, 1ull << 40);
  return job;
}

MeasuredCosts costs_of_trace(const Trace& trace, const std::string& path, const std::optional<std::string>& device) {
  const auto all = stream_costs(trace);
  if (all.empty())
    throw Error(ErrorKind::usage,
                path + " holds no jobs: npgpu streams --experiment overheads measures what streams cost");
  std::string ids;
  const MeasuredCosts* chosen = nullptr;
  for (const MeasuredCosts& one : all) {
    ids += (ids.empty() ? "" : ", ") + one.device;
    if (!device || one.device == *device) chosen = &one;
  }
  if (!chosen)
    throw Error(ErrorKind::usage,
                fmt::format("--device: {} has no jobs of '{}'; it has those of {}", path, *device, ids));
  if (!device && all.size() > 1)
    throw Error(ErrorKind::usage, fmt::format("--device: {} has jobs of {}: name one", path, ids));
  if (!chosen->usable)
    throw Error(ErrorKind::usage,
                fmt::format("{} does not hold what streams cost on {}: it lacks {}", path, chosen->device,
                            chosen->missing.empty() ? "everything" : chosen->missing.front()));
  return *chosen;
}

}  // namespace npgpu::cli
