// npgpu matrix: every pair of a node's GPUs, each with the host, and many at once.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "netpipe/cli/campaign.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/matrix_plan.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/error.hpp"
#include "npgpu/report.hpp"

namespace npgpu::cli {

namespace {

// The GPUs that --device names, or those of the nodes that it names; else all of this machine.
std::vector<DeviceInfo> matrix_gpus(const Options& options) {
  std::vector<std::string> ids;
  if (const auto given = options.maybe("device")) {
    for (const std::string& id : split_words("device", *given)) {
      const auto node = devices::node(id);
      // A name that is not one of its node's GPUs is the node's.
      if (std::ranges::find(node, id) == node.end()) ids.insert(ids.end(), node.begin(), node.end());
      else ids.push_back(id);
    }
  } else {
    for (const DeviceInfo& gpu : devices::gpus()) ids.push_back(gpu.id);
    if (ids.empty()) throw Error(ErrorKind::nothing, "a matrix needs GPUs: " + devices::why_no_gpu());
  }
  std::vector<DeviceInfo> all;
  for (const std::string& id : ids) all.push_back(devices::find(id));
  for (const DeviceInfo& one : all)
    if (one.id == "host")
      throw Error(ErrorKind::usage, "--device host: a matrix is of GPUs, and of the host with each");
  return all;
}

Plan asked_plan(const Options& options) {
  MatrixQuestions q;
  q.parts = parse_names<MatrixPart>("only", options.text("only"));
  q.accesses = parse_names<Access>("access", options.text("access"));
  q.executors = parse_names<Executor>("executor", options.text("executor"));
  if (const auto sizes = options.maybe("sizes")) q.sizes = parse_sizes("sizes", *sizes);
  q.every_pair = options.on("every-pair");
  return matrix_plan(matrix_gpus(options), q);
}

void print_matrix(const Trace& trace, const std::string&) {
  matrix_text(std::cout, node_matrix(trace), terminal_style());
}

int run_matrix(const Options& options) {
  // Each lane has a stream of its own; with fewer hardware queues than streams, lanes would wait for each other.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  return measure(options, asked_plan, print_matrix);
}

}  // namespace

Command matrix() {
  return {
      "matrix",
      "every pair of GPUs, each with the host, and many copies at once",
      "Measures copies between all GPUs of the node and between each and the host: writes and reads, by copy engines "
      "and by kernels, one way and both ways at once, the latency of loads, atomic additions and flags, and many "
      "copies at once. On a host with several NUMA nodes also copies between each of them and each GPU. Prints tables "
      "with a row for each source and a column for each target, and names what stands out, with its link, and what a "
      "wrong NUMA node costs. --only processes measures what a job pays when a second process uses the same GPU: npgpu "
      "starts one that holds a context, copies, computes or launches kernels, and measures in turn with it and alone.",
      {},
      {"npgpu matrix", "npgpu matrix --only pairs,latency --executor copy-engine --output node.h5",
       "npgpu matrix --device sim:node8-sick", "npgpu matrix --only numa", "npgpu matrix --only processes"},
      with_measure_options(
          {{"What is measured (lists: a,b,c)",
            {Option("device", {}, "A list, or sim:NODE. Default: all GPUs."),
             Option("only", "pairs,both,host,latency,together,numa"), Option("access", "write,read"),
             Option("executor", "copy-engine,sm-kernel"),
             Option("sizes", {},
                    "Default: 512 MiB between GPUs, 128 MiB with the host, 64 MiB of processes, of simulated ones 1 "
                    "MiB."),
             "every-pair"}}}),
      run_matrix};
}

}  // namespace npgpu::cli
