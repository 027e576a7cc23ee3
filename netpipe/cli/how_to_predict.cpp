#include "netpipe/cli/how_to_predict.hpp"

#include <fmt/format.h>

#include "npgpu/predict.hpp"

namespace npgpu::cli {

std::string how_to_predict(const Trace& trace, const std::string& path) {
  const auto all = stream_costs(trace);
  std::string text;
  for (const MeasuredCosts& one : all)
    if (one.usable)
      text += fmt::format(
          "into how many streams to cut a job: npgpu predict {}{} --bytes-in 64MiB --kernel-ms 1 --bytes-out 64MiB\n",
          path, all.size() > 1 ? " --device " + one.device : "");
  return text;
}

}  // namespace npgpu::cli
