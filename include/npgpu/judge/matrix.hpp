// A node's devices as a matrix: how fast each copies to each other and to the host's memory, how soon a load comes
// back and a flag is seen, what is left of the rates when many copy at once, which pair stands out, and what the host's
// NUMA nodes cost. And the verdict: which copies are wrong or slow, and why. Pure functions of a trace.
//
// Example:
//   const npgpu::NodeMatrix node = npgpu::node_matrix(npgpu::read_trace("matrix.h5"));
//   for (const npgpu::RateMatrix& one : node.matrices)
//     for (const npgpu::MatrixCell& cell : one.cells)
//       std::cout << cell.source << " to " << cell.target << ": " << cell.value.value << '\n';  // bytes/s or us
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/judge/health.hpp"
#include "npgpu/model/statistics.hpp"
#include "npgpu/vocabulary/trace.hpp"

namespace npgpu {

// From one memory to another; of a latency, who loads, adds or begins, and whose memory it is.
struct MatrixCell {
  std::string source, target;         // host, cuda:0
  Access access = Access::write;      // staged: through the host, whatever the matrix is of
  std::uint64_t bytes = 0;            // of one copy
  Estimate value{};                   // bytes per second; of a latency, us
  bool doubtful = false;              // unsteady, or disturbed by others
  std::string of_case{}, of_point{};  // its series and its point, as titles have them
  // The same figure, visit by visit of those that count; empty where several lanes were timed together.
  std::vector<double> by_visit{};
};

// Cells that were asked in the same way. Copies to, from and within one device have no access, and are in the matrices
// of writes.
struct RateMatrix {
  Executor executor = Executor::copy_engine;
  Access access = Access::write;
  bool both_ways = false;             // each cell while the same goes the other way
  Pattern pattern = Pattern::stream;  // chase, atomic, flag: cells are latencies
  std::vector<MatrixCell> cells{};

  bool is_latency() const { return is_of_words(pattern); }
  const MatrixCell* find(const std::string& source, const std::string& target) const;  // null if there is none
};

// Many lanes at once; all ran while each was timed.
struct LanesTogether {
  std::string name;  // "host to all", "all to one (cuda:0)", "ring"
  Executor executor = Executor::copy_engine;
  Access access = Access::write;
  std::uint64_t bytes = 0;  // of one copy
  std::vector<MatrixCell> lanes{};
  Estimate sum{};                  // bytes per second
  double fairness = not_measured;  // rate of the slowest lane over that of the fastest
  bool doubtful = false;
};

// A sentence about these devices. What is wrong with a node is in matrix_verdict.hpp.
struct MatrixFinding {
  std::vector<std::string> devices;
  std::string text;
};

// Between the memory of one NUMA node of the host, with the thread there too, and a GPU.
struct NumaCell {
  int host_node = 0;
  Direction direction = Direction::h2d;
  std::uint64_t bytes = 0;  // of one copy
  Estimate rate{};          // bytes per second
  bool doubtful = false;    // unsteady, or disturbed by others
};

// What a node costs against the GPU's fastest one, in one direction.
struct NumaCost {
  int host_node = 0;
  Direction direction = Direction::h2d;
  Estimate share{};        // of the fastest node's rate: 0.2 is 20 % less. Its interval is that of both rates together
  bool is_slower = false;  // by at least numa_share, and the interval does not reach 0
};

struct NumaGpu {
  std::string id;
  int system_node = -1;   // nearest to it, as the system says (sysfs); -1: it does not say
  int fastest_node = -1;  // a copy each way takes least there, or no longer where it is the system's node; -1: no node
                          // was measured both ways
  std::vector<NumaCell> cells{};
  std::vector<NumaCost> costs{};  // of all other nodes

  const NumaCell* find(int host_node, Direction) const;  // null if there is none
};

struct NumaMatrix {
  std::vector<int> host_nodes{};       // that were measured; where none was, those that the host has
  std::vector<NumaGpu> gpus{};         // in the order of their ids; empty: nothing was measured
  std::vector<MatrixFinding> costs{};  // what the slower nodes cost, once for all GPUs of which the same is true
  std::vector<MatrixFinding> wrong{};  // GPUs whose system_node is slower than another; among the node's findings, too
};

struct NodeMatrix {
  struct Device {
    std::string id, name;
    bool simulated = false;
  };
  std::vector<Device> devices;  // GPUs, in the order of their ids
  bool has_host = false;
  bool is_sampled = false;  // of most pairs nothing was measured
  std::vector<RateMatrix> matrices;
  std::vector<LanesTogether> together;
  std::vector<std::string> links;  // kinds of link between pairs, each once: "18 NVLinks 4.0", "PCIe within one switch"
  NumaMatrix numa;
  std::vector<MatrixFinding> findings;
};

// The matrix at the largest size of each case. Empty if the trace has copies of one GPU only, none that goes both ways
// with a lane for each, none of a NUMA node that was asked for, and no lanes together: then it is no matrix that was
// measured.
NodeMatrix node_matrix(const Trace&);

// By how much a cell has to be below the median of those that are joined alike, to stand out.
inline constexpr double outlier_share = 0.10;
// From which share on a NUMA node is called slower than the fastest one.
inline constexpr double numa_share = 0.02;

// The verdict on a node's matrix: which copies between its GPUs, and with the host, are wrong, slow or missing; at
// which GPU, pair or bridge, and why. A pure function of a trace.
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("matrix.h5");
//   const npgpu::NodeMatrix node = npgpu::node_matrix(trace);
//   const npgpu::MatrixVerdict found = npgpu::verdict_of(trace, node);
//   std::cout << npgpu::name(found.verdict) << '\n';
//   npgpu::matrix_findings_text(std::cout, found, {.width = 80});

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
