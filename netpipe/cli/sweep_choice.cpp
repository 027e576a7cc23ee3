#include "netpipe/cli/sweep_choice.hpp"

#include <fmt/format.h>

#include "netpipe/cli/quantity.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

void choose_sweeps(const Options& options, Trace& trace) {
  const auto text = options.maybe("sweep");
  if (!text) return;
  std::vector<Sweep> chosen;
  for (const std::string& number : split_words("sweep", *text)) {
    const std::uint64_t index = parse_count("sweep", number, 0);
    if (index >= trace.sweeps.size())
      throw Error(ErrorKind::usage, fmt::format("--sweep: {} is not in the trace, which has {} sweeps:\n{}", index,
                                                trace.sweeps.size(), sweeps_text(trace)));
    chosen.push_back(trace.sweeps[index]);
  }
  trace.sweeps = std::move(chosen);
}

std::string sweeps_text(const Trace& trace) {
  std::string text;
  for (std::size_t i = 0; i < trace.sweeps.size(); ++i)
    text += fmt::format("{:>4}  {}\n", i, title(trace.sweeps[i].question));
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace npgpu::cli
