// Pieces: what each point came to, which way was done first, and which one is for any number of pieces of any size.
#include "npgpu/model/advice.hpp"

#include <fmt/format.h>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/model/medians.hpp"

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

// ---- any number and size, from what was measured of others ----

namespace {

// Straight lines go on beyond what was measured; so far beyond, nobody knows.
constexpr double farthest_outside = 16;

// The times of one way: by number of pieces, then by size.
using TimesByBytes = std::map<double, Estimate>;
using Grid = std::map<double, TimesByBytes>;

// Before the first point: as long as there, or as much less as on a line through the first two points; of one point
// anything less.
Estimate before_first(const TimesByBytes& line, double x) {
  const auto first = line.begin(), next = std::next(first);
  Estimate e = first->second;
  double less = e.value;
  if (next != line.end())
    less = std::max(0.0, (next->second.value - e.value) / (next->first - first->first) * (first->first - x));
  if (std::isfinite(e.low)) e.low = std::max(0.0, e.low - less);
  return e;
}

// A straight line through the two points about x, or the last two where x is beyond them; one point, where x is there
// or before it. The ends of intervals lie on lines, too.
std::optional<Estimate> along(const TimesByBytes& line, double x) {
  if (line.empty()) return std::nullopt;
  auto right = line.lower_bound(x);
  if (right != line.end() && right->first == x) return right->second;
  if (right == line.begin()) return before_first(line, x);
  if (line.size() < 2) return std::nullopt;
  if (right == line.end()) --right;
  const auto left = std::prev(right);
  const double share = (x - left->first) / (right->first - left->first);
  const Estimate &a = left->second, &b = right->second;
  Estimate e{(1 - share) * a.value + share * b.value, not_measured, not_measured, "us", "straight lines"};
  // Beyond both points, one of them counts with a negative sign, and so do its ends.
  const auto end = [&](double Estimate::*of_a, double Estimate::*of_b) {
    return (1 - share) * a.*of_a + share * b.*of_b;
  };
  e.low = std::max(0.0, end(share > 1 ? &Estimate::high : &Estimate::low, &Estimate::low));
  e.high = end(share > 1 ? &Estimate::low : &Estimate::high, &Estimate::high);
  return e.value > 0 ? std::optional(e) : std::nullopt;
}

bool holds(const TimesByBytes& line, double bytes) { return bytes <= line.rbegin()->first; }

// Only numbers of pieces of which sizes as large as this were measured, where there are any: a line may turn behind its
// last point.
std::optional<Estimate> at(const Grid& grid, double pieces, double bytes) {
  const bool any = std::ranges::any_of(grid, [&](const auto& line) { return holds(line.second, bytes); });
  TimesByBytes across;
  for (const auto& [n, line] : grid)
    if (!any || holds(line, bytes))
      if (const auto e = along(line, bytes)) across.emplace(n, *e);
  return along(across, pieces);
}

Grid grid_of(const PieceTable& table, PieceWay way) {
  Grid grid;
  for (const PieceRow& row : table.rows)
    if (const WayTime* time = row.of(way))
      grid[row.pieces].emplace(static_cast<double>(row.piece_bytes), time->time_us);
  return grid;
}

// Errors of logarithms where one measured size of one number, or all sizes of one number, are left out; each inner one.
std::vector<double> left_out(const Grid& grid) {
  std::vector<double> all;
  const auto miss = [&](const Grid& without, double pieces, double bytes, const Estimate& measured) {
    if (const auto e = at(without, pieces, bytes)) all.push_back(std::abs(std::log(e->value / measured.value)));
  };
  for (auto line = grid.begin(); line != grid.end(); ++line) {
    const bool inner = line != grid.begin() && std::next(line) != grid.end();
    for (auto point = line->second.begin(); point != line->second.end(); ++point) {
      if (inner) {
        Grid without = grid;
        without.erase(line->first);
        miss(without, line->first, point->first, point->second);
      }
      if (point == line->second.begin() || std::next(point) == line->second.end()) continue;
      Grid without{{line->first, line->second}};
      without.begin()->second.erase(point->first);
      miss(without, line->first, point->first, point->second);
    }
  }
  return all;
}

// Lines between measured points are half as long as those of left_out(), and miss by half as much or less.
double error_of(const Grid& grid) {
  std::vector<double> all = left_out(grid);
  if (all.empty()) return 0;
  std::ranges::sort(all);
  return all[all.size() * 9 / 10] / 2;
}

// How far the ends of an interval are, as logarithms: an error of 5 may be five times as long or a fifth.
double log_down(const Estimate& e) { return std::log(e.value / e.low); }
double log_up(const Estimate& e) { return std::log(e.high / e.value); }

Estimate widened(Estimate e, double error) {
  const double down = in_quadrature(log_down(e), error), up = in_quadrature(log_up(e), error);
  if (std::isnan(down) || std::isnan(up)) return e;
  e.low = e.value * std::exp(-down);
  e.high = e.value * std::exp(up);
  e.method = fmt::format(
      "straight lines between measured times, with half of what they miss left-out times by (a factor of {:.3g})",
      std::exp(error));
  return e;
}

Estimate over_of(const Estimate& one, const Estimate& fastest) {
  const double ratio = one.value / fastest.value, down = in_quadrature(log_down(one), log_up(fastest)),
               up = in_quadrature(log_up(one), log_down(fastest));
  return {ratio - 1, ratio * std::exp(-down) - 1, ratio * std::exp(up) - 1, "1", "of both times"};
}

void refuse_far_beyond(const PieceTable& table, const PieceAdvice& of) {
  std::uint32_t pieces = 0;
  std::uint64_t piece_bytes = 0, bytes = 0;
  for (const PieceRow& row : table.rows) {
    pieces = std::max(pieces, row.pieces);
    piece_bytes = std::max(piece_bytes, row.piece_bytes);
    bytes = std::max(bytes, row.bytes());
  }
  const double all = static_cast<double>(of.pieces) * static_cast<double>(of.piece_bytes);
  if (of.pieces > farthest_outside * pieces ||
      static_cast<double>(of.piece_bytes) > farthest_outside * static_cast<double>(piece_bytes) ||
      all > farthest_outside * static_cast<double>(bytes))
    throw Error(
        ErrorKind::usage,
        fmt::format("--pieces {} of --piece-bytes {} is too far beyond what was measured on {}: up to {} pieces "
                    "of up to {}, {} together. Measure it: npgpu pieces --pieces {} --piece-bytes {}",
                    of.pieces, of.piece_bytes, table.question.device, pieces, size_text(piece_bytes), size_text(bytes),
                    of.pieces, of.piece_bytes));
}

}  // namespace

PieceAdvice advise_pieces(const PieceTable& table, std::uint32_t pieces, std::uint64_t piece_bytes) {
  PieceAdvice of{pieces, piece_bytes, {}, {}};
  refuse_far_beyond(table, of);
  for (const PieceRow& row : table.rows)
    if (row.pieces == pieces && row.piece_bytes == piece_bytes && row.ways.size() == table.ways().size()) {
      of.ways = row.ways;
      of.is_measured = true;
      return of;
    }
  const auto n = static_cast<double>(pieces), bytes = static_cast<double>(piece_bytes);
  bool is_small = true, are_few = true;
  for (const PieceWay way : table.ways()) {
    const Grid grid = grid_of(table, way);
    const auto e = at(grid, n, bytes);
    if (!e) {
      of.notes.push_back(fmt::format("{}: too few points were measured", name(way)));
      continue;
    }
    for (const auto& [measured, line] : grid) is_small = is_small && bytes < line.begin()->first;
    are_few = are_few && n < grid.begin()->first;
    of.ways.push_back({.way = way, .time_us = widened(*e, error_of(grid)), .host_us = {}, .over_fastest = {}});
  }
  if (is_small && !of.ways.empty())
    of.notes.push_back(
        "no piece as small as this was measured: it is taken to last as long as the smallest one; the interval reaches "
        "down to a straight line");
  if (are_few && !of.ways.empty())
    of.notes.push_back(
        "no so few pieces were measured: they are taken to last as long as the fewest; the interval reaches down to a "
        "straight line");
  sort_stably(of.ways, {}, [](const WayTime& way) { return way.time_us.value; });
  for (WayTime& way : of.ways) {
    way.over_fastest = over_of(way.time_us, of.ways.front().time_us);
    way.is_as_fast = !(way.over_fastest.low > 0);
  }
  return of;
}

}  // namespace npgpu
