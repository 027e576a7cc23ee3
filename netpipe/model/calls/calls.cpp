#include "netpipe/model/calls/calls.hpp"

#include "netpipe/model/jobs/job_points.hpp"
#include "netpipe/model/medians.hpp"

namespace npgpu {

namespace {

ByVisit times_of(const CallSeries& series, const CallPoint& point, double CallSample::*column) {
  return values_of(series, point, [column](const CallSample& s) {
    return s.repeats > 0 && s.*column > 0 ? s.*column / static_cast<double>(s.repeats) : not_measured;
  });
}

Estimate median_of(const CallSeries& series, const ByVisit& us) {
  Estimate e = model::time_over_visits(us, series.drift);
  if (std::isnan(e.value)) e.method = "not measured";
  return e;
}

CallResult call_summary(const CallSeries& series, const CallPoint& point) {
  CallResult r = model::checked_result_of(series, point, "the call's work was wrong");
  if (r.is_wrong) return r;
  const ByVisit host_us = times_of(series, point, &CallSample::host_us),
                done_us = times_of(series, point, &CallSample::done_us);
  r.host_us = median_of(series, host_us);
  r.done_us = median_of(series, done_us);
  // A neighbour may slow the reads of a visit; what follows a free follows most of them.
  const ByVisit slowed = values_of(series, point, [](const CallSample& s) { return s.slowed; });
  if (2 * model::all_of(slowed).size() > r.trials) r.slowed = median_over_visits(slowed, "1");
  const bool is_done_later = leaves_work(series.question.call) || r.done_us.value > 0;
  model::set_times(r, is_done_later ? done_us : host_us, series);
  r.time_us = is_done_later ? r.done_us : r.host_us;
  if (!r.is_timed) r.why = "no usable trial";
  return r;
}

}  // namespace

std::vector<CallResult> Calls::results(const CallSeries& series) { return model::of_each_point(series, call_summary); }

}  // namespace npgpu

namespace npgpu::model {

std::vector<GraphRow> graph_rows(const std::vector<CallSeries>& all_series, const std::string& device) {
  std::map<std::pair<GraphForm, std::uint32_t>, GraphRow> rows;
  for (const CallSeries& series : all_series) {
    const CallCase& c = series.question;
    if (c.device != device || c.form == GraphForm::none || c.spacing != Spacing::alone || is_beside(c)) continue;
    for (const CallResult& s : results(series)) {
      GraphRow& row = rows[{c.form, s.axes.nodes}];
      row.form = c.form;
      row.nodes = s.axes.nodes;
      switch (c.call) {
        case Call::launches:
          row.launches_us = s.done_us;
          row.launches_host_us = s.host_us;
          break;
        case Call::default_launches: row.default_us = s.done_us; break;
        case Call::graph_launch:
          row.graph_us = s.done_us;
          row.graph_host_us = s.host_us;
          break;
        case Call::graph_instantiate: row.instantiate_us = s.host_us; break;
        case Call::graph_update: row.update_us = s.host_us; break;
        default: break;
      }
    }
  }
  std::vector<GraphRow> all;
  for (auto& [key, row] : rows) {
    if (row.graph_us.high < row.launches_us.low)
      row.pays_after = std::ceil(row.instantiate_us.value / (row.launches_us.value - row.graph_us.value));
    all.push_back(std::move(row));
  }
  return all;
}

std::optional<std::uint32_t> pays_from(const std::vector<GraphRow>& rows, GraphForm form) {
  std::optional<std::uint32_t> from;
  for (const GraphRow& row : rows) {
    if (row.form != form) continue;
    if (!row.pays_after) from.reset();
    else if (!from) from = row.nodes;
  }
  return from;
}

// What the driver does to memory that was freed: how fast it clears it, and what that takes from whoever reads memory.

namespace {

struct Frees {
  std::string call{};
  std::vector<CallResult> slowed{};  // sizes that were followed by slower reads
};
// The frees are cudaFree's own where two sizes or more were followed by clearing, else those of what else frees memory.
Frees frees_of(const std::vector<const CallSeries*>& all) {
  for (const Call call : {Call::free, Call::pool_trim, Call::process_free, Call::process_end, Call::managed_free})
    for (const CallSeries* series : all) {
      if (series->question.call != call) continue;
      Frees frees{std::string(name(call)), results(*series)};
      std::erase_if(frees.slowed, [](const CallResult& r) { return !r.usable() || !(r.slowed.value > 1); });
      if (frees.slowed.size() >= 2) return frees;
    }
  return {};
}

Estimate inverse(const Estimate& us_per_byte) {
  const auto rate = [](double us) { return us > 0 ? 1e6 / us : not_measured; };
  return {rate(us_per_byte.value), rate(us_per_byte.high), rate(us_per_byte.low), "bytes per second",
          us_per_byte.method};
}

}  // namespace

std::vector<Parameter> clearing_parameters(const std::vector<const CallSeries*>& of_device) {
  const auto [call, frees] = frees_of(of_device);
  if (frees.empty()) return {};
  std::vector<XY> done;
  std::vector<Estimate> slowed;
  for (const CallResult& r : frees) {
    done.push_back({static_cast<double>(r.axes.bytes), r.done_us.value - r.host_us.value});
    slowed.push_back(r.slowed);
  }
  Parameter rate = parameter(
      "clearing rate",
      inverse(theil_sen(
          done, "us",
          "slope of the bytes freed over the time from the call's return until reads are as fast as before: " + call)),
      "how fast the driver clears memory that was freed");
  leave_unchecked(rate, "NVIDIA documents none");
  const Estimate factor = middle_of(slowed);
  const auto share = [](double times) { return 1 - 1 / times; };
  Parameter taken = parameter(
      "clearing share",
      {share(factor.value), share(factor.low), share(factor.high), "1", "1 - a read's time alone / meanwhile: " + call},
      "part of the memory's bandwidth that clearing takes from a kernel that reads");
  leave_unchecked(taken, "NVIDIA documents none");
  return {std::move(rate), std::move(taken)};
}

}  // namespace npgpu::model
