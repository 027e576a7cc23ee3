// npgpu transfer: one case or many, over sizes.
#include "netpipe/cli/campaign.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/quantity.hpp"

namespace npgpu::cli {

namespace {

template <class E> std::vector<E> names_or(const Options& options, const std::string& option, E standard) {
  const auto text = options.maybe(option);
  return text ? parse_names<E>(option, *text) : std::vector<E>{standard};
}

std::vector<std::uint64_t> sizes_of(const Options& options) {
  if (const auto text = options.maybe("sizes")) return parse_sizes("sizes", *text);
  return sweep_sizes(parse_size("start", options.text("start"), 1), parse_size("end", options.text("end"), 1),
                     parse_size("perturbation", options.text("perturbation")));
}

Timing standard_timing(const TransferCase& c) {
  const bool queues = c.async && c.memory != Memory::pageable && c.memory != Memory::managed;
  return queues && c.direction != Direction::h2h ? Timing::gated : Timing::host;
}

Plan transfer_plan(const Options& options) {
  const auto axes = axes_of(sizes_of(options));
  Plan plan;
  const auto on_device = [&](const Module& module, const DeviceInfo& device) {
    const auto usual = device.id == "host" ? Direction::h2h : Direction::h2d;
    for (const Cache cache : parse_names<Cache>("cache", options.text("cache")))
      for (const Pattern pattern : parse_names<Pattern>("pattern", options.text("pattern")))
        for (const Direction direction : names_or(options, "direction", usual)) {
          TransferCase c = case_on(std::string(module.name()), device.id, direction);
          c.cache = cache;
          c.pattern = pattern;
          c.async = options.on("async");
          c.bind = !options.on("no-bind");
          c.source_offset = parse_size("soffset", options.text("soffset"));
          c.target_offset = parse_size("roffset", options.text("roffset"));
          for (const Memory memory : names_or(options, "memory", c.memory)) {
            c.memory = memory;
            for (const Timing timing : names_or(options, "timing", standard_timing(c))) {
              c.timing = timing;
              add<Transfers>(plan, module, device, steps_of<Transfers>(c, axes));
            }
          }
        }
  };
  const auto ids = split_words("device", options.maybe("device").value_or(devices::default_device()));
  std::vector<const Module*> named;
  if (const auto names = options.maybe("module"))  // looked at before any device is asked
    for (const std::string& name : split_words("module", *names)) named.push_back(&module_named(name));
  for (const std::string& id : ids) {
    const DeviceInfo device = devices::find(id);
    for (const Module* module : named.empty() ? std::vector{&default_module(device)} : named)
      on_device(*module, device);
  }
  return plan;
}

}  // namespace

Command transfer() {
  return {
      "transfer",
      "measure memory copies over sizes, one case or many",
      "Measures memory copies over sizes. Where options take lists, every combination that can run is measured; why "
      "the others cannot is printed.",
      {},
      {"npgpu transfer --direction h2d,d2h --memory pinned,pageable", "npgpu transfer --device host --end 1MiB",
       "npgpu transfer --async --pattern duplex --schedule classic"},
      with_measure_options(
          {{"What is measured (lists: a,b,c)",
            {Option("device", {}, "A list. Default: the first GPU if there is one, else host."),
             Option("module", {}, "Default: memcpy, cudaMemcpy or simulated, as the device needs."),
             Option("pattern", "stream"), Option("direction", {}, "Default: h2d, on the host h2h."),
             Option("memory", {}, "Default: pinned, on the host pageable."), "async",
             Option("timing", {}, "Default: gated for asynchronous copies, else host."), Option("cache", "warm"),
             Option("soffset", "0"), Option("roffset", "0"), "no-bind"}},
           {"Sizes", {Option("start", "1"), Option("end", "192MiB"), Option("perturbation", "3"), "sizes"}}}),
      [](const Options& options) { return measure(options, transfer_plan); }};
}

}  // namespace npgpu::cli
