// npgpu probe: kernels whose work is known exactly, on one unit of a device or on all.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "netpipe/cli/campaign.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/quantity.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

namespace {

template <class E>
std::set<E> choice(const Options& options, const std::string& option) {
  std::set<E> chosen;
  const auto list = options.maybe(option);
  if (!list) return chosen;
  for (const std::string& text : split_words(option, *list)) {
    const auto value = named<E>(text);
    if (!value) throw Error(ErrorKind::usage, fmt::format("--{}: '{}' is none of {}", option, text, choices<E>()));
    chosen.insert(*value);
  }
  return chosen;
}

std::uint32_t small(const std::string& axis, const std::string& text) {
  return static_cast<std::uint32_t>(parse_count(axis, text, 1, 0x7fffffff));
}

// "blocks=132,threads=1024,ilp=4,access=16,bytes=4GiB,alone=1"
Shape shape_of(const std::string& text) {
  Shape shape;
  for (const std::string& word : split_words("shape", text)) {
    const std::size_t equals = word.find('=');
    const std::string axis = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    const std::string option = "shape: " + axis;  // "--shape: blocks: '0' is too small"
    if (axis == "blocks") shape.blocks = small(option, value);
    else if (axis == "threads") shape.threads = small(option, value);
    else if (axis == "ilp") shape.ilp = small(option, value);
    else if (axis == "access") shape.access_bytes = small(option, value);
    else if (axis == "bytes") shape.bytes = parse_size(option, value, 1);
    else if (axis == "one_block_per_sm") shape.one_block_per_sm = static_cast<std::uint32_t>(parse_count(option, value, 0, 1));
    else
      throw Error(ErrorKind::usage, fmt::format("--shape: '{}' is none of blocks, threads, ilp, access, bytes, alone", axis));
  }
  return shape;
}

// All: those that there are for this device; where there are none, those that there are, so that one of them says why.
std::vector<std::string> names_or_all(const std::string& list, const std::string& device) {
  if (list != "all") return split_words("NAME", list);
  std::vector<std::string> names, reaching;
  for (const auto& probe : probes()) {
    const std::string name(probe->name()), kind(probe->kind());
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    if (device == kind || device.rfind(kind + ':', 0) == 0) reaching.push_back(name);
  }
  return reaching.empty() ? names : reaching;
}

Plan plan_of(const Options& options) {
  const auto operations = choice<Operation>(options, "operation");
  const auto types = choice<DataType>(options, "type");
  const auto forms = choice<Form>(options, "form");
  std::vector<Shape> shapes;
  if (const auto text = options.maybe("shape")) shapes.push_back(shape_of(*text));
  Plan plan;
  for (const std::string& id : split_words("device", options.maybe("device").value_or(default_device())))
    for (const std::string& name : names_or_all(options.place("NAME"), id)) {
      const Probe& probe = find_probe(name, id);
      const DeviceInfo device = probe.device(id);
      const std::vector<ProbeCase> cases = probe.cases(id);
      if (cases.empty())
        if (const auto why = probe.refuses({.probe = name, .device = id})) plan.left_out.push_back(name + ' ' + id + ": " + *why);
      for (const ProbeCase& c : cases) {
        const auto wanted = [](const auto& chosen, auto value) { return chosen.empty() || chosen.count(value) > 0; };
        if (wanted(operations, c.operation) && wanted(types, c.type) && wanted(forms, c.form)) add(plan, probe, device, c, shapes);
      }
    }
  if (plan.empty() && plan.left_out.empty())
    throw Error(ErrorKind::usage, "no case of this probe has that operation, type and form; npgpu list names those there are");
  return plan;
}

}  // namespace

int probe(const Arguments& arguments) {
  Options options("probe", "npgpu probe NAME [options]",
                  "Times kernels whose work is known exactly over blocks, threads and independent chains. NAME: compute,\n"
                  "bandwidth, latency, a list of them, or all.",
                  {"NAME"});
  options.group("What is measured (lists: a,b,c)").add_options()
      ("device", word(), "host, cuda:N, sim:NAME or sim:FILE.json; the first GPU if there is one, else host")
      ("operation", word(), "fma, rmw, read, write, copy, triad, chase; all that the device answers if not given")
      ("type", word(), "fp32, fp64, int32, fp16, bf16; likewise")
      ("form", word(), "streaming, dependent; likewise")
      ("shape", word(), "one shape instead of those that answer the case:\nblocks=132,threads=1024,ilp=4,access=16,bytes=4GiB,alone=1");
  declare_measure_options(options, "adaptive");
  if (!options.read(arguments)) return exit_code::done;
  const MeasureOptions how = measure_options(options);
  return measure(plan_of(options), how, ClosingReport::full_report);
}

}  // namespace npgpu::cli
