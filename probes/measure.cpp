#include <fmt/format.h>

#include "npgpu/probe.hpp"
#include "probes/trials.hpp"

namespace npgpu {

namespace {

ProbeSample sample_of(const RunTimes& ran, std::uint32_t trial, std::uint64_t repeats) {
  ProbeSample sample;
  sample.trial = trial;
  sample.repeats = repeats;
  sample.host_us = microseconds(ran.host);
  if (ran.device) sample.device_us = microseconds(*ran.device);
  sample.cycles = ran.cycles;
  sample.units = ran.units;
  sample.max_blocks_on_unit = ran.max_blocks_on_unit;
  return sample;
}

}  // namespace

std::optional<Measured<Probes>> measure_shape(Runner<Probes>& kernel, Schedule& schedule, const Shape& shape,
                                           const std::function<bool()>& interrupted) {
  const Seconds begin = steady_clock().now();
  Measured<Probes> measured;
  measured.point.axes = shape;
  kernel.prepare(shape);
  measured.point.work = kernel.work();
  schedule.begin(shape.bytes, 0);

  const auto run = [&](std::uint64_t repeats) { return std::optional(kernel.run(repeats)); };
  const auto keep = [&](const RunTimes& ran, std::uint64_t repeats) {
    measured.samples.push_back(sample_of(ran, static_cast<std::uint32_t>(measured.samples.size()), repeats));
    if (shape.one_block_per_sm && ran.max_blocks_on_unit > 1 && measured.mismatch.empty())
      measured.mismatch = fmt::format("{} blocks ran on one unit, which were to be alone", ran.max_blocks_on_unit);
  };
  const auto stop = run_trials(schedule, kernel.clock(), interrupted, run, keep);
  if (!stop) return std::nullopt;
  measured.point.stop = *stop;
  end_point(measured, kernel, begin);
  return measured;
}

}  // namespace npgpu
