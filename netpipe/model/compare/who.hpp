// Who A and B of a comparison are: what both say of themselves, and what they do not share.
#pragma once

#include <string>
#include <vector>

#include "npgpu/report.hpp"

namespace npgpu {

struct WhoRow {
  std::string what;  // "driver"
  std::string a, b;  // of all runs, each once
  bool differs() const { return a != b; }
};
// In the order in which they should be read, without rows that neither side knows.
std::vector<WhoRow> who(const ComparisonReport&);
bool is_simulated(const ComparisonReport&);  // a device of either side
// What makes a comparison doubtful: an unfinished run, another version of npgpu, one run on both sides.
std::vector<std::string> doubts_of(const ComparisonReport&);

}  // namespace npgpu
