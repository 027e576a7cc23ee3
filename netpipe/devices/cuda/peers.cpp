#include "netpipe/devices/cuda/peers.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <set>
#include <utility>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/clearing.hpp"
#include "netpipe/devices/cuda/inventory.hpp"

namespace npgpu::cuda {

namespace {

// Pairs that see each other, from and to: asked for twice, the driver would report an error.
std::set<std::pair<int, int>>& sights() {
  static std::set<std::pair<int, int>> all;
  return all;
}

void give_sight(int from, int to) {
  if (sights().contains({from, to})) return;
  make_current(from);
  check(cudaDeviceEnablePeerAccess(to, 0), fmt::format("giving cuda:{} sight of cuda:{}'s memory", from, to));
  sights().emplace(from, to);
}

void take_sight(int from, int to) {
  if (!sights().contains({from, to})) return;
  make_current(from);
  check(cudaDeviceDisablePeerAccess(to), fmt::format("taking sight of cuda:{}'s memory from cuda:{}", to, from));
  sights().erase({from, to});
}

}  // namespace

bool can_see(int from, int to) {
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, from, to), fmt::format("asking whether cuda:{} can see cuda:{}", from, to));
  return can != 0;
}

std::optional<std::string> why_no_access(const TransferCase& c) {
  if (c.access == Access::staged) return std::nullopt;
  const int source = ordinal_or_throw(c.source), target = ordinal_or_throw(c.target);
  const bool reads = c.access == Access::read;
  if (c.pattern == Pattern::flag && !(can_see(source, target) && can_see(target, source)))
    return fmt::format(
        "--pattern flag: {} and {} have to see each other's memory, and the driver says that they do not", c.source,
        c.target);
  if (reads ? can_see(target, source) : can_see(source, target)) return std::nullopt;
  return fmt::format(
      "--access {}: {} cannot see the memory of {}, says the driver: no NVLink joins them, and the system does not let "
      "them reach each other over PCIe: use --access staged",
      name(c.access), reads ? c.target : c.source, reads ? c.source : c.target);
}

std::optional<std::string> why_no_atomics(const TransferCase& c) {
  const int gpu = ordinal_or_throw(mover_of(c));
  int can = 1;
  if (c.direction == Direction::h2d) {
    can = attribute(cudaDevAttrHostNativeAtomicSupported, gpu);
  } else if (c.direction == Direction::peer) {
    check(cudaDeviceGetP2PAttribute(&can, cudaDevP2PAttrNativeAtomicSupported, gpu, ordinal_or_throw(c.source)),
          "asking for atomic operations between two GPUs");
  }
  if (can) return std::nullopt;
  return fmt::format(
      "--pattern atomic: the link from {} to {} carries no atomic operations, says the driver: use "
      "--pattern chase or flag",
      mover_of(c), c.direction == Direction::peer ? c.source : "the host");
}

void set_access(const TransferCase& c) {
  const int source = ordinal_or_throw(c.source), target = ordinal_or_throw(c.target);
  for (const auto& [from, to] : {std::pair{source, target}, {target, source}}) {
    if (c.access == Access::staged) take_sight(from, to);
    else if (can_see(from, to)) give_sight(from, to);
  }
}

void reset(int ordinal) {
  make_current(ordinal);
  wait_until_cleared(ordinal);  // as long as there is a context
  check(cudaDeviceReset(), fmt::format("destroying the context of cuda:{}", ordinal));
  note_context_end(ordinal);
  std::erase_if(sights(), [&](const auto& sight) { return sight.first == ordinal || sight.second == ordinal; });
}

}  // namespace npgpu::cuda
