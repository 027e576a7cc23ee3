// npgpu predict of a recorded application: its step, and what would make it faster.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iostream>
#include <sstream>

#include "netpipe/cli/predict.hpp"
#include "netpipe/cli/quantity.hpp"
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

namespace {

// "axpy=2GFLOP,12GB,fp64"
AppKernelCount parse_count_of_kernel(const std::string& text) {
  const CountedWords c = parse_counted(text, 1, "NAME=FLOP,BYTES or NAME=FLOP,BYTES,TYPE, as in axpy=2GFLOP,12GB");
  AppKernelCount count{c.name, c.flops, c.bytes};
  if (!c.more.empty()) count.type = parse_name<DataType>("counts", c.more[0]);
  return count;
}

// Nothing where no GPU of the recorded name is kept.
std::optional<MeasuredCosts> maybe_costs_of_kept(const AppStep& step) try {
  return costs_of_kept(step);
} catch (const Error&) {
  return std::nullopt;
}

}  // namespace

int predict_application(const Options& options, const Trace& trace) {
  const AppStep step = step_of(trace);
  const auto other = options.maybe("on");
  std::vector<AppKernelCount> counts;
  for (const std::string& text : options.texts("counts")) counts.push_back(parse_count_of_kernel(text));
  CostsAndSource node;
  if (other) node = costs_on(options, *other);
  else node.costs = costs_of_kept(step), node.source = node.costs.device;
  const auto here = is_of_model(node.costs, step.device_name) ? std::nullopt : maybe_costs_of_kept(step);
  const AppForecastReport of{
      &step, &node.costs, node.source,
      here ? forecast_elsewhere(step, *here, node.costs, counts) : forecast(step, node.costs, counts)};
  if (options.on("json")) app_forecast_json(std::cout, of);
  else app_forecast_text(std::cout, of, terminal_style());
  return exit_code::done;
}

}  // namespace npgpu::cli
