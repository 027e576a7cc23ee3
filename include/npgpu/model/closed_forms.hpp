// Models of the literature for jobs in n streams: how long a job takes, and which n is best. None of them simulates;
// each takes a few times of the unsplit job. plots/npgpu/study/models.py compares them with measured jobs.
//
// Example:
//   const npgpu::MeasuredCosts costs = npgpu::stream_costs(npgpu::read_trace("node.h5")).at(0);
//   const npgpu::Job job{.in_bytes = npgpu::MiB, .out_bytes = npgpu::MiB, .kernel = npgpu::Seconds{1e-3}};
//   const npgpu::ModelInputs inputs = npgpu::model_inputs(job, costs, {});
//   for (const npgpu::StreamModel model : {npgpu::StreamModel::cc1, npgpu::StreamModel::van_werkhoven}) {
//     const npgpu::StreamModelChoice choice = npgpu::choice_of(model, inputs, npgpu::stream_counts(64));
//     std::cout << npgpu::name(model) << ": " << choice.streams << " streams\n";
//   }
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "npgpu/model/predict.hpp"
#include "npgpu/model/simulate.hpp"

namespace npgpu {

// `whole` are the times of the unstreamed job: H, E, D; t_T = H + D, t_E = E.
namespace models {

inline Seconds transfers(const Stages& whole) { return whole.h2d + whole.d2h; }

// ---- CUDA C Best Practices Guide 3.2, as Gomez-Luna et al. 2012 quote it --------------------------------------------
inline Seconds best_practices_kernel(const Stages& whole, double n) { return whole.kernel + transfers(whole) / n; }
inline Seconds best_practices_transfers(const Stages& whole, double n) { return transfers(whole) + whole.kernel / n; }
inline Seconds best_practices(const Stages& whole, double n) {
  return whole.kernel >= transfers(whole) ? best_practices_kernel(whole, n) : best_practices_transfers(whole, n);
}

// ---- Gomez-Luna et al. 2012: one copy engine, stream creation counted -----------------------------------------------
// c.c. 1.x, (1) and (3): t_T + n t_sc while t_T >= t_E + t_T/n, else t_E + t_T/n + n t_sc.
inline Seconds cc1(const Stages& whole, Seconds t_sc, double n) {
  return std::max(transfers(whole), whole.kernel + transfers(whole) / n) + n * t_sc;
}
// (2) t_T/(t_T - t_E) where transfers dominate, (4) sqrt(t_T/t_sc) where the kernel does. (2) grows without limit as
// t_E nears t_T, because it asks only for where (1) begins to hold, whatever the streams cost.
inline double cc1_optimum_as_printed(const Stages& whole, Seconds t_sc) {
  const Seconds t_t = transfers(whole);
  return t_t > whole.kernel ? t_t / (t_t - whole.kernel) : std::sqrt(t_t / t_sc);
}
// What minimizes max(t_T, t_E + t_T/n) + n t_sc: the lesser of (2) and (4).
inline double cc1_optimum(const Stages& whole, Seconds t_sc) {
  const Seconds t_t = transfers(whole);
  const double cheapest = std::sqrt(t_t / t_sc);
  return std::max(1.0, t_t > whole.kernel ? std::min(t_t / (t_t - whole.kernel), cheapest) : cheapest);
}
// c.c. 2.x, (5) and (7): H + t_E/n + D + n t_sc while H >= t_E, else H/n + t_E + D + n t_sc.
inline Seconds cc2(const Stages& whole, Seconds t_sc, double n) {
  return std::max(whole.h2d, whole.kernel) + std::min(whole.h2d, whole.kernel) / n + whole.d2h + n * t_sc;
}
// (6) sqrt(t_E/t_sc) and (8) sqrt(H/t_sc).
inline double cc2_optimum(const Stages& whole, Seconds t_sc) {
  return std::sqrt(std::min(whole.h2d, whole.kernel) / t_sc);
}

// ---- van Werkhoven, Maassen, Seinstra, Bal: Performance models for CPU-GPU data transfers (CCGrid 2014) -------------
// Two copy engines.
inline Seconds van_werkhoven(const Stages& whole, double n) {
  const auto [h, e, d] = whole;
  return std::max({h + e / n + d / n, h / n + e + d / n, h / n + e / n + d});
}

}  // namespace models

// ---- the models, and what they choose -------------------------------------------------------------------------------

enum class StreamModel { best_practices, cc1, cc1_corrected, cc2, van_werkhoven, veneva_small, veneva_big };
template <>
inline constexpr std::array<std::string_view, 7> names_of<StreamModel>{
    "best-practices", "cc1", "cc1-corrected", "cc2", "van-werkhoven", "veneva-small", "veneva-big"};
// Paper and equations: of the time, then of n.
std::string_view source_of(StreamModel);

// (7) of Veneva & Imamura 2025: what is left of a split job's time when the part of the shorter stages that could be
// hidden is taken off, over the bytes that the job copies and n. Its parameters are fitted to measured jobs.
//   small: a bytes + b log10 n + c            big: (a bytes + b) log2(n^(4/3)) + c
struct OverheadFit {
  std::array<double, 3> small{}, big{};  // us
};
// By least squares of relative residuals, as the study of predictions fits them, to the workloads in streams that are
// there; nothing with fewer than ten of them.
std::optional<OverheadFit> fit_overheads(std::span<const MeasuredWorkload>, const MeasuredCosts&);

struct ModelInputs {
  Stages whole;             // each stage of the unsplit job alone, gaps included
  Seconds t_sc{0};          // of creating a stream, also where streams are there: the paper always counts it
  Seconds gap{0};           // what one more chunk costs the engine of the longest stage
  Seconds unsplit{0};       // the job in one stream, simulated
  std::uint64_t bytes = 0;  // copied, in and out
  std::optional<OverheadFit> overheads{};
};
ModelInputs model_inputs(const Job&, const MeasuredCosts&, std::optional<OverheadFit>);

// REQUIRES: those of Veneva & Imamura have their overheads.
Seconds time_of(StreamModel, const ModelInputs&, double n);
// Where the paper gives an equation for n; not finite where streams cost nothing.
std::optional<double> optimum_of(StreamModel, const ModelInputs&);

struct StreamModelChoice {
  StreamModel model = StreamModel::best_practices;
  std::optional<double> optimum{};  // optimum_of()
  // A candidate: the neighbour of that number with the lesser time; without such a number, that of the least time.
  std::uint32_t streams = 1;
  Seconds time{0};               // with them, as the model says
  std::vector<Seconds> times{};  // as the candidates
};
// REQUIRES: candidates ascend, and there is one.
StreamModelChoice choice_of(StreamModel, const ModelInputs&, std::span<const std::uint32_t> candidates);

}  // namespace npgpu
