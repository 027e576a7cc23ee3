#include <fmt/format.h>

#include "npgpu/error.hpp"
#include "npgpu/probe.hpp"

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

  for (;;) {
    if (interrupted && interrupted()) return std::nullopt;
    const Schedule::Step step = schedule.next();
    if (step.kind == Schedule::Step::Kind::stop) {
      measured.point.stop = step.why;
      break;
    }
    const Seconds before = kernel.clock().now();
    const Ran ran = kernel.run(step.repeats);
    schedule.record(ran.device.value_or(ran.host), kernel.clock().now() - before);
    if (step.kind != Schedule::Step::Kind::trial) continue;
    measured.samples.push_back(sample_of(ran, static_cast<std::uint32_t>(measured.samples.size()), step.repeats));
    if (shape.alone && ran.most_on_unit > 1 && measured.mismatch.empty())
      measured.mismatch = fmt::format("{} blocks ran on one unit, which were to be alone", ran.most_on_unit);
  }
  if (measured.samples.empty()) throw Error(ErrorKind::failed, "the schedule asked for no trial");

  const auto wrong = kernel.intact();
  measured.samples.back().intact = wrong ? 0 : 1;
  if (wrong) measured.mismatch = *wrong;
  measured.point.telemetry = kernel.telemetry();
  measured.point.wall_us = microseconds(steady_clock().now() - begin);
  return measured;
}

}  // namespace npgpu
