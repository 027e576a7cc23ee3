#include "npgpu/staging.hpp"

#include <algorithm>
#include <map>

namespace npgpu {

Seconds StageCost::time(double bytes) const {
  if (curve.size() < 2 || bytes <= curve.front().bytes) return curve.front().time;
  std::size_t right = 1;
  while (right + 1 < curve.size() && curve[right].bytes < bytes) ++right;
  const At &a = curve[right - 1], &b = curve[right];
  return a.time + (b.time - a.time) * ((bytes - a.bytes) / (b.bytes - a.bytes));
}

Seconds staged_time(std::span<const StageCost> stages, std::uint64_t bytes, std::uint64_t chunks) {
  const double chunk = static_cast<double>(bytes) / static_cast<double>(chunks);
  Seconds first{0}, busiest{0};
  std::map<int, Seconds> of_worker;
  for (const StageCost& stage : stages) {
    const Seconds time = stage.time(chunk);
    first += time;
    busiest = std::max(busiest, of_worker[stage.worker] += time);
  }
  return first + static_cast<double>(chunks - 1) * busiest;
}

std::uint64_t advised_chunk(std::span<const StageCost> stages, std::uint64_t bytes, std::uint64_t most,
                            std::uint64_t grain) {
  constexpr std::uint64_t each_of = 64;
  constexpr double as_long = 1.01;
  std::map<std::uint64_t, Seconds> times;  // by chunk
  const std::uint64_t most_chunks = std::max<std::uint64_t>(1, (bytes + grain - 1) / grain);
  for (std::uint64_t n = 1; n <= most_chunks; n = n < each_of ? n + 1 : n + n / 20) {
    const std::uint64_t chunk = std::min(bytes, ((bytes + n - 1) / n + grain - 1) / grain * grain);
    // The last of them may be shorter.
    if (chunk <= std::max(most, std::min(grain, bytes)))
      times[chunk] = staged_time(stages, bytes, (bytes + chunk - 1) / chunk);
  }
  if (times.empty()) return std::min({bytes, std::max(most, grain)});
  const Seconds least = std::ranges::min_element(times, {}, [](const auto& one) { return one.second; })->second;
  std::uint64_t best = times.begin()->first;
  for (const auto& [chunk, time] : times)
    if (time <= as_long * least) best = chunk;
  return best;
}

}  // namespace npgpu
