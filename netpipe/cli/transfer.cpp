// npgpu transfer: one case or many, over sizes.
#include <fmt/format.h>

#include "netpipe/cli/campaign.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/quantity.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

namespace {

void declare(Options& options) {
  options.group("What is measured (lists: a,b,c)").add_options()
      ("device", word(), "host, cuda:N, sim:NAME or sim:FILE.json; the first GPU if there is one, else host")
      ("module", word(), "memcpy, cudaMemcpy, cuMemcpy, simulated; by the device if not given")
      ("pattern", word("stream"), "stream, pingpong, duplex")
      ("direction", word(), "h2d, d2h, d2d, h2h; h2d if not given, h2h on the host")
      ("memory", word(), "pageable, pinned, write-combined, managed; pinned if not given, pageable on the host")
      ("async", po::bool_switch(), "the API's asynchronous form")
      ("timing", word(), "host, event, gated; gated for asynchronous copies, else host")
      ("cache", word("warm"), "warm, cold")
      ("soffset", word("0"), "bytes that the source stands past an aligned address")
      ("roffset", word("0"), "bytes that the target stands past an aligned address")
      ("no-bind", po::bool_switch(), "leave thread and buffers where the system puts them");
  options.group("Sizes").add_options()
      ("start", word("1"), "smallest size")
      ("end", word("192MiB"), "largest size")
      ("perturbation", word("3"), "also measure each size minus and plus so many bytes; 0 for none")
      ("sizes", word(), "these sizes instead: 8,4KiB,1MiB");
}

template <class E>
std::vector<E> choice(const Options& options, const std::string& option) {
  std::vector<E> chosen;
  for (const std::string& text : split_words(option, options.text(option))) {
    const auto value = named<E>(text);
    if (!value)
      throw Error(ErrorKind::usage, fmt::format("--{}: '{}' is none of {}", option, text, choices<E>()));
    chosen.push_back(*value);
  }
  return chosen;
}

template <class E>
std::vector<E> choice_or(const Options& options, const std::string& option, E standard) {
  return options.has(option) ? choice<E>(options, option) : std::vector<E>{standard};
}

std::vector<std::uint64_t> sizes_of(const Options& options) {
  if (const auto text = options.maybe("sizes")) return parse_sizes("sizes", *text);
  return sweep_sizes(parse_size("start", options.text("start"), 1), parse_size("end", options.text("end"), 1),
                     parse_size("perturbation", options.text("perturbation")));
}

// The host side's memory that a direction has when none is named.
Memory standard_memory(const Module& module, Direction direction) {
  if (direction == Direction::d2d || direction == Direction::peer) return Memory::device;
  if (direction == Direction::h2h && module.name() == "memcpy") return Memory::pageable;
  return Memory::pinned;
}

Timing standard_timing(const TransferCase& c) {
  const bool queues = c.async && c.memory != Memory::pageable && c.memory != Memory::managed;
  return queues && c.direction != Direction::h2h ? Timing::gated : Timing::host;
}

Plan plan_of(const Options& options) {
  const std::vector<std::uint64_t> sizes = sizes_of(options);
  Plan plan;
  for (const std::string& id : split_words("device", options.maybe("device").value_or(default_device()))) {
    const std::string module_list = options.maybe("module").value_or(std::string(default_module(id).name()));
    for (const std::string& module_name : split_words("module", module_list)) {
      const Module& module = module_named(module_name);
      const DeviceInfo device = module.device(id);
      TransferCase c{.module = module_name, .device = id};
      c.async = options.on("async");
      c.bind = !options.on("no-bind");
      c.source_offset = parse_size("soffset", options.text("soffset"));
      c.target_offset = parse_size("roffset", options.text("roffset"));
      for (const Cache cache : choice<Cache>(options, "cache"))
        for (const Pattern pattern : choice<Pattern>(options, "pattern"))
          for (const Direction direction :
               choice_or(options, "direction", id == "host" ? Direction::h2h : Direction::h2d))
            for (const Memory memory : choice_or(options, "memory", standard_memory(module, direction))) {
              c.cache = cache;
              c.pattern = pattern;
              c.direction = direction;
              c.memory = memory;
              for (const Timing timing : choice_or(options, "timing", standard_timing(c))) {
                c.timing = timing;
                add(plan, module, device, c, sizes);
              }
            }
    }
  }
  return plan;
}

}  // namespace

int transfer(const Arguments& arguments) {
  Options options("transfer", "npgpu transfer [options]",
                  "Measures memory copies over sizes. Options that take lists measure every combination that can\n"
                  "run and say why the others cannot.");
  declare(options);
  declare_measure_options(options, "classic");
  if (!options.read(arguments)) return exit_code::done;
  const MeasureOptions how = measure_options(options);
  return measure(plan_of(options), how, ClosingReport::full_report);
}

}  // namespace npgpu::cli
