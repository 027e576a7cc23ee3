// Guesses of how long a plan takes, for --dry-run and the time left, which is corrected by what points really take.
#include "netpipe/campaign/guess.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace npgpu {

namespace campaign {

namespace {

// Of all visits to a point; `rest` is what each takes in addition to its trials.
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
