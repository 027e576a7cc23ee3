#include "netpipe/model/compare/tolerances.hpp"

#include <array>

namespace npgpu::model {

namespace {

// By class, in its order, and by third. From 32 runs of characterize, 4 to 10 in a row on each of five H200s in virtual
// machines with neighbours: of the changes between two runs of one GPU that were significant, all but a few were
// smaller. Latencies and what the host's processor does differ from run to run by several percent, as its clock did;
// rates of the device by 0.1 to 1 %. Small copies in both directions at once took one of two times, 16 % apart, through
// all of a run: it is the process that chooses.
constexpr std::array<std::array<double, names_of<Third>.size()>, names_of<TimeClass>.size()> default_changes{{
    {0.18, 0.07, 0.025, 0.03},  // device-copies
    {0.09, 0.07, 0.035, 0.05},  // host-copies
    {0.15, 0.15, 0.20, 0.15},   // pageable-copies
    {0.03, 0.01, 0.01, 0.01},   // kernels
    {0.20, 0.20, 0.20, 0.20},   // host-probes
    {0.10, 0.15, 0.16, 0.16},   // calls
    {0.08, 0.08, 0.08, 0.03},   // jobs
    {0.08, 0.08, 0.08, 0.03},   // gated-jobs
}};

// What is worth a look, by class and third. Not what runs differ by: that is in the intervals.
constexpr std::array<std::array<double, names_of<Third>.size()>, names_of<TimeClass>.size()> mattering_changes{{
    {0.05, 0.04, 0.025, 0.03},  // device-copies
    {0.05, 0.04, 0.025, 0.05},  // host-copies
    {0.05, 0.05, 0.05, 0.05},   // pageable-copies
    {0.03, 0.01, 0.01, 0.01},   // kernels
    {0.05, 0.05, 0.05, 0.05},   // host-probes
    {0.05, 0.05, 0.05, 0.05},   // calls
    {0.05, 0.05, 0.05, 0.05},   // jobs
    {0.03, 0.03, 0.03, 0.03},   // gated-jobs
}};

Tolerances tolerances_from(
    const std::array<std::array<double, names_of<Third>.size()>, names_of<TimeClass>.size()>& from) {
  Tolerances all;
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = {from[i], "default"};
  return all;
}

}  // namespace

Tolerances usual_tolerances() { return tolerances_from(default_changes); }

Tolerances tolerances_of(std::optional<double> given) {
  if (!given) return tolerances_from(mattering_changes);
  Tolerance same{.source = "--tolerance"};
  same.share.fill(*given);
  Tolerances all;
  all.fill(same);
  return all;
}

}  // namespace npgpu::model
