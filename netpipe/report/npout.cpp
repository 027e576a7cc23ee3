// np.out as NetPIPE 5 writes it and its script npplot draws it: no header, five columns, of which the first is the
// x axis (logarithmic) and the others are bandwidths (average, minimum, maximum) and the latency (logarithmic).
//
// Average, minimum and maximum are of the times over the trials, as NetPIPE takes them: the minimum bandwidth is that
// of the longest time. For both directions at once NetPIPE counts the bytes of both, in the first column too.
// Its times never go below 1 us, and its bandwidths then are too low: here they are what was measured.
#include <fmt/format.h>

#include "npgpu/report/report.hpp"

namespace npgpu {

void export_npout(std::ostream& out, const TransferSeries& sweep, int pairs) {
  const bool duplex = sweep.question.pattern == Pattern::duplex;
  for (const TransferResult& p : duplex ? results_of_all_lanes(sweep) : results(sweep)) {
    // Without a time there is no line: gnuplot would read a word as 0 or stop.
    if (!(p.min_us > 0)) continue;
    const std::uint64_t bytes = p.axes.bytes * (duplex ? 2 : 1);
    const auto gigabits = [&](double us) { return static_cast<double>(bytes) * 8 * pairs / (us * 1e3); };
    out << fmt::format("{:9d} {:9.3f} {:9.3f} {:9.3f} {:7.2f}\n", bytes, gigabits(p.mean_us), gigabits(p.max_us),
                       gigabits(p.min_us), p.mean_us);
  }
}

}  // namespace npgpu
