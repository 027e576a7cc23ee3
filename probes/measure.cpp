#include <fmt/format.h>

#include "npgpu/probe.hpp"
#include "probes/trials.hpp"

namespace npgpu {

namespace {

ProbeSample sample_of(const Ran& ran, std::uint32_t trial, std::uint64_t repeats) {
  ProbeSample sample;
  sample.trial = trial;
  sample.repeats = repeats;
  sample.host_us = microseconds(ran.host);
  if (ran.device) sample.device_us = microseconds(*ran.device);
  sample.cycles = ran.cycles;
  sample.units = ran.units;
  sample.most_on_unit = ran.most_on_unit;
  return sample;
}

}  // namespace

std::optional<MeasuredShape> measure_shape(Kernel& kernel, Schedule& schedule, const Shape& shape,
                                           const std::function<bool()>& interrupted) {
  const Seconds begin = steady_clock().now();
  MeasuredShape measured;
  measured.point.shape = shape;
  kernel.prepare(shape);
  measured.point.work = kernel.work();
  schedule.begin(shape.bytes, 0);

  const auto run = [&](std::uint64_t repeats) { return std::optional(kernel.run(repeats)); };
  const auto keep = [&](const Ran& ran, std::uint64_t repeats) {
    measured.samples.push_back(sample_of(ran, static_cast<std::uint32_t>(measured.samples.size()), repeats));
    if (shape.alone && ran.most_on_unit > 1 && measured.mismatch.empty())
      measured.mismatch = fmt::format("{} blocks ran on one unit, which were to be alone", ran.most_on_unit);
  };
  const auto stop = run_trials(schedule, kernel.clock(), interrupted, run, keep);
  if (!stop) return std::nullopt;
  measured.point.stop = *stop;
  end_point(measured, kernel, begin);
  return measured;
}

}  // namespace npgpu
