// Runs of the partition method: what each point came to, the regressions of Veneva & Imamura 2025 fitted to measured
// times, and the number of streams that each model chooses.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <map>
#include <set>
#include <tuple>

#include "netpipe/model/least_squares.hpp"
#include "netpipe/model/medians.hpp"
#include "npgpu/model/predict.hpp"

namespace npgpu {

namespace {

PartitionResult result_of_split(const PartitionSeries& series, const PartitionPoint& point) {
  PartitionResult r = model::checked_result_of(series, point, "results were wrong");
  if (r.is_wrong) return r;
  const auto column_of = [&](double PartitionSample::*column) {
    return values_of(series, point,
                     [column](const PartitionSample& one) { return one.*column >= 0 ? one.*column : not_measured; });
  };
  const auto median_of = [&](double PartitionSample::*column) {
    return model::time_over_visits(column_of(column), series.drift);
  };
  const ByVisit whole_us =
      values_of(series, point, [](const PartitionSample& one) { return one.host_us > 0 ? one.host_us : not_measured; });
  model::set_times(r, whole_us, series);
  r.us_by_round = model::by_round(point, whole_us);
  r.stage2_us = median_of(&PartitionSample::stage2_us);
  r.rest_us = model::time_over_visits(values_of(series, point,
                                                [](const PartitionSample& one) {
                                                  const double rest = one.host_us - one.stage2_us;
                                                  return one.stage2_us >= 0 && rest >= 0 ? rest : not_measured;
                                                }),
                                      series.drift);
  for (std::size_t i = 0; i < partition_stages.size(); ++i) r.stages_us[i] = median_of(partition_stages[i].at);
  for (const auto* visit : point.visits)
    for (const PartitionSample& one : samples_of(series, *visit)) r.residual = std::fmax(r.residual, one.residual);
  if (!r.is_timed) r.why = "no usable trial";
  return r;
}

}  // namespace

std::vector<PartitionResult> Partitions::results(const PartitionSeries& series) {
  return model::of_each_point(series, result_of_split);
}

// ---- regressions ----------------------------------------------------------------------------------------------------

namespace {

constexpr double hidden(double sum, double n) { return (n - 1) / n * sum; }
double big_logarithm(double n) { return 4.0 / 3 * std::log2(n); }

// Rows of features and what they should give.
class FeatureRows {
 public:
  void add(double size, double n, const std::array<double, 3>& features, double wanted) {
    sizes_.insert(size);
    streams_.insert(n);
    features_.push_back(features);
    wanted_.push_back(wanted);
  }
  // Coefficients of the first features. Sizes and ones differ by eight powers of ten.
  void solve(std::initializer_list<double*> coefficients, RegressionQuality& quality) const {
    const std::size_t count = coefficients.size();
    if (sizes_.size() < 2 || (count > 2 && streams_.size() < 2)) return;
    LongNumbers a;
    for (const auto& row : features_) a.insert(a.end(), row.begin(), row.begin() + static_cast<std::ptrdiff_t>(count));
    const LongNumbers x = scaled_least_squares(count, a, {wanted_.begin(), wanted_.end()});
    const auto rows = static_cast<double>(wanted_.size());
    double left = 0, total = 0, mean = 0;
    for (const double wanted : wanted_) mean += wanted / rows;
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      long double off = -wanted_[i];
      for (std::size_t j = 0; j < count; ++j) off += x[j] * features_[i][j];
      left += static_cast<double>(off * off);
      total += (wanted_[i] - mean) * (wanted_[i] - mean);
    }
    quality = {static_cast<std::uint32_t>(wanted_.size()), not_measured, left / rows, std::sqrt(left / rows)};
    if (total > 0) quality.r2 = 1 - left / total;
    for (std::size_t j = 0; j < count; ++j) *coefficients.begin()[j] = static_cast<double>(x[j]);
  }

 private:
  std::set<double> sizes_, streams_;
  std::vector<std::array<double, 3>> features_;
  std::vector<double> wanted_;
};

}  // namespace

double PartitionRegressions::overhead(double size, double n) const {
  if (size <= small_up_to) return small_size * size + small_log * std::log10(n) + small_start;
  return (big_size * size + big_log) * big_logarithm(n) + big_start;
}

double PartitionRegressions::gain(double size, double n) const { return hidden(sum(size), n) - overhead(size, n); }

std::optional<std::uint32_t> PartitionRegressions::optimum(double size,
                                                           std::span<const std::uint32_t> candidates) const {
  std::uint32_t best = 1;
  double most = 0;
  for (const std::uint32_t n : candidates) {
    const double saved = gain(size, n);
    if (std::isnan(saved)) return std::nullopt;
    if (saved > most) {
      most = saved;
      best = n;
    }
  }
  return best;
}

double partition_overhead(double streamed, double unsplit, double sum, double n) {
  return streamed - unsplit + hidden(sum, n);
}

double creation_optimum(double sum, double t_sc) { return std::sqrt(sum / t_sc); }

PartitionRegressions regressions_of(std::span<const PartitionRow> all, const PartitionRow* without) {
  PartitionRegressions m;
  FeatureRows line, small, big;
  for (const PartitionRow& row : all) {
    if (&row == without || std::isnan(row.sum_us)) continue;
    const auto size = static_cast<double>(row.size);
    line.add(size, 1, {size, 1, 0}, row.sum_us);
    for (std::size_t i = 1; i < row.streams.size(); ++i) {
      const double n = row.streams[i], l = big_logarithm(n);
      if (size > PartitionRegressions::small_up_to) big.add(size, n, {size * l, l, 1}, row.overhead_us[i]);
      else small.add(size, n, {size, std::log10(n), 1}, row.overhead_us[i]);
    }
  }
  line.solve({&m.sum_slope, &m.sum_start}, m.sum_quality);
  small.solve({&m.small_size, &m.small_log, &m.small_start}, m.small_quality);
  big.solve({&m.big_size, &m.big_log, &m.big_start}, m.big_quality);
  return m;
}

// ---- sizes and choices ----------------------------------------------------------------------------------------------

namespace {

// The unsplit run and its parts, timed by stages: by chunks.
using ByChunks = std::map<std::uint32_t, PartitionResult>;
// What was measured of one size.
struct SizeRuns {
  std::map<std::uint32_t, PartitionResult> whole;  // by streams
  ByChunks stages;
};
using Sizes = std::map<std::uint64_t, SizeRuns>;
using StudyKey = std::tuple<std::string, std::string, Precision, std::uint32_t>;  // device, UUID, type, sub-system

std::size_t best_of(const std::vector<Estimate>& times) {
  return static_cast<std::size_t>(std::ranges::min_element(times, {}, &Estimate::value) - times.begin());
}

// Chosen over best, less 1, with what the two intervals allow.
Estimate regret_of(const Estimate& chosen, const Estimate& best, bool is_best) {
  Estimate e{0, 0, 0, "1", "measured time there over the best measured"};
  if (is_best) return e;
  e.value = chosen.value / best.value - 1;
  e.low = std::max(0.0, chosen.low / best.high - 1);
  e.high = chosen.high / best.low - 1;
  if (std::isnan(chosen.low) || std::isnan(best.high)) e.low = e.high = not_measured;
  return e;
}

// Moved by so much.
Estimate later(Estimate e, double us) {
  for (double* part : {&e.value, &e.low, &e.high}) *part += us;
  return e;
}

// `streams`: nothing where the model has no answer.
PartitionChoice choice_of(std::optional<std::uint32_t> streams, const PartitionRow& row) {
  PartitionChoice c;
  const auto at = streams ? std::ranges::find(row.streams, *streams) : row.streams.end();
  if (at == row.streams.end()) return c;
  c.streams = streams;
  const auto place = static_cast<std::size_t>(at - row.streams.begin());
  const Estimate& chosen = row.time_us[place];
  const std::size_t best = best_of(row.time_us), even_best = best_of(row.even_us);
  c.regret = regret_of(chosen, row.time_us[best], place == best);
  c.even_regret = regret_of(row.even_us[place], row.even_us[even_best], place == even_best);
  c.cross_validated = cross_validated_regret(row.us_by_round, place);
  // Where no interval is known, equal times only.
  const double low = std::isfinite(chosen.low) ? chosen.low : chosen.value;
  const double high = std::isfinite(row.time_us[best].high) ? row.time_us[best].high : row.time_us[best].value;
  c.hit = low <= high;
  return c;
}

PartitionRow row_of(std::uint64_t size, const SizeRuns& runs) {
  PartitionRow row;
  row.size = size;
  std::vector<Estimate> stage2_us;
  for (const auto& [n, summary] : runs.whole) stage2_us.push_back(summary.stage2_us);
  row.stage2_us = model::middle_of(stage2_us);
  for (const auto& [n, summary] : runs.whole) {
    row.even_us.push_back(later(summary.rest_us, row.stage2_us.value));
    row.add(n, summary);
  }
  row.best = row.streams[best_of(row.time_us)];
  if (const auto unsplit = runs.stages.find(1); unsplit != runs.stages.end()) {
    row.stages_us = unsplit->second.stages_us;
    row.sum_us = 0;
    for (const Stage stage : {Stage::kernel, Stage::d2h}) row.sum_us += unsplit->second.of(0, stage).value;
    for (const Stage stage : {Stage::h2d, Stage::kernel}) row.sum_us += unsplit->second.of(1, stage).value;
  }
  for (std::size_t i = 0; i < row.streams.size(); ++i) {
    const double n = row.streams[i];
    row.overhead_us.push_back(partition_overhead(row.time_us[i].value, row.time_us.front().value, row.sum_us, n));
    row.gain_us.push_back(row.time_us.front().value - row.time_us[i].value);
  }
  return row;
}

// ---- the paper's model ----------------------------------------------------------------------------------------------

PartitionChoice choice_of_paper(const std::vector<PartitionRow>& rows, const PartitionRow& row) {
  const PartitionRegressions m = regressions_of(rows, &row);
  const double size = static_cast<double>(row.size);
  PartitionChoice c = choice_of(m.optimum(size, row.streams), row);
  if (!c.streams) return c;
  for (const std::uint32_t n : row.streams) c.predicted_us.push_back(row.time_us.front().value - m.gain(size, n));
  return c;
}

PartitionChoice choice_of_creation(const PartitionRow& row, Seconds create) {
  if (!(create > Seconds{0}) || std::isnan(row.sum_us)) return choice_of(std::nullopt, row);
  const double wanted = creation_optimum(row.sum_us, microseconds(create));
  const auto farther = [&](std::uint32_t a, std::uint32_t b) { return std::abs(a - wanted) < std::abs(b - wanted); };
  return choice_of(*std::ranges::min_element(row.streams, farther), row);
}

// ---- the simulator --------------------------------------------------------------------------------------------------

// A kernel's time over parts of the whole, from its runs by stages: those are from event to event, so that the gap of
// the kernel and the latency after the copies in belong to them.
Curve kernel_curve(const ByChunks& stages, std::size_t part, const StreamCosts& costs) {
  constexpr double least_us = 0.1;
  const double beside = microseconds(costs.gap.kernel + costs.latency.h2d);
  std::vector<Curve::Point> points;
  for (auto one = stages.rbegin(); one != stages.rend(); ++one) {
    const double us = one->second.of(part, Stage::kernel).value / one->first - beside;
    if (!std::isnan(us)) points.push_back({1.0 / one->first, from_microseconds(std::max(least_us, us))});
  }
  return Curve(std::move(points));
}

PartitionChoice choice_of_simulator(const PartitionRow& row, const SizeRuns& runs, const PartitionCase& question,
                                    std::uint32_t sub_system, const MeasuredCosts* costs) {
  if (!costs || !runs.stages.contains(1) || std::isnan(row.stage2_us.value)) return choice_of(std::nullopt, row);
  Pipeline pipeline = partition_pipeline(question.type, {row.size, sub_system});
  pipeline[0].host = from_microseconds(row.stage2_us.value);
  for (std::size_t part = 0; part < pipeline.size(); ++part)
    for (PipelineStage& stage : pipeline[part].stages)
      if (stage.stage == Stage::kernel) stage.kernel.of_fraction = kernel_curve(runs.stages, part, costs->costs);
  const Prediction p = choose_streams(pipeline, costs->costs, partition_order, row.streams);
  PartitionChoice c = choice_of(p.streams, row);
  for (const StreamTime& one : p.candidates) c.predicted_us.push_back(microseconds(one.run.total));
  return c;
}

// ---- all of it ------------------------------------------------------------------------------------------------------

void study(PartitionStudy& s, const Sizes& sizes, const std::vector<MeasuredCosts>& all_costs, const StudyKey& key) {
  const auto own = std::ranges::find_if(all_costs, [&](const MeasuredCosts& c) {
    return c.device == s.device && c.device_uuid == std::get<1>(key) && c.usable;
  });
  const MeasuredCosts* const costs = own == all_costs.end() ? nullptr : &*own;
  if (s.device == "host")
    s.missing.emplace_back("the simulator predicts devices with copy engines, which a host has not");
  else if (!costs)
    s.missing.push_back(
        fmt::format("the simulator needs what copies, kernels and calls cost on {}: npgpu streams "
                    "--experiment overheads --append measures it",
                    s.device));
  for (const auto& [size, runs] : sizes) s.rows.push_back(row_of(size, runs));
  const bool lacks_stages = std::ranges::any_of(s.rows, [](const PartitionRow& r) { return std::isnan(r.sum_us); });
  if (lacks_stages)
    s.missing.emplace_back("sizes without stages were measured: both models need those of npgpu partition");
  s.fitted = regressions_of(s.rows);
  if (std::isnan(s.fitted.sum_slope)) s.missing.emplace_back("the paper's regressions need at least two sizes");
  // Each row's choices rest on the others' measurements, and none on another's choices.
  std::vector<std::vector<PartitionChoice>> choices;
  for (const PartitionRow& row : s.rows)
    choices.push_back({choice_of_simulator(row, sizes.at(row.size), {s.device, s.type}, s.sub_system, costs),
                       choice_of_paper(s.rows, row), choice_of_creation(row, costs ? costs->create : Seconds{0}),
                       choice_of(1, row)});
  for (std::size_t i = 0; i < choices.size(); ++i) {
    PartitionRow& row = s.rows[i];
    row.choices = std::move(choices[i]);
    for (const std::uint32_t n : row.streams)
      row.fitted_overhead_us.push_back(s.fitted.overhead(static_cast<double>(row.size), n));
  }
}

}  // namespace

std::vector<PartitionStudy> partition_studies(const Trace& trace) {
  std::map<StudyKey, std::pair<PartitionStudy, Sizes>> found;
  for (const PartitionSeries& series : trace.of<Partitions>()) {
    const PartitionCase& c = series.question;
    for (PartitionResult& summary : results(series)) {
      if (!summary.why.empty()) continue;
      const PartitionShape shape = summary.axes;
      auto& [one, sizes] = found[{c.device, series.device_uuid, c.type, shape.sub_system}];
      one.device = c.device;
      one.device_name = series.device_name;
      one.simulated = series.simulated;
      one.type = c.type;
      one.sub_system = shape.sub_system;
      SizeRuns& runs = sizes[shape.size];
      if (c.timed == PartitionTiming::stages) runs.stages.emplace(shape.chunks, std::move(summary));
      else if (shape.chunks == shape.streams) runs.whole.emplace(shape.streams, std::move(summary));
    }
  }
  std::vector<PartitionStudy> all;
  if (found.empty()) return all;
  const std::vector<MeasuredCosts> costs = stream_costs(trace);
  for (auto& [key, one] : found) {
    std::erase_if(one.second, [](const auto& size) {
      return size.second.whole.size() < 2 || size.second.whole.begin()->first != 1;
    });
    if (one.second.empty()) continue;
    study(one.first, one.second, costs, key);
    all.push_back(std::move(one.first));
  }
  return all;
}

}  // namespace npgpu
