// Guesses of how long a plan takes, for --dry-run and the time left, which is corrected by what points really take.
#include "netpipe/campaign/guess.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "npgpu/probe_description.hpp"

namespace npgpu {

namespace campaign {

namespace {

struct PointCost {
  Seconds repeat{1e-6};
  Seconds rest{0};  // of preparing the point and comparing its results
};

Seconds moved(double bytes, double bytes_per_s) { return Seconds{bytes / bytes_per_s}; }

// Round figures: a host of 2 cores, a GPU on PCIe 5. What a simulated device does takes no time, but the beginnings
// of its buffers are filled and compared.
template <class K> PointCost cost_of(const DeviceInfo&, const Step<K>&) { return {}; }

template <> PointCost cost_of(const DeviceInfo& device, const Step<Transfers>& step) {
  const bool host = step.question.direction == Direction::h2h, far = step.question.cache == Cache::cold;
  const int legs = step.question.pattern == Pattern::stream ? 1 : 2;
  const auto bytes = static_cast<double>(step.axes.bytes) * legs;
  const bool blocking = step.question.timing == Timing::host;
  const double rate = step.question.direction == Direction::d2d    ? 1e12
                      : step.question.direction == Direction::peer ? 2e11
                      : host                                       ? 8e9
                                                                   : 4e10;
  constexpr double most_real_bytes = 64 * KiB;  // of a simulated copy
  if (device.simulated) return {Seconds{0}, moved(std::min(bytes, most_real_bytes * legs), 1.8e9)};
  // A walk through more than the caches is laid out anew for each size.
  return {Seconds{host       ? 1e-7
                  : blocking ? 6e-6
                             : 2e-6} +
              moved(bytes, rate),
          moved(bytes, 4e9) + Seconds{far && host ? 0.15 : 0}};
}

template <> PointCost cost_of(const DeviceInfo& device, const Step<Probes>& step) {
  if (device.simulated) return {Seconds{0}, Seconds{0}};
  const auto bytes = static_cast<double>(step.axes.bytes);
  const bool host = device.id == "host", waits = step.question.form == Form::dependent;
  if (step.axes.m > 0) {
    const double work = 2.0 * step.axes.m * step.axes.n * step.axes.k;
    const double elements = step.axes.m * 1.0 * step.axes.n + step.axes.k * (1.0 * step.axes.m + step.axes.n);
    const Seconds product{1e-5 + work / (host ? 5e10 * step.axes.blocks : 3e13)};
    const bool copied = !host && step.question.space == Space::host;
    return {product + moved(copied ? 8 * elements : 0, 4e10), Seconds{host ? 0.05 : 1e-3} + moved(elements, 1e9)};
  }
  if (counted_of(step.question).each_waits()) return {Seconds{host ? 1e-6 : 1e-5}, moved(bytes, host ? 2e9 : 5e10)};
  const double rate = host ? (waits ? 5e9 : 3e10) : (waits ? 5e10 : 2e12);
  // A host's set is walked through in pieces, and laid out for several points.
  const double repeat = host ? std::min(bytes, 32.0 * MiB * step.axes.blocks) : bytes;
  return {Seconds{1e-6} + moved(repeat, rate), moved(bytes, host ? 2e10 : 1e12)};
}

template <> PointCost cost_of(const DeviceInfo& device, const Step<Jobs>& step) {
  constexpr double bytes_per_s = 4e10, word_rounds_per_s = 1e12;
  const JobShape& job = step.axes;
  const Seconds copies = moved(static_cast<double>(job.bytes_in + job.bytes_out), bytes_per_s);
  if (device.simulated) return {Seconds{0}, copies};
  const Seconds kernel = job.kernel_ratio > 0
                             ? job.kernel_ratio * copies
                             : Seconds{static_cast<double>(job.kernel_bytes / 4 * job.iterations) / word_rounds_per_s};
  // As much again to set up and to check.
  return {Seconds{20e-6} + copies + kernel, Seconds{0.005} + 3 * copies};
}

template <> PointCost cost_of(const DeviceInfo& device, const Step<Partitions>& step) {
  if (device.simulated) return {Seconds{0}, Seconds{0}};
  constexpr double copied_values = 6;  // of each unknown: four down, one up, and what goes to the host and back
  const auto unknowns = static_cast<double>(step.axes.size);
  const double sub_systems = unknowns / step.axes.sub_system;
  if (device.id == "host") return {Seconds{20e-6 + 40e-9 * unknowns}, Seconds{50e-9 * unknowns}};
  const Seconds copies = moved(copied_values * static_cast<double>(bytes_of(step.question.type)) * unknowns, 4e10);
  return {Seconds{100e-6 + 14e-9 * sub_systems} + copies, Seconds{0.005} + copies};
}

template <> PointCost cost_of(const DeviceInfo& device, const Step<Energies>& step) {
  if (device.simulated) return {Seconds{0}, Seconds{0}};
  return {Seconds{step.axes.window_ms * 1e-3 + 0.36}, Seconds{0.2}};  // until the counter steps, and to set up
}

// All devices do a slice at once.
template <> PointCost cost_of(const DeviceInfo& device, const Step<Soaks>& step) {
  return {step.question.device == device.id && !device.simulated ? Seconds{step.axes.length_ms * 1e-3} : Seconds{0}};
}

template <> PointCost cost_of(const DeviceInfo& device, const Step<Pieces>& step) {
  if (device.simulated) return {Seconds{0}, Seconds{0}};
  const double pieces = step.axes.pieces, bytes = static_cast<double>(step.axes.bytes());
  const bool each = step.axes.way == PieceWay::loop || step.axes.way == PieceWay::graph;
  const bool inside = step.question.direction == Direction::d2d;
  const Seconds made{step.axes.way == PieceWay::graph ? pieces * 3e-6 : 0};
  return {Seconds{1e-5 + (each ? pieces * 1.5e-6 : pieces * 2e-7)} + moved(bytes, inside ? 1e12 : 4e10),
          made + moved(bytes, 4e9)};
}

// By one link of each GPU, with twice the bytes in all.
template <> PointCost cost_of(const DeviceInfo& device, const Step<Collectives>& step) {
  const auto bytes = static_cast<double>(step.axes.bytes);
  if (device.simulated) return {Seconds{0}, Seconds{2e-4}};
  return {Seconds{1.5e-5} + moved(2 * bytes, 1.5e11), Seconds{2e-3} + moved(4 * bytes, 1e12)};
}

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
  const PointCost cost = cost_of(batch.device, step);
  if (batch.device.simulated) return (least + cost.rest) * how.rounds;
  return visited(batch.device, how, cost.repeat, least + cost.rest);
}

template <class K> Seconds guess_set_up(const Batch<K>& batch) {
  // Buffers are taken and filled, and the device is kept busy for a while.
  return moved(static_cast<double>(batch.need.host_bytes), 3e9) + Seconds{batch.device.simulated ? 0 : 0.2};
}

namespace {

// One instance for each kind of the list.
template <class... Ks> constexpr auto guess_instances_for(List<Ks...>) {
  return std::tuple{std::pair{&guess<Ks>, &guess_set_up<Ks>}...};
}
[[maybe_unused, gnu::used]] const auto guess_instances = guess_instances_for(Kinds{});

}  // namespace

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
