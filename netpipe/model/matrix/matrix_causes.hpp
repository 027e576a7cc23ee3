// Why copies at a place are wrong or slow, from what the trace says of the devices there.
#pragma once

#include <string>
#include <vector>

#include "netpipe/model/matrix/links.hpp"
#include "netpipe/model/matrix/places.hpp"
#include "npgpu/matrix_verdict.hpp"

namespace npgpu::model {

// They live as long as the findings are made.
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
