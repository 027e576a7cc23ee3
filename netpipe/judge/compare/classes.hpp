// What the points of a class have in common when a run is compared with another, and what that leaves to each case;
// what a change has to be to matter; and who the two sides are.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "netpipe/judge/compare/changes.hpp"
#include "npgpu/report/report.hpp"

namespace npgpu::model {

// By how much all points of each class and band of times changed together.
class SharedChanges {
 public:
  SharedChanges(const std::vector<CaseCurve>&, const Tolerances&);

  std::vector<ClassComparison> classes;  // judged

  // What some points of a curve, or a part of it, are compared with. A change that all of their class share is no
  // case's own, as long as runs of one machine differ by as much; one that is more than that is every case's.
  Beyond beyond(const CaseCurve&, const Indices&) const;
  Beyond beyond(const CaseCurve&, const Part&) const;  // with the usual spread of such parts

 private:
  struct Shared {
    double log = 0;
    bool is_known = false;
  };
  std::array<std::array<Shared, std::tuple_size_v<decltype(DriftByTime::share)>>, names_of<TimeClass>.size()> shared_{};
  // By class, third and side.
  std::array<std::array<std::array<UsualSpread, 2>, names_of<Third>.size()>, names_of<TimeClass>.size()> usual_{};
  void set_usual(const std::vector<CaseCurve>&);
};

// What a change has to be to matter: as given for all classes, else by class.
Tolerances tolerances_of(std::optional<double> given);

}  // namespace npgpu::model

namespace npgpu {

// Who A and B of a comparison are: what both say of themselves, and what they do not share.

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
