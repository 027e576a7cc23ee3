#include "netpipe/energy/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "netpipe/engine/copy_cases.hpp"
#include "npgpu/measuring/campaign.hpp"
#include "npgpu/vocabulary/probe.hpp"
#include "npgpu/vocabulary/questions.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::energy {

namespace {

// ---- which probe, which shape --------------------------------------------------------------------

Operation operation_of(EnergyWork work) {
  switch (work) {
    case EnergyWork::mma: return Operation::mma;
    case EnergyWork::wgmma: return Operation::wgmma;
    case EnergyWork::read: return Operation::read;
    case EnergyWork::write: return Operation::write;
    case EnergyWork::copy: return Operation::copy;
    default: return Operation::fma;
  }
}

// Whether a probe's rates are those of this work.
bool measures(const ProbeDescription& probe, const EnergyCase& c) {
  if (c.work == EnergyWork::fma) return probe.question == ProbeQuestion::computing_power;
  if (counts_operations(c.work)) return probe.question == ProbeQuestion::tensor_power;
  if (c.space == Space::global || c.space == Space::host) return probe.question == ProbeQuestion::memory_bandwidth;
  return std::ranges::any_of(probe.unit_rates, [&](const UnitRate& rate) { return rate.space == c.space; });
}

const Probe* find(const EnergyCase& c) {
  for (const Probe* probe : reaching(probes(), devices::kind_of(c.device)))
    if (measures(description_of(probe->name()), c)) return probe;
  return nullptr;
}

// The probe's case, by its own list: types and forms that it does not distinguish are its own.
std::optional<ProbeCase> question_of(const Probe& probe, const EnergyCase& c) {
  for (const ProbeCase& one : probe.cases(c.device))
    if (one.operation == operation_of(c.work) && one.form == Form::streaming && one.space == c.space &&
        (one.type == c.type || !counts_operations(c.work)))
      return one;
  return std::nullopt;
}

std::optional<Shape> shape_of(const Probe& probe, const ProbeCase& question) {
  const bool is_read = question.space == Space::global && question.operation == Operation::read;
  if (question.space != Space::l1 && question.space != Space::l2)
    return filling_shape(probe.shapes(question), is_read ? Fill::light : Fill::usual);
  const auto sets = probe.default_shapes(question);  // the smallest of them the cache surely holds
  if (sets.empty()) return std::nullopt;
  return sets.front();
}

struct Choice {
  const Probe* probe = nullptr;
  ProbeStep step;
};

// Throws Error(usage) with the reason where there is none.
Choice choice_of(const EnergyCase& c) {
  const auto refuse = [&](const std::string& why) { throw Error(ErrorKind::usage, why); };
  const Probe* const probe = find(c);
  if (!probe) refuse(fmt::format("no probe of this build measures {} on {}", work_text(c), c.device));
  const auto question = question_of(*probe, c);
  if (!question) refuse(fmt::format("probe {} of {} has no {}", probe->name(), c.device, work_text(c)));
  auto shape = shape_of(*probe, *question);
  if (!shape) refuse(fmt::format("probe {} of {} has no shape for it", probe->name(), c.device));
  shape->operands = c.operands;
  const ProbeStep step{*question, *shape};
  if (const auto why = probe->refuses(step)) refuse(*why);
  return {probe, step};
}

// ---- which copy ----------------------------------------------------------------------------------

Direction direction_of(EnergyWork work) {
  if (work == EnergyWork::peer) return Direction::peer;
  return work == EnergyWork::h2d ? Direction::h2d : Direction::d2h;
}

std::pair<const Module*, Step<Transfers>> copy_of(const EnergyCase& c, const CopyForm& form = {}) {
  const Module& module = default_module(devices::find(c.device));
  const std::string name(module.name());
  TransferCase copy =
      c.work == EnergyWork::peer ? peer_case(name, c.device, c.target) : case_on(name, c.device, direction_of(c.work));
  copy.async = true;
  copy.timing = form.gated ? Timing::gated : Timing::event;
  return {&module, {copy, {form.bytes}}};
}

// ---- the runner of either ------------------------------------------------------------------------

// As many repeats a run as take about the time that is asked for, by what the last run took.
template <class K> class RunnerLoad final : public Load {
 public:
  RunnerLoad(const Backend<K>& backend, const Step<K>& step)
      : step_(step), runner_(backend.open(std::span(&step_, 1))) {
    runner_->prepare(step_);
  }

  Done run(Seconds about) override {
    if (each_ > Seconds{0}) {
      const double wanted = std::clamp(about / each_, 1.0, 1e9);
      repeats_ = static_cast<std::uint64_t>(std::min(wanted, 8.0 * static_cast<double>(repeats_)));
    }
    if (const std::uint64_t most = runner_->max_repeats()) repeats_ = std::min(repeats_, most);
    samples_.clear();
    const Seconds begin = runner_->clock().now();
    if (!runner_->run(repeats_, samples_)) {
      samples_.clear();
      return {0, runner_->clock().now() - begin};
    }
    const Seconds took = runner_->clock().now() - begin;
    each_ = took / static_cast<double>(repeats_);
    return {work() * static_cast<double>(repeats_), took, K::timed(step_.question, samples_), repeats_};
  }
  std::optional<std::string> check() override {
    if (samples_.empty()) return "no run ended";
    return runner_->check(samples_);
  }
  void renew() override {
    runner_->prepare(step_);
    samples_.clear();
  }
  std::string binding() const override { return runner_->binding(); }

 private:
  double work() const { return runner_->work(); }

  Step<K> step_;
  std::unique_ptr<Runner<K>> runner_;
  std::vector<typename K::Sample> samples_;
  std::uint64_t repeats_ = 1;
  Seconds each_{0};  // repeat, in the last run
};

}  // namespace

std::optional<std::string> refuses(const EnergyCase& c) {
  try {
    if (is_idle(c.work)) return std::nullopt;
    if (!is_link_copy(c.work)) {
      (void)choice_of(c);
      return std::nullopt;
    }
    if (c.operands != Operands::usual) return "copies move the bytes that they are checked by: operands usual";
    if (c.work == EnergyWork::peer && c.target.empty()) return "a copy to another device needs one";
    const auto [module, step] = copy_of(c);
    return module->refuses(step);
  } catch (const Error& e) {
    return e.what();
  }
}

MemoryNeed needs(const EnergyCase& c) {
  if (is_idle(c.work)) return {};
  if (is_link_copy(c.work)) {
    const auto [module, step] = copy_of(c);
    return module->needs(std::span(&step, 1));
  }
  const Choice choice = choice_of(c);
  return choice.probe->needs(std::span(&choice.step, 1));
}

MemoryNeed available(const EnergyCase& c) {
  if (is_idle(c.work)) return {UINT64_MAX, UINT64_MAX};
  if (is_link_copy(c.work)) {
    const auto [module, step] = copy_of(c);
    return module->available(step.question);
  }
  const Choice choice = choice_of(c);
  return choice.probe->available(choice.step.question);
}

std::unique_ptr<Load> open_load(const EnergyCase& c, const CopyForm& form) {
  if (is_idle(c.work)) return nullptr;
  if (is_link_copy(c.work)) {
    const auto [module, step] = copy_of(c, form);
    return std::make_unique<RunnerLoad<Transfers>>(*module, step);
  }
  const Choice choice = choice_of(c);
  return std::make_unique<RunnerLoad<Probes>>(*choice.probe, choice.step);
}

}  // namespace npgpu::energy
