#include "netpipe/report/sweep_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "netpipe/report/curve_text.hpp"
#include "netpipe/report/perturbed_sizes.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/layout.hpp"

namespace npgpu {

namespace {

struct Throttle {
  std::uint64_t bit;
  const char* what;
};
// NVML's nvmlClocksThrottleReason*; idle and user-set clocks slow nothing down that was asked to be fast.
constexpr std::array<Throttle, 5> throttles{{{0x4, "power cap"},
                                             {0x8, "hardware slowdown"},
                                             {0x20, "temperature (software)"},
                                             {0x40, "temperature (hardware)"},
                                             {0x80, "power brake"}}};

std::uint64_t slowing(const Telemetry& t) {
  std::uint64_t bits = 0;
  for (const Throttle& reason : throttles) bits |= t.throttle_reasons & reason.bit;
  return bits;
}

// "-0.2 +1.3 %": the interval of the time, from its median.
std::string interval_text(const Estimate& time) {
  if (!std::isfinite(time.low) || !(time.value > 0)) return "-";
  const auto off = [&](double bound) { return 100 * (bound / time.value - 1); };
  return fmt::format("{:+.1f} {:+.1f} %", off(time.low), off(time.high));
}

std::string gigabytes(double bytes_per_s) { return digits_text(bytes_per_s * 1e-9); }

// What a row shows, whichever the pattern: one summary a shown rate, and the one that time and interval are of.
struct Row {
  std::uint64_t bytes = 0;
  std::vector<const PointSummary*> rates;
  const PointSummary* main = nullptr;
};

std::vector<Row> rows_of(const std::vector<PointSummary>& lanes, const std::vector<PointSummary>& sums) {
  std::vector<Row> rows;
  std::size_t sum = 0;
  for (const PointSummary& p : lanes) {
    if (p.lane == 0) rows.push_back({p.bytes, {}, nullptr});
    if (rows.empty()) continue;
    rows.back().rates.push_back(&p);
    if (!rows.back().main) rows.back().main = &p;
  }
  for (Row& row : rows) {
    if (sum >= sums.size()) break;
    row.rates.push_back(&sums[sum]);
    row.main = &sums[sum++];
  }
  return rows;
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
  Report(const TransferSeries& sweep, const TextStyle& style)
      : sweep_(sweep),
        ink_(style.color),
        width_(static_cast<std::size_t>(std::max(40, style.width))),
        lanes_(summarize(sweep)),
        sums_(summarize_sum(sweep)),
        rows_(rows_of(lanes_, sums_)) {
    std::vector<std::uint64_t> sizes;
    for (const Row& row : rows_) sizes.push_back(row.bytes);
    if (!style.every_size) folding_ = perturbed_sizes_of(sizes);
    for (const TransferPoint& p : sweep.points)
      if (slowing(p.telemetry)) slowed_.insert(p.bytes);
  }

  std::string text() {
    std::string out = header();
    if (!sweep_.error.empty()) out += ink_.alarm(labelled(rows_.empty() ? "NOT RUN" : "STOPPED", sweep_.error, width_));
    if (rows_.empty()) {
      if (sweep_.error.empty()) out += labelled("points", "none were measured", width_);
      return out;
    }
    const std::string rows = table();  // before the notes, which say what it left out
    return out + '\n' + rows + notes() + '\n' + curves();
  }

 private:
  bool duplex() const { return sweep_.question.pattern == Pattern::duplex; }

  std::string header() const {
    const std::string name = honest_title(sweep_);
    std::string out = (sweep_.simulated ? ink_.alarm(name) : ink_.bold(name)) + '\n';
    out += labelled("device", sweep_.device_name.empty() ? sweep_.question.device : sweep_.device_name, width_);
    out += labelled("limit",
                    sweep_.limit.per_s > 0
                        ? rate_text(sweep_.limit.per_s) + (duplex() ? " each way: " : ": ") + sweep_.limit.source
                        : sweep_.limit.source,
                    width_);
    if (!sweep_.binding.empty()) out += labelled("bound to", sweep_.binding, width_);
    if (!sweep_.schedule.empty()) out += labelled("schedule", sweep_.schedule, width_);
    const std::string clocks = telemetry();
    if (!clocks.empty()) out += labelled("clocks", clocks, width_);
    return out;
  }

  std::string telemetry() const {
    std::string text;
    const auto range = [&](const char* format, double Telemetry::*what) {
      double low = not_measured, high = not_measured;
      for (const TransferPoint& p : sweep_.points) {
        const double v = p.telemetry.*what;
        if (!std::isfinite(v)) continue;
        if (!(v >= low)) low = v;
        if (!(v <= high)) high = v;
      }
      if (!std::isfinite(low)) return;
      const std::string values = low == high ? fmt::format("{:.0f}", low) : fmt::format("{:.0f} .. {:.0f}", low, high);
      if (!text.empty()) text += ", ";
      text += fmt::format(fmt::runtime(format), values);
    };
    range("SM {} MHz", &Telemetry::sm_clock_mhz);
    range("memory {} MHz", &Telemetry::memory_clock_mhz);
    range("{} W", &Telemetry::power_w);
    range("{} degC", &Telemetry::temperature_c);
    return text;
  }

  // '!' no time or no rate, '*' never narrowed, 't' throttled.
  std::string marks(const Row& row) const {
    std::string text;
    for (const PointSummary* p : row.rates)
      if (!std::isfinite(p->rate.value)) {
        text += '!';
        break;
      }
    if (row.main->stop == Stop::not_converged) text += '*';
    if (slowed_.contains(row.bytes)) text += 't';
    return text;
  }

  Neighbours neighbours_of(const Row& centre) const {
    Neighbours found;
    const auto behind = folding_.behind.find(centre.bytes);
    if (behind == folding_.behind.end()) return found;
    for (const Row& row : rows_)
      if (std::find(behind->second.begin(), behind->second.end(), row.bytes) != behind->second.end()) {
        // Of times: rates would tell of 13 bytes beside 16 what the number of bytes does to any rate.
        const double change = 100 * (row.main->time_us.value / centre.main->time_us.value - 1);
        if (std::isfinite(change)) found.take(change);
      }
    return found;
  }

  std::string table() {
    Table table;
    table.column("size", Align::right);
    if (duplex()) {
      table.column(lane_name(sweep_.question, 0) + " GB/s", Align::point);
      table.column(lane_name(sweep_.question, 1) + " GB/s", Align::point);
      table.column("both GB/s", Align::point);
    } else {
      table.column("GB/s", Align::point);
    }
    const bool limited = sweep_.limit.per_s > 0;
    if (limited) table.column("% of limit", Align::point, 1);
    table.column("time us", Align::point);
    table.column("95 % interval", Align::right);
    table.column("least us", Align::point, 2);
    table.column("trials", Align::right, 3);
    const bool folded = folding_.perturbation > 0;
    if (folded) table.column(fmt::format("+-{} B", folding_.perturbation), Align::right, 4);
    table.column("", Align::left);

    for (const Row& row : rows_) {
      if (folding_.folds(row.bytes)) continue;
      std::vector<std::string> cells{size_text(row.bytes)};
      for (const PointSummary* p : row.rates) cells.push_back(gigabytes(p->rate.value));
      if (limited) cells.push_back(percent_text(row.main->percent_of_limit));
      cells.push_back(digits_text(row.main->time_us.value));
      cells.push_back(interval_text(row.main->time_us));
      cells.push_back(digits_text(row.main->min_us));
      cells.push_back(std::to_string(row.main->trials));
      if (folded) cells.push_back(neighbours_of(row).text());
      cells.push_back(marks(row));
      table.row(std::move(cells));
    }
    std::string out;
    const auto lines = table.lines(width_);
    for (std::size_t i = 0; i < lines.size(); ++i) out += i == 0 ? ink_.dim(lines[i]) : lines[i];
    left_out_ = table.left_out();
    return out;
  }

  std::string note(const std::string& text) const { return "  " + wrapped(text, width_, 4, 2) + '\n'; }

  std::string folded_note() const {
    std::size_t folded = 0;
    Neighbours all;
    std::uint64_t worst_at = 0;
    for (const Row& row : rows_) {
      folded += folding_.folds(row.bytes);
      const Neighbours here = neighbours_of(row);
      if (!std::isfinite(here.low)) continue;
      if (!(here.high <= all.high)) worst_at = row.bytes;
      all.take(here.low);
      all.take(here.high);
    }
    const auto p = folding_.perturbation;
    std::string text =
        fmt::format("+-{} B: times of the {} sizes {} bytes below and above those shown, against theirs", p, folded, p);
    if (std::isfinite(all.low)) text += fmt::format("; in all {}, slowest beside {}", all.text(), size_text(worst_at));
    return text + ". They are folded away here; JSON and the exports have them";
  }

  std::string notes() const {
    std::string out;
    if (folding_.perturbation > 0) out += note(folded_note());

    std::size_t never = 0, never_folded = 0;
    std::map<std::string, std::vector<std::uint64_t>> voids;  // by reason
    bool above = false;
    for (const Row& row : rows_) {
      const bool is_folded = folding_.folds(row.bytes);
      if (row.main->stop == Stop::not_converged) ++(is_folded ? never_folded : never);
      for (const PointSummary* p : row.rates) {
        if (!std::isfinite(p->rate.value)) {
          auto& sizes = voids[std::isfinite(p->time_us.value) ? p->rate.method : p->time_us.method];
          if (sizes.empty() || sizes.back() != row.bytes) sizes.push_back(row.bytes);
        }
        above |= p->percent_of_limit > 100;
      }
    }
    if (never + never_folded > 0) {
      std::string text = fmt::format(
          "* the interval never narrowed to the schedule's tolerance before the budget of the "
          "point was spent: {} of {} sizes",
          never + never_folded, rows_.size());
      if (never_folded > 0) text += fmt::format(", {} of them folded away", never_folded);
      out += note(text);
    }
    for (const auto& [why, sizes] : voids) {
      std::string list;
      for (std::size_t i = 0; i < std::min<std::size_t>(5, sizes.size()); ++i)
        list += (i ? ", " : "") + size_text(sizes[i]);
      if (sizes.size() > 5) list += fmt::format(" and {} more", sizes.size() - 5);
      out += ink_.alarm(note(fmt::format("! {} ({})", why, list)));
    }
    if (!slowed_.empty()) {
      std::uint64_t bits = 0;
      for (const TransferPoint& p : sweep_.points) bits |= slowing(p.telemetry);
      std::string reasons;
      for (const Throttle& t : throttles)
        if (bits & t.bit) reasons += (reasons.empty() ? "" : ", ") + std::string(t.what);
      out += note(fmt::format("t the device said after {} of {} sizes that its clocks were held down: {}",
                              slowed_.size(), rows_.size(), reasons));
    }
    if (above)
      out += note(
          "above 100 %: caches hold the smaller sizes, copies overlap in a way the clock does not see, or the "
          "limit is wrong");
    if (!left_out_.empty()) {
      std::string names;
      for (const std::string& name : left_out_) names += (names.empty() ? "" : ", ") + name;
      out += note(fmt::format("left out at {} columns: {}", width_, names));
    }
    return out;
  }

  std::string curves() const {
    if (!duplex()) return curve_text(lanes_, 1, width_);
    std::string out = "  both directions together, sizes of one copy\n" + curve_text(sums_, 2, width_);
    for (const std::uint32_t lane : {0U, 1U}) {
      std::vector<PointSummary> one;
      std::copy_if(lanes_.begin(), lanes_.end(), std::back_inserter(one),
                   [&](const PointSummary& p) { return p.lane == lane; });
      const CurveFit fit = fit_curve(one);
      out += labelled(lane_name(sweep_.question, lane),
                      fit.best_rate > 0 ? fmt::format("best {} at {}, beside the other direction",
                                                      rate_text(fit.best_rate), size_text(fit.best_bytes))
                                        : "no point has a rate",
                      width_);
    }
    return out;
  }

  const TransferSeries& sweep_;
  const Ink ink_;
  const std::size_t width_;
  const std::vector<PointSummary> lanes_;
  const std::vector<PointSummary> sums_;
  const std::vector<Row> rows_;
  PerturbedSizes folding_;
  std::set<std::uint64_t> slowed_;
  std::vector<std::string> left_out_;
};

}  // namespace

std::string lane_name(const TransferCase& c, std::uint32_t lane) {
  std::string text(name(lane == 0 ? c.direction : reversed(c.direction)));
  if (lane != 0 && reversed(c.direction) == c.direction) text += " back";
  return text;
}

std::string honest_title(const TransferSeries& sweep) { return (sweep.simulated ? "SIMULATED " : "") + title(sweep.question); }

std::string sweep_text(const TransferSeries& sweep, const TextStyle& style) { return Report(sweep, style).text(); }

}  // namespace npgpu
