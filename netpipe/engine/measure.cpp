#include <algorithm>

#include "netpipe/engine/trial.hpp"
#include "npgpu/runner.hpp"
#include "npgpu/statistics.hpp"
#include "npgpu/error.hpp"

namespace npgpu {

namespace {

constexpr int max_voids = 3;  // gates that time out in a row before the point is given up

std::uint64_t max_repeats(const TransferCase& c, std::span<Channel* const> channels) {
  if (c.timing != Timing::gated) return 0;
  std::uint64_t most = UINT64_MAX;
  for (Channel* channel : channels)
    if (DeviceTimer* timer = channel->timer()) most = std::min(most, timer->gate_capacity());
  // Both lanes, or both legs of a round trip, share what fits behind a gate.
  const std::uint64_t operations = c.pattern == Pattern::stream ? 1 : 2;
  return std::max<std::uint64_t>(1, most / operations);
}

Seconds timed(const Trial& trial) {
  Seconds longest{0};
  for (const LaneTime& lane : trial.lanes) longest = std::max(longest, lane.device.value_or(lane.host));
  return longest;
}

void keep(std::vector<TransferSample>& samples, const Trial& trial, std::uint32_t number, std::uint64_t repeats) {
  for (std::uint32_t lane = 0; lane < trial.lanes.size(); ++lane) {
    const LaneTime& time = trial.lanes[lane];
    TransferSample sample;
    sample.trial = number;
    sample.lane = lane;
    sample.repeats = repeats;
    sample.host_us = microseconds(time.host);
    if (time.device) sample.device_us = microseconds(*time.device);
    samples.push_back(sample);
  }
}

}  // namespace

std::vector<TransferCase> lanes(const TransferCase& c) {
  if (c.pattern != Pattern::duplex) return {c};
  TransferCase other = c;
  other.direction = reversed(c.direction);
  return {c, other};
}

void warm_up(const TransferCase& c, std::span<Channel* const> channels, std::uint64_t bytes, Seconds duration) {
  const Clock& clock = channels[0]->clock();
  const std::uint64_t cap = max_repeats(c, channels);
  for (Channel* channel : channels) channel->prepare(bytes);
  const Seconds begin = clock.now();
  std::uint64_t repeats = 1;
  for (Seconds before = begin, now = begin; now - begin < duration; before = now) {
    run_trial(c, channels, repeats);
    now = clock.now();
    // Trials of about a millisecond, whatever the copy takes.
    if (now - before < Seconds{0.001}) repeats = cap ? std::min(repeats * 2, cap) : repeats * 2;
  }
}

std::optional<Measured<Transfers>> measure_point(const TransferCase& c, std::span<Channel* const> channels, Schedule& schedule,
                                           std::uint64_t bytes, const std::function<bool()>& interrupted) {
  const Seconds begin = steady_clock().now();
  const Clock& clock = channels[0]->clock();
  Measured<Transfers> measured;
  measured.point.bytes = bytes;
  for (Channel* channel : channels) channel->prepare(bytes);
  schedule.begin(bytes, max_repeats(c, channels));

  std::uint32_t trials = 0;
  int voids = 0;
  for (;;) {
    if (interrupted && interrupted()) return std::nullopt;
    const Schedule::Step step = schedule.next();
    if (step.kind == Schedule::Step::Kind::stop) {
      measured.point.stop = step.why;
      break;
    }
    const Seconds before = clock.now();
    const Trial trial = run_trial(c, channels, step.repeats);
    const Seconds spent = clock.now() - before;
    if (trial.voided) {
      if (++voids == max_voids)
        throw Error(ErrorKind::failed, title(c) + ": the gate timed out " + std::to_string(voids) +
                                           " times in a row at " + std::to_string(bytes) +
                                           " bytes: use --timing event or host");
      continue;
    }
    voids = 0;
    schedule.record(timed(trial), spent);
    if (step.kind == Schedule::Step::Kind::trial) keep(measured.samples, trial, trials++, step.repeats);
  }

  const bool went_back = c.pattern == Pattern::pingpong;
  const std::size_t last = measured.samples.size() - channels.size();
  for (std::size_t lane = 0; lane < channels.size(); ++lane) {
    const auto wrong = channels[lane]->intact(went_back);
    measured.samples[last + lane].intact = wrong ? 0 : 1;
    if (wrong && measured.mismatch.empty()) measured.mismatch = *wrong;
  }
  measured.point.telemetry = channels[0]->telemetry();
  measured.point.wall_us = microseconds(steady_clock().now() - begin);
  return measured;
}

}  // namespace npgpu
