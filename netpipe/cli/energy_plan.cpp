#include "netpipe/cli/energy_plan.hpp"

#include <algorithm>
#include <iterator>

#include "npgpu/error.hpp"

namespace npgpu::cli {

namespace {

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

}  // namespace

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

}  // namespace npgpu::cli
