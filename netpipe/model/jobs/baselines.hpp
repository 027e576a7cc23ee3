// The models that predictions are held against: each says how long a job takes in n streams, or only which n to take.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "npgpu/predict.hpp"

namespace npgpu::model {

// A workload as the models see it.
struct KnownWorkload {
  const MeasuredWorkload* workload = nullptr;
  Job job;
  Stages whole;                    // H, E, D of the unsplit job, gaps included
  double uncut_us = not_measured;  // measured
};

struct Baseline {
  std::string name, source;
  // Of this workload in n streams, in us, told the others. Empty: it only chooses.
  std::function<double(const KnownWorkload&, std::uint32_t n)> time_us;
  // How many streams; empty: the count with the least time.
  std::function<double(const KnownWorkload&)> streams;
  // Fits what it has to fit to these; called before each workload with all but that.
  std::function<void(const std::vector<const KnownWorkload*>&)> fit;
  std::uint32_t fitted = 0;
};

// Least squares of relative residuals: sum over rows of (features * parameters / measured - 1)^2.
std::vector<double> fit_relative(const std::vector<std::vector<double>>& features, const std::vector<double>& offsets,
                                 const std::vector<double>& measured);

std::vector<Baseline> baselines(const MeasuredCosts&);
// The Best Practices Guide's two estimates, whichever stage is the longest, and paper 000's two revisions of the first
// (sections 3.1.1 and 3.1.2): the kernel hides the copies of one direction only.
std::vector<Baseline> hypotheses();

}  // namespace npgpu::model
