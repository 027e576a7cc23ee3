#include "netpipe/devices/cuda/watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace npgpu::cuda {

void Watch::begin() {
  look();
  (void)others_freed();  // what they freed before is waited for
  if (!others_.empty() || !lists_us_) (void)is_link_used(eyes_.now());
}

// Who is there, and what they are known to do.
void Watch::look() {
  const Seconds now = eyes_.now();
  const auto listed = eyes_.processes();
  lists_ = listed.has_value();
  if (!lists_) return;
  lists_us_ = lists_us_ || std::ranges::find(*listed, eyes_.own_pid) != listed->end();
  serves_us_alone_ =
      lists_us_ && std::ranges::all_of(*listed, [&](long pid) { return is_own(pid) || eyes_.is_server(pid); });
  std::erase_if(others_, [&](const auto& one) {
    const bool is_gone = std::ranges::find(*listed, one.first) == listed->end() && !is_busy(one.second, now);
    return is_gone || is_ours(one.first);
  });
  for (const long pid : *listed)
    if (!is_ours(pid)) others_.try_emplace(pid, Other{.first_seen = now, .busy_at = {}});
  if (others_.empty()) return;
  const auto uses = eyes_.uses();
  counts_ = uses.has_value();
  if (!counts_) return;
  for (const nvml::Use& use : *uses) {
    if (is_ours(use.pid)) continue;
    Other& other = others_.try_emplace(use.pid, Other{.first_seen = now, .busy_at = {}}).first->second;
    other.is_known = true;
    if (use.compute_percent + use.memory_percent > 0) other.busy_at = now;
  }
}

bool Watch::is_busy(const Other& other, Seconds now) const {
  if (!counts_) return true;
  if (other.busy_at && now - *other.busy_at <= of_a_count) return true;
  return !other.is_known && now - other.first_seen <= unknown_time;
}

bool Watch::others_freed() {
  if (others_.empty() && bytes_of_others_ == 0) return false;
  const auto by_process = eyes_.memory();
  if (!by_process) return false;
  std::uint64_t bytes = 0;
  for (const auto& [pid, its] : *by_process)
    if (!is_own(pid)) bytes += its;
  const std::uint64_t before = std::exchange(bytes_of_others_, bytes);
  if (before < bytes + much_freed) return false;
  eyes_.freed(before - bytes);
  return true;
}

// The last answer stands for a while.
bool Watch::is_link_used(Seconds now) {
  if (now - link_looked_at_ < link_rest) return link_was_used_;
  const auto before = eyes_.link_bytes();
  const Seconds begin = eyes_.now();
  eyes_.wait(link_look);
  const auto after = eyes_.link_bytes();
  link_looked_at_ = eyes_.now();
  counts_link_ = before && after;
  if (!counts_link_) return link_was_used_ = false;
  const auto moved = std::max(static_cast<std::uint32_t>(after->sent - before->sent),
                              static_cast<std::uint32_t>(after->received - before->received));
  return link_was_used_ = static_cast<double>(moved) > link_noise_per_s * (link_looked_at_ - begin).count();
}

std::string Watch::cannot_see() const {
  if (!eyes_.blind.empty()) return eyes_.blind;
  if (!lists_) return "NVML does not list the processes that use it";
  if (!lists_us_) return "NVML does not list this process, and may hide others as well, as it does in a container";
  if (!counts_link_) return "its driver does not count the bytes that go over its link";
  return {};
}

Disturbance Watch::end() {
  look();
  const Seconds now = eyes_.now();
  Disturbance found;
  const bool was_freed = others_freed();
  const auto add = [&](Cause cause) { found.causes |= static_cast<std::uint32_t>(cause); };
  long whose = 0;
  for (const auto& [pid, other] : others_)
    if (is_busy(other, now)) {
      add(Cause::device_busy);
      if (!whose || (other.busy_at && !others_.at(whose).busy_at)) whose = pid;
    }
  if (was_freed) add(Cause::memory_freed);
  if ((!others_.empty() || !lists_us_) && is_link_used(now)) {
    add(Cause::link_busy);
    if (!whose && !others_.empty()) whose = others_.begin()->first;
  }
  if (whose) found.by = fmt::format("{} ({})", eyes_.name(whose), whose);
  return found;
}

}  // namespace npgpu::cuda
