// The verdict on a node's matrix: which copies between its GPUs, and with the host, are wrong, slow or missing; at
// which GPU, pair or bridge, and why. A pure function of a trace.
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

// The bytes found in place of a payload: zeros, what was there before, or something else.
enum class WrongBytes { none, zeros, unwritten, other };
template <>
inline constexpr std::array<std::string_view, 4> names_of<WrongBytes>{"none", "zeros", "unwritten", "other"};

// All copies from one memory to another, of any case. `of_several`: in cases that involve more than one GPU, so that no
// single GPU is at fault.
struct CopyResults {
  std::string source, target;
  std::size_t compared = 0, wrong = 0, wrong_of_several = 0;  // payloads
  WrongBytes wrong_bytes = WrongBytes::none;
  std::string first_wrong{};                                 // what was wrong with the first of them
  std::size_t cases = 0, failed = 0, failed_of_several = 0;  // that were to be measured; without a valid figure
  std::string first_failure{};                               // its reason, as far as the trace says
};

// A finding, with the devices that it is about. `device` is the GPU if it is about one only, else empty.
struct NodeFinding : HealthFinding {
  std::vector<std::string> devices{};
};

// The verdict on one rate.
struct CellVerdict {
  CheckVerdict verdict = CheckVerdict::not_judged;
  double limit = not_measured;  // bytes per second; NaN: it has no limit
  std::string disturbed{};      // the text of disturbance_text(); empty if it is undisturbed
};

struct MatrixVerdict {
  CheckVerdict verdict = CheckVerdict::not_judged;
  // Findings about several GPUs together, and failures of single ones. The most serious is first.
  std::vector<NodeFinding> findings{};
  std::vector<CopyResults> copies{};
  std::vector<std::vector<CellVerdict>> cells{};  // of the node's matrices, cell by cell

  // Null for null. REQUIRES: the cell is one of that matrix of the node, and verdict_of() judged the node.
  const CellVerdict* of(std::size_t matrix, const MatrixCell* cell, const NodeMatrix&) const;
};

// REQUIRES: node_matrix() made the matrix from the same trace.
MatrixVerdict verdict_of(const Trace&, const NodeMatrix&);

// Findings with their causes and remedies, and one line for each that passes. matrix_text() prints the tables.
void matrix_findings_text(std::ostream&, const MatrixVerdict&, const TextStyle&);
// The first matrix of a node, as an overview shows it; and all of them as tables for GitHub. They print nothing for an
// empty one.
void matrix_overview(std::ostream&, const NodeMatrix&, const TextStyle&);
void matrix_markdown(std::ostream&, const NodeMatrix&);

}  // namespace npgpu
