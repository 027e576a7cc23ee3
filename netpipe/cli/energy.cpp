// npgpu energy: what work costs in joules.
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/energy_plan.hpp"
#include "netpipe/cli/measure.hpp"
#include "netpipe/cli/quantity.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

namespace {

constexpr Seconds least_window{0.2}, longest_window{600};

template <class E> std::vector<E> listed(const Options& options, const std::string& option) {
  const auto text = options.maybe(option);
  return text ? parse_names<E>(option, *text) : std::vector<E>{};
}

Plan energy_plan(const Options& options) {
  EnergyQuestions asked{listed<EnergyWork>(options, "work"), listed<DataType>(options, "type"),
                        listed<Space>(options, "space"), listed<Operands>(options, "operands")};
  if (const auto text = options.maybe("window")) {
    const Seconds window = parse_duration("window", *text, least_window);
    if (window > longest_window) throw Error(ErrorKind::usage, "--window: no window is longer than 600 s");
    asked.window_ms = static_cast<std::uint32_t>(window.count() * 1e3 + 0.5);
  }
  Plan plan;
  for (const std::string& id : split_names("device", options.maybe("device").value_or(devices::default_device())))
    add_energy(plan, devices::find(id), asked);
  return plan;
}

}  // namespace

Command energy() {
  return {"energy",
          "measure what work costs in joules: bytes, operations, and rest",
          "Measures the energy that a device takes at rest and while it does one thing: reads memory or caches, "
          "multiplies, copies. Windows begin and end on a step of the device's energy counter. Work at full rate, at "
          "half of it and rest together give the energy of one byte or operation over idle. It depends on the "
          "data: --operands zeros,random measures both.",
          {},
          {"npgpu energy", "npgpu energy --work read,fma --operands zeros,random --output energy.h5",
           "npgpu energy --device sim:h200 --work idle,read,fma"},
          with_measure_options(
              {{"What is measured (lists: a,b,c)",
                {Option("device", {}, "A list. Default: the first GPU if there is one, else host."), "work",
                 Option("type", {}, "Of operations. Default: fp32 and fp64; of tensor cores fp16 and fp8."),
                 Option("space", {}, "Of read, write and copy. Default: global; of read also l2 and shared."),
                 Option("operands", {}, "Default: random where the work can, else usual."), "window"}}}),
          [](const Options& options) { return measure(options, energy_plan); }};
}

const Joined<ListedCommand> listed_energy({10, energy});

}  // namespace npgpu::cli
