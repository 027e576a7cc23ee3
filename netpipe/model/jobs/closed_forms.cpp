// Models of the literature for one job: their inputs from measured costs, what each says, and which number it chooses.
#include "netpipe/model/least_squares.hpp"
#include "npgpu/model/advice.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

namespace {

Seconds longest_of(const Stages& whole) { return std::max({whole.h2d, whole.kernel, whole.d2h}); }

// The unsplit time less what n chunks could hide: (5) of Veneva & Imamura 2025 with the stages that are not the longest
// for their `sum`.
Seconds hidden_left(Seconds unsplit, const Stages& whole, double n) {
  return unsplit - (n - 1) / n * (whole.sum() - longest_of(whole));
}

std::array<double, 3> overhead_features(bool is_big, double bytes, double n) {
  if (!is_big) return {bytes, std::log10(n), 1};
  const double big = 4.0 / 3 * std::log2(n);
  return {bytes * big, big, 1};
}

double dot(const std::array<double, 3>& a, const std::array<double, 3>& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

double bytes_of(const Job& job) { return static_cast<double>(job.in_bytes + job.out_bytes); }

}  // namespace

std::string_view source_of(StreamModel model) {
  switch (model) {
    case StreamModel::best_practices: return "CUDA C Best Practices Guide 3.2; no n";
    case StreamModel::cc1: return "Gomez-Luna 2012 (1) (3), n by (2) (4)";
    case StreamModel::cc1_corrected: return "Gomez-Luna 2012 (1) (3), n of the least";
    case StreamModel::cc2: return "Gomez-Luna 2012 (5) (7), n by (6) (8)";
    case StreamModel::van_werkhoven: return "van Werkhoven 2014, two engines; no n";
    case StreamModel::veneva_small: return "Veneva 2025 (2) (7), fitted, n by (6)";
    case StreamModel::veneva_big: return "Veneva 2025 (2) (7), fitted, n by (6)";
  }
  throw Error(ErrorKind::usage, "no such model");
}

std::optional<OverheadFit> fit_overheads(std::span<const MeasuredWorkload> workloads, const MeasuredCosts& costs) {
  constexpr std::size_t least_jobs = 10, columns = 3;
  OverheadFit fit;
  for (const bool is_big : {false, true}) {
    LongNumbers features, left;
    std::size_t jobs = 0;
    for (const MeasuredWorkload& w : workloads) {
      if (w.question.pool != StreamPool::pooled) continue;
      ++jobs;
      const Job job = job_of(w, costs);
      const Stages whole = chunk_times(job, 1, costs.costs);
      for (std::size_t i = 0; i < w.streams.size(); ++i) {
        const double n = w.streams[i], us = w.time_us[i].value;
        if (n == 1) continue;
        for (const double feature : overhead_features(is_big, bytes_of(job), n)) features.push_back(feature / us);
        const Seconds unsplit = from_microseconds(w.time_us.front().value);
        left.push_back(1 - microseconds(hidden_left(unsplit, whole, n)) / us);
      }
    }
    if (jobs < least_jobs) return std::nullopt;
    const LongNumbers x = scaled_least_squares(columns, features, left);
    for (std::size_t i = 0; i < columns; ++i) (is_big ? fit.big : fit.small)[i] = static_cast<double>(x[i]);
  }
  return fit;
}

ModelInputs model_inputs(const Job& job, const MeasuredCosts& measured, std::optional<OverheadFit> overheads) {
  const StreamCosts& costs = measured.costs;
  ModelInputs in{chunk_times(job, 1, costs), measured.create};
  const auto [h, e, d] = in.whole;
  in.gap = e >= h && e >= d ? costs.gap.kernel : (h >= d ? costs.gap.h2d : costs.gap.d2h) + costs.duplex_extra_gap;
  in.unsplit = simulate_total(job, 1, costs, Order::breadth_first).total;
  in.bytes = job.in_bytes + job.out_bytes;
  in.overheads = overheads;
  return in;
}

Seconds time_of(StreamModel model, const ModelInputs& in, double n) {
  switch (model) {
    case StreamModel::best_practices: return models::best_practices(in.whole, n);
    case StreamModel::cc1:
    case StreamModel::cc1_corrected: return models::cc1(in.whole, in.t_sc, n);
    case StreamModel::cc2: return models::cc2(in.whole, in.t_sc, n);
    case StreamModel::van_werkhoven: return models::van_werkhoven(in.whole, n) + (n - 1) * in.gap;
    case StreamModel::veneva_small:
    case StreamModel::veneva_big: {
      if (n == 1) return in.unsplit;
      const bool is_big = model == StreamModel::veneva_big;
      const auto& fitted = is_big ? in.overheads.value().big : in.overheads.value().small;
      return hidden_left(in.unsplit, in.whole, n) +
             from_microseconds(dot(fitted, overhead_features(is_big, static_cast<double>(in.bytes), n)));
    }
  }
  throw Error(ErrorKind::usage, "no such model");
}

std::optional<double> optimum_of(StreamModel model, const ModelInputs& in) {
  switch (model) {
    case StreamModel::cc1: return models::cc1_optimum_as_printed(in.whole, in.t_sc);
    case StreamModel::cc1_corrected: return models::cc1_optimum(in.whole, in.t_sc);
    case StreamModel::cc2: return models::cc2_optimum(in.whole, in.t_sc);
    default: return std::nullopt;
  }
}

StreamModelChoice choice_of(StreamModel model, const ModelInputs& in, std::span<const std::uint32_t> candidates) {
  StreamModelChoice choice{model, optimum_of(model, in)};
  for (const std::uint32_t n : candidates) choice.times.push_back(time_of(model, in, n));
  std::size_t first = 0, last = candidates.size() - 1;  // among which it chooses
  if (choice.optimum && !std::isnan(*choice.optimum)) {
    const auto above =
        std::ranges::lower_bound(candidates, *choice.optimum, {}, [](std::uint32_t n) { return double(n); });
    last = std::min<std::size_t>(last, static_cast<std::size_t>(above - candidates.begin()));
    first = last && candidates[last] > *choice.optimum ? last - 1 : last;
  }
  const auto least = std::min_element(choice.times.begin() + static_cast<std::ptrdiff_t>(first),
                                      choice.times.begin() + static_cast<std::ptrdiff_t>(last) + 1);
  choice.time = *least;
  choice.streams = candidates[static_cast<std::size_t>(least - choice.times.begin())];
  return choice;
}

}  // namespace npgpu
