#include "probes/runner.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "npgpu/vocabulary/questions.hpp"
#include "npgpu/vocabulary/units.hpp"

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

Limit limit_of_banks(const Layout& l) {
  return {128.0 * l.units * l.clock_mhz * 1e6,
          "32 banks of 4 bytes a cycle (CUDA C++ Programming Guide) * multiprocessors * highest clock"};
}

std::vector<ProbeCase> DescribedProbe::questions(const std::string& device) const {
  return it_.cases ? it_.cases(device) : description_of(name()).cases(device);
}

std::vector<ProbeCase> DescribedProbe::cases(const std::string& device) const {
  auto all = questions(device);
  std::erase_if(all, [&](const ProbeCase& c) { return refuses_case(c).has_value(); });
  return all;
}

std::optional<std::string> DescribedProbe::refuses_case(const ProbeCase& c) const {
  if (auto why = why_not_there(c.device)) return why;
  if (auto why = it_.refuses_case ? it_.refuses_case(c) : std::nullopt) return why;
  if (const auto all = questions(c.device); std::ranges::find(all, c) == all.end())
    return description_of(name()).there_are;
  return it_.lacks ? it_.lacks(c) : std::nullopt;
}

std::optional<std::string> DescribedProbe::refuses_shape(const ProbeCase& c, const Shape& shape) const {
  if (auto why = it_.any_grid ? std::nullopt : why_no_grid(c, shape)) return why;
  const ProbeDescription& described = description_of(name());
  if (auto why = described.refuses ? described.refuses(c, shape) : std::nullopt) return why;
  return it_.refuses ? it_.refuses(c, shape) : std::nullopt;
}

std::vector<Shape> DescribedProbe::taken(const ProbeCase& c, std::vector<Shape> all) const {
  std::erase_if(all, [&](const Shape& shape) { return refuses_shape(c, shape).has_value(); });
  return all;
}

std::vector<Shape> DescribedProbe::shapes(const ProbeCase& c) const {
  if (refuses_case(c)) return {};
  return taken(c, (it_.shapes ? it_.shapes : description_of(name()).shapes)(c, layout_for_shapes(c)));
}

std::vector<Shape> DescribedProbe::default_shapes(const ProbeCase& c) const {
  const auto usual = it_.usual_shapes ? it_.usual_shapes : description_of(name()).usual_shapes;
  if (!usual || refuses_case(c)) return shapes(c);
  return taken(c, usual(c, layout_for_shapes(c)));
}

bool DescribedProbe::takes_operands(const ProbeCase& c, Operands operands) const {
  return it_.takes ? it_.takes(c, operands) : operands == Operands::usual;
}

ProbeContext DescribedProbe::context(const ProbeCase& c) const {
  const Layout its = layout(c);
  return {its, it_.limit ? it_.limit(c, its) : Limit{not_measured, description_of(name()).no_limit},
          it_.library ? it_.library(c) : std::string()};
}

MemoryNeed DescribedProbe::needs(std::span<const ProbeStep> steps) const {
  return it_.needs ? it_.needs(steps) : needs_of_sets(steps);
}

MemoryNeed DescribedProbe::needs_of_sets(std::span<const ProbeStep> steps) const { return {0, max_bytes_of(steps)}; }

std::optional<std::string> wrong_word(
    const std::vector<std::uint32_t>& found, const Shape& shape, std::uint64_t repeats,
    const std::function<std::uint32_t(std::uint32_t block, std::uint32_t thread)>& expected) {
  for (std::uint32_t block = 0, i = 0; block < shape.blocks; ++block)
    for (std::uint32_t thread = 0; thread < shape.threads; ++thread, ++i)
      if (const std::uint32_t right = expected(block, thread); found[i] != right)
        return fmt::format("thread {} of block {} left {}, not the {} of {} repeats", thread, block, found[i], right,
                           repeats);
  return std::nullopt;
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
