#include "netpipe/trace/checkpoint_policy.hpp"

#include <algorithm>

namespace npgpu::trace {

void CheckpointPolicy::added(Seconds now) {
  gap_ = now - last_added_;
  last_added_ = now;
  if (!unsaved_) oldest_unsaved_ = now;
  unsaved_ = true;
}

bool CheckpointPolicy::due(Seconds now, std::uint64_t bytes) const {
  if (!unsaved_) return false;
  if (saves_ == 0) return true;
  const Seconds cost = expected(bytes);
  const Seconds patience = std::max(limits_.patience, cost / limits_.max_share);
  if (now - oldest_unsaved_ + gap_ >= patience) return true;
  return spent_ + cost <= limits_.share * (now - start_);
}

void CheckpointPolicy::saved(Seconds cost, std::uint64_t bytes) {
  constexpr double weight = 0.3;  // of the latest: one slow fsync is soon forgotten, a slower disk soon noticed
  usual_cost_ = saves_ == 0 ? cost : (1 - weight) * expected(bytes) + weight * cost;
  usual_bytes_ = bytes;
  spent_ += cost;
  ++saves_;
  unsaved_ = false;
}

Seconds CheckpointPolicy::expected(std::uint64_t bytes) const {
  if (usual_bytes_ == 0 || bytes <= usual_bytes_) return usual_cost_;
  return usual_cost_ * (static_cast<double>(bytes) / static_cast<double>(usual_bytes_));
}

}  // namespace npgpu::trace
