// The models that predictions are held against: each says how long a job takes in n streams, or only which n to take.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "npgpu/predict.hpp"

namespace npgpu::model {

// A workload as the models see it.
struct KnownWorkload {
  const MeasuredWorkload* workload = nullptr;
  Job job;
  Stages whole;                      // H, E, D of the unsplit job, gaps included
  double unsplit_us = not_measured;  // measured
};

// Of the times of a workload, the least.
std::size_t best_of(const std::vector<Estimate>& times);

struct Baseline {
  std::string name, source;
  // Of this workload in n streams, in us. Empty: it only chooses.
  std::function<double(const KnownWorkload&, std::uint32_t n)> time_us;
  // How many streams; empty: the count with the least time.
  std::function<double(const KnownWorkload&)> streams{};
  // What is fitted: `learn` sees every scored workload once, and `fit_without` then fits to all that were learnt but
  // this one; null: to all. Both empty where nothing is fitted.
  std::function<void(const KnownWorkload&)> learn{};
  std::function<void(const KnownWorkload*)> fit_without{};
  std::uint32_t fitted = 0;
};

// Least squares of relative residuals, the sum over rows of ((offset + features * parameters) / measured - 1)^2, by
// normal equations: a group of rows is left out by taking its own sums off, so that leaving out every group in turn
// takes as long as adding all rows. Sums are of long doubles, because products of features lose half of the digits.
class RelativeFit {
 public:
  // Rows of one group come one after the other.
  void add(const void* group, const std::vector<double>& features, double offset, double measured);
  // Empty where no row is left.
  std::vector<double> solve(const void* without = nullptr) const;

 private:
  using Numbers = std::vector<long double>;
  struct Sums {
    std::size_t rows = 0;
    Numbers products;  // of features with each other, row by row
    Numbers right;     // and with the right hand side
  };
  std::map<const void*, Sums> groups_;
  Sums all_;
};

std::vector<Baseline> baselines(const MeasuredCosts&);
// The Best Practices Guide's two estimates, whichever stage is the longest, and the two revisions of the first by
// Gomez-Luna et al. 2012 (sections 3.1.1 and 3.1.2): the kernel hides the copies of one direction only.
std::vector<Baseline> hypotheses();

}  // namespace npgpu::model
