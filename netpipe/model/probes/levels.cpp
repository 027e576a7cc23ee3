#include "netpipe/model/probes/levels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "netpipe/model/medians.hpp"

namespace npgpu::model {

namespace {

constexpr double plateau_rise = 1.25, level_rise = 1.30, min_octaves = 0.49;
constexpr std::size_t min_points = 3;

using Values = std::vector<double>;

Values medians_of_three(const Values& v) {
  Values out = v;
  for (std::size_t i = 1; i + 1 < v.size(); ++i) out[i] = median(std::vector{v[i - 1], v[i], v[i + 1]});
  return out;
}

// Least squares under the condition that no value is below the one before (Ayer et al. 1955).
Values never_falling(const Values& v) {
  struct Pool {
    double sum;
    std::size_t count;
    double mean() const { return sum / static_cast<double>(count); }
  };
  std::vector<Pool> pools;
  for (const double value : v) {
    pools.push_back({value, 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
      const Pool last = pools.back();
      pools.pop_back();
      pools.back().sum += last.sum;
      pools.back().count += last.count;
    }
  }
  Values out;
  for (const Pool& pool : pools) out.insert(out.end(), pool.count, pool.mean());
  return out;
}

struct Run {
  std::size_t first = 0, last = 0;  // both in it
};

class Curve {
 public:
  explicit Curve(const std::vector<LoadTime>& points) : points_(points) {
    in_cycles_ = std::all_of(points.begin(), points.end(), [](const LoadTime& p) { return p.cycles.value > 0; });
    Values lows, highs;
    for (const LoadTime& p : points) {
      const Estimate& e = in_cycles_ ? p.cycles : p.ns;
      octaves_.push_back(std::log2(static_cast<double>(p.bytes)));
      y_.push_back(std::log(e.value));
      lows.push_back(e.low > 0 ? std::log(e.low) : y_.back());
      highs.push_back(e.high > 0 ? std::log(e.high) : y_.back());
    }
    y_ = never_falling(medians_of_three(y_));
    low_ = never_falling(medians_of_three(lows));
    high_ = never_falling(medians_of_three(highs));
  }

  std::vector<Run> plateaus(std::optional<double> apart) const {
    std::vector<Run> found;
    search(0, y_.size(), found);
    std::sort(found.begin(), found.end(), [](const Run& a, const Run& b) { return a.first < b.first; });
    std::vector<Run> levels;
    for (Run run : found) {
      if (levels.empty() || y_[run.first] - y_[levels.back().last] >= std::log(level_rise)) {
        levels.push_back(run);
      } else if (const double before = middle_of(levels.back()), own = middle_of(run);
                 apart && own - before >= std::log(*apart)) {
        while (y_[run.first] < (before + own) / 2) ++run.first;
        levels.push_back(run);
      } else {
        levels.back().last = run.last;
      }
    }
    return levels;
  }

  Level level(const Run& run) const {
    Level level;
    level.first_bytes = points_[run.first].bytes;
    level.last_bytes = points_[run.last].bytes;
    level.ns = middle(run, &LoadTime::ns, "ns");
    level.cycles = middle(run, &LoadTime::cycles, "cycles");
    return level;
  }

  // Where the curve goes from one level's latency to the next one's.
  void end(Level& level, const Level& next) const {
    const double from = in_cycles_ ? level.cycles.value : level.ns.value;
    const double rise = (in_cycles_ ? next.cycles.value : next.ns.value) - from;
    const auto where = [&](const Values& y, double part) { return crossing(y, std::log(from + part * rise)); };
    const auto value = where(y_, 0.5), early = where(high_, 0.5), late = where(low_, 0.5);
    level.bytes.unit = "bytes";
    level.bytes.method =
        "set of which the next level answers half of the loads: its latency half way up to the next one's";
    if (!value) return;
    level.bytes.value = std::exp2(value->octaves);
    level.bytes.low = static_cast<double>(points_[(early ? *early : *value).before].bytes);
    level.bytes.high = static_cast<double>(points_[(late ? *late : *value).before + 1].bytes);
    const auto quarter = where(y_, 0.25), three = where(y_, 0.75);
    if (quarter && three) level.rise_octaves = three->octaves - quarter->octaves;
  }

 private:
  double middle_of(const Run& run) const { return median(std::span(y_).subspan(run.first, run.last + 1 - run.first)); }

  void search(std::size_t begin, std::size_t end, std::vector<Run>& found) const {
    Run best;
    double longest = 0;
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t j = i + min_points - 1; j < end; ++j) {
        const double octaves = octaves_[j] - octaves_[i];
        if (octaves < min_octaves || octaves <= longest) continue;
        if (y_[j] - y_[i] > std::log(plateau_rise) * std::min(1.0, octaves)) continue;
        best = {i, j};
        longest = octaves;
      }
    }
    if (longest == 0) return;
    found.push_back(best);
    search(begin, best.first, found);
    search(best.last + 1, end, found);
  }

  Estimate middle(const Run& run, Estimate LoadTime::*which, const char* unit) const {
    Values values;
    double low = std::numeric_limits<double>::infinity(), high = 0;
    bool bounded = true;
    for (std::size_t i = run.first; i <= run.last; ++i) {
      const Estimate& e = points_[i].*which;
      if (!(e.value > 0)) continue;
      values.push_back(e.value);
      bounded = bounded && std::isfinite(e.low) && std::isfinite(e.high);
      low = std::min(low, e.low);
      high = std::max(high, e.high);
    }
    Estimate e;
    e.unit = unit;
    if (values.size() < min_points) return e;
    e.method = "median over the sets of its plateau";
    if (!set_median(e, values) && bounded) {
      e.low = low;
      e.high = high;
      e.method += ", which are too few for an interval of it: the bounds are those of all of them";
    }
    return e;
  }

  struct Crossing {
    std::size_t before;  // the last point under it
    double octaves;
  };
  std::optional<Crossing> crossing(const Values& y, double at) const {
    for (std::size_t i = 0; i + 1 < y.size(); ++i) {
      if (!(y[i] < at && y[i + 1] >= at)) continue;
      const double part = std::expm1(at - y[i]) / std::expm1(y[i + 1] - y[i]);  // straight in latency
      return Crossing{i, octaves_[i] + part * (octaves_[i + 1] - octaves_[i])};
    }
    return std::nullopt;
  }

  const std::vector<LoadTime>& points_;
  bool in_cycles_ = false;
  Values octaves_, y_, low_, high_;
};

}  // namespace

std::vector<Level> levels_of(std::vector<LoadTime> points, std::optional<double> apart) {
  std::erase_if(points, [](const LoadTime& p) { return !(p.ns.value > 0) || p.bytes == 0; });
  std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  if (points.size() < min_points) return {};
  const Curve curve(points);
  std::vector<Level> levels;
  for (const Run& run : curve.plateaus(apart)) levels.push_back(curve.level(run));
  for (std::size_t i = 0; i + 1 < levels.size(); ++i) curve.end(levels[i], levels[i + 1]);
  return levels;
}

}  // namespace npgpu::model
