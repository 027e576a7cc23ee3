// A node's devices as a matrix: how fast each copies to each other and to the host's memory, how soon a load comes
// back and a flag is seen, what is left of the rates when many copy at once, which pair stands out, and what the host's
// NUMA nodes cost. A pure function of a trace.
//
// Example:
//   const npgpu::NodeMatrix node = npgpu::node_matrix(npgpu::read_trace("matrix.h5"));
//   for (const npgpu::RateMatrix& one : node.matrices)
//     for (const npgpu::MatrixCell& cell : one.cells)
//       std::cout << cell.source << " to " << cell.target << ": " << cell.value.value << '\n';  // bytes/s or us
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "npgpu/statistics.hpp"
#include "npgpu/trace.hpp"

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

// Of the largest size of each case. Empty if the trace has copies of one GPU only, none that goes both ways with a lane
// for each, none of a NUMA node that was asked for, and no lanes together: then it is no matrix that was measured.
NodeMatrix node_matrix(const Trace&);

// By how much a cell has to be below the median of those that are joined alike, to stand out.
inline constexpr double outlier_share = 0.10;
// From which share on a NUMA node is called slower than the fastest one.
inline constexpr double numa_share = 0.02;

}  // namespace npgpu
