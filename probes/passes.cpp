// The laws' formulas.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "npgpu/laws.hpp"

namespace npgpu {

namespace {

constexpr unsigned warp_lanes = 32, banks = 32, lane_bytes = 4;

}  // namespace

unsigned bank_passes(unsigned stride) { return stride == 0 ? 1 : std::gcd(stride, banks); }

unsigned constant_passes(unsigned stride) { return stride == 0 ? 1 : warp_lanes; }

unsigned pieces_touched(unsigned stride, unsigned offset_bytes, unsigned piece_bytes) {
  std::set<std::uint64_t> pieces;
  for (std::uint64_t lane = 0; lane < warp_lanes; ++lane)
    pieces.insert((offset_bytes + lane * stride * lane_bytes) / piece_bytes);
  return static_cast<unsigned>(pieces.size());
}

unsigned atomic_passes(unsigned stride) { return stride == 0 ? warp_lanes : bank_passes(stride); }

unsigned ways_of_warp(unsigned stride, unsigned ways) {
  if (stride == 0) return 1;
  return std::min(ways, (warp_lanes + stride - 1) / stride);
}

unsigned transfers_of_tile(unsigned threads) {
  return static_cast<unsigned>(std::lround(warp_lanes / std::sqrt(static_cast<double>(threads))));
}

double waves_of(const Shape& s, const Layout& l) {
  return std::ceil(static_cast<double>(s.blocks) / l.units / resident_blocks(l, s));
}

}  // namespace npgpu
