#include "netpipe/report/derived_text.hpp"
#include "netpipe/report/facts_text.hpp"
#include "netpipe/report/job_text.hpp"
#include "netpipe/report/probe_text.hpp"
#include "netpipe/report/sweep_text.hpp"

namespace npgpu {

void report_text(std::ostream& out, const Trace& trace, const TextStyle& style) {
  out << facts_text(trace, style);
  for (const Sweep& sweep : trace.sweeps) out << '\n' << sweep_text(sweep, style);
  for (const ProbeSweep& probe : trace.probes) out << '\n' << probe_text(probe, style);
  for (const OverlapSweep& streams : trace.streams) out << '\n' << jobs_text(streams, style);
  derived_text(out, trace, style);
}

}  // namespace npgpu
