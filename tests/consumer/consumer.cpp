#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "npgpu/measuring/campaign.hpp"
#include "npgpu/model/predict.hpp"
#include "npgpu/model/result.hpp"
#include "npgpu/vocabulary/trace.hpp"
#include "npgpu/vocabulary/units.hpp"

// A function of this program, measured into a trace, and a copy on a simulated device, whose module and family register
// themselves. 0 if all is as it should be.
int measures(const std::string& path) {
  double sum = 0;
  npgpu::Function function{.name = "sum"};
  function.sizes = {64, 4096};
  std::vector<double> values;
  function.prepare = [&](std::uint64_t bytes) { values.assign(bytes / sizeof(double), 1); };
  function.call = [&] {
    for (const double value : values) sum += value;
  };
  function.check = [&]() -> std::optional<std::string> {
    if (sum > 0) return std::nullopt;
    return "the sum is 0";
  };
  npgpu::Settings settings;
  settings.output = path;
  settings.if_exists = npgpu::IfExists::replace;
  const npgpu::CampaignResult result = npgpu::measure({function}, settings);
  for (const std::string& failure : result.failures) std::cerr << failure << '\n';
  for (const npgpu::CallSeries& series : npgpu::read_trace(path).of<npgpu::Calls>())
    for (const auto& point : npgpu::results(series))
      std::cout << title(series.question) << ", " << text_of(point.axes) << ": " << point.host_us.value << " us\n";
  const npgpu::DeviceInfo device = npgpu::devices::find("sim:plain");
  std::cout << device.name << ": " << npgpu::default_module(device).name() << '\n';
  return result.failures.empty() && result.measured == 4 ? 0 : 1;
}

// Transfers and jobs: what the library lacks of either does not link.
int main(int argc, char** argv) {
  if (argc == 3) return measures(argv[2]);
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
    std::cout << costs.device_name << ": " << best.streams << " streams, " << best.speed_up << " times as fast\n";
  }
  return trace.of<npgpu::Transfers>().empty() && trace.of<npgpu::Jobs>().empty();
}
