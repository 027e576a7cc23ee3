// npgpu transfer: one case or many, over sizes.
#include <algorithm>
#include <optional>

#include "netpipe/cli/characterize.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/measure.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/ranks.hpp"
#include "netpipe/engine/copy_cases.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

namespace {

constexpr std::uint64_t max_host_node = 1023;  // Linux numbers no more

// NUMA nodes of the device's host that buffers and threads are put on; -1: as binding has it.
std::vector<int> host_nodes_of(const Options& options, const DeviceInfo& device) {
  const auto words = options.maybe("host-node");
  if (!words) return {-1};
  if (options.on("no-bind"))
    throw Error(ErrorKind::usage, "--host-node and --no-bind exclude each other: leave one of them out");
  if (*words != "all") {
    std::vector<int> all;
    for (const std::uint64_t node : parse_counts("host-node", *words, 0, max_host_node))
      all.push_back(static_cast<int>(node));
    return all;
  }
  if (!device.host_nodes.empty()) return device.host_nodes;
  throw Error(ErrorKind::usage, "--host-node all: it is not known which NUMA nodes the host of " + device.id + " has");
}

Timing standard_timing(const TransferCase& c) {
  if (c.async && is_staged_peer(c)) return Timing::event;
  return only_enqueues(c) && c.direction != Direction::h2h ? Timing::gated : Timing::host;
}

Plan transfer_plan(const Options& options) {
  refuse_targets_without_peers(options);
  if (options.has("chunk"))
    throw Error(ErrorKind::usage, "--chunk: only messages between ranks go in chunks: --module mpi or ucx");
  const auto axes = axes_of(transfer_sizes(options));
  Plan plan;
  const auto add_case = [&](const Module& module, const DeviceInfo& device, TransferCase c) {
    for (const Memory memory : names_or(options, "memory", c.memory)) {
      c.memory = memory;
      for (const Timing timing : names_or(options, "timing", standard_timing(c))) {
        c.timing = timing;
        add<Transfers>(
            plan, module, device,
            steps_of<Transfers>(c, is_of_words(c.pattern) ? std::vector{TransferSize{single_word_bytes}} : axes));
      }
    }
  };
  const auto accesses = names_or(options, "access", Access::write);
  const auto on_device = [&](const Module& module, const DeviceInfo& device, std::optional<Executor> executor,
                             int host_node) {
    const auto usual = device.id == "host" ? Direction::h2h : Direction::h2d;
    for (const Cache cache : names_or(options, "cache", Cache::warm))
      for (const Pattern pattern : names_or(options, "pattern", Pattern::stream))
        for (const Direction direction : names_or(options, "direction", usual)) {
          TransferCase c = case_on(std::string(module.name()), device.id, direction);
          c.cache = cache;
          c.pattern = pattern;
          c.async = options.on("async");
          c.bind = !options.on("no-bind");
          c.host_node = host_node;
          c.source_offset = parse_size("source-offset", options.text("source-offset"));
          c.target_offset = parse_size("target-offset", options.text("target-offset"));
          if (c.executor == Executor::copy_engine) c.executor = executor.value_or(module.executor());
          if (direction != Direction::peer) {
            add_case(module, device, c);
            continue;
          }
          c.memory = Memory::device;
          for (const Access access : accesses)
            for (const std::string& target : targets_of(options, device.id)) {
              c.access = access;
              c.target = target;
              add_case(module, device, c);
            }
        }
  };
  std::vector<std::optional<Executor>> executors{std::nullopt};
  if (const auto words = options.maybe("executor")) {
    const auto given = parse_names<Executor>("executor", *words);
    executors.assign(given.begin(), given.end());
  }
  const auto ids = split_names("device", options.maybe("device").value_or(devices::default_device()));
  std::vector<const Module*> named;
  if (const auto names = options.maybe("module"))  // looked at before any device is asked
    for (const std::string& name : split_names("module", *names)) named.push_back(&module_named(name));
  for (const std::string& id : ids) {
    const DeviceInfo device = devices::find(id);
    for (const auto executor : executors) {
      const Module& usual = default_module(device, executor.value_or(Executor::copy_engine));
      for (const Module* module : named.empty() ? std::vector{&usual} : named)
        for (const int host_node : host_nodes_of(options, device)) on_device(*module, device, executor, host_node);
    }
  }
  return plan;
}

}  // namespace

std::vector<std::uint64_t> transfer_sizes(const Options& options) {
  if (const auto text = options.maybe("sizes")) return parse_sizes("sizes", *text);
  return sweep_sizes(parse_size("start", options.text("start"), 1), parse_size("end", options.text("end"), 1),
                     parse_size("perturbation", options.text("perturbation")));
}

Command transfer() {
  return {
      "transfer",
      "measure memory copies over sizes, one case or many",
      "Measures memory copies over sizes. Where options take lists, every combination that can run is measured; why "
      "the others cannot is printed. With --module mpi or ucx, started by mpirun or srun, it measures messages between "
      "the ranks of a job: every rank with every other one, each with one at a time. Rank 0 prints; each rank writes a "
      "trace, NAME-rank0.h5 and so on, and npgpu merge puts them into one file.",
      {},
      {"npgpu transfer --direction h2d,d2h --memory pinned,pageable", "npgpu transfer --device host --end 1MiB",
       "npgpu transfer --async --pattern duplex --schedule classic",
       "npgpu transfer --direction peer --access write,read --executor sm-kernel --async",
       "npgpu transfer --device cuda:0 --async --direction h2d,d2h --host-node all",
       "npgpu transfer --module mpi --pattern pingpong,stream,duplex"},
      with_measure_options(
          {{"What is measured (lists: a,b,c)",
            {Option("device", {}, "A list. Default: the first GPU if there is one, else host."),
             Option("module", {}, "Default: memcpy, cudaMemcpy, clEnqueue or simulated, as the device needs."),
             Option("pattern", {}, "Default: stream, of messages between ranks pingpong."),
             Option("direction", {}, "Default: h2d, on the host h2h."),
             Option("to", {}, "A list. Default: all others of the node."),
             Option("access", {}, "Default: write, of messages between GPUs staged."),
             Option("executor", {}, "Default: as the module has it, copy-engine for most."),
             Option("memory", {}, "Default: pinned, on the host pageable."), "async",
             Option("timing", {}, "Default: gated for asynchronous copies, else host."), Option("cache", "warm"),
             Option("source-offset", "0"), Option("target-offset", "0"), "no-bind",
             Option("host-node", {}, "Default: that of the device.")}},
           {"Messages between ranks", {Option("chunk", {}, "Default: advised."), Option("rank-timeout", "60s")}},
           {"Sizes", {Option("start", "1"), Option("end", "192MiB"), Option("perturbation", "3"), "sizes"}}}),
      [](const Options& options) {
        return is_between_ranks(options) ? measure_between_ranks(options) : measure(options, transfer_plan);
      }};
}

const Joined<ListedCommand> listed_transfer({3, transfer});

}  // namespace npgpu::cli
