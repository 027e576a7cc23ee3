#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netpipe/report/series_text.hpp"

namespace npgpu {

namespace {

constexpr double poor_fit = 0.25;     // a line that misses a point by more does not describe the curve
constexpr double worth_saying = 0.9;  // of the best rate: the rate of the largest size is said if it is below

// NetPIPE's figure (Allada et al. 2009): the shortest trial of a point, and the best rate that gives.
struct BestTrial {
  double rate = not_measured;
  std::uint64_t bytes = 0;
};
BestTrial best_trial(std::span<const TransferResult> points, std::size_t copies) {
  BestTrial best;
  for (const TransferResult& p : points) {
    if (!(p.min_us > 0)) continue;
    const double rate = static_cast<double>(copies * p.axes.bytes) / (p.min_us * 1e-6);
    if (!(rate <= best.rate)) best = {rate, p.axes.bytes};
  }
  return best;
}

std::string best_text(std::span<const TransferResult> points, const CurveFit& fit, std::size_t copies) {
  std::string text = fmt::format("{} at {}", rate_text(fit.best_rate), size_text(fit.best_bytes));
  for (const TransferResult& p : points)
    if (p.axes.bytes == fit.best_bytes && p.rate.value == fit.best_rate && p.percent_of_limit > 0)
      text += fmt::format(", {} % of the limit", percent_text(p.percent_of_limit));
  // A best rate out of a cache says nothing about larger sizes.
  const TransferResult& largest = points.back();
  if (largest.rate.value < worth_saying * fit.best_rate)
    text += fmt::format("; at the largest size, {}, {}", size_text(largest.axes.bytes), rate_text(largest.rate.value));
  const BestTrial trial = best_trial(points, copies);
  return text +
         fmt::format("; fastest trial (NetPIPE's figure) {} at {}", rate_text(trial.rate), size_text(trial.bytes));
}

// "5.310 us (5.200 .. 5.420)"
std::string latency_estimate(const Estimate& e) {
  std::string text = digits_text(e.value) + " us";
  if (std::isfinite(e.low)) text += fmt::format(" ({} .. {})", digits_text(e.low), digits_text(e.high));
  return text;
}

std::string rate_estimate(const Estimate& e) {
  std::string text = rate_text(e.value);
  if (!std::isfinite(e.low)) return text;
  std::string low = rate_text(e.low);
  const std::string high = rate_text(e.high);
  const std::string unit = high.substr(high.find(' '));
  if (low.ends_with(unit)) low.resize(low.size() - unit.size());  // said once
  return text + fmt::format(" ({} .. {})", low, high);
}

std::string fit_text(const CurveFit& fit) {
  const bool latency = std::isfinite(fit.latency_us.value);
  const bool rate = std::isfinite(fit.rate.value);
  if (!latency && !rate)
    return "none: " + fit.latency_us.method +
           (fit.rate.method == fit.latency_us.method ? "" : "; rate: " + fit.rate.method);
  std::string text = "time = ";
  if (latency) text += latency_estimate(fit.latency_us);
  if (latency && rate) text += " + ";
  if (rate) text += "bytes / " + rate_estimate(fit.rate);
  if (std::isfinite(fit.worst_residual)) {
    text += fmt::format(", off by at most {} %", percent_text(100 * fit.worst_residual));
    if (fit.worst_residual > poor_fit) text += ": one line does not describe this curve";
  } else {
    text += ", exactly through two sizes";
  }
  if (!latency) text += "; no latency: " + fit.latency_us.method;
  if (!rate) text += "; no rate: " + fit.rate.method;
  return text;
}

// The note that begins with `what`, without it.
std::string reason(const CurveFit& fit, std::string_view what) {
  for (const std::string& note : fit.notes)
    if (note.starts_with(what)) return "none: " + note.substr(what.size());
  return "none";
}

}  // namespace

void curve_text(Document& doc, std::span<const TransferResult> points, std::size_t copies, bool queued) {
  const CurveFit fit = fit_curve(points);
  if (!(fit.best_rate > 0)) return doc.labelled("curve", "none: no point has a rate");
  doc.labelled("best", best_text(points, fit, copies));

  std::string smallest = reason(fit, "no latency of the smallest sizes: ");
  if (std::isfinite(fit.small_us)) {
    std::vector<std::uint64_t> sizes;
    for (const TransferResult& p : points)
      if (p.rate.value > 0) sizes.push_back(p.axes.bytes);
    std::sort(sizes.begin(), sizes.end());
    const std::size_t n = std::min<std::size_t>(10, sizes.size());
    smallest = fmt::format("{}, mean of the {} smallest sizes, {} to {} ({})", time_text(fit.small_us), n,
                           size_text(sizes.front()), size_text(sizes[n - 1]),
                           queued ? "from copy to copy in a queue; no latency" : "NetPIPE's latency");
  }
  if (smallest == "none") smallest = "none: " + fit.latency_us.method;
  doc.labelled(queued ? "gap" : "latency", smallest);

  doc.labelled("N1/2", std::isfinite(fit.half_bytes)
                           ? about_size_text(fit.half_bytes) + ", where the rate first reaches half of the best"
                           : reason(fit, "no n_1/2: "));
  std::string knee = reason(fit, "no knee: ");
  if (std::isfinite(fit.knee_bytes)) {
    knee = "about " + about_size_text(fit.knee_bytes) + ": beyond it, larger copies gain little";
    const TransferResult& largest = points.back();
    if (largest.rate.value < worth_saying * fit.best_rate)
      knee += fmt::format(", and beyond {} the rate falls by {} %", size_text(fit.best_bytes),
                          percent_text(100 * (1 - largest.rate.value / fit.best_rate)));
  }
  doc.labelled("knee", knee);
  doc.labelled("fit", fit_text(fit));
}

}  // namespace npgpu
