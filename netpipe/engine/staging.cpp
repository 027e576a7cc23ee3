#include "npgpu/staging.hpp"

#include <algorithm>
#include <map>

namespace npgpu {

Seconds staged_time(std::span<const StageCost> stages, std::uint64_t bytes, std::uint64_t chunks) {
  const double chunk = static_cast<double>(bytes) / static_cast<double>(chunks);
  Seconds first{0}, busiest{0};
  std::map<int, Seconds> of_worker;
  for (const StageCost& stage : stages) {
    const Seconds time = stage.start + Seconds{stage.s_per_byte * chunk};
    first += time;
    busiest = std::max(busiest, of_worker[stage.worker] += time);
  }
  return first + static_cast<double>(chunks - 1) * busiest;
}

std::uint64_t advised_chunk(std::span<const StageCost> stages, std::uint64_t bytes, std::uint64_t most,
                            std::uint64_t grain) {
  constexpr std::uint64_t each_of = 64;
  const auto chunk_of = [&](std::uint64_t chunks) {
    const std::uint64_t chunk = (bytes + chunks - 1) / chunks;
    return std::min(bytes, (chunk + grain - 1) / grain * grain);
  };
  std::uint64_t best = 0;
  Seconds least{0};
  const std::uint64_t most_chunks = std::max<std::uint64_t>(1, (bytes + grain - 1) / grain);
  for (std::uint64_t chunks = 1; chunks <= most_chunks; chunks = chunks < each_of ? chunks + 1 : chunks + chunks / 20) {
    const std::uint64_t chunk = chunk_of(chunks);
    if (chunk > std::max(most, std::min(grain, bytes))) continue;
    // What it really takes: the chunks of this size, the last of which may be shorter.
    const Seconds time = staged_time(stages, bytes, (bytes + chunk - 1) / chunk);
    if (best != 0 && time >= least) continue;
    best = chunk;
    least = time;
  }
  return best != 0 ? best : std::min({bytes, std::max(most, grain)});
}

}  // namespace npgpu
