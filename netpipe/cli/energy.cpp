// npgpu energy: what work costs in joules.
#include <algorithm>
#include <iterator>

#include "netpipe/cli/characterize.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/measure.hpp"
#include "netpipe/cli/quantity.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

namespace {

// An empty list stands for the usual ones.
struct EnergyQuestions {
  std::vector<EnergyWork> work{};
  std::vector<DataType> types{};
  std::vector<Space> spaces{};
  std::vector<Operands> operands{};
  std::uint32_t window_ms = EnergyLoad{}.window_ms;
};

using EnergyBackends = Backend<Energies>;

template <class T> std::vector<T> given_or(const std::vector<T>& given, std::vector<T> usual) {
  return given.empty() ? usual : given;
}

// The tensor cores' own instruction, where the device has it.
std::vector<EnergyWork> usual_work(const EnergyBackends& backend, const std::string& id) {
  const Step<Energies> wgmma{{.device = id, .work = EnergyWork::wgmma, .type = DataType::fp16, .space = Space::shared},
                             {}};
  std::vector<EnergyWork> all{EnergyWork::idle, EnergyWork::read, EnergyWork::write, EnergyWork::fma};
  if (id == "host") return all;
  all.insert(all.end(),
             {backend.refuses(wgmma) ? EnergyWork::mma : EnergyWork::wgmma, EnergyWork::h2d, EnergyWork::d2h});
  return all;
}

std::vector<DataType> types_of(const EnergyQuestions& asked, EnergyWork work) {
  if (!counts_operations(work)) return {DataType::fp32};
  if (work == EnergyWork::fma) return given_or(asked.types, {DataType::fp32, DataType::fp64});
  return given_or(asked.types, {DataType::fp16, DataType::fp8});
}

std::vector<Space> spaces_of(const EnergyQuestions& asked, EnergyWork work, const std::string& id) {
  if (work == EnergyWork::wgmma) return {Space::shared};
  if (counts_operations(work)) return {Space::registers};
  if (is_idle(work) || is_link_copy(work)) return {Space::global};
  if (id == "host") return {Space::host};
  if (work == EnergyWork::read) return given_or(asked.spaces, {Space::global, Space::l2, Space::shared});
  return given_or(asked.spaces, {Space::global});
}

// Every case that is asked for, but for its operands.
std::vector<EnergyCase> energy_cases(const EnergyQuestions& asked, const EnergyBackends& backend,
                                     const std::string& id) {
  std::vector<EnergyCase> all;
  for (const EnergyWork work : given_or(asked.work, usual_work(backend, id)))
    for (const DataType type : types_of(asked, work))
      for (const Space space : spaces_of(asked, work, id)) {
        EnergyCase& c = all.emplace_back(EnergyCase{.device = id, .work = work, .type = type, .space = space});
        if (work != EnergyWork::peer) continue;
        std::vector<std::string> targets = devices::node(id);
        std::erase(targets, id);
        if (targets.empty()) throw Error(ErrorKind::nothing, "--work peer needs two GPUs, and there is none but " + id);
        c.target = targets.front();
      }
  return all;
}

std::vector<Step<Energies>> steps_for(const EnergyCase& c, std::uint32_t window_ms) {
  if (is_idle(c.work)) return {{c, {0, window_ms}}};
  return {{c, {100, window_ms}}, {c, {50, window_ms}}};
}

// Random numbers where the work can have them: they cost what a program's own do, rather than zeros.
std::vector<Operands> operands_of(const EnergyQuestions& asked, const EnergyBackends& backend, EnergyCase c) {
  if (is_idle(c.work) || is_link_copy(c.work)) return {Operands::usual};
  c.operands = Operands::random;
  const bool takes_random = !backend.refuses(steps_for(c, asked.window_ms).front());
  return given_or(asked.operands, {takes_random ? Operands::random : Operands::usual});
}

void add_energy(Plan& plan, const DeviceInfo& device, const EnergyQuestions& asked) {
  const std::string& id = device.id;
  const auto some = reaching(backends<Energies>(), devices::kind_of(id));
  if (some.empty()) throw Error(ErrorKind::usage, "--device: this program reads no energy of '" + id + "'");
  const EnergyBackends& backend = *some.front();
  const Step<Energies> idle{{.device = id}, {0, asked.window_ms}};
  if (const auto why = backend.refuses(idle))
    throw Error(ErrorKind::nothing, "the energy counter of " + id + " cannot be read: " + *why);
  std::vector<Step<Energies>> steps;
  for (EnergyCase c : energy_cases(asked, backend, id))
    for (const Operands operands : operands_of(asked, backend, c)) {
      c.operands = operands;
      std::ranges::move(steps_for(c, asked.window_ms), std::back_inserter(steps));
    }
  // What rests is part of every answer.
  if (std::ranges::find(steps, idle) == steps.end()) steps.insert(steps.begin(), idle);
  add<Energies>(plan, backend, device, steps);
}

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
  for (const std::string& id : ids_named(options.maybe("device").value_or(devices::default_device())))
    add_energy(plan, devices::find(id), asked);
  return plan;
}

}  // namespace

void add_energy(Plan& plan, const DeviceInfo& device) { add_energy(plan, device, {}); }

Command energy() {
  return {"energy",
          "measure what work costs in joules: bytes, operations, and rest",
          "Measures the energy that a device takes at rest and while it does one thing: reads memory or caches, "
          "multiplies, copies. Windows begin and end on a step of the device's energy counter. Work at full rate, at "
          "half of it and rest together give the energy of one byte or operation over idle. It depends on the data: "
          "--operands zeros,random measures both.",
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

const Joined<ListedCommand> listed_energy({Asks::able, 8, energy});

}  // namespace npgpu::cli
