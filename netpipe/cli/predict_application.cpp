// npgpu predict of a recorded application: its step, and what would make it faster.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iostream>
#include <optional>
#include <sstream>

#include "netpipe/cli/predict.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/model/record.hpp"
#include "npgpu/vocabulary/device.hpp"

namespace npgpu::cli {

namespace {

struct CostsAndSource {
  MeasuredCosts costs;
  std::string source;
};

// "h200": what a trace said of one, where that was kept.
std::optional<DeviceInfo> twin_called(const std::string& word) {
  try {
    return devices::find("sim:twins/" + word);
  } catch (const Error&) {
    return std::nullopt;
  }
}

CostsAndSource costs_named(const std::string& word) {
  if (std::error_code ignored; word.ends_with(".h5") || std::filesystem::is_regular_file(word, ignored))
    return {costs_of_trace(read_trace(word, Guard::child), word, {}), word};
  if (const auto twin = twin_called(word)) return {costs_of_spec(*twin), twin->id};
  const DeviceInfo info = devices::find(word.starts_with("sim:") ? word : "sim:" + word);
  return {costs_of_spec(info), info.id};
}

// The twin of a device of that name, which is called by a word of it: "h200" of "NVIDIA H200".
CostsAndSource costs_of_model(const AppStep& step) {
  std::istringstream words(step.device_name);
  for (std::string word; words >> word;) {
    std::ranges::transform(word, word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (const auto twin = twin_called(word); twin && twin->name == step.device_name)
      return {costs_of_spec(*twin), twin->id};
  }
  throw Error(ErrorKind::usage, fmt::format("what copies cost on {} is not known here: name the node's trace, of npgpu "
                                            "characterize, with --on",
                                            step.device_name.empty() ? "the recorded device" : step.device_name));
}

}  // namespace

int predict_application(const Options& options, const Trace& trace) {
  const AppStep step = step_of(trace);
  const auto other = options.maybe("on");
  const CostsAndSource node = other ? costs_named(*other) : costs_of_model(step);
  const AppForecastReport of{&step, &node.costs, node.source, forecast(step, node.costs)};
  if (options.on("json")) app_forecast_json(std::cout, of);
  else app_forecast_text(std::cout, of, terminal_style());
  return exit_code::done;
}

}  // namespace npgpu::cli
