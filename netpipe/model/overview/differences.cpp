// What sets one GPU apart from the others of its model.
#include <cmath>

#include "netpipe/engine/sort_stably.hpp"
#include "netpipe/model/overview/parts.hpp"

namespace npgpu::model {

namespace {

constexpr double apart = 0.03;  // from the median of the others

struct Number {
  std::string what;
  Estimate value;
  bool is_rate;  // more is better
};

// What a job meets: links, memory, computing power, launches. Latencies of caches and of single calls differ by chance,
// or by where on the chip a block runs.
std::vector<Number> numbers_of(const DeviceOverview& device) {
  std::vector<Number> all;
  for (const CopyCurve& curve : device.copies)
    if (const TransferResult* largest = curve.largest(); curve.is_usual && largest)
      all.push_back({curve.name + " at " + size_text(largest->axes.bytes), largest->rate, true});
  for (const Figure& f : device.bandwidth) all.push_back({"bandwidth, " + f.name, f.value, true});
  for (const Figure& f : device.compute) all.push_back({"compute, " + f.name, f.value, true});
  for (const Figure& f : device.tensor) all.push_back({"tensor, " + f.name, f.value, true});
  for (const MemoryLevel& level : device.levels)
    if (level.latency && level.name == "memory") all.push_back({"latency, memory", level.latency->estimate, false});
  for (const Figure& f : device.calls)
    for (const auto& [name, shown] :
         {std::pair{"launch", "a launch"}, {"in a row", "launches in a row"}, {"until done", "a launch until done"}})
      if (f.name == name) all.push_back({shown, f.value, false});
  return all;
}

// Farther than the tolerance, with all of the interval.
bool is_apart(const Estimate& value, double others, bool is_rate) {
  const double near = is_rate ? value.high : value.low;
  const double nearest = std::isfinite(near) ? near : value.value;
  return is_rate ? nearest < (1 - apart) * others : nearest > (1 + apart) * others;
}

}  // namespace

std::vector<Difference> differences_of(const std::vector<DeviceOverview>& devices) {
  std::vector<Difference> found;
  for (const DeviceOverview& device : devices)
    for (const Number& own : numbers_of(device)) {
      std::vector<double> others;
      for (const DeviceOverview& other : devices) {
        if (&other == &device || other.name != device.name) continue;
        for (const Number& its : numbers_of(other))
          if (its.what == own.what && std::isfinite(its.value.value)) others.push_back(its.value.value);
      }
      if (others.empty() || !std::isfinite(own.value.value)) continue;
      const double middle = median(others);
      if (!is_apart(own.value, middle, own.is_rate)) continue;
      const double share = own.is_rate ? 1 - own.value.value / middle : own.value.value / middle - 1;
      found.push_back({device.id, own.what, own.value, middle, share});
    }
  sort_stably(found, std::ranges::greater{}, &Difference::worse_by);
  return found;
}

}  // namespace npgpu::model
