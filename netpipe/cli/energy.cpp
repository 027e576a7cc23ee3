// npgpu energy: what work costs in joules.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/measure.hpp"
#include "netpipe/cli/quantity.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

namespace {

constexpr Seconds usual_window{0.4}, least_window{0.3}, longest_window{600};

template <class E> std::vector<E> listed_or(const Options& options, const std::string& option, std::vector<E> usual) {
  const auto text = options.maybe(option);
  return text ? parse_names<E>(option, *text) : usual;
}

// The tensor cores' own instruction, where the device has it.
std::vector<EnergyWork> usual_work(const Backend<Energies>& backend, const std::string& id) {
  const Step<Energies> wgmma{{.device = id, .work = EnergyWork::wgmma, .type = DataType::fp16, .space = Space::shared},
                             {}};
  return {EnergyWork::idle,
          EnergyWork::read,
          EnergyWork::write,
          EnergyWork::fma,
          backend.refuses(wgmma) ? EnergyWork::mma : EnergyWork::wgmma,
          EnergyWork::h2d,
          EnergyWork::d2h};
}

std::vector<DataType> types_of(const Options& options, EnergyWork work) {
  if (!counts_operations(work)) return {DataType::fp32};
  return listed_or(options, "type",
                   work == EnergyWork::fma ? std::vector{DataType::fp32, DataType::fp64}
                                           : std::vector{DataType::fp16, DataType::fp8});
}

std::vector<Space> spaces_of(const Options& options, EnergyWork work) {
  if (work == EnergyWork::wgmma) return {Space::shared};
  if (counts_operations(work)) return {Space::registers};
  if (is_idle(work) || is_link_copy(work)) return {Space::global};
  return listed_or(
      options, "space",
      work == EnergyWork::read ? std::vector{Space::global, Space::l2, Space::shared} : std::vector{Space::global});
}

// Every case that the words ask for, but for its operands.
std::vector<EnergyCase> asked_cases(const Options& options, const Backend<Energies>& backend, const std::string& id) {
  std::vector<EnergyCase> all;
  for (const EnergyWork work : listed_or(options, "work", usual_work(backend, id)))
    for (const DataType type : types_of(options, work))
      for (const Space space : spaces_of(options, work)) {
        EnergyCase c{.device = id, .work = work, .type = type, .space = space};
        if (work != EnergyWork::peer) {
          all.push_back(c);
          continue;
        }
        std::vector<std::string> targets = devices::node(id);
        std::erase(targets, id);
        if (targets.empty()) throw Error(ErrorKind::nothing, "--work peer needs two GPUs, and there is none but " + id);
        c.target = targets.front();
        all.push_back(c);
      }
  return all;
}

// At rest once, and else at full and at half work.
std::vector<Step<Energies>> steps_of_case(const EnergyCase& c, std::uint32_t window_ms) {
  if (is_idle(c.work)) return {{c, {0, window_ms}}};
  return {{c, {100, window_ms}}, {c, {50, window_ms}}};
}

Plan energy_plan(const Options& options) {
  const auto text = options.maybe("window");
  const Seconds window = text ? parse_duration("window", *text, least_window) : usual_window;
  if (window > longest_window) throw Error(ErrorKind::usage, "--window: no window is longer than 600 s");
  const auto window_ms = static_cast<std::uint32_t>(window.count() * 1e3 + 0.5);
  const auto asked = options.maybe("operands");
  Plan plan;
  for (const std::string& id : split_words("device", options.maybe("device").value_or(devices::default_device()))) {
    const DeviceInfo device = devices::find(id);
    const auto some = reaching(backends<Energies>(), devices::kind_of(id));
    if (some.empty()) throw Error(ErrorKind::usage, "--device: this program reads no energy of '" + id + "'");
    const Backend<Energies>& backend = *some.front();
    if (const auto why = backend.refuses({{.device = id}, {0, window_ms}}))
      throw Error(ErrorKind::nothing, "the energy of " + id + " cannot be read: " + *why);
    std::vector<Step<Energies>> steps;
    for (EnergyCase c : asked_cases(options, backend, id)) {
      const auto takes = [&](Operands operands) {
        c.operands = operands;
        return !backend.refuses(steps_of_case(c, window_ms).front());
      };
      std::vector<Operands> operands{takes(Operands::random) && !is_idle(c.work) ? Operands::random : Operands::usual};
      if (asked && !is_idle(c.work) && !is_link_copy(c.work)) operands = parse_names<Operands>("operands", *asked);
      for (const Operands one : operands) {
        c.operands = one;
        std::ranges::move(steps_of_case(c, window_ms), std::back_inserter(steps));
      }
    }
    // What rests is part of every answer.
    const Step<Energies> idle{{.device = id}, {0, window_ms}};
    if (std::ranges::find(steps, idle) == steps.end()) steps.insert(steps.begin(), idle);
    add<Energies>(plan, backend, device, steps);
  }
  return plan;
}

}  // namespace

Command energy() {
  return {"energy",
          "measure what work costs in joules: bytes, operations, and rest",
          "Measures the energy that a device takes at rest and while it does one thing: reads memory or caches, "
          "multiplies, copies. Windows begin and end on a step of the device's energy counter. Work at full rate, at "
          "half of it and rest together give the energy of one byte or operation over idle. What the numbers are "
          "decides it: --operands zeros,random measures both.",
          {},
          {"npgpu energy", "npgpu energy --work read,fma --operands zeros,random --output energy.h5",
           "npgpu energy --device sim:h200 --work idle,read,fma"},
          with_measure_options(
              {{"What is measured (lists: a,b,c)",
                {Option("device", {}, "A list. Default: the first GPU if there is one, else host."), "work",
                 Option("type", {}, "Of operations. Default: fp32 and fp64; of tensor cores fp16 and fp8."),
                 Option("space", {}, "Of read, write and copy. Default: global; of read also l2 and shared."),
                 "operands", "window"}}}),
          [](const Options& options) { return measure(options, energy_plan); }};
}

}  // namespace npgpu::cli
