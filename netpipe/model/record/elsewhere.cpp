// A recorded step on another model of device. Its copies take what they take there. Bytes and operations of its kernels
// are not in a recording: they take as much longer as one of the rates that bound kernels is lower there, whichever.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netpipe/model/record/several_streams.hpp"

namespace npgpu {

namespace {

// Times there over times here.
struct TimesLonger {
  double arithmetic, memory_rate, memory_latency, operation_latency;
  double least, most;

  TimesLonger(const DeviceModel& here, const DeviceModel& there) {
    const auto over = [&](auto of) { return of(there) / of(here); };
    const auto clock = [](const DeviceModel& d) { return d.at("shader_clock_mhz"); };
    arithmetic = 1 / over([&](const DeviceModel& d) { return d.at("lanes") * d.at("sms") * clock(d); });
    memory_rate = 1 / over([](const DeviceModel& d) { return d.at("memory_gb_s"); });
    memory_latency = over([&](const DeviceModel& d) { return d.at("memory_latency_cycles") / clock(d); });
    operation_latency = over([&](const DeviceModel& d) { return d.at("fma_latency_cycles") / clock(d); });
    least = most = memory_rate;
    for (const double one : {arithmetic, memory_latency, operation_latency})
      least = std::fmin(least, one), most = std::fmax(most, one);
  }
  bool are_known() const { return arithmetic > 0 && memory_rate > 0 && std::isfinite(arithmetic * memory_rate); }
  std::string text() const {
    std::string all = fmt::format("arithmetic {:.2f}, the memory's rate {:.2f}", arithmetic, memory_rate);
    if (memory_latency > 0) all += fmt::format(", its latency {:.2f}", memory_latency);
    if (operation_latency > 0) all += fmt::format(", the latency of an operation {:.2f}", operation_latency);
    return all;
  }
};

// `longer`: of a kernel without what an empty one takes.
AppStep moved(AppStep step, const MeasuredCosts& here, const MeasuredCosts& there, double longer, double memory,
              std::span<const AppKernelCount> counts) {
  const double empty_here = here.at("empty_kernel_us", 0), empty_there = there.at("empty_kernel_us", empty_here);
  for (StepItem& item : step.items) {
    const auto bytes = static_cast<double>(item.shape.bytes);
    const CopyWay way = way_of(item);
    double factor = memory, added = 0;  // of copies within the device, and memsets
    if (const auto count = counts_of(item, counts)) {
      factor = likely_time(there, *count) / likely_time(here, *count);
    } else if (item.activity == Activity::kernel) {
      const double of_launch = std::fmin(empty_here, item.device_us);
      factor = longer, added = of_launch * (empty_here > 0 ? empty_there / empty_here : 1) - of_launch * longer;
    } else if (is_pageable_copy(item)) {
      factor = 1;
    } else if (way == CopyWay::to_device) {
      factor = there.costs.copy_h2d(bytes) / here.costs.copy_h2d(bytes);
    } else if (way == CopyWay::to_host) {
      factor = there.costs.copy_d2h(bytes) / here.costs.copy_d2h(bytes);
    }
    for (double StepItem::*us : {&StepItem::device_us, &StepItem::shortest_us, &StepItem::longest_us})
      item.*us = std::fmax(0, item.*us * factor + added);
  }
  step.device.clear();
  step.device_name = there.device_name;
  return step;
}

}  // namespace

bool is_of_model(const MeasuredCosts& costs, std::string_view name) {
  // A spec may go without the vendor's name.
  const std::string vendor = "NVIDIA ";
  return costs.device_name.empty() || name.empty() || costs.device_name == name || vendor + costs.device_name == name ||
         costs.device_name == vendor + std::string(name);
}

AppForecast forecast_elsewhere(const AppStep& step, const MeasuredCosts& here, const MeasuredCosts& there,
                               std::span<const AppKernelCount> counts) {
  const TimesLonger longer(here, there);
  if (!longer.are_known()) {
    AppForecast of = forecast(step, there, counts);
    of.notes.emplace_back("rates of kernels are not known of both: npgpu probe measures them");
    return of;
  }
  const double off_by = played_us(step) / step.time_us.value - 1;
  const auto on_other = [&](double kernels_longer) {
    AppStep other = moved(step, here, there, kernels_longer, longer.memory_rate, counts);
    const double now = played_us(other) / (1 + off_by) / step.time_us.value;
    for (double* us :
         {&other.time_us.value, &other.time_us.low, &other.time_us.high, &other.shortest_us, &other.longest_us})
      *us *= now;
    return other;
  };
  const double middle = std::sqrt(longer.least * longer.most);
  const AppStep likely = on_other(middle), best = on_other(longer.least), worst = on_other(longer.most);
  AppForecast of = forecast_of(likely, there, counts, true);
  const AppForecast of_best = forecast_of(best, there, {}, true), of_worst = forecast_of(worst, there, {}, true);
  std::erase_if(of.advice, [&](AppAdvice& one) {
    for (const AppForecast* const end : {&of_best, &of_worst}) {
      const auto same = std::ranges::find(end->advice, one.change, &AppAdvice::change);
      if (same == end->advice.end()) return true;
      one.times.low = std::fmin(one.times.low, same->times.low);
      one.times.high = std::fmax(one.times.high, same->times.high);
    }
    return false;
  });
  const double error = error_of_change(step, off_by);
  AppElsewhere& other = of.elsewhere.emplace();
  other.step_us = {likely.time_us.value, best.time_us.value / (1 + error), worst.time_us.value * (1 + error), "us",
                   "the step played with the other device's copies and kernels"};
  other.times = {step.time_us.value / other.step_us.value, step.time_us.value / other.step_us.high,
                 step.time_us.value / other.step_us.low, "1", "the measured step over the one there"};
  other.kernels_longer = {middle, longer.least, longer.most, "1", longer.text()};
  of.notes.push_back(fmt::format(
      "kernels{} take {:.2f} to {:.2f} times as long on {}: {}. Which of these bounds a kernel is not in a "
      "recording; fp64, tensor cores and caches are not looked at",
      counts.empty() ? "" : " that were not counted", longer.least, longer.most, there.device_name, longer.text()));
  of.notes.emplace_back("the host, and so calls and pageable copies, is taken to be as fast as the recorded one");
  return of;
}

}  // namespace npgpu
