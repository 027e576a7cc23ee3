#include "probes/runner.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "npgpu/error.hpp"
#include "npgpu/probe_description.hpp"

namespace npgpu {

const Probe& find_probe(std::string_view name, const std::string& device) {
  std::set<std::string_view> names, kinds;
  for (const auto& probe : probes()) {
    names.insert(probe->name());
    if (probe->name() == name) kinds.insert(probe->device_kind());
  }
  if (kinds.empty())
    throw Error(ErrorKind::usage, fmt::format("'{}' is no probe; there are {}", name, fmt::join(names, ", ")));
  (void)devices::find(device);
  for (const auto& probe : probes())
    if (probe->name() == name && probe->device_kind() == devices::kind_of(device)) return *probe;
  throw Error(ErrorKind::usage,
              fmt::format("--device: probe {} has nothing for '{}'; it has {}", name, device, fmt::join(kinds, ", ")));
}

std::string_view summary_of(std::string_view probe) { return description_of(probe).summary; }

std::optional<std::string> refuses_gpu_bandwidth(const ProbeCase& c) {
  if (c.operation < Operation::rmw || c.operation > Operation::triad)
    return "probe bandwidth has the operations rmw, read, write, copy and triad";
  if (c.space != Space::global) return "probe bandwidth works in global memory only";
  if (c.type != DataType::fp32) return "probe bandwidth moves words of 4 bytes, as fp32";
  if (c.form == Form::dependent && c.operation != Operation::rmw && c.operation != Operation::read)
    return "only rmw and read have a dependent form, where a step's address comes from what the last one loaded";
  return std::nullopt;
}

std::optional<std::string> refuses_gpu_compute(const ProbeCase& c) {
  if (c.operation != Operation::fma) return "probe compute has the operation fma only";
  if (c.space != Space::registers) return "probe compute works in registers only";
  if (c.form != Form::streaming) return "probe compute has no dependent form: a shape with ilp 1 is one";
  return std::nullopt;
}

std::vector<ProbeCase> bandwidth_cases(const std::string& device, DataType type, Space space,
                                       std::initializer_list<Operation> dependent) {
  std::vector<ProbeCase> all;
  const auto add = [&](Operation op, Form form) { all.push_back({"bandwidth", device, op, type, form, space}); };
  for (const Operation op : {Operation::rmw, Operation::read, Operation::write, Operation::copy, Operation::triad})
    add(op, Form::streaming);
  for (const Operation op : dependent) add(op, Form::dependent);
  return all;
}

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
  return !timed_out();
}

std::optional<std::string> ProbeRunner::check(std::span<ProbeSample> last_trial) {
  auto wrong = ran_ ? wrong_result() : "nothing has run since this shape was prepared";
  for (ProbeSample& sample : last_trial) sample.intact = wrong ? 0 : 1;
  if (!wrong && shape().one_block_per_sm && max_blocks_on_unit_ > 1)
    wrong = fmt::format("{} blocks ran on one unit, and each was to have one to itself", max_blocks_on_unit_);
  return wrong;
}

}  // namespace npgpu
