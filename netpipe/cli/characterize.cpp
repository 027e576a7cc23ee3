// npgpu characterize: the plan a user would choose, for every GPU, or for the host where there is none.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <span>

#include "netpipe/cli/campaign.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/jobs/experiments.hpp"
#include "netpipe/cli/quantity.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

namespace {

struct PlannedCase {
  Pattern pattern;
  Direction direction;
  Memory memory;
  bool async;
  Timing timing;
  Cache cache = Cache::warm;
};

constexpr auto blocking = false;
constexpr auto async = true;

// What moves the bytes of most programs, first by the runtime API: both directions, the memories a program can
// choose, what a blocking call costs, what the device itself reaches, both directions at once.
constexpr PlannedCase runtime_plan[] = {
    {Pattern::stream, Direction::h2d, Memory::pinned, async, Timing::gated},
    {Pattern::stream, Direction::d2h, Memory::pinned, async, Timing::gated},
    {Pattern::stream, Direction::d2d, Memory::device, async, Timing::gated},
    {Pattern::stream, Direction::d2d, Memory::device, async, Timing::gated, Cache::cold},
    {Pattern::duplex, Direction::h2d, Memory::pinned, async, Timing::gated},
    {Pattern::stream, Direction::h2d, Memory::pinned, blocking, Timing::host},
    {Pattern::stream, Direction::d2h, Memory::pinned, blocking, Timing::host},
    {Pattern::stream, Direction::h2d, Memory::pageable, blocking, Timing::host},
    {Pattern::stream, Direction::d2h, Memory::pageable, blocking, Timing::host},
    {Pattern::stream, Direction::h2d, Memory::write_combined, async, Timing::gated},
    {Pattern::stream, Direction::h2d, Memory::pinned, async, Timing::host},
    {Pattern::stream, Direction::d2h, Memory::pinned, async, Timing::host},
};
// The paper's ping-pong, at 2^k only: what it shows beyond the two directions is that they add up.
constexpr PlannedCase pingpong_plan[] = {
    {Pattern::pingpong, Direction::h2d, Memory::pinned, blocking, Timing::host},
    {Pattern::pingpong, Direction::h2d, Memory::pageable, blocking, Timing::host},
};
// The driver API once more where a call's cost shows, at 2^k.
constexpr PlannedCase driver_plan[] = {
    {Pattern::stream, Direction::h2d, Memory::pinned, blocking, Timing::host},
    {Pattern::stream, Direction::d2h, Memory::pinned, blocking, Timing::host},
    {Pattern::stream, Direction::h2d, Memory::pinned, async, Timing::host},
};

// 2^k and 1.5*2^k; and of these 2^k alone.
std::vector<std::uint64_t> all_sizes() { return sweep_sizes(1, 192 * MiB, 0); }
std::vector<std::uint64_t> powers_of_two() {
  auto sizes = all_sizes();
  std::erase_if(sizes, [](std::uint64_t n) { return !std::has_single_bit(n); });
  return sizes;
}

void add_all(Plan& plan, const Module& module, const DeviceInfo& device, std::span<const PlannedCase> asked,
             const std::vector<std::uint64_t>& sizes) {
  for (const PlannedCase& a : asked) {
    TransferCase c{.module = std::string(module.name()), .device = device.id};
    c.pattern = a.pattern;
    c.direction = a.direction;
    c.memory = a.memory;
    c.async = a.async;
    c.timing = a.timing;
    c.cache = a.cache;
    add(plan, module, device, c, sizes);
  }
}

// Every probe that this build has for the device. Beside GPUs a host is asked for its computing power alone: on 16
// cores with a cache of 300 MiB its bandwidth takes two minutes, and its chase half of one.
void add_probes(Plan& plan, const DeviceInfo& device, bool beside_gpus) {
  for (const auto& probe : probes()) {
    if (device.id.rfind(std::string(probe->kind()), 0) != 0) continue;
    if (device.id == "host" && beside_gpus && probe->name() != "compute") continue;
    try {
      for (const ProbeCase& c : probe->cases(device.id)) add(plan, *probe, device, c);
    } catch (const Error& e) {
      plan.left_out.push_back(fmt::format("probe {} of {}: {}", probe->name(), device.id, e.what()));
    }
  }
}

// What streams cost, which is what a prediction takes as input. Whole jobs cut in streams are left to npgpu streams.
void add_streams(Plan& plan, const DeviceInfo& device) {
  try {
    add(plan, find_job_backend(device.id), device, overheads_experiment(device.id));
  } catch (const Error& e) {
    plan.left_out.push_back(fmt::format("jobs in streams of {}: {}", device.id, e.what()));
  }
}

void add_host(Plan& plan, bool alone) {
  const Module& module = module_named("memcpy");
  const DeviceInfo host = module.device("host");
  TransferCase c{.module = "memcpy", .device = "host"};
  c.direction = Direction::h2h;
  c.memory = Memory::pageable;
  const auto sizes = all_sizes();
  add(plan, module, host, c, sizes);
  c.cache = Cache::cold;  // laying out a walk through more than the caches takes longer than measuring it
  add(plan, module, host, c, alone ? sizes : powers_of_two());
  c.cache = Cache::warm;
  if (alone) {
    c.pattern = Pattern::pingpong;
    add(plan, module, host, c, sizes);
    c.pattern = Pattern::duplex;
    add(plan, module, host, c, sizes);
  }
}

void add_gpu(Plan& plan, const DeviceInfo& device, const Module& runtime, const Module* driver) {
  add_all(plan, runtime, device, runtime_plan, all_sizes());
  add_all(plan, runtime, device, pingpong_plan, powers_of_two());
  if (driver) add_all(plan, *driver, device, driver_plan, powers_of_two());
}

std::vector<DeviceInfo> gpus() {
  const Module* module = find_module("cudaMemcpy");
  return module ? module->devices() : std::vector<DeviceInfo>{};
}

std::string why_no_gpu() {
  if (const Module* module = find_module("cudaMemcpy")) return module->why_none();
  for (const MissingModule& missing : missing_modules())
    if (missing.name == "cudaMemcpy") return "this build " + std::string(missing.reason);
  return "no GPU module in this build";
}

Plan plan_of(const Options& options, std::vector<std::string>& notes) {
  Plan plan;
  if (const auto list = options.maybe("device")) {
    for (const std::string& id : split_words("device", *list)) {
      const Module& module = default_module(id);
      if (id == "host")
        add_host(plan, true);
      else
        add_gpu(plan, module.device(id), module, id.rfind("cuda:", 0) == 0 ? find_module("cuMemcpy") : nullptr);
    }
  } else {
    const auto all = gpus();
    for (const DeviceInfo& device : all)
      add_gpu(plan, device, module_named("cudaMemcpy"), find_module("cuMemcpy"));
    add_host(plan, all.empty());
    if (all.empty()) notes.push_back("no GPU was measured, only the host's own memory: " + why_no_gpu());
  }
  const auto measured = plan.devices();
  const bool any_gpu = std::any_of(measured.begin(), measured.end(), [](const DeviceInfo& d) { return d.id != "host"; });
  for (const DeviceInfo& device : measured) {
    add_probes(plan, device, any_gpu);
    if (device.id != "host") add_streams(plan, device);
  }
  if (any_gpu)
    notes.push_back("by plan: managed memory, copies that meet cold host caches on their way to a GPU, offsets and perturbed sizes "
                    "(measure them with npgpu transfer); the host's bandwidth and latency (npgpu probe); whole jobs "
                    "cut in streams (npgpu streams); copies between GPUs");
  else
    notes.push_back("by plan: offsets and perturbed sizes (measure them with npgpu transfer)");
  return plan;
}

}  // namespace

int characterize(const Arguments& arguments) {
  Options options("characterize", "npgpu characterize [options]",
                  "Measures every GPU of this machine, or the host's own memory where it has none: 1 B to 192 MiB\n"
                  "through the APIs, memories, patterns and directions that programs use; then the probes, and what they\n"
                  "tell of how it is built; then, on GPUs, what streams cost, from which npgpu predict tells into how many\n"
                  "of them to cut a job. Ends with a trace and a summary.");
  options.group("What is measured").add_options()
      ("device", word(), "only these: host, cuda:N, sim:NAME (a list: a,b)");
  declare_measure_options(options, "adaptive");
  if (!options.read(arguments)) return exit_code::done;
  const MeasureOptions how = measure_options(options);
  std::vector<std::string> notes;
  Plan plan = plan_of(options, notes);
  plan.left_out.insert(plan.left_out.end(), notes.begin(), notes.end());
  return measure(plan, how, ClosingReport::overview);
}

}  // namespace npgpu::cli
