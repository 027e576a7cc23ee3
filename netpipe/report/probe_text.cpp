// One series of a probe: a row for each shape.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netpipe/model/probes/probe_rates.hpp"
#include "netpipe/report/series_text.hpp"

namespace npgpu {

namespace {

std::string rate_head(const ProbeCase& c) {
  if (counts_loads(c)) return "ns per load";
  if (c.operation == Operation::fma) return c.type == DataType::int32 ? "GOP/s" : "GFLOP/s";
  return "GB/s";
}

std::string rate_cell(const ProbeCase& c, double per_s) {
  return digits_text(counts_loads(c) ? 1e9 / per_s : per_s * 1e-9);
}

}  // namespace

std::string probe_rate_text(const ProbeCase& c, double per_s) {
  if (!std::isfinite(per_s)) return "-";
  if (counts_loads(c)) return time_text(1e6 / per_s);
  const bool tera = per_s >= 1e12;
  return digits_text(per_s * (tera ? 1e-12 : 1e-9)) + (tera ? " T" : " G") + work_unit(c) + "/s";
}

void series_text(Page& page, const ProbeSeries& probe, const TextStyle&) {
  if (!heading(page, probe)) return;
  const ProbeCase& c = probe.question;
  const bool memory =
      std::any_of(probe.visits.begin(), probe.visits.end(), [](const auto& p) { return p.axes.bytes > 0; });
  const bool loads = counts_loads(c), limited = probe.limit.per_s > 0 && !loads;
  Table table({right("blocks"), right("threads"), right("ilp"), right("access B", 3, memory),
               right("working set", 0, memory), decimal(rate_head(c)), decimal("% of limit", 1, limited),
               right("95 % interval", 1), decimal(loads ? "cycles" : "per cycle", 2), right("trials", 4), left("")});
  const auto rates = model::rates_of(probe);
  Marks marks;
  bool forced = false;
  for (const ProbePoint& point : points_of(probe)) {
    const auto found = std::find_if(rates.begin(), rates.end(), [&](const auto& r) { return r.shape == point.axes; });
    const bool usable = found != rates.end() && found->rate.value > 0;
    const Estimate none{}, &rate = usable ? found->rate : none;
    const double per_cycle = usable ? found->cycle_rate.value : not_measured;
    const Shape& s = point.axes;
    forced |= s.one_block_per_sm != 0;
    table.row({std::to_string(s.blocks), std::to_string(s.threads), std::to_string(s.ilp),
               std::to_string(s.access_bytes), size_text(s.bytes), rate_cell(c, rate.value),
               percent_text(100 * rate.value / probe.limit.per_s), interval_text(rate),
               digits_text(loads ? 1 / per_cycle : per_cycle), std::to_string(trials_of(probe, point)),
               (s.one_block_per_sm ? "1" : "") + marks.take(point, usable)});
  }
  page.text += '\n';
  page.rows(table);
  if (limited && probe.layout.clock_mhz > 0)
    page.note(fmt::format("% of limit: the limit at the highest clock, {:.0f} MHz", probe.layout.clock_mhz));
  if (forced) page.note("1 one block per SM: forced, and checked");
  marks.notes(page, "shapes");
  page.note_left_out(table);
}

}  // namespace npgpu
