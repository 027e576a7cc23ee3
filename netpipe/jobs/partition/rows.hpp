// The arithmetic of the partition method, the same on the device and on the host: the rows of the system that is
// solved, stage 1 and stage 3 of one sub-system.
//
// Nothing is pivoted: the rows are diagonally dominant, |b| >= |a| + |c| + 1. a of the first row and c of the last one
// belong to no unknown and are not used.
#pragma once

#include <cstdint>

#include "netpipe/engine/copy_cases.hpp"

namespace npgpu::partition {

// A number from 0 to 1 that looks random, a multiple of 2^-24, so that it is the same in fp32 and fp64. The mixing is
// SplitMix64's (Steele, Lea and Flood 2014).
NPGPU_EVERYWHERE inline double fraction(std::uint64_t number) {
  std::uint64_t z = (number + 1) * 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return static_cast<double>(z >> 40) * 0x1p-24;
}

template <class Real> struct Row { Real a, b, c, d; };
template <class Real> NPGPU_EVERYWHERE inline Row<Real> row_of(std::uint64_t row) {
  const double a = fraction(4 * row) - 0.5, c = fraction(4 * row + 1) - 0.5;
  const double b = 1 + (a < 0 ? -a : a) + (c < 0 ? -c : c), sign = fraction(4 * row + 2) < 0.5 ? -1 : 1;
  return {static_cast<Real>(a), static_cast<Real>(sign * b), static_cast<Real>(c),
          static_cast<Real>(2 * fraction(4 * row + 3) - 1)};
}

// Sub-systems `first` to `first + count` of a system, in memory that holds all of it. fp32 or fp64.
struct SubSystems {
  void *a = nullptr, *b = nullptr, *c = nullptr, *d = nullptr;
  void *interface = nullptr, *ends = nullptr, *x = nullptr;
  std::uint64_t first = 0, count = 0;
  std::uint64_t all = 0;   // sub-systems of the system
  std::uint64_t size = 0;  // its unknowns
  std::uint32_t rows = 0;  // of a sub-system; the last one has what is left over, too
};

struct RowRange {
  std::uint64_t first = 0, count = 0;
};
NPGPU_EVERYWHERE inline RowRange rows_of(const SubSystems& s, std::uint64_t system) {
  const std::uint64_t first = system * s.rows;
  return {first, system + 1 == s.all ? s.size - first : s.rows};
}

// Stage 1 of sub-system `first + i`. Leaves its two interface rows, of its first unknown u and its last one v:
//   a u_before + b u + c v = d    and    a u + b v + c u_after = d
template <class Real> NPGPU_EVERYWHERE void stage1(const SubSystems& s, std::uint64_t i) {
  const std::uint64_t system = s.first + i;
  const RowRange range = rows_of(s, system);
  const Real *const a = static_cast<const Real*>(s.a) + range.first,
                    *const b = static_cast<const Real*>(s.b) + range.first,
                    *const c = static_cast<const Real*>(s.c) + range.first,
                    *const d = static_cast<const Real*>(s.d) + range.first;
  const std::uint64_t n = range.count;
  Real* const out = static_cast<Real*>(s.interface) + 8 * system;

  // Upwards from the last row but one: each row's coupling to the next becomes one to v.
  Real to_end = c[n - 2], diagonal = b[n - 2], right = d[n - 2];
  for (std::uint64_t k = n - 2; k-- > 0;) {
    const Real w = c[k] / diagonal;
    to_end = -w * to_end;
    diagonal = b[k] - w * a[k + 1];
    right = d[k] - w * right;
  }
  out[0] = a[0];
  out[1] = diagonal;
  out[2] = to_end;
  out[3] = right;

  // Downwards from the second row: each row's coupling to the one before becomes one to u.
  Real to_begin = a[1];
  diagonal = b[1];
  right = d[1];
  for (std::uint64_t k = 2; k < n; ++k) {
    const Real w = a[k] / diagonal;
    to_begin = -w * to_begin;
    diagonal = b[k] - w * c[k - 1];
    right = d[k] - w * right;
  }
  out[4] = to_begin;
  out[5] = diagonal;
  out[6] = c[n - 1];
  out[7] = right;
}

// Stage 3 of sub-system `first + i`: its inner unknowns by the Thomas algorithm, from its two ends. Overwrites c.
template <class Real> NPGPU_EVERYWHERE void stage3(const SubSystems& s, std::uint64_t i) {
  const std::uint64_t system = s.first + i;
  const RowRange range = rows_of(s, system);
  const Real *const a = static_cast<const Real*>(s.a) + range.first,
                    *const b = static_cast<const Real*>(s.b) + range.first,
                    *const d = static_cast<const Real*>(s.d) + range.first;
  Real *const c = static_cast<Real*>(s.c) + range.first, *const x = static_cast<Real*>(s.x) + range.first;
  const Real* const ends = static_cast<const Real*>(s.ends) + 2 * system;
  const std::uint64_t last = range.count - 1;
  x[0] = ends[0];
  Real before = ends[0], coupling = 0;  // of the row before, eliminated
  for (std::uint64_t k = 1; k < last; ++k) {
    Real right = d[k] - a[k] * before;
    if (k + 1 == last) right -= c[k] * ends[1];
    const Real w = 1 / (b[k] - a[k] * coupling);
    coupling = c[k] * w;
    before = right * w;
    c[k] = coupling;
    x[k] = before;
  }
  Real after = before;  // the last inner row is solved
  for (std::uint64_t k = last; k-- > 2;) {
    after = x[k - 1] - c[k - 1] * after;
    x[k - 1] = after;
  }
  x[last] = ends[1];
}

}  // namespace npgpu::partition
