// npgpu simulate: a job in streams on a node that is only numbers.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/kernel_counts.hpp"
#include "netpipe/cli/output_file.hpp"
#include "netpipe/cli/predict.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/model/advice.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

namespace {

constexpr double day_us = 86400e6;
constexpr std::uint32_t max_parts = 256;            // of a kernel that is counted, each with a time of its own
constexpr std::uint64_t max_drawn_streams = 10000;  // a drawing of more says nothing

// "1" for all three stages, or "1,2,1".
Stages parse_stages(const std::string& option, const std::string& text) {
  std::vector<std::string> words = split_words(option, text);
  if (words.size() == 1) words.resize(3, words[0]);
  if (words.size() != 3)
    throw Error(ErrorKind::usage,
                fmt::format("--{}: '{}' is neither one number nor three (h2d,kernel,d2h)", option, text));
  const auto us = [&](std::size_t i) { return from_microseconds(parse_number(option, words[i], 0, day_us)); };
  return {us(0), us(1), us(2)};
}

void read_slow_down(StreamCosts& costs, const std::string& text) {
  const auto words = split_words("slow-down", text);
  if (words.size() > 2) throw Error(ErrorKind::usage, "--slow-down: one number, or two (h2d,d2h)");
  costs.duplex_slowdown_h2d = parse_number("slow-down", words.front(), 1, 1000);
  costs.duplex_slowdown_d2h = parse_number("slow-down", words.back(), 1, 1000);
}

// Those of a trace or a simulated device, and over them what was given one by one. `node` becomes its description.
StreamCosts read_costs(const Options& options, const Job& job, DeviceModel& node) {
  StreamCosts costs;
  const bool fresh =
      options.has("create-us") || parse_name<StreamPool>("pool", options.text("pool")) == StreamPool::fresh;
  const auto device = options.maybe("device");
  if (const auto path = options.maybe("trace")) {
    const MeasuredCosts measured = costs_of_trace(read_named_trace(*path), *path, device);
    costs = measured.costs;
    node = measured;
    if (fresh) costs.stream_create = measured.create;
  } else if (device) {
    if (devices::kind_of(*device) != "sim")
      throw Error(ErrorKind::usage, fmt::format("--device: '{}' is not simulated; write sim:NAME (npgpu info --words), "
                                                "or name the --trace in which it was measured",
                                                *device));
    const DeviceInfo info = devices::find(*device);
    costs = simulated_costs(info, parse_name<Memory>("memory", options.text("memory")));
    node = device_model(info);
  }
  if (!fresh) costs.stream_create = Seconds{0};
  const auto rate = [&](const char* option, Curve& curve, std::uint64_t bytes) {
    if (const auto text = options.maybe(option))
      curve = Curve::line(Seconds{0}, Seconds{1e-9 / parse_number(option, *text, 1e-6, 1e6)});
    else if (bytes > 0 && curve.empty())
      throw Error(ErrorKind::usage,
                  fmt::format("--{}: how fast are these copies? Or name a --device sim:NAME, or a --trace", option));
  };
  rate("h2d-gb-s", costs.copy_h2d, job.in_bytes);
  rate("d2h-gb-s", costs.copy_d2h, job.out_bytes);
  if (const auto text = options.maybe("issue-us")) {
    costs.issue = parse_stages("issue-us", *text);
    costs.issue_h2d = costs.issue_kernel = costs.issue_d2h = {};  // those of the trace, by the bytes of a chunk
  }
  if (const auto text = options.maybe("gap-us")) costs.gap = parse_stages("gap-us", *text);
  if (const auto text = options.maybe("latency-us")) costs.latency = parse_stages("latency-us", *text);
  if (const auto text = options.maybe("create-us"))
    costs.stream_create = from_microseconds(parse_number("create-us", *text, 0, day_us));
  if (const auto text = options.maybe("slow-down")) read_slow_down(costs, *text);
  if (const auto text = options.maybe("copy-engines"))
    costs.copy_engines = static_cast<int>(parse_count("copy-engines", *text, 1, 2));
  if (const auto text = options.maybe("queues"))
    costs.queues.h2d = costs.queues.kernel = costs.queues.d2h =
        static_cast<std::uint32_t>(parse_count("queues", *text, 0, max_drawn_streams));
  if (options.has("implicit-sync"))
    costs.implicit_sync = parse_name<ImplicitSync>("implicit-sync", options.text("implicit-sync"));
  if (options.has("compute")) costs.compute = parse_name<Compute>("compute", options.text("compute"));
  return costs;
}

Job read_job(const Options& options) {
  Job job = parse_job(options);
  if (const auto text = options.maybe("slots")) job.slots = parse_count("slots", *text, 1, 1ull << 40);
  if (job.in_bytes == 0 && job.out_bytes == 0 && job.kernel.count() == 0 && !counts_a_kernel(options))
    throw Error(ErrorKind::usage, "nothing to simulate: give --bytes-in, --kernel-ms or --bytes-out");
  if ((job.blocks > 0) != (job.slots > 0) && !counts_a_kernel(options))
    throw Error(ErrorKind::usage,
                "--blocks and --slots go together: a kernel's blocks, and how many the device works on at once");
  return job;
}

int run_simulate(const Options& options) {
  Simulation s;
  s.job = read_job(options);
  DeviceModel node;
  s.costs = read_costs(options, s.job, node);
  (void)parse_name<DataType>("type", options.text("type"));
  if (counts_a_kernel(options)) {
    if (node.figures.empty())
      throw Error(ErrorKind::usage,
                  "--flops, --bytes-moved: of a kernel on which device? Name a --trace, or a --device "
                  "sim:NAME");
    describe_kernel(s.job, node, parse_kernel_counts(options), max_parts);
  }
  s.order = parse_name<Order>("order", options.text("order"));
  s.node = options.maybe("device").value_or(options.maybe("trace").value_or("node as given"));
  const auto most =
      static_cast<std::uint32_t>(parse_count("max-streams", options.text("max-streams"), 1, max_drawn_streams));
  s.prediction = choose_streams(s.job, s.costs, s.order, stream_counts_of(s.job, most));
  if (const auto text = options.maybe("streams")) {
    s.streams = s.chunks = static_cast<std::uint32_t>(parse_count("streams", *text, 1, max_drawn_streams));
  } else {
    const SplitTime advised = advised_split(s.job, splits_of(s.job, s.costs, s.order, s.prediction, {}, most));
    s.streams = advised.streams;
    s.chunks = advised.chunks;
    s.order = advised.order;
  }
  s.timeline = simulate(s.job, s.chunks, s.costs, s.order, s.streams);
  if (const auto path = options.maybe("chrome"))
    write_file("chrome", *path, options.on("force"), [&](std::ostream& file) { simulation_chrome(file, s); });
  if (options.on("json")) simulation_json(std::cout, s);
  else simulation_text(std::cout, s, terminal_style());
  return exit_code::done;
}

}  // namespace

Command simulate_job() {
  return {"simulate",
          "simulate a job in streams on a node, and draw it",
          "Plays a job in streams through the host, the copy engines and the multiprocessors of a node that is only "
          "numbers: those of a simulated device, of a measured one in a trace, or your own. Draws when each of them "
          "works on which chunk.",
          {},
          {"npgpu simulate --device sim:h200 --bytes-in 64MiB --kernel-ms 1 --bytes-out 64MiB",
           "npgpu simulate --trace node.h5 --bytes-in 64MiB --kernel-ms 1 --bytes-out 64MiB --streams 8",
           "npgpu simulate --bytes-in 64MiB --kernel-ms 1 --h2d-gb-s 55 --copy-engines 1 --issue-us 2"},
          {{"Job", {"bytes-in", "kernel-ms", "bytes-out", "blocks", Option("threads", "512"), "slots"}},
           kernel_counts_group(),
           {"Streams",
            {Option("streams", {}, "One chunk in each. Default: the form that npgpu predict advises.", "N"),
             Option("order", "breadth-first", {}, "WORD"), Option("pool", "pooled", {}, "WORD"),
             Option("max-streams", "64")}},
           {"Node: a device, and over it numbers of your own",
            {Option("device", {}, "sim:NAME, or with --trace one of the trace."),
             Option("trace", {}, "It says what streams cost."), Option("memory", "pinned", {}, "WORD"), "h2d-gb-s",
             "d2h-gb-s", "slow-down", "copy-engines", "issue-us", "gap-us", "latency-us",
             Option("create-us", {}, "Implies --pool fresh."), "queues", "implicit-sync", "compute"}},
           {"Output", {"json", "chrome", "force"}}},
          run_simulate};
}

const Joined<ListedCommand> listed_simulate_job({Asks::also, 1, simulate_job});

}  // namespace npgpu::cli
