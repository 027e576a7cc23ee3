// The laws' formulas.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "npgpu/laws.hpp"
#include "probes/banks/words.hpp"

namespace npgpu {

namespace {

constexpr unsigned warp_lanes = 32, bank_count = 32, lane_bytes = 4;

}  // namespace

unsigned bank_passes(unsigned stride) { return stride == 0 ? 1 : std::gcd(stride, bank_count); }

double random_passes(unsigned patterns) {
  return banks::passes_of(banks::words_of(banks::random, 1, patterns), bank_count, 1);
}

// The largest of 32 bins that get 32 balls, of which each has room for `patterns`: of all choices of 32 among the
// words, in how many no bank has more than m is a coefficient of (sum over j <= m of C(patterns, j) x^j)^32.
double expected_random_passes(unsigned patterns) {
  const auto choices = [](unsigned of, unsigned count) {
    double all = 1;
    for (unsigned j = 0; j < count; ++j) all *= static_cast<double>(of - j) / (j + 1);
    return all;
  };
  double expected = 0;
  for (unsigned most = 0; most < warp_lanes; ++most) {
    std::vector<double> of_some(warp_lanes + 1);  // choices of so many words in the banks so far
    of_some[0] = 1;
    for (unsigned bank = 0; bank < bank_count; ++bank) {
      std::vector<double> with(warp_lanes + 1);
      for (unsigned count = 0; count <= warp_lanes; ++count)
        for (unsigned j = 0; j <= std::min({most, patterns, warp_lanes - count}); ++j)
          with[count + j] += of_some[count] * choices(patterns, j);
      of_some = std::move(with);
    }
    expected += 1 - of_some[warp_lanes] / choices(bank_count * patterns, warp_lanes);
  }
  return expected;
}

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
