// From a trace of the partition method: how long each size takes in each number of streams, and what number two models
// choose: the regressions of Veneva & Imamura 2025, fitted to this device, and the simulator with measured costs. Pure
// functions of a trace. Times are in us.
//
// Example:
//   for (const npgpu::PartitionStudy& study : npgpu::partition_studies(npgpu::read_trace("partition.h5")))
//     for (const npgpu::PartitionRow& row : study.rows)
//       std::cout << row.size << " unknowns: " << row.best << " streams are best\n";
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/partition.hpp"
#include "npgpu/predict.hpp"
#include "npgpu/result.hpp"

namespace npgpu {

struct TextStyle;  // npgpu/report.hpp

// ---- the paper's model ----------------------------------------------------------------------------------------------

// How well a fitted form holds.
struct RegressionQuality {
  std::uint32_t rows = 0;
  double r2 = not_measured, mse = not_measured, rmse = not_measured;  // mse in the square of the times' unit
};
template <>
inline constexpr auto fields_of<RegressionQuality> = fields(field("rows", &RegressionQuality::rows),
                                                            field("r2", &RegressionQuality::r2),
                                                            field("mse", &RegressionQuality::mse),
                                                            field("rmse", &RegressionQuality::rmse));

// Veneva & Imamura 2025. Sizes in unknowns, times in the unit of its coefficients. Coefficients that could not be
// fitted are NaN, and so is what rests on them.
struct PartitionRegressions {
  // (4) sum(N) = sum_slope N + sum_start: the stages that streams hide, of the unsplit run
  double sum_slope = not_measured, sum_start = not_measured;
  // (7) overhead(N, n) = small_size N + small_log log10(n) + small_start, for N up to 1e6
  double small_size = not_measured, small_log = not_measured, small_start = not_measured;
  //     = (big_size N + big_log) log2(n^(4/3)) + big_start, for larger ones
  double big_size = not_measured, big_log = not_measured, big_start = not_measured;
  RegressionQuality sum_quality{}, small_quality{}, big_quality{};  // of the three forms

  static constexpr double small_up_to = 1e6;

  double sum(double size) const { return sum_slope * size + sum_start; }
  double overhead(double size, double n) const;
  // (n-1)/n sum - overhead: what n streams save.
  double gain(double size, double n) const;
  // (6): the candidate with the largest gain; 1 if none has any. The paper's Table IV comes out only if 1 is judged
  // like the others, where (7) is negative for small sizes. Nothing where a coefficient is missing.
  std::optional<std::uint32_t> optimum(double size, std::span<const std::uint32_t> candidates) const;
};
template <>
inline constexpr auto fields_of<PartitionRegressions> =
    fields(field("sum_slope", &PartitionRegressions::sum_slope), field("sum_start", &PartitionRegressions::sum_start),
           field("small_size", &PartitionRegressions::small_size), field("small_log", &PartitionRegressions::small_log),
           field("small_start", &PartitionRegressions::small_start), field("big_size", &PartitionRegressions::big_size),
           field("big_log", &PartitionRegressions::big_log), field("big_start", &PartitionRegressions::big_start));
// (5) from measured times: streamed - unsplit + (n-1)/n sum
double partition_overhead(double streamed, double unsplit, double sum, double n);
// sqrt(sum / t_sc), the rule of Gomez-Luna et al. 2012 as Table I of the paper has it.
double creation_optimum(double sum, double t_sc);

// ---- both models and the measurement --------------------------------------------------------------------------------

struct PartitionChoice {
  std::optional<std::uint32_t> streams{};  // nothing: the model has no answer
  Estimate regret;                         // measured time there over the best measured, less 1; at least 0
  Estimate even_regret;                    // the same of PartitionRow::even_us
  Estimate cross_validated;                // that regret without the luck of the least; see npgpu/regret.hpp
  bool hit = false;                        // as good as the best within the noise of the two
  std::vector<double> predicted_us{};      // as PartitionRow::streams; empty where the model only chooses
};
// One size; the first of its streams is 1.
struct PartitionRow : MeasuredSplits {
  std::uint64_t size = 0;
  std::uint32_t best = 1;
  Estimate stage2_us;  // over all numbers of streams: the host does the same work in all of them
  // Whole runs with that time for the host's stage in place of their own, as streams. What the host's stage takes more
  // or less from run to run is in none of them, and it is most of what whole runs scatter by.
  std::vector<Estimate> even_us;
  std::array<Estimate, partition_stages.size()> stages_us{};  // of the unsplit run; NaN where not measured
  double sum_us = not_measured;                               // of the four that streams hide
  std::vector<double> overhead_us, gain_us;                   // (5) and what (6) compares, as streams
  std::vector<double> fitted_overhead_us;                     // (7), fitted to all sizes
  std::vector<PartitionChoice> choices;                       // as partition_models
};
// What chooses, in the order of PartitionRow::choices.
struct PartitionModel {
  std::string_view model, source;
};
template <>
inline constexpr auto fields_of<PartitionModel> = fields(field("model", &PartitionModel::model),
                                                         field("source", &PartitionModel::source));
inline constexpr std::array<PartitionModel, 4> partition_models{{
    {"simulator", "discrete events with measured costs, nothing fitted to whole runs"},
    {"Veneva & Imamura 2025", "(4) and (7), fitted to the other sizes"},
    {"sqrt(sum / t_sc)", "Gomez-Luna et al. 2012, as their Table I"},
    {"n = 1", "no streams"},
}};
// One type on one device. What choices cost over all sizes says the study of predictions (python -m npgpu.study
// --partitions).
struct PartitionStudy {
  std::string device, device_name;
  bool simulated = false;
  Precision type = Precision::fp64;
  std::uint32_t sub_system = 10;
  std::vector<PartitionRow> rows;    // by size
  PartitionRegressions fitted;       // to all sizes; each size's choice is of a fit to the others
  std::vector<std::string> missing;  // a sentence each: what is not there, and what would measure it
};
// By ordinary least squares, as theirs were, to the rows that have a sum, but for `without`. (4) takes two sizes, and
// either form of (7) two sizes and two numbers of streams; else it stays NaN.
PartitionRegressions regressions_of(std::span<const PartitionRow>, const PartitionRow* without = nullptr);
// Sizes with the unsplit run and at least one other number of streams.
std::vector<PartitionStudy> partition_studies(const Trace&);

// The partition method, size by size: what was measured, and what each model chooses.
void partition_text(std::ostream&, std::span<const PartitionStudy>, const TextStyle&);

}  // namespace npgpu
