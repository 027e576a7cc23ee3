// What a node's matrix comes to: which copies between its GPUs, and with the host, are wrong, slow or missing; at which
// GPU, pair or bridge, and why. A pure function of a trace.
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("matrix.h5");
//   const npgpu::NodeMatrix node = npgpu::node_matrix(trace);
//   const npgpu::MatrixVerdict found = npgpu::verdict_of(trace, node);
//   std::cout << npgpu::name(found.verdict) << '\n';
//   npgpu::matrix_findings_text(std::cout, found, {.width = 80});
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/health.hpp"
#include "npgpu/matrix.hpp"

namespace npgpu {

struct TextStyle;

// What stood where a payload should be: zeros, what was there before, or something else.
enum class WrongBytes { none, zeros, unwritten, other };
template <>
inline constexpr std::array<std::string_view, 4> names_of<WrongBytes>{"none", "zeros", "unwritten", "other"};

// All that went from one memory to another, whatever the case. `of_several`: of cases in which more than one GPU has a
// part, which are no GPU's alone.
struct CopyResults {
  std::string source, target;
  std::size_t compared = 0, wrong = 0, wrong_of_several = 0;  // payloads
  WrongBytes wrong_bytes = WrongBytes::none;
  std::string first_wrong{};                                 // what was wrong with the first of them
  std::size_t cases = 0, failed = 0, failed_of_several = 0;  // that were to be measured; without a valid figure
  std::string first_failure{};                               // why, as far as the trace says
};

// What is wrong, could not be judged, or is right, with the devices that it is about. `device` is the GPU where it is
// one, else empty.
struct NodeFinding : HealthFinding {
  std::vector<std::string> devices{};
};

// A rate, and what it is held against.
struct CellVerdict {
  CheckVerdict verdict = CheckVerdict::not_judged;
  double limit = not_measured;  // bytes per second; NaN: there is nothing to hold it against
  std::string disturbed{};      // by whom, as disturbance_text() has it; empty if nobody had a part in it
};

struct MatrixVerdict {
  CheckVerdict verdict = CheckVerdict::not_judged;
  // Of what several GPUs have to do with each other, and what fails of one alone. The most serious first.
  std::vector<NodeFinding> findings{};
  std::vector<CopyResults> copies{};
  std::vector<std::vector<CellVerdict>> cells{};  // of the node's matrices, cell by cell

  const CellVerdict* of(std::size_t matrix, const MatrixCell* cell, const NodeMatrix&) const;  // null for null
};

// Of the trace that the matrix is of.
MatrixVerdict verdict_of(const Trace&, const NodeMatrix&);

// Findings with their causes and remedies; what passes in a line each. matrix_text() prints the tables.
void matrix_findings_text(std::ostream&, const MatrixVerdict&, const TextStyle&);
// The first matrix of a node as an overview shows it, and all of them as GitHub reads tables. Nothing of an empty one.
void matrix_overview(std::ostream&, const NodeMatrix&, const TextStyle&);
void matrix_markdown(std::ostream&, const NodeMatrix&);

}  // namespace npgpu
