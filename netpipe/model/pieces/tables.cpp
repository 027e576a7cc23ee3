// Pieces: what each point came to, and which way was done first.
#include <algorithm>
#include <cmath>
#include <map>

#include "netpipe/engine/sort_stably.hpp"
#include "netpipe/model/medians.hpp"
#include "npgpu/piece_advice.hpp"

namespace npgpu {

namespace {

PieceResult result_of_point(const PieceSeries& series, const PiecePoint& point) {
  PieceResult r = model::checked_result_of(series, point, "the pieces were wrong");
  if (r.is_wrong) return r;
  const auto of_one = [&](double PieceSample::*column) {
    return values_of(series, point, [column](const PieceSample& s) {
      return s.repeats > 0 ? s.*column / static_cast<double>(s.repeats) : not_measured;
    });
  };
  const ByVisit done_us = of_one(&PieceSample::done_us);
  r.host_us = model::time_over_visits(of_one(&PieceSample::host_us), series.drift);
  model::set_times(r, done_us, series);
  r.us_by_round = model::by_round(point, done_us);
  const auto per_s = [&](double us) { return r.work / us * 1e6; };
  r.rate = {per_s(r.time_us.value), per_s(r.time_us.high), per_s(r.time_us.low), "1/s", r.time_us.method};
  if (!r.is_timed) r.why = "no usable trial";
  return r;
}

// Where no two rounds have both: each way's own interval.
Estimate over_by_times(const Estimate& one, const Estimate& fastest) {
  const auto by = [&](double us, double of) { return us / of - 1; };
  return {by(one.value, fastest.value), by(one.low, fastest.high), by(one.high, fastest.low), "1",
          "of both times' intervals"};
}

// Round by round: what is common to a round counts for neither.
Estimate over(const PieceResult& one, const PieceResult& fastest) {
  ByVisit ratios;
  for (const auto& [round, us] : one.us_by_round)
    if (const auto other = fastest.us_by_round.find(round); other != fastest.us_by_round.end())
      ratios.push_back({us / other->second});
  if (ratios.size() < 2) return over_by_times(one.time_us, fastest.time_us);
  Estimate e = median_over_visits(ratios, "1");
  e.value -= 1;
  e.low -= 1;
  e.high -= 1;
  return e;
}

PieceRow row_of(std::vector<PieceResult> results) {
  PieceRow row;
  row.pieces = results.front().axes.pieces;
  row.piece_bytes = results.front().axes.piece_bytes;
  for (const PieceResult& r : results) {
    row.causes |= r.causes;
    row.unsteady |= r.unsteady;
    if (!r.usable()) row.unusable.push_back(std::string(name(r.axes.way)) + ": " + r.why);
  }
  std::erase_if(results, [](const PieceResult& r) { return !r.usable() || !std::isfinite(r.time_us.value); });
  sort_stably(results, {}, [](const PieceResult& r) { return r.time_us.value; });
  for (const PieceResult& r : results) {
    WayTime& way = row.ways.emplace_back(WayTime{r.axes.way, r.time_us, r.host_us, over(r, results.front())});
    way.is_as_fast = !(way.over_fastest.low > 0);
  }
  return row;
}

}  // namespace

std::vector<PieceResult> Pieces::results(const PieceSeries& series) {
  return model::of_each_point(series, result_of_point);
}

const WayTime* PieceRow::of(PieceWay way) const {
  const auto found = std::ranges::find(ways, way, &WayTime::way);
  return found == ways.end() ? nullptr : &*found;
}

std::vector<PieceWay> PieceTable::ways() const {
  std::vector<PieceWay> all;
  for (std::size_t i = 0; i < names_of<PieceWay>.size(); ++i)
    if (const auto way = static_cast<PieceWay>(i);
        std::ranges::any_of(rows, [&](const PieceRow& row) { return row.of(way) != nullptr; }))
      all.push_back(way);
  return all;
}

std::vector<PieceTable> piece_tables(const Trace& trace) {
  std::vector<PieceTable> all;
  for (const PieceSeries& series : trace.of<Pieces>()) {
    PieceTable& table =
        all.emplace_back(PieceTable{series.question, series.device_name, series.simulated, series.error, {}});
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<PieceResult>> points;
    for (PieceResult& r : results(series)) points[{r.axes.pieces, r.axes.piece_bytes}].push_back(std::move(r));
    for (auto& [key, results] : points) table.rows.push_back(row_of(std::move(results)));
  }
  return all;
}

}  // namespace npgpu
