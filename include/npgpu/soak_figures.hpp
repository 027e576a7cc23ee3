// What a trace says of a soak: what each load did from its begin to its end, and what the device said meanwhile.
//
// Example:
//   const auto devices = npgpu::soak_devices(npgpu::read_trace("node.h5"));  // of npgpu check --soak 10min
//   std::cout << devices.size() << " devices were soaked\n";
//   for (const auto& d : devices) std::cout << d.id << ' ' << d.loads.size() << " loads\n";
#pragma once

#include <string>
#include <vector>

#include "npgpu/statistics.hpp"
#include "npgpu/trace.hpp"

namespace npgpu {

// One load by itself, or one part of several at once.
struct SoakFigure {
  SoakCase question{};
  SoakLoad part{};
  std::size_t slices = 0;
  // Medians of the first third of its slices and of the last one, per second; NaN where no slice has a rate.
  Estimate begin{}, end{};
  double lowest = not_measured;  // of a slice
  // How much the end is above the begin, as a share, with the interval of the difference of their logarithms
  // (median_difference); no interval of fewer than two slices in a third.
  Estimate change{};
  double clock_mhz = not_measured, power_w = not_measured;  // means over slices
  double temperature_c = not_measured;                      // highest
  double compared = not_measured;                           // share of the work whose results were compared
  std::uint64_t mismatches = 0;
  double last_third_s = not_measured;  // of the soak, when its last third began
  std::vector<SoakSample> samples{};   // in order of time
  std::vector<double> rates{};         // of these, those that have one

  bool is_together() const { return question.load == SoakLoad::together; }
  std::string name() const;  // "tensor", "peer to cuda:1", "tensor, together"
};

struct SoakDevice {
  std::string id{}, name{}, uuid{};
  bool simulated = false;
  double elapsed_s = 0;  // when its last slice began, and that slice
  std::vector<SoakFigure> loads{};
  // Reasons that take clocks away, each with when it was first read and in how many slices it was.
  struct Throttle {
    std::uint64_t reason = 0;  // one bit
    double at_s = not_measured;
    double last_s = not_measured;
    std::size_t slices = 0;
  };
  std::vector<Throttle> throttles{};
  std::size_t slices = 0;
  double temperature_c = not_measured;  // median over the second half of its slices
  double highest_c = not_measured;
  std::vector<SoakSample> words{};    // that memory tests found wrong
  std::vector<std::string> errors{};  // of its series
};
// In the order of the trace's series; empty of a trace without a soak.
std::vector<SoakDevice> soak_devices(const Trace&);

// "too hot, power cap": reasons that take clocks away.
std::string throttle_text(std::uint64_t reasons);
// Operations or bytes per second of one slice; NaN where it has none.
double rate_of(const SoakSample&);
// "4 min 2 s", "12 s", "1 h 3 min".
std::string soak_time_text(double seconds);

}  // namespace npgpu
