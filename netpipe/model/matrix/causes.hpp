// Where copies are bad, and why: what those have in common that are. All of them, a GPU's, those of all GPUs below one
// bridge, or a pair's.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "netpipe/model/matrix/links.hpp"
#include "npgpu/judge/matrix.hpp"

namespace npgpu::model {

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

}  // namespace npgpu::model
