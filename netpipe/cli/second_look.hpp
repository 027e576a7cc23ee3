// Figures that are beyond their limits, or whose intervals hold them, are measured again before they are reported.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "netpipe/cli/measure.hpp"
#include "npgpu/judge/health.hpp"

namespace npgpu::cli {

// Of findings that are not settled: slow or undecided, or not judged because others disturbed them.
PointNames doubtful_points(const std::vector<HealthFinding>&);

// The steps of these points; of a case without a point of that name, as where axes are chosen by measuring, all of its
// steps.
Plan restricted_to(const Plan&, const PointNames&);

struct SecondLook {
  std::size_t points = 0;  // that were measured again
  std::uint32_t passes = 0;
  bool stopped = false;  // by a signal
  Seconds wall{0};
};

// Measures doubtful points of the trace at how.output again, each pass of up to sixteen visits in a fresh context and
// in fresh buffers, and adds the visits to the trace. The first pass has as many as the quiet visits of a disturbed
// point need to outnumber the others. A figure that is still slow after four passes, spread over `time`, is slow. One
// that is still disturbed after one stays so. Others are measured until they are settled, or `time` is over. The
// findings that result are in the trace for whoever judges it.
SecondLook look_again(const Plan&, MeasureOptions how, const HealthRules&, Seconds time);

}  // namespace npgpu::cli
