// Measures pinned copies from the host to a device, 64 B to 16 MiB, into a trace: npgpu_example_copy DEVICE TRACE
#include <cstdio>
#include <iostream>

#include "npgpu/measuring/campaign.hpp"
#include "npgpu/model/result.hpp"

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: %s cuda:0|sim:h200 TRACE\n", argv[0]), 2;
  using namespace npgpu;
  const DeviceInfo device = devices::find(argv[1]);
  const Module& module = default_module(device);
  const TransferCase copy{.module = std::string(module.name()),
                          .source = "host",
                          .target = device.id,
                          .direction = Direction::h2d,
                          .memory = Memory::pinned};
  Plan plan;
  add<Transfers>(plan, module, device, steps_of<Transfers>(copy, axes_of({64, 4 * KiB, 256 * KiB, 16 * MiB})));
  Settings settings;
  settings.output = argv[2];
  settings.plan = "copies to " + device.id;
  const CampaignResult result = measure(plan, settings);
  for (const std::string& failure : result.failures) std::cerr << failure << '\n';
  for (const TransferSeries& series : read_trace(settings.output).of<Transfers>())
    for (const auto& point : results(series))
      std::cout << text_of(point.axes) << ": " << point.time_us.value << " us, " << point.time_us.low << " to "
                << point.time_us.high << '\n';
  return result.failures.empty() ? 0 : 1;
}
