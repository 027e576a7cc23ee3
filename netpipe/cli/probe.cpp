// npgpu probe: kernels that do a known amount of work, on one unit of a device or on all.
#include <fmt/format.h>

#include <algorithm>

#include "netpipe/cli/characterize.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/measure.hpp"
#include "netpipe/cli/options.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/engine/algorithms.hpp"
#include "npgpu/vocabulary/questions.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

namespace {

// An axis of Shape by the word that a user types, and what it may be. `square` is m, n and k at once.
struct Axis {
  std::string_view word;
  std::vector<std::uint32_t Shape::*> members;
  std::uint64_t least = 1, most = 0x7fffffff;
};
const std::vector<Axis>& axes() {
  static const std::vector<Axis> all{{"blocks", {&Shape::blocks}},
                                     {"threads", {&Shape::threads}},
                                     {"ilp", {&Shape::ilp}},
                                     {"access", {&Shape::access_bytes}},
                                     {"one_block_per_sm", {&Shape::one_block_per_sm}, 0, 1},
                                     {"stride", {&Shape::stride}, 0},
                                     {"offset", {&Shape::offset_bytes}, 0},
                                     {"ways", {&Shape::ways}},
                                     {"rung", {&Shape::rung}},
                                     {"cluster", {&Shape::cluster}},
                                     {"registers", {&Shape::registers}},
                                     {"m", {&Shape::m}},
                                     {"n", {&Shape::n}},
                                     {"k", {&Shape::k}},
                                     {"square", {&Shape::m, &Shape::n, &Shape::k}},
                                     {"panels", {&Shape::panels}, 0},
                                     {"host_columns", {&Shape::host_columns}}};
  return all;
}

// A whole number that may have a minus sign.
std::int32_t parse_factor(const std::string& option, const std::string& value) {
  constexpr std::uint64_t most = 1000;
  const bool minus = value.starts_with('-');
  const auto count = static_cast<std::int32_t>(parse_count(option, value.substr(minus), 0, most));
  return minus ? -count : count;
}

// Axes that are no counts, of every shape. False for another axis.
bool take_word(std::vector<Shape>& shapes, const std::string& axis, const std::string& value) {
  const std::string option = "shape: " + axis;
  const auto set = [&](auto Shape::*member, auto one) {
    for (Shape& shape : shapes) shape.*member = one;
    return true;
  };
  if (axis == "bytes") return set(&Shape::bytes, parse_size(option, value, 1));
  if (axis == "shared") {
    const std::uint64_t bytes = parse_size(option, value, 1);
    if (bytes > MiB) throw Error(ErrorKind::usage, "--shape: shared: no unit has more than 1 MiB");
    return set(&Shape::shared_bytes, static_cast<std::uint32_t>(bytes));
  }
  if (axis == "operands") return set(&Shape::operands, parse_name<Operands>(option, value));
  if (axis == "pages") return set(&Shape::pages, parse_name<Pages>(option, value));
  if (axis == "ops") return set(&Shape::ops, parse_name<Ops>(option, value));
  if (axis == "alpha") return set(&Shape::alpha, parse_factor(option, value));
  if (axis == "beta") return set(&Shape::beta, parse_factor(option, value));
  if (axis == "host_columns" && value == "advised") return set(&Shape::host_columns, Shape::as_advised);
  return false;
}

// "blocks=132,threads=1024", "square=64..512:8": where axes have ranges, every shape that these make.
std::vector<Shape> shapes_of(const std::string& text) {
  constexpr std::size_t most_shapes = 100'000;
  std::vector<Shape> shapes(1);
  for (const std::string& word : split_words("shape", text)) {
    const std::size_t equals = word.find('=');
    const std::string axis = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    const std::string option = "shape: " + axis;  // "--shape: blocks: '0' is too small"
    if (take_word(shapes, axis, value)) continue;
    const auto found = std::ranges::find(axes(), axis, &Axis::word);
    if (found == axes().end())
      throw Error(ErrorKind::usage,
                  fmt::format("--shape: '{}' is none of blocks, threads, ilp, access, bytes, one_block_per_sm, stride, "
                              "offset, ways, rung, intensity, cluster, pages, registers, shared, operands, m, n, k, "
                              "square, panels, ops, alpha, beta, host_columns, sm",
                              axis));
    const auto values = parse_counts(option, value, found->least, found->most);
    if (shapes.size() * values.size() > most_shapes)
      throw Error(ErrorKind::usage, fmt::format("--shape: these ranges make more than {} shapes", most_shapes));
    std::vector<Shape> more;
    for (const Shape& shape : shapes)
      for (const std::uint64_t one : values) {
        Shape& next = more.emplace_back(shape);
        for (const auto member : found->members) next.*member = static_cast<std::uint32_t>(one);
      }
    shapes = std::move(more);
  }
  return shapes;
}

// Each shape with each of these operands.
std::vector<Shape> with_operands(const std::vector<Shape>& shapes, const std::vector<Operands>& all) {
  std::vector<Shape> more;
  for (const Operands operands : all)
    for (const Shape& shape : shapes) more.emplace_back(shape).operands = operands;
  return each_once(std::move(more));
}

// All: those that there are for this device; where there are none, those that there are, so that one of them says why.
std::vector<std::string> names_or_all(const std::string& list, const std::string& device) {
  const std::vector<std::string> asked = list == "all" ? std::vector<std::string>{} : split_names("NAME", list);
  std::vector<std::string> names, here;
  for (const auto& probe : probes()) {
    if (std::find(names.begin(), names.end(), probe->name()) == names.end()) names.emplace_back(probe->name());
    if (probe->device_kind() == devices::kind_of(device)) here.emplace_back(probe->name());
  }
  if (list == "all") return here.empty() ? names : here;
  for (const std::string& name : asked)
    if (std::ranges::find(names, name) == names.end())
      throw Error(ErrorKind::usage, fmt::format("'{}' is no probe; there are {}{}", name, fmt::join(names, ", "),
                                                suggestion(name, names)));
  return asked;
}

// NAME all is what every device is asked for, unless the user wants everything; a probe that is named is everything.
bool only_usual(const Options& options) { return options.place("NAME") == "all" && !options.on("thorough"); }

Plan probe_plan(const Options& options) {
  std::vector<Shape> asked;
  if (const auto text = options.maybe("shape")) asked = shapes_of(*text);
  std::vector<Operands> operands;
  if (const auto text = options.maybe("operands")) operands = parse_names<Operands>("operands", *text);
  // What is wrong with the words is wrong on every device.
  is_named(options, "operation", Operation::fma), is_named(options, "type", DataType::fp32),
      is_named(options, "form", Form::streaming), is_named(options, "space", Space::global);
  Plan plan;
  for (const std::string& id : ids_named(options.maybe("device").value_or(devices::default_device())))
    for (const std::string& name : names_or_all(options.place("NAME"), id)) {
      const Probe& probe = find_probe(name, id);
      if (only_usual(options) && !description_of(name).is_usual) continue;
      const DeviceInfo device = devices::find(id);
      const std::vector<ProbeCase> cases = probe.cases(id);
      if (cases.empty())
        if (const auto why = probe.refuses_case({.probe = name, .device = id}))
          plan.left_out.push_back(name + ' ' + id + ": " + *why);
      for (const ProbeCase& c : cases) {
        if (!is_named(options, "operation", c.operation) || !is_named(options, "type", c.type) ||
            !is_named(options, "form", c.form) || !is_named(options, "space", c.space))
          continue;
        std::vector<Shape> shapes = asked;
        if (asked.empty()) shapes = only_usual(options) ? probe.default_shapes(c) : probe.shapes(c);
        if (!operands.empty()) shapes = with_operands(shapes, operands);
        std::optional<std::string> why;
        if ((!asked.empty() || !operands.empty()) && !probe.refuses_case(c))
          std::erase_if(shapes, [&](const Shape& shape) {
            const auto refused = probe.refuses({c, shape});
            if (refused && !why) why = refused;
            return refused.has_value();
          });
        if (why)
          plan.left_out.push_back(fmt::format("{}: --{}: {}", title(c), asked.empty() ? "operands" : "shape", *why));
        if (!shapes.empty()) add<Probes>(plan, probe, device, steps_of<Probes>(c, shapes));
      }
    }
  if (plan.points() == 0 && plan.left_out.empty())
    throw Error(ErrorKind::usage,
                "no case of this probe has that operation, type, form and space (npgpu info --words)");
  return plan;
}

std::string about() {
  std::string text =
      "Times kernels that do a known amount of work, over blocks, threads and independent chains. NAME is a list of "
      "the following, or all.\n";
  for (const auto& one : registered<ProbeDescription>()) text += fmt::format("  {}: {}\n", one->name, one->summary);
  return text +
         "Where a law is taught (bank conflicts, sectors, lines, ways, resident blocks), each shape is compared with "
         "it.";
}

}  // namespace

Command probe() {
  return {"probe",
          "time kernels on one unit of a device and on all",
          about(),
          {"NAME"},
          {"npgpu probe all", "npgpu probe all --thorough", "npgpu probe onchip --operation read",
           "npgpu probe compute --device host --type fp32,fp64",
           "npgpu probe bandwidth --operation read --shape blocks=132,threads=1024,access=16,bytes=4GiB",
           "npgpu probe gemm --type fp64 --space global --shape square=64..1024:8",
           "npgpu probe tensor,gemm --type fp16,fp8 --operands zeros,random"},
          with_measure_options(
              {{"What is measured (lists: a,b,c)",
                {Option("device", {}, "A list. Default: the first GPU if there is one, else host."),
                 Option("operation", {}, "Default: all that the device answers."), Option("type", {}, "Default: all."),
                 Option("form", {}, "Default: all."), Option("space", {}, "Default: all."), "shape",
                 Option("operands", {}, "Each shape is measured with each of these. Default: usual."), "thorough"}}}),
          [](const Options& options) { return measure(options, probe_plan); }};
}

const Joined<ListedCommand> listed_probe({Asks::able, 4, probe});

}  // namespace npgpu::cli
