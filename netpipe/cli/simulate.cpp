// npgpu simulate: a job in streams on a node that is only numbers.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <limits>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/options.hpp"
#include "netpipe/cli/plan.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/error.hpp"
#include "npgpu/report.hpp"

namespace npgpu::cli {

namespace {

constexpr double day_us = 86400e6;
constexpr std::uint64_t max_streams = 10000;  // a drawing of more says nothing

template <class E>
E word_of(const Options& options, const std::string& option) {
  const auto value = named<E>(options.text(option));
  if (!value)
    throw Error(ErrorKind::usage, fmt::format("--{}: '{}' is none of {}", option, options.text(option), choices<E>()));
  return *value;
}

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

// The device's, and over them what was given one by one.
StreamCosts read_costs(const Options& options, const Job& job) {
  StreamCosts costs;
  if (const auto device = options.maybe("device")) {
    if (device->rfind("sim:", 0) != 0)
      throw Error(ErrorKind::usage,
                  fmt::format("--device: '{}' is not simulated; write sim:NAME (npgpu list shows them)", *device));
    costs = simulated_costs(default_module(*device).device(*device), word_of<Memory>(options, "memory"));
  }
  const auto rate = [&](const char* option, Curve& curve, std::uint64_t bytes) {
    if (const auto text = options.maybe(option))
      curve = Curve::line(Seconds{0}, Seconds{1e-9 / parse_number(option, *text, 1e-6, 1e6)});
    else if (bytes > 0 && curve.empty())
      throw Error(ErrorKind::usage,
                  fmt::format("--{}: how fast are these copies? Or name a --device sim:NAME", option));
  };
  rate("h2d-gb-s", costs.copy_h2d, job.in_bytes);
  rate("d2h-gb-s", costs.copy_d2h, job.out_bytes);
  if (const auto text = options.maybe("issue-us")) costs.issue = parse_stages("issue-us", *text);
  if (const auto text = options.maybe("gap-us")) costs.gap = parse_stages("gap-us", *text);
  if (const auto text = options.maybe("latency-us")) costs.latency = parse_stages("latency-us", *text);
  if (const auto text = options.maybe("create-us"))
    costs.stream_create = from_microseconds(parse_number("create-us", *text, 0, day_us));
  if (options.on("pooled")) costs.stream_create = Seconds{0};
  if (const auto text = options.maybe("slow-down")) read_slow_down(costs, *text);
  if (const auto text = options.maybe("copy-engines"))
    costs.copy_engines = static_cast<int>(parse_count("copy-engines", *text, 1, 2));
  if (const auto text = options.maybe("queues"))
    costs.queues.h2d = costs.queues.kernel = costs.queues.d2h =
        static_cast<std::uint32_t>(parse_count("queues", *text, 0, max_streams));
  if (options.has("implicit-sync")) costs.implicit_sync = word_of<ImplicitSync>(options, "implicit-sync");
  if (options.has("compute")) costs.compute = word_of<Compute>(options, "compute");
  return costs;
}

Job read_job(const Options& options) {
  Job job;
  if (const auto text = options.maybe("bytes-in")) job.in_bytes = parse_size("bytes-in", *text);
  if (const auto text = options.maybe("bytes-out")) job.out_bytes = parse_size("bytes-out", *text);
  if (const auto text = options.maybe("kernel-ms"))
    job.kernel = Seconds{parse_number("kernel-ms", *text, 0, day_us / 1e3) * 1e-3};
  if (const auto text = options.maybe("blocks")) job.blocks = parse_count("blocks", *text, 1, 1ull << 40);
  if (const auto text = options.maybe("slots")) job.slots = parse_count("slots", *text, 1, 1ull << 40);
  if (job.in_bytes == 0 && job.out_bytes == 0 && job.kernel.count() == 0)
    throw Error(ErrorKind::usage, "nothing to simulate: give --bytes-in, --kernel-ms or --bytes-out");
  if ((job.blocks > 0) != (job.slots > 0))
    throw Error(ErrorKind::usage,
                "--blocks and --slots go together: a kernel's blocks, and how many the device holds at once");
  return job;
}

void write_chrome(const Simulation& simulation, const Options& options) {
  const std::string path = options.text("chrome");
  if (!options.on("force") && std::ifstream(path))
    throw Error(ErrorKind::usage, "--chrome: '" + path + "' exists; --force replaces it");
  std::ofstream file(path);
  simulation_chrome(file, simulation);
  file.close();
  if (!file) throw Error(ErrorKind::failed, "--chrome: cannot write '" + path + "'");
}

}  // namespace

int simulate_job(const Arguments& arguments) {
  Options options("simulate",
                  "npgpu simulate --bytes-in SIZE --kernel-ms T --bytes-out SIZE --device sim:NAME [options]",
                  "Plays a job in streams through the host, the copy engines and the multiprocessors of a node that is only\n"
                  "numbers: a simulated device's, or your own. Draws when each of them works on which chunk.");
  options.group("Job").add_options()
      ("bytes-in", word(), "copied to the device: 64MiB")
      ("kernel-ms", word(), "time of the whole kernel, alone, in milliseconds")
      ("bytes-out", word(), "copied from the device")
      ("blocks", word(), "the kernel's blocks, and")
      ("slots", word(), "how many of them the device holds at once: chunks are then whole waves");
  options.group("Streams").add_options()
      ("streams", word(), "number of streams (default: the best)")
      ("order", word("breadth-first"), choices<Order>().c_str())
      ("most", word("64"), "streams to try for the best");
  options.group("Node").add_options()
      ("device", word(), "sim:NAME, whose costs are used where none of these is given")
      ("memory", word("pinned"), "the host's memory")
      ("pooled", po::bool_switch(), "streams are there already: creating them is not counted")
      ("h2d-gb-s", word(), "rate of copies to the device")
      ("d2h-gb-s", word(), "rate of copies from it")
      ("slow-down", word(), "how many times longer copies take beside one the other way: 1.08 or 1.06,1.09")
      ("copy-engines", word(), "1 or 2")
      ("issue-us", word(), "the host's time for a call: 2, or 2,3,2 for copy in, kernel, copy out")
      ("gap-us", word(), "what an operation adds to its engine")
      ("latency-us", word(), "from the end of an operation to the next one of its stream")
      ("create-us", word(), "creating one stream")
      ("queues", word(), "hardware queues of each engine; 0: one for each stream")
      ("implicit-sync", word(), ("copies out wait for earlier kernels: " + choices<ImplicitSync>()).c_str())
      ("compute", word(), ("kernels of different streams: " + choices<Compute>()).c_str());
  options.group("Output").add_options()
      ("json", po::bool_switch(), "as JSON, with every operation")
      ("chrome", word(), "also write the timeline to this file, for ui.perfetto.dev")
      ("force", po::bool_switch(), "replace an existing file");
  if (!options.read(arguments)) return exit_code::done;

  Simulation s;
  s.job = read_job(options);
  s.costs = read_costs(options, s.job);
  s.order = word_of<Order>(options, "order");
  s.node = options.maybe("device").value_or("node as given");
  const auto most = static_cast<std::uint32_t>(parse_count("most", options.text("most"), 1, max_streams));
  s.prediction = choose_streams(s.job, s.costs, s.order, stream_counts(most));
  s.streams = s.prediction.streams;
  if (const auto text = options.maybe("streams"))
    s.streams = static_cast<std::uint32_t>(parse_count("streams", *text, 1, max_streams));
  s.timeline = simulate(s.job, s.streams, s.costs, s.order);
  if (options.has("chrome")) write_chrome(s, options);
  if (options.on("json"))
    simulation_json(std::cout, s);
  else
    simulation_text(std::cout, s, terminal_style());
  return exit_code::done;
}

}  // namespace npgpu::cli
