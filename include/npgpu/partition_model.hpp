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
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npgpu/partition.hpp"
#include "npgpu/predict.hpp"
#include "npgpu/result.hpp"

namespace npgpu {

// ---- the paper's model ----------------------------------------------------------------------------------------------

// How well a fitted form holds.
struct RegressionQuality {
  std::uint32_t rows = 0;
  double r2 = not_measured, mse = not_measured, rmse = not_measured;  // mse in the square of the times' unit
};

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
// (5) from measured times: streamed - unsplit + (n-1)/n sum
double partition_overhead(double streamed, double unsplit, double sum, double n);
// sqrt(sum / t_sc), the rule of Gomez-Luna et al. 2012 as Table I of the paper has it.
double creation_optimum(double sum, double t_sc);

// ---- both models and the measurement --------------------------------------------------------------------------------

struct PartitionChoice {
  std::string model;
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
  std::array<Estimate, names_of<PartitionStage>.size()> stages_us{};  // of the unsplit run; NaN where not measured
  double sum_us = not_measured;                                       // of the four that streams hide
  std::vector<double> overhead_us, gain_us;                           // (5) and what (6) compares, as streams
  std::vector<PartitionChoice> choices;                               // as PartitionStudy::models
};
struct PartitionScore {
  std::string model, source;
  std::uint32_t sizes = 0;         // with an answer
  Spread regret, even_regret;      // over sizes
  CrossValidated cross_validated;  // the same
  Spread error;                    // |predicted / measured - 1| over sizes and two and more streams
  double hits = not_measured;
};
// One type on one device. The simulator is the first model.
struct PartitionStudy {
  std::string device, device_name;
  bool simulated = false;
  Precision type = Precision::fp64;
  std::uint32_t sub_system = 10;
  std::vector<PartitionRow> rows;  // by size
  PartitionRegressions fitted;     // to all sizes; each size's choice is of a fit to the others
  std::vector<PartitionScore> models;
  Spread measuring;                  // over sizes; see regrets_of_measuring()
  std::vector<std::string> missing;  // a sentence each: what is not there, and what would measure it
};
// By ordinary least squares, as theirs were, to the rows that have a sum, but for `without`. (4) takes two sizes, and
// either form of (7) two sizes and two numbers of streams; else it stays NaN.
PartitionRegressions regressions_of(std::span<const PartitionRow>, const PartitionRow* without = nullptr);
// Sizes with the unsplit run and at least one other number of streams.
std::vector<PartitionStudy> partition_studies(const Trace&);

}  // namespace npgpu
