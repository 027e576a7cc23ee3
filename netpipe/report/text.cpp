#include "netpipe/report/facts_text.hpp"
#include "netpipe/report/sweep_text.hpp"

namespace npgpu {

void report_text(std::ostream& out, const Trace& trace, const TextStyle& style) {
  out << facts_text(trace, style);
  for (const Sweep& sweep : trace.sweeps) out << '\n' << sweep_text(sweep, style);
}

}  // namespace npgpu
