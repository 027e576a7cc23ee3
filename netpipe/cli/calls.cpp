// npgpu calls: what calls of the CUDA runtime cost.
#include <iostream>

#include "netpipe/cli/campaign.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/error.hpp"
#include "npgpu/report.hpp"

namespace npgpu::cli {

namespace {

void declare(Options& options) {
  options.group("What is measured").add("device", {}, "A list. Default: the first GPU.").add("call");
  declare_measure_options(options);
}

Plan plan_of(const Options& options) {
  std::vector<Call> wanted;
  if (const auto list = options.maybe("call")) wanted = parse_names<Call>("call", *list);
  const auto given = options.maybe("device");
  if (!given && devices::gpus().empty()) throw Error(ErrorKind::nothing, "calls need a GPU: " + devices::why_no_gpu());
  Plan plan;
  for (const std::string& id : split_words("device", given.value_or(devices::default_device()))) {
    const DeviceInfo device = devices::find(id);
    std::vector<Step<Calls>> steps = all_calls(device);
    std::erase_if(steps, [&](const Step<Calls>& step) {
      return !wanted.empty() && std::find(wanted.begin(), wanted.end(), step.question.call) == wanted.end();
    });
    const auto some = reaching(backends<Calls>(), devices::kind_of(id));
    if (some.empty())
      throw Error(ErrorKind::usage, "--device: '" + id + "' has no calls to time: name a GPU, or sim:NAME");
    for (const Backend<Calls>* backend : some) add<Calls>(plan, *backend, device, steps);
  }
  return plan;
}

int run_calls(const Options& options) {
  const MeasureOptions how = measure_options(options);
  return measure(plan_of(options), how,
                 [&](const Trace& trace) { report_overview(std::cout, trace, terminal_style()); });
}

}  // namespace

Command calls() {
  return {
      "calls",
      "time calls of the CUDA runtime: launches, events, memory, graphs",
      "Times what calls of the CUDA runtime cost the host, and how soon their work is done: each alone, on an idle "
      "device, and back to back. Chains and forks of empty kernels are launched one by one and as graphs: the table "
      "says from which length a graph pays.",
      {},
      {"npgpu calls", "npgpu calls --call launch,graph-launch,launches --output calls.h5",
       "npgpu calls --device sim:h200"},
      declare,
      run_calls};
}

}  // namespace npgpu::cli
