#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "netpipe/campaign/guess.hpp"
#include "npgpu/measuring/campaign.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

template <class K> std::string title_of(const Batch<K>& batch) {
  const auto cases = batch.cases();
  return cases.size() == 1 ? title(*cases.begin()) : fmt::format("{} {}", K::name, batch.device.id);
}

namespace {

// Why these do not fit into what is free now; nothing if they do.
template <class K> std::optional<std::string> too_large(const Batch<K>& batch) {
  const MemoryNeed free = batch.backend->available(batch.steps.front().question);
  for (const auto& [where, need, have] : {std::tuple{"host", batch.need.host_bytes, free.host_bytes},
                                          std::tuple{"device", batch.need.device_bytes, free.device_bytes}})
    if (need > have)
      return fmt::format("{}: needs {} of {} memory, and {} are free: {}", title_of(batch), size_text(need), where,
                         size_text(have), K::smaller);
  return std::nullopt;
}

}  // namespace

std::vector<DeviceInfo> Plan::devices() const {
  std::vector<DeviceInfo> all;
  for_each_kind([&]<class K>() {
    for (const Batch<K>& batch : of<K>()) {
      const auto add = [&](const DeviceInfo& one) {
        if (std::ranges::find(all, one.id, &DeviceInfo::id) == all.end()) all.push_back(one);
      };
      add(batch.device);
      std::ranges::for_each(batch.more_devices, add);
      for (const auto& question : batch.cases())
        for (const std::string& id : K::other_devices(question))
          if (std::ranges::find(all, id, &DeviceInfo::id) == all.end()) all.push_back(devices::find(id));
    }
  });
  return all;
}

bool Plan::is_of_node() const {
  std::size_t several = 0;
  for (const Batch<Transfers>& batch : of<Transfers>())
    for (const TransferCase& c : batch.cases()) several += devices_of(c).size() > 1;
  constexpr std::size_t a_screen = 20;
  return several > 1 && cases() > a_screen;
}

bool Plan::allows_context_reset() const {
  bool all = true;
  for_each_kind([&]<class K>() {
    for (const Batch<K>& batch : of<K>()) all = all && batch.backend->allows_context_reset();
  });
  return all;
}

std::size_t Plan::points() const {
  std::size_t sum = 0;
  for_each_kind([&]<class K>() {
    for (const Batch<K>& batch : of<K>()) sum += batch.steps.size();
  });
  return sum;
}

std::size_t Plan::cases() const {
  std::size_t sum = 0;
  for_each_kind([&]<class K>() {
    for (const Batch<K>& batch : of<K>()) sum += batch.cases().size();
  });
  return sum;
}

template <class K>
void add(Plan& plan, const Backend<K>& backend, const DeviceInfo& device, const std::vector<Step<K>>& steps,
         Seconds min_trial) {
  struct Refused {
    std::string why;
    typename K::Case first;
    std::size_t points = 0;
  };
  std::vector<Refused> refused;
  Batch<K> batch{&backend, device, {}, {}, min_trial};
  for (const Step<K>& step : steps) {
    const auto why = backend.refuses(step);
    if (!why) {
      batch.steps.push_back(step);
      continue;
    }
    auto same = std::ranges::find(refused, *why, &Refused::why);
    if (same == refused.end()) same = refused.insert(same, {*why, step.question});
    ++same->points;
  }
  for (const Refused& r : refused)
    plan.left_out.push_back(
        fmt::format("{}: {}{}", title(r.first), r.why,
                    r.points > 1 && r.points < steps.size()
                        ? fmt::format(" (and {} more point{})", r.points - 1, r.points == 2 ? "" : "s")
                        : ""));
  if (batch.steps.empty()) return;
  batch.need = backend.needs(batch.steps);
  if (const auto why = too_large(batch)) plan.left_out.push_back(*why);
  else plan.of<K>().push_back(std::move(batch));
}

std::vector<TransferSize> axes_of(const std::vector<std::uint64_t>& sizes) {
  std::vector<TransferSize> axes;
  for (const std::uint64_t bytes : sizes) axes.push_back({bytes});
  return axes;
}

const Module& default_module(const DeviceInfo& device, Executor executor) {
  const std::string_view kind = devices::kind_of(device.id);
  const auto all = reaching(modules(), kind);
  if (all.empty()) throw Error(ErrorKind::nothing, fmt::format("no module of this build moves bytes on {}", device.id));
  if (executor == Executor::sm_kernel)
    for (const Module* module : all)
      if (module->executor() == executor) return *module;
  // The runtime API is what most programs use.
  const auto usual = std::ranges::find(all, "cudaMemcpy", &Module::name);
  return usual == all.end() ? *all.front() : **usual;
}

NPGPU_FOR_KINDS(&add<K>, &title_of<K>)

Repetition UsualKind::repetition() { return {.classic = {}, .adaptive = {}, .rounds = Repetition::usual_rounds}; }

Repetitions default_repetitions() {
  Repetitions all;
  for_each_kind([&]<class K>() { static_cast<Repetition&>(std::get<RepetitionOf<K>>(all)) = K::repetition(); });
  return all;
}

bool Repetition::wants_visit(std::uint32_t round, const Standing& so_far, Seconds spent) const {
  if (is_classic || rounds == 1) return round < rounds;
  if (round < std::min(rounds, min_visits)) return true;
  if (round < rounds) return spent < much_more * adaptive.budget;
  return so_far.stop == Stop::not_converged && so_far.visits_narrow_it && spent < adaptive.budget;
}

Repetition Repetition::with_trials_from(Seconds min_trial) const {
  Repetition longer = *this;
  longer.adaptive.trial = std::max(adaptive.trial, min_trial);
  longer.adaptive.budget = std::max(adaptive.budget, 4.0 * rounds * min_trial);
  return longer;
}

Repetition::Standing Repetition::standing(Stop last, const ByVisit& each_us, const DriftByTime& drift) const {
  if (is_classic || rounds == 1) return {last, false};
  // Twice as many visits make an interval of visits alone narrower by 1/sqrt(2), and so that with a drift of a third of
  // its square by at least 18 %. In seven runs of characterize on H200s the further visits to such points made
  // intervals a quarter narrower in the middle, and those to all others 2 %.
  constexpr double of_drift = 2;
  const Estimate alone = median_over_visits(each_us, "us");
  const double share = drift.at(alone.value);
  const bool is_narrow =
      each_us.size() >= std::min(rounds, min_visits) && half_width(with_drift(alone, share)) <= adaptive.tolerance;
  const double scatter = half_width(alone), shared = of_95_percent * share;
  const bool narrows = !(scatter * scatter <= of_drift * shared * shared);
  return {is_narrow ? Stop::converged : Stop::not_converged, narrows};
}

std::uint32_t Settings::max_visits() const {
  std::uint32_t most = 1;
  for_each_kind([&]<class K>() { most = std::max(most, repetition<K>().max_visits()); });
  return most;
}

std::uint32_t Settings::rounds() const {
  std::uint32_t most = 1;
  for_each_kind([&]<class K>() { most = std::max(most, repetition<K>().rounds); });
  return most;
}

// Guesses of how long a plan takes, for --dry-run and the time left, which is corrected by what points really take.

namespace campaign {

namespace {

// The time of all visits to a point; `rest` is what each takes in addition to its trials.
Seconds visited(const DeviceInfo& device, const Repetition& how, Seconds repeat, Seconds rest) {
  if (how.is_classic) return (how.schedule()->guess(repeat) + rest) * how.rounds;
  const Seconds trial = std::max(how.adaptive.trial, repeat), share = how.adaptive.budget / how.rounds;
  const double trials = how.rounds == 1 ? how.adaptive.min_trials
                                        : std::clamp(std::ceil(share / trial), 1.0, double(how.adaptive.min_trials));
  const Seconds visit = rest + repeat + trial * (trials + 0.5);
  const double most = how.rounds, least = std::min(how.rounds, Repetition::min_visits);
  const double visits = std::clamp(std::ceil(Repetition::much_more * how.adaptive.budget / visit), least, most);
  // Few points of a quiet GPU spend their budget, and a fifth of a host's.
  const double unsettled = device.id == "host" ? 0.2 : 0.05;
  return visit * visits + unsettled * std::max(Seconds{0}, how.adaptive.budget - visit * visits);
}

}  // namespace

template <class K> Seconds guess(const Batch<K>& batch, const Step<K>& step, const Repetition& how) {
  constexpr Seconds least{5e-4};
  const PointCost cost = K::cost(batch.device, step);
  if (batch.device.simulated) return (least + cost.rest) * how.rounds;
  return visited(batch.device, how, cost.repeat, least + cost.rest);
}

template <class K> Seconds guess_set_up(const Batch<K>& batch) {
  // Buffers are taken and filled, and the device is kept busy for a while.
  return PointCost::moving(static_cast<double>(batch.need.host_bytes), 3e9) + Seconds{batch.device.simulated ? 0 : 0.2};
}

NPGPU_FOR_KINDS(&guess<K>, &guess_set_up<K>)

}  // namespace campaign

Seconds guess(const Plan& plan, const Settings& settings) {
  std::map<std::string, Seconds> by_device;
  for_each_kind([&]<class K>() {
    for (const Batch<K>& batch : plan.of<K>()) {
      Seconds& sum = by_device.try_emplace(batch.device.id, 0).first->second;
      const Repetition how = campaign::repetition_of(batch, settings);
      sum += campaign::guess_set_up(batch) * how.rounds;
      for (const Step<K>& step : batch.steps) sum += campaign::guess(batch, step, how);
    }
  });
  Seconds all{0}, longest{0};
  for (const auto& [device, sum] : by_device) {
    if (!settings.side_by_side || device == "host") all += sum;
    else longest = std::max(longest, sum);
  }
  return all + longest;
}

}  // namespace npgpu
