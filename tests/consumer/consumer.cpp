#include <iostream>

#include "npgpu/closed_forms.hpp"
#include "npgpu/error.hpp"
#include "npgpu/model.hpp"
#include "npgpu/predict.hpp"
#include "npgpu/trace.hpp"

// Transfers and jobs: what the library lacks of either does not link.
int main(int, char** argv) {
  const npgpu::Trace trace = npgpu::read_trace(argv[1]);
  for (const npgpu::TransferSeries& series : trace.of<npgpu::Transfers>())
    std::cout << title(series.question) << ": " << npgpu::results(series).size() << " points\n";
  const npgpu::Job job{.in_bytes = 60 * npgpu::MiB, .out_bytes = 60 * npgpu::MiB, .kernel = npgpu::Seconds{1e-3}};
  const auto counts = npgpu::stream_counts(64);
  for (const npgpu::MeasuredCosts& costs : npgpu::stream_costs(trace)) {  // none where no jobs were measured
    if (!costs.usable) {
      std::cout << costs.device_name << ": " << (costs.missing.empty() ? "no costs" : costs.missing.front()) << '\n';
      continue;
    }
    const npgpu::Prediction best = forecast(job, costs, npgpu::Order::breadth_first, counts).prediction;
    const npgpu::Stages whole{costs.costs.copy_h2d(60 * npgpu::MiB), job.kernel, costs.costs.copy_d2h(60 * npgpu::MiB)};
    std::cout << costs.device_name << ": " << best.streams << " streams, "
              << whole.sum() / npgpu::models::van_werkhoven(whole, best.streams) << " times as fast in a closed form\n";
  }
  return trace.of<npgpu::Transfers>().empty() && trace.of<npgpu::Jobs>().empty();
}
