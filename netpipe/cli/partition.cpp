// npgpu partition: the tridiagonal partition method on streams.
#include <fmt/format.h>

#include <iostream>
#include <map>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/measure.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/model/predict.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

namespace {

std::vector<PartitionStep> steps_on(const Options& options, const std::string& device) {
  const auto types = parse_names<Precision>("type", options.text("type"));
  const auto sub_system =
      static_cast<std::uint32_t>(parse_count("sub-system", options.text("sub-system"), 2, 1u << 20));
  std::vector<std::uint64_t> sizes = paper_partition_sizes();
  if (const auto list = options.maybe("size")) sizes = parse_counts("size", *list, sub_system, 1ull << 32);
  std::vector<std::uint32_t> streams;
  for (const std::uint64_t n : parse_counts("streams", options.text("streams"), 1, 1024))
    streams.push_back(static_cast<std::uint32_t>(n));
  return partition_steps(device, types, sizes, sub_system, streams);
}

// Sizes that do not fit into what is free are left out, each with its reason.
std::vector<PartitionStep> those_that_fit(Plan& plan, const Backend<Partitions>& backend,
                                          const std::vector<PartitionStep>& steps) {
  std::map<std::pair<std::uint64_t, Precision>, bool> fits;
  std::vector<PartitionStep> some;
  for (const PartitionStep& step : steps) {
    const auto [known, is_new] = fits.try_emplace({step.axes.size, step.question.type}, true);
    if (is_new) {
      const MemoryNeed need = backend.needs({&step, 1}), free = backend.available(step.question);
      const bool on_host = need.host_bytes > free.host_bytes;
      known->second = !on_host && need.device_bytes <= free.device_bytes;
      if (!known->second)
        plan.left_out.push_back(fmt::format(
            "partitions {} {}: {} unknowns need {} of {} memory, and {} are free: lower --size", step.question.device,
            name(step.question.type), step.axes.size, size_text(on_host ? need.host_bytes : need.device_bytes),
            on_host ? "host" : "device", size_text(on_host ? free.host_bytes : free.device_bytes)));
    }
    if (known->second) some.push_back(step);
  }
  return some;
}

Plan partition_plan(const Options& options) {
  return plan_for<Partitions>(gpu_ids(options, "streams"), "runs no partition method",
                              [&](Plan& plan, const Backend<Partitions>& backend, const DeviceInfo& device) {
                                return those_that_fit(plan, backend, steps_on(options, device.id));
                              });
}

void print_studies(const Trace& trace, const std::string& path) {
  const auto studies = partition_studies(trace);
  if (studies.empty()) return print_report(trace, path);  // nothing to choose from
  partition_text(std::cout, studies, terminal_style());
}

}  // namespace

Command partition() {
  return {
      "partition",
      "time the tridiagonal partition method on streams",
      "Solves tridiagonal systems by the partition method (Veneva & Imamura 2025), cut into streams: stage 1 and 3 on "
      "the device, the interface system between them on the host. Times whole runs in each number of streams, and "
      "every stage alone. Each solution is checked by its residual, and compared with LAPACK's where there is one. "
      "npgpu report says which number of streams the paper's model and the simulator choose. On host a stream is a "
      "thread.",
      {},
      {"npgpu partition --size 1e6 --type fp64 --streams 1..32", "npgpu partition --append --output node.h5",
       "npgpu partition --device sim:h200"},
      with_measure_options({{"What is measured (lists: a,b,c)",
                             {Option("device", {}, "A list. Default: the first GPU."),
                              Option("size", {}, "Default: the paper's 25 sizes from 1e3 to 1e8."),
                              Option("type", "fp64,fp32", "Taken here: fp64 or fp32."),
                              Option("streams", "1,2,4,8,16,32"), Option("sub-system", "10")}}}),
      [](const Options& options) { return measure(options, partition_plan, print_studies); }};
}

const Joined<ListedCommand> listed_partition({Asks::also, 2, partition});

}  // namespace npgpu::cli
