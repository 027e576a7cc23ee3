#include "netpipe/report/derived_text.hpp"
#include "netpipe/report/facts_text.hpp"
#include "netpipe/report/text_of.hpp"
#include "netpipe/report/probe_text.hpp"
#include "netpipe/report/sweep_text.hpp"

namespace npgpu {

void report_text(std::ostream& out, const Trace& trace, const TextStyle& style) {
  out << facts_text(trace, style);
  for (const TransferSeries& sweep : trace.of<Transfers>()) out << '\n' << sweep_text(sweep, style);
  for (const ProbeSeries& probe : trace.of<Probes>()) out << '\n' << probe_text(probe, style);
  for (const JobSeries& streams : trace.of<Jobs>()) out << '\n' << jobs_text(streams, style);
  derived_text(out, trace, style);
}

}  // namespace npgpu
