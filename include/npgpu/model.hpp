// The fit of a curve: latency, asymptotic rate, and the sizes where the curve bends. A pure function.
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");
//   for (const npgpu::TransferSeries& series : trace.of<npgpu::Transfers>()) {
//     if (lanes(series.question).size() > 1) continue;
//     const npgpu::CurveFit fit = npgpu::fit_curve(npgpu::results(series));
//     std::cout << title(series.question) << ": " << fit.latency_us.value << " us, " << fit.best_rate / 1e9
//               << " GB/s, half of it at " << fit.half_bytes << " bytes\n";
//   }
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "npgpu/result.hpp"
#include "npgpu/trace.hpp"

namespace npgpu {

// A curve of one lane in few numbers. NaN where the points do not carry it.
struct CurveFit {
  Estimate latency_us;                   // t0 of the fit time = t0 + bytes/rate
  Estimate rate;                         // asymptotic bytes per second of the same fit
  double worst_residual = not_measured;  // largest |fitted/measured - 1| over the fitted points
  double best_rate = not_measured;       // of the measured points, bytes per second
  std::uint64_t best_bytes = 0;
  double falls_by = not_measured;    // how far the rate of the largest size is below the best; 0.26: by 26 %
  double half_bytes = not_measured;  // n_1/2: size where the measured curve first reaches half of best_rate
                                     // (Hockney), interpolated between points
  double knee_bytes = not_measured;  // where the rate curve over log2(size) stands farthest above its chord
                                     // (Satopaa et al. 2011)
  double small_us = not_measured;    // NetPIPE's latency: mean one-way time of the ten smallest points, or of those
                                     // of them whose time is not mostly transfer
  // Why half_bytes, knee_bytes or small_us is NaN (an Estimate's method says it for itself), and where the rate falls.
  std::vector<std::string> notes;
};
// REQUIRES: all points are of the same lane.
CurveFit fit_curve(std::span<const TransferResult> one_lane);

}  // namespace npgpu
