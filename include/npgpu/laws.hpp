// The measured cost of access patterns, and their cost by the laws that programmers learn: bank conflicts, sectors and
// lines of a warp's accesses, additions to one word, ways of a branch. Sources: NVIDIA, CUDA C++ Programming Guide,
// "Shared Memory" (compute capability 5.x and later: 32 banks of 4 bytes), "Hardware Multithreading" (what limits the
// blocks that a multiprocessor holds) and "Maximize Memory Throughput" (sectors of 32 bytes, lines of 128); Venetis,
// Performance Optimizations in CUDA (bank conflicts, coalescing, flow control).
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");
//   for (const npgpu::ProbeSeries& series : trace.of<npgpu::Probes>())
//     if (const auto law = npgpu::law_of(series))
//       for (const npgpu::LawPoint& point : law->points)
//         std::cout << title(series.question) << ", stride " << point.shape.stride << ": " << point.measured.value
//                   << " times as long, by the law " << point.law << "; " << npgpu::name(point.verdict) << '\n';
//   std::cout << "words 8 apart in shared memory: " << npgpu::bank_passes(8) << " passes of a warp\n";
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "npgpu/derive.hpp"

namespace npgpu {

// One shape, relative to the shape with the lowest cost by the law. `measured`: how many times longer the same work
// took, by the units' cycles where both shapes have them. `law`: the same by the law. Both are 1 for that shape itself.
struct LawPoint {
  Shape shape;
  double passes = not_measured;  // of a warp's access, by the law
  double law = not_measured;
  Estimate measured;
  Agreement verdict = Agreement::undecided;  // within 5 %: agrees; the whole interval outside: disagrees
};

struct Law {
  std::string rule;    // "passes = gcd(stride, 32)"
  std::string counts;  // what a pass is: "bank conflicts"
  // Why some known hardware does not follow the law, by its counters; empty where all does.
  std::string where_not;
  std::vector<LawPoint> points;
};

inline double law_error_percent(const LawPoint& p) { return 100 * (p.measured.value / p.law - 1); }

// Nothing where no law is known for the case.
std::optional<Law> law_of(const ProbeSeries&);

// Passes that a warp of 32 lanes takes, 4 bytes a lane. Strides are in words of 4 bytes.
//   shared memory: lanes with words in one bank wait for each other; all lanes at one word are served at once
unsigned bank_passes(unsigned stride);
//   shared memory, of so many patterns (sets of 32 words) that make up a random order of 32 words each: counted over
//   probe banks' own order, and what is expected of any
double random_passes(unsigned patterns);
double expected_random_passes(unsigned patterns);
//   constants: one pass for each different word
unsigned constant_passes(unsigned stride);
//   global memory: one pass for each piece that the words touch: a sector of 32 bytes (L2), or a line of 128 bytes (L1)
unsigned pieces_touched(unsigned stride, unsigned offset_bytes, unsigned piece_bytes);
//   additions to shared memory: lanes that add to one word wait for each other, as lanes in one bank do
unsigned atomic_passes(unsigned stride);
//   a branch: one pass for each way that a warp's lanes take. `stride` neighbouring lanes take the same way; the stride
//   divides 32 or is a multiple of it.
unsigned ways_of_warp(unsigned stride, unsigned ways);
//   a product of matrices by tiles of T * T = `threads`: how often an element is loaded from global memory for 32 uses
unsigned transfers_of_tile(unsigned threads);
//   a grid of which a unit holds only some blocks at once: how many blocks it runs one after the other
double waves_of(const Shape&, const Layout&);

}  // namespace npgpu
