#include "probes/runner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "npgpu/error.hpp"

namespace npgpu {

std::uint64_t max_bytes_of(std::span<const ProbeStep> steps) {
  std::uint64_t bytes = 0;
  for (const ProbeStep& step : steps) bytes = std::max(bytes, step.axes.bytes);
  return bytes;
}

ProbeRunner::ProbeRunner(const Probe& probe, std::span<const ProbeStep> steps)
    : probe_(probe), max_bytes_(max_bytes_of(steps)) {
  if (steps.empty()) throw Error(ErrorKind::usage, "no shape to probe");
  step_.question = steps.front().question;
  for (const ProbeStep& step : steps)
    if (const auto why = probe.refuses_case(step.question))
      throw Error(ErrorKind::usage, title(step.question) + ": " + *why);
}

void ProbeRunner::prepare(const ProbeStep& step) {
  if (const auto why = probe_.refuses(step)) throw Error(ErrorKind::usage, "--shape: " + *why);
  if (step.axes.bytes > max_bytes_)
    throw Error(ErrorKind::usage, fmt::format("--shape: a working set of {} bytes, but the runner was opened for {}",
                                              step.axes.bytes, max_bytes_));
  step_ = step;
  ran_ = false;
  max_blocks_on_unit_ = 0;
  set_up();
}

bool ProbeRunner::run(std::uint64_t repeats, std::vector<ProbeSample>& samples) {
  if (repeats < 1) throw Error(ErrorKind::usage, title(question()) + ": at least 1 repeat");
  ProbeSample& sample = samples.emplace_back(launch(repeats));
  sample.repeats = repeats;
  max_blocks_on_unit_ = std::max(max_blocks_on_unit_, sample.max_blocks_on_unit);
  ran_ = true;
  return true;
}

std::optional<std::string> ProbeRunner::check(std::span<ProbeSample> last_trial) {
  auto wrong = ran_ ? wrong_result() : "nothing has run since this shape was prepared";
  for (ProbeSample& sample : last_trial) sample.intact = wrong ? 0 : 1;
  if (!wrong && shape().one_block_per_sm && max_blocks_on_unit_ > 1)
    wrong = fmt::format("{} blocks ran on one unit, and each was to have one to itself", max_blocks_on_unit_);
  return wrong;
}

}  // namespace npgpu
