// Walks through arrays of doubles, with results that are exact whatever the order: the work of the host's bandwidth
// probe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "probes/compute/chains.hpp"

namespace npgpu::loops {

// One thread's part. `elements` is a multiple of granularity; y and z are null where the operation has no such array.
struct Slice {
  double* x = nullptr;
  double* y = nullptr;
  double* z = nullptr;
  std::uint64_t elements = 0;
  double sum = 0;  // what `read` has added up in its last run
};
constexpr std::uint64_t granularity = 64;
constexpr unsigned ilps[] = {1, 8};

// Passes over a slice; passes_before counts those since fill().
//   rmw    x = x + 1                      dependent: the next address depends on the sum
//   read   sum += all of x
//   write  x = the pass's number, from 1
//   copy   y = x
//   triad  z = x + 3*y
using Loop = void (*)(Slice&, std::uint64_t passes_before, std::uint64_t passes);
// Null: the probe has no such loop. The dependent form is that of rmw, in scalars and with one access in flight.
Loop find(Isa, Operation, Form, unsigned ilp);
unsigned lanes(Isa);  // doubles in one access

constexpr unsigned most_arrays = 3;
unsigned arrays(Operation);    // 1 to most_arrays; 0 where it is none of these operations
unsigned touches(Operation);   // elements read and written in one step, each counted
void fill(Operation, Slice&);  // what the loops start from
// Nothing if the slice is what so many passes since fill(), the last run_passes of them in one run, make of it.
std::optional<std::string> check(Operation, const Slice&, std::uint64_t passes, std::uint64_t run_passes);

}  // namespace npgpu::loops

// What each instruction set's file gives: nothing where this build's architecture lacks the instruction set.
namespace npgpu::simd {
struct Code {
  chains::Chains (*chains)(DataType, unsigned ilp);
  loops::Loop (*loop)(Operation, unsigned ilp);
};
extern const Code scalar, avx2, avx512, neon;
inline const Code& of(Isa isa) { return *std::array{&scalar, &avx2, &avx512, &neon}[static_cast<std::size_t>(isa)]; }
}  // namespace npgpu::simd
