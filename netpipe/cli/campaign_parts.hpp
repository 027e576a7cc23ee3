// What a campaign does alike for transfers, probes and jobs in streams.
#pragma once

#include <cstdint>

#include "npgpu/device.hpp"
#include "npgpu/runner.hpp"
#include "npgpu/statistics.hpp"
#include "npgpu/units.hpp"

namespace npgpu::cli {

// What a device does before its first point. On an H200 that had rested, copies of 64 B took 7 % less time in the first
// 60 ms than ever after: what a program in full swing sees is the later figure.
constexpr Seconds warm_up_time{0.15};

// A sweep as its trace will have it, without points and without what only its kind has.
template <class S, class Question>
S begun(const Question& question, const DeviceInfo& device, const Schedule& schedule) {
  S header;
  header.question = question;
  header.schedule = schedule.text();
  header.device_uuid = device.uuid;
  header.device_name = device.name;
  header.simulated = device.simulated;
  return header;
}

// The same with one point, for telling how it went.
template <class S, class Measured>
S of_one_point(const S& header, const Measured& measured) {
  S one = header;
  one.points = {measured.point};
  one.points[0].first_sample = 0;
  one.points[0].samples = static_cast<std::uint32_t>(measured.samples.size());
  one.samples = measured.samples;
  for (auto& sample : one.samples) sample.point = 0;
  return one;
}

}  // namespace npgpu::cli
