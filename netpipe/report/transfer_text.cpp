// One series of transfers: the table, what the table leaves out, and the curve.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "netpipe/model/transfers/perturbed_sizes.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/json.hpp"
#include "netpipe/report/series_text.hpp"
#include "npgpu/model/figures.hpp"

namespace npgpu {

namespace {

// What a row shows: a summary for each rate, and the one whose time and interval are shown.
struct SizeRow {
  std::uint64_t bytes = 0;
  std::vector<const TransferResult*> rates;
  const TransferResult* main = nullptr;
  TransferPoint point{};
};

std::vector<SizeRow> rows_of(const TransferSeries& series, const std::vector<TransferResult>& lanes,
                             const std::vector<TransferResult>& sums) {
  std::map<std::uint64_t, SizeRow> rows;
  for (TransferPoint& point : points_of(series)) rows[point.axes.bytes].point = std::move(point);
  for (const auto* summaries : {&lanes, &sums})
    for (const TransferResult& p : *summaries) {
      SizeRow& row = rows[p.axes.bytes];
      row.bytes = p.axes.bytes;
      row.rates.push_back(&p);
      if (!row.main || summaries == &sums) row.main = &p;
    }
  std::vector<SizeRow> all;
  for (auto& [bytes, row] : rows)
    if (row.main) all.push_back(std::move(row));
  return all;
}

// How far the times of a centre's neighbours lie from its own.
struct Neighbours {
  double low = not_measured;
  double high = not_measured;
  void take(double percent) {
    if (!(percent >= low)) low = percent;
    if (!(percent <= high)) high = percent;
  }
  std::string text() const { return std::isfinite(low) ? fmt::format("{:+.1f} {:+.1f} %", low, high) : "-"; }
};

class Report {
 public:
  Report(Document& doc, const TransferSeries& series, bool every_size)
      : doc_(doc),
        series_(series),
        measured_(measured_lanes(series.question)),
        lanes_(results(series)),
        sums_(results_of_all_lanes(series)),
        rows_(rows_of(series, lanes_, sums_)) {
    std::vector<std::uint64_t> sizes;
    for (const SizeRow& row : rows_) sizes.push_back(row.bytes);
    if (!every_size) folding_ = perturbed_sizes_of(sizes);
  }

  void write() {
    doc_.gap();
    table();
    const TransferCase& c = series_.question;
    if (is_of_words(c.pattern)) return;  // a latency has no curve
    doc_.gap();
    // Only a blocking copy, or one that waits for the other side, has a latency.
    const bool queued = c.async && c.pattern != Pattern::pingpong;
    if (sums_.empty()) return curve_text(doc_, lanes_, 1, queued);
    doc_.note(together() + " lanes together, sizes of one copy");
    curve_text(doc_, sums_, measured_.size(), queued);
    for (const std::uint32_t lane : measured_) {
      const CurveFit fit = fit_curve(of_lane(lanes_, lane));
      doc_.labelled(lane_name(c, lane), fit.best_rate > 0
                                            ? fmt::format("best {} at {}, with the other lanes running",
                                                          rate_text(fit.best_rate), size_text(fit.best_bytes))
                                            : "no point has a rate");
    }
  }

 private:
  std::string together() const { return measured_.size() == 2 ? "both" : "all"; }

  Neighbours neighbours_of(const SizeRow& centre) const {
    Neighbours found;
    const auto behind = folding_.behind.find(centre.bytes);
    if (behind == folding_.behind.end()) return found;
    for (const SizeRow& row : rows_)
      if (std::find(behind->second.begin(), behind->second.end(), row.bytes) != behind->second.end()) {
        // Times are compared: rates of 13 and of 16 bytes differ by the number of bytes alone.
        const double change = 100 * (row.main->time_us.value / centre.main->time_us.value - 1);
        if (std::isfinite(change)) found.take(change);
      }
    return found;
  }

  void table() {
    const bool several = !sums_.empty(), folded = folding_.perturbation > 0;
    const bool words = is_of_words(series_.question.pattern), limited = series_.limit.per_s > 0 && !words;
    const double in_unit = words ? 1e3 : 1;
    std::vector<Column> columns{right("size")};
    for (const std::uint32_t lane : measured_)
      if (several)
        columns.push_back(decimal(lane_name(series_.question, lane) + " GB/s", measured_.size() > 2 ? 6 : 1));
    columns.insert(columns.end(),
                   {decimal((several ? together() + ' ' : "") + "GB/s", 0, !words), decimal("% of limit", 2, limited),
                    decimal(words ? "time ns" : "time us"), right("95 % interval", several ? 2 : 0),
                    decimal(words ? "min ns" : "min us", 3), right("trials", 4),
                    right(fmt::format("+-{} B", folding_.perturbation), 5, folded), left("")});
    Table table(std::move(columns));

    Marks marks;
    std::size_t unsteady_folded = 0;
    for (const SizeRow& row : rows_) {
      const bool unusable = std::ranges::any_of(row.rates, [](auto* p) { return !std::isfinite(p->rate.value); });
      const std::string mark = (unusable ? "!" : "") + marks.take(row.point, row.main->unsteady);
      if (folding_.folds(row.bytes)) {
        unsteady_folded += row.main->unsteady;
        continue;
      }
      std::vector<std::string> cells{size_text(row.bytes)};
      for (const TransferResult* p : row.rates) cells.push_back(digits_text(p->rate.value * 1e-9));
      cells.insert(cells.end(),
                   {percent_text(row.main->percent_of_limit), digits_text(in_unit * row.main->time_us.value),
                    interval_text(row.main->time_us), digits_text(in_unit * row.main->min_us),
                    std::to_string(row.main->trials), neighbours_of(row).text(), mark});
      table.row(std::move(cells));
    }
    doc_.table(std::move(table));
    if (folded) note_folded();
    marks.notes(doc_, "sizes", series_.unsteady_above, unsteady_folded);
    note_unusable();
  }

  void note_folded() const {
    std::size_t folded = 0;
    Neighbours all;
    std::uint64_t worst_at = 0;
    for (const SizeRow& row : rows_) {
      folded += folding_.folds(row.bytes);
      const Neighbours here = neighbours_of(row);
      if (!std::isfinite(here.low)) continue;
      if (!(here.high <= all.high)) worst_at = row.bytes;
      all.take(here.low);
      all.take(here.high);
    }
    const auto p = folding_.perturbation;
    std::string text = fmt::format(
        "+-{} B: times of the {} sizes {} bytes below and above those shown, relative to theirs", p, folded, p);
    if (std::isfinite(all.low)) text += fmt::format("; in all {}, slowest around {}", all.text(), size_text(worst_at));
    doc_.note(text + ". They have no rows here; JSON and CSV have them");
  }

  void note_unusable() const {
    std::map<std::string, std::vector<std::uint64_t>> unusable;  // by reason
    bool above = false;
    for (const SizeRow& row : rows_)
      for (const TransferResult* p : row.rates) {
        if (!std::isfinite(p->rate.value)) {
          auto& sizes = unusable[std::isfinite(p->time_us.value) ? p->rate.method : p->time_us.method];
          if (sizes.empty() || sizes.back() != row.bytes) sizes.push_back(row.bytes);
        }
        above |= p->percent_of_limit > 100;
      }
    for (const auto& [why, sizes] : unusable) {
      std::vector<std::string> list;
      for (const std::uint64_t bytes : std::span(sizes).first(std::min<std::size_t>(5, sizes.size())))
        list.push_back(size_text(bytes));
      const std::string more = sizes.size() > 5 ? fmt::format(" and {} more", sizes.size() - 5) : "";
      doc_.note(fmt::format("! {} ({}{})", why, fmt::join(list, ", "), more), true);
    }
    if (above)
      doc_.note(
          "above 100 %: caches hold the smaller sizes, copies overlap where the clock cannot see it, or the limit is "
          "wrong");
  }

  Document& doc_;
  const TransferSeries& series_;
  const std::vector<std::uint32_t> measured_;
  const std::vector<TransferResult> lanes_;
  const std::vector<TransferResult> sums_;
  const std::vector<SizeRow> rows_;
  PerturbedSizes folding_;
};

}  // namespace

std::vector<std::uint32_t> measured_lanes(const TransferCase& c) {
  std::vector<std::uint32_t> measured;
  const auto all = lanes(c);
  for (std::uint32_t lane = 0; lane < all.size(); ++lane)
    if (all[lane].measured) measured.push_back(lane);
  return measured;
}

std::vector<TransferResult> of_lane(std::vector<TransferResult> points, std::uint32_t lane) {
  std::erase_if(points, [&](const TransferResult& p) { return p.lane != lane; });
  return points;
}

std::string lane_name(const TransferCase& c, std::uint32_t lane) {
  const auto all = lanes(c);
  const Lane& own = all.at(lane);
  std::string text(name(own.direction));
  if (c.pattern == Pattern::duplex && lane == 1 && reversed(c.direction) == c.direction) return text + " back";
  const std::size_t own_pattern = all.size() - c.more_lanes.size();
  const auto same = [&](const Lane& other) { return other.direction == own.direction; };
  if (lane < own_pattern && std::count_if(all.begin() + static_cast<std::ptrdiff_t>(own_pattern), all.end(), same) == 0)
    return text;
  if (std::count_if(all.begin(), all.end(), same) > 1)
    text += ' ' + (own.direction == Direction::peer ? own.source + '>' + own.target
                   : own.source == "host"           ? own.target
                                                    : own.source);
  return text;
}

void series_text(Document& doc, const TransferSeries& series, bool every_size) {
  if (heading(doc, series)) Report(doc, series, every_size).write();
}

namespace {

constexpr double poor_fit = 0.25;     // a line that misses a point by more does not describe the curve
constexpr double worth_saying = 0.9;  // of the best rate: the rate of the largest size is said if it is below

// NetPIPE's figure (Allada et al. 2009): the shortest trial of a point, and the best rate that gives.
struct BestTrial {
  double rate = not_measured;
  std::uint64_t bytes = 0;
};
BestTrial best_trial(std::span<const TransferResult> points, std::size_t copies) {
  BestTrial best;
  for (const TransferResult& p : points) {
    if (!(p.min_us > 0)) continue;
    const double rate = static_cast<double>(copies * p.axes.bytes) / (p.min_us * 1e-6);
    if (!(rate <= best.rate)) best = {rate, p.axes.bytes};
  }
  return best;
}

std::string best_text(std::span<const TransferResult> points, const CurveFit& fit, std::size_t copies) {
  std::string text = fmt::format("{} at {}", rate_text(fit.best_rate), size_text(fit.best_bytes));
  for (const TransferResult& p : points)
    if (p.axes.bytes == fit.best_bytes && p.rate.value == fit.best_rate && p.percent_of_limit > 0)
      text += fmt::format(", {} % of the limit", percent_text(p.percent_of_limit));
  // A best rate out of a cache says nothing about larger sizes.
  const TransferResult& largest = points.back();
  if (largest.rate.value < worth_saying * fit.best_rate)
    text += fmt::format("; at the largest size, {}, {}", size_text(largest.axes.bytes), rate_text(largest.rate.value));
  const BestTrial trial = best_trial(points, copies);
  return text +
         fmt::format("; fastest trial (NetPIPE's figure) {} at {}", rate_text(trial.rate), size_text(trial.bytes));
}

// "5.310 us (5.200 .. 5.420)"
std::string latency_estimate(const Estimate& e) {
  std::string text = digits_text(e.value) + " us";
  if (std::isfinite(e.low)) text += fmt::format(" ({} .. {})", digits_text(e.low), digits_text(e.high));
  return text;
}

std::string rate_estimate(const Estimate& e) {
  std::string text = rate_text(e.value);
  if (!std::isfinite(e.low)) return text;
  std::string low = rate_text(e.low);
  const std::string high = rate_text(e.high);
  const std::string unit = high.substr(high.find(' '));
  if (low.ends_with(unit)) low.resize(low.size() - unit.size());  // said once
  return text + fmt::format(" ({} .. {})", low, high);
}

std::string fit_text(const CurveFit& fit) {
  const bool latency = std::isfinite(fit.latency_us.value);
  const bool rate = std::isfinite(fit.rate.value);
  if (!latency && !rate)
    return "none: " + fit.latency_us.method +
           (fit.rate.method == fit.latency_us.method ? "" : "; rate: " + fit.rate.method);
  std::string text = "time = ";
  if (latency) text += latency_estimate(fit.latency_us);
  if (latency && rate) text += " + ";
  if (rate) text += "bytes / " + rate_estimate(fit.rate);
  if (std::isfinite(fit.worst_residual)) {
    text += fmt::format(", off by at most {} %", percent_text(100 * fit.worst_residual));
    if (fit.worst_residual > poor_fit) text += ": one line does not describe this curve";
  } else {
    text += ", exactly through two sizes";
  }
  if (!latency) text += "; no latency: " + fit.latency_us.method;
  if (!rate) text += "; no rate: " + fit.rate.method;
  return text;
}

// The note that begins with `what`, without it.
std::string reason(const CurveFit& fit, std::string_view what) {
  for (const std::string& note : fit.notes)
    if (note.starts_with(what)) return "none: " + note.substr(what.size());
  return "none";
}

}  // namespace

void curve_text(Document& doc, std::span<const TransferResult> points, std::size_t copies, bool queued) {
  const CurveFit fit = fit_curve(points);
  if (!(fit.best_rate > 0)) return doc.labelled("curve", "none: no point has a rate");
  doc.labelled("best", best_text(points, fit, copies));

  std::string smallest = reason(fit, "no latency of the smallest sizes: ");
  if (std::isfinite(fit.small_us)) {
    std::vector<std::uint64_t> sizes;
    for (const TransferResult& p : points)
      if (p.rate.value > 0) sizes.push_back(p.axes.bytes);
    std::sort(sizes.begin(), sizes.end());
    const std::size_t n = std::min<std::size_t>(10, sizes.size());
    smallest = fmt::format("{}, mean of the {} smallest sizes, {} to {} ({})", time_text(fit.small_us), n,
                           size_text(sizes.front()), size_text(sizes[n - 1]),
                           queued ? "from copy to copy in a queue; no latency" : "NetPIPE's latency");
  }
  if (smallest == "none") smallest = "none: " + fit.latency_us.method;
  doc.labelled(queued ? "gap" : "latency", smallest);

  doc.labelled("N1/2", std::isfinite(fit.half_bytes)
                           ? about_size_text(fit.half_bytes) + ", where the rate first reaches half of the best"
                           : reason(fit, "no n_1/2: "));
  std::string knee = reason(fit, "no knee: ");
  if (std::isfinite(fit.knee_bytes)) {
    knee = "about " + about_size_text(fit.knee_bytes) + ": beyond it, larger copies gain little";
    const TransferResult& largest = points.back();
    if (largest.rate.value < worth_saying * fit.best_rate)
      knee += fmt::format(", and beyond {} the rate falls by {} %", size_text(fit.best_bytes),
                          percent_text(100 * (1 - largest.rate.value / fit.best_rate)));
  }
  doc.labelled("knee", knee);
  doc.labelled("fit", fit_text(fit));
}

// Staged messages: advised chunks, and what others took.

Document messages_document(std::span<const StagedMessages> all) {
  Document doc;
  for (const StagedMessages& one : all) {
    if (&one != &all.front()) doc.gap();
    doc.title(fmt::format("staged messages {}>{}, {}", one.source, one.target, name(one.pattern)));
    doc.gap();
    Table table({right("size"), right("advised chunk"), right("predicted"), right("after trials"), right("measured"),
                 right("best other", 1), right("took", 1), right("against it", 1)});
    for (const StagedSize& size : one.sizes) {
      const double regret = size.regret();
      table.row({size_text(size.bytes), size_text(size.chunk),
                 std::isfinite(size.predicted_us) ? time_text(size.predicted_us) : "-",
                 size.taken_chunk ? size_text(size.taken_chunk) : "-",
                 std::isfinite(size.advised_us) ? time_text(size.advised_us) : "-",
                 size.best_chunk ? size_text(size.best_chunk) : "-", size.best_chunk ? time_text(size.best_us) : "-",
                 std::isfinite(regret) ? fmt::format("{:+.1f} %", 100 * regret) : "-"});
    }
    doc.table(std::move(table));
  }
  return doc;
}

NPGPU_FORM(StagedSize, &T::bytes, called<"chunk_bytes", &T::chunk>, &T::predicted_us,
           called<"taken_chunk_bytes", &T::taken_chunk>, &T::advised_us, called<"best_chunk_bytes", &T::best_chunk>,
           &T::best_us, &T::regret);
NPGPU_DEFINE_FORM(StagedMessages, &T::source, &T::target, &T::pattern, &T::sizes);

}  // namespace npgpu
