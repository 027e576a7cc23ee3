// npgpu predict of a recorded application: its step, and what would make it faster.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iostream>
#include <sstream>

#include "netpipe/cli/predict.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/vocabulary/device.hpp"

namespace npgpu::cli {

MeasuredCosts costs_of_kept(const AppStep& step) {
  // "h200" of "NVIDIA H200".
  std::istringstream words(step.device_name);
  for (std::string word; words >> word;) {
    std::ranges::transform(word, word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    try {
      if (const DeviceInfo twin = devices::find("sim:twins/" + word); twin.name == step.device_name)
        return costs_of_spec(twin);
    } catch (const Error&) {  // none is called so
    }
  }
  throw Error(ErrorKind::usage, fmt::format("what copies cost on {} is not known here: name the node's trace, of npgpu "
                                            "characterize, with --on",
                                            step.device_name.empty() ? "the recorded device" : step.device_name));
}

int predict_application(const Options& options, const Trace& trace) {
  const AppStep step = step_of(trace);
  const auto other = options.maybe("on");
  CostsAndSource node;
  if (other) node = costs_on(options, *other);
  else node.costs = costs_of_kept(step), node.source = node.costs.device;
  AppForecastReport of{&step, &node.costs, node.source, forecast(step, node.costs)};
  if (!is_of_model(node.costs, step.device_name)) try {
      of.forecast = forecast_elsewhere(step, costs_of_kept(step), node.costs);
    } catch (const Error&) {  // none of the recorded device: the forecast says so
    }
  if (options.on("json")) app_forecast_json(std::cout, of);
  else app_forecast_text(std::cout, of, terminal_style());
  return exit_code::done;
}

}  // namespace npgpu::cli
