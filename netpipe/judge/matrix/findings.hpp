// What a matrix comes to: what is broken, slow, missing, not judged, or right; a finding for each place, and its
// causes.
#pragma once

#include <utility>

#include "netpipe/judge/matrix/rulings.hpp"

namespace npgpu::model {

// Where copies are bad, and why: what those have in common that are. All of them, a GPU's, those of all GPUs below one
// bridge, or a pair's.

using CopyWay = std::pair<std::string, std::string>;  // source, target

struct CopyPlace {
  enum class What { everything, bridge, gpu, pair };
  // What is bad there. Between: from GPUs to GPUs, all of them or both ends below the bridge.
  enum Part { between, to_others, from_others, from_host, to_host, within };

  What what = What::pair;
  std::vector<std::string> devices{};  // GPUs below the bridge; the GPU; both ends of a pair, the source first
  std::string shared{};                // "the bridge 0000:10:00.1", "NUMA node 1"
  std::string bus{};                   // of the bridge
  bool spares_host = false;            // copies with the host in the directions that are bad are known to be good
  std::set<Part> parts{};              // of a pair none
  std::set<CopyWay> ways{};            // all that are bad there

  bool has(Part part) const { return parts.contains(part); }
  bool is_both_ways() const { return ways.contains({devices.back(), devices.front()}); }  // of a pair
  bool has_host() const;
  bool is_one_gpu() const { return what == What::gpu; }
  // "copies cuda:0 -> cuda:1", "copies between cuda:5 and all other GPUs, and the host"
  std::string text() const;
};

struct CopyStates {
  std::set<CopyWay> all;    // that were measured
  std::set<CopyWay> bad;    // some of them
  std::set<CopyWay> maybe;  // some of the others, of which it is not known
};

// Each bad way is in one place. A place has two bad pairs at least, half of its ways are bad, and none is known to be
// good; of several that could be, it is the one with the most bad ways.
std::vector<CopyPlace> places_of(const CopyStates&, const std::vector<std::string>& gpus, const Links&);

// Why copies at a place are wrong or slow follows from what the trace says of the devices there. It lives as long as
// the findings are made.
struct MatrixEvidence {
  const NodeMatrix& node;
  const Links& links;
  const std::vector<HealthFinding>& devices;  // of each device alone
};

// What both are.
constexpr WrongBytes both_kinds(WrongBytes a, WrongBytes b) {
  return a == WrongBytes::none ? b : b == WrongBytes::none || a == b ? a : WrongBytes::other;
}

// Most likely first.
std::vector<Explanation> causes_of_wrong(const CopyPlace&, WrongBytes, const std::string& first, const MatrixEvidence&);
std::vector<Explanation> causes_of_slow(const CopyPlace&, const MatrixEvidence&);
std::vector<Explanation> causes_of_blind(const CopyPlace&, const MatrixEvidence&);

// Copies of many lanes at once that have no figure, and why. Nobody knows which of the lanes it was.
struct MissingLanes {
  std::string name, why;
};

// Broken, slow, failed, undecided, not judged, warned of, skipped, passed: 0, 1, ...
int rank_of_finding(const HealthFinding&);

// The most serious first. `rulings` are of the node's matrices.
std::vector<NodeFinding> findings_of_matrix(const MatrixEvidence&, const std::vector<CellRuling>& rulings,
                                            const std::vector<CopyResults>&, const std::vector<MissingLanes>&);

// The matrix of all copies between GPUs, whether or not the trace has enough of them for tables; empty where no case
// has several GPUs.
NodeMatrix matrix_of_copies(const Trace&);

// Those of the trace's matrix, and of any other copies between GPUs; empty where no case has several GPUs.
std::vector<NodeFinding> findings_between_gpus(const Trace&);

}  // namespace npgpu::model
