// npgpu calls: what calls of the CUDA runtime cost.
#include <fmt/format.h>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/measure.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

namespace {

Plan calls_plan(const Options& options) {
  std::vector<Call> wanted;
  if (const auto list = options.maybe("call")) wanted = parse_names<Call>("call", *list);
  if (std::ranges::count(wanted, Call::function))
    throw Error(ErrorKind::usage, "--call function: a function of your own is measured through the library");
  for (const Call gone : {Call::process_free, Call::process_end})
    if (std::ranges::count(wanted, gone))
      throw Error(ErrorKind::usage,
                  fmt::format("--call {}: is read of older traces, and no longer measured", name(gone)));
  return plan_for<Calls>(
      gpu_ids(options, "calls"), "has no calls to time: name a GPU, or sim:NAME",
      [&](Plan&, const Backend<Calls>&, const DeviceInfo& device) {
        std::vector<Step<Calls>> steps = all_calls(device);
        if (wanted.empty()) return steps;
        std::ranges::move(calls_of_frees(device), std::back_inserter(steps));
        std::erase_if(steps, [&](const auto& step) { return !std::ranges::count(wanted, step.question.call); });
        return steps;
      });
}

}  // namespace

Command calls() {
  return {
      "calls",
      "time calls of the CUDA runtime: launches, events, memory, graphs",
      "Times what calls of the CUDA runtime, or of OpenCL, cost the host, and how soon their work is done: each alone, "
      "on an idle device, and back to back. Chains and forks of empty kernels are launched one by one and as graphs: "
      "the table says from which length a graph pays.",
      {},
      {"npgpu calls", "npgpu calls --call launch,graph-launch,launches --output calls.h5",
       "npgpu calls --device sim:h200"},
      with_measure_options({{"What is measured", {Option("device", {}, "A list. Default: the first GPU."), "call"}}}),
      [](const Options& options) { return measure(options, calls_plan); }};
}

const Joined<ListedCommand> listed_calls({Asks::able, 6, calls});

}  // namespace npgpu::cli
