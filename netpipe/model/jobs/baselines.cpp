#include "netpipe/model/jobs/baselines.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "netpipe/model/least_squares.hpp"
#include "npgpu/closed_forms.hpp"

namespace npgpu::model {

namespace {

double us(Seconds t) { return microseconds(t); }

double others(const Stages& s) { return us(s.sum()) - us(std::max({s.h2d, s.kernel, s.d2h})); }

// What is left of a streamed job's time when the part of the others that could be hidden is taken off: T_ov of Veneva &
// Imamura 2025, by (5), with the stages that are not the longest for their `sum`. Features of it are fitted over all
// other workloads.
Baseline overhead_form(std::string name, std::string source, std::uint32_t parameters,
                       std::function<std::vector<double>(double bytes, double n)> features) {
  const auto hidden_left = [](const KnownWorkload& s, double n) {
    return s.unsplit_us - (n - 1) / n * others(s.whole);
  };
  const auto bytes = [](const KnownWorkload& s) { return static_cast<double>(s.job.in_bytes + s.job.out_bytes); };
  const auto fit = std::make_shared<RelativeFit>();
  const auto fitted = std::make_shared<std::vector<double>>();
  Baseline b{.name = std::move(name), .source = std::move(source), .time_us = {}, .fitted = parameters};
  b.learn = [=](const KnownWorkload& s) {
    for (std::size_t i = 0; i < s.workload->streams.size(); ++i)
      if (const double n = s.workload->streams[i]; n != 1)
        fit->add(&s, features(bytes(s), n), hidden_left(s, n), s.workload->time_us[i].value);
  };
  b.fit_without = [=](const KnownWorkload* s) { *fitted = fit->solve(s); };
  b.time_us = [=](const KnownWorkload& s, std::uint32_t n) {
    const std::vector<double> row = features(bytes(s), n);
    double time = hidden_left(s, n);
    for (std::size_t i = 0; i < row.size() && i < fitted->size(); ++i) time += row[i] * (*fitted)[i];
    return time;
  };
  return b;
}

// The median without one of the values; null: of all.
double median_without(const std::vector<double>& sorted, const double* left_out) {
  const std::size_t skip =
      left_out ? static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), *left_out) - sorted.begin())
               : sorted.size();
  const std::size_t count = sorted.size() - (left_out ? 1 : 0);
  const auto at = [&](std::size_t i) { return sorted[i < skip ? i : i + 1]; };
  if (count % 2 == 1) return at(count / 2);
  return median(std::vector{at(count / 2 - 1), at(count / 2)});
}

// The count with the least median regret over the other workloads.
Baseline best_constant() {
  struct Regrets {
    std::map<std::uint32_t, std::vector<double>> of;  // by count, sorted once all are there
    std::size_t workloads = 0;
    bool sorted = false;
  };
  const auto known = std::make_shared<Regrets>();
  const auto chosen = std::make_shared<double>(1);
  const auto regrets_of = [](const KnownWorkload& s) {
    const auto& times = s.workload->time_us;
    const double least = times[best_of(times)].value;
    std::map<std::uint32_t, double> regrets;
    for (std::size_t i = 0; i < times.size(); ++i) regrets[s.workload->streams[i]] = times[i].value / least - 1;
    return regrets;
  };
  Baseline b{.name = "best constant n",
             .source = "one count for every workload, chosen on the others",
             .time_us = {},
             .fitted = 1};
  b.learn = [=](const KnownWorkload& s) {
    for (const auto& [n, regret] : regrets_of(s)) known->of[n].push_back(regret);
    ++known->workloads;
  };
  b.fit_without = [=](const KnownWorkload* without) {
    if (!std::exchange(known->sorted, true))
      for (auto& [n, all] : known->of) std::sort(all.begin(), all.end());
    const auto own = without ? regrets_of(*without) : std::map<std::uint32_t, double>{};
    const std::size_t others = known->workloads - (without ? 1 : 0);
    double least = not_measured;
    for (const auto& [n, all] : known->of) {
      const auto left_out = own.find(n);
      const std::size_t count = all.size() - (left_out != own.end() ? 1 : 0);
      if (count == 0 || 2 * count < others) continue;  // measured for too few
      const double m = median_without(all, left_out != own.end() ? &left_out->second : nullptr);
      if (!(m >= least)) least = m, *chosen = n;
    }
  };
  b.streams = [=](const KnownWorkload&) { return *chosen; };
  return b;
}

}  // namespace

std::size_t best_of(const std::vector<Estimate>& times) {
  const auto sooner = [](const Estimate& a, const Estimate& b) { return a.value < b.value; };
  return static_cast<std::size_t>(std::min_element(times.begin(), times.end(), sooner) - times.begin());
}

void RelativeFit::add(const void* group, const std::vector<double>& features, double offset, double measured) {
  const std::size_t n = features.size();
  Numbers row(n);
  std::transform(features.begin(), features.end(), row.begin(),
                 [&](long double feature) { return feature / measured; });
  const long double right = 1 - static_cast<long double>(offset) / measured;
  for (Sums* sums : {&all_, &groups_[group]}) {
    if (sums->rows++ == 0) {
      sums->products.assign(n * n, 0);
      sums->right.assign(n, 0);
    }
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) sums->products[i * n + j] += row[i] * row[j];
      sums->right[i] += row[i] * right;
    }
  }
}

std::vector<double> RelativeFit::solve(const void* without) const {
  auto [rows, a, b] = all_;
  const std::size_t n = b.size();
  if (const auto out = groups_.find(without); out != groups_.end()) {
    rows -= out->second.rows;
    std::transform(a.begin(), a.end(), out->second.products.begin(), a.begin(), std::minus());
    std::transform(b.begin(), b.end(), out->second.right.begin(), b.begin(), std::minus());
  }
  if (rows == 0) return {};
  // Columns of bytes and of ones differ by many powers of ten.
  Numbers scale(n);
  for (std::size_t i = 0; i < n; ++i) scale[i] = a[i * n + i] > 0 ? std::sqrt(a[i * n + i]) : 1;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) a[i * n + j] /= scale[i] * scale[j];
    b[i] /= scale[i];
  }
  // Where all workloads have the same bytes, those cannot be told from a constant: the shortest solution then. What it
  // neglects is 1e-15 of products, 3e-8 of features.
  const Numbers x = least_squares(n, a, b);
  std::vector<double> solution(n);
  std::transform(x.begin(), x.end(), scale.begin(), solution.begin(),
                 [](long double one, long double by) { return static_cast<double>(one / by); });
  return solution;
}

std::vector<Baseline> baselines(const MeasuredCosts& measured) {
  using namespace models;
  const StreamCosts& costs = measured.costs;
  const Seconds t_sc = measured.create;
  const auto gap_of_dominant = [costs](const Stages& s) {
    if (s.kernel >= s.h2d && s.kernel >= s.d2h) return costs.gap.kernel;
    return (s.h2d >= s.d2h ? costs.gap.h2d : costs.gap.d2h) + costs.duplex_extra_gap;
  };
  std::vector<Baseline> all;
  const auto add = [&](std::string name, std::string source,
                       std::function<double(const KnownWorkload&, std::uint32_t)> time,
                       std::function<double(const KnownWorkload&)> streams = {}) {
    all.push_back({std::move(name), std::move(source), std::move(time), std::move(streams)});
  };
  add(
      "n = 1", "no streams", [](const KnownWorkload& s, std::uint32_t) { return s.unsplit_us; },
      [](const KnownWorkload&) { return 1.0; });
  all.push_back(best_constant());
  add("Best Practices Guide", "CUDA C Best Practices Guide, as Gomez-Luna et al. 2012 quote it",
      [](const KnownWorkload& s, std::uint32_t n) {
        const bool kernel = s.whole.kernel >= s.whole.h2d + s.whole.d2h;
        return us(kernel ? best_practices_kernel(s.whole, n) : best_practices_transfers(s.whole, n));
      });
  const auto cc1_time = [t_sc](const KnownWorkload& s, std::uint32_t n) { return us(cc1(s.whole, t_sc, n)); };
  add("c.c. 1.x as printed", "Gomez-Luna et al. 2012, (1) to (4), t_sc as measured", cc1_time,
      [t_sc](const KnownWorkload& s) { return cc1_optimum_as_printed(s.whole, t_sc); });
  add("c.c. 1.x corrected", "Gomez-Luna et al. 2012, (1) and (3), their own minimum", cc1_time,
      [t_sc](const KnownWorkload& s) { return cc1_optimum(s.whole, t_sc); });
  add(
      "c.c. 2.x", "Gomez-Luna et al. 2012, (5) to (8), t_sc as measured",
      [t_sc](const KnownWorkload& s, std::uint32_t n) { return us(cc2(s.whole, t_sc, n)); },
      [t_sc](const KnownWorkload& s) { return cc2_optimum(s.whole, t_sc); });
  add("van Werkhoven 2014", "two engines, with a gap for each chunk of the longest stage",
      [gap_of_dominant](const KnownWorkload& s, std::uint32_t n) {
        return us(van_werkhoven(s.whole, n) + gap_of_dominant(s.whole) * (n - 1.0));
      });
  add("two engines, closed form", "exact without slow-downs, tails and queues; breadth-first",
      [costs](const KnownWorkload& s, std::uint32_t n) {
        return us(two_engines_breadth_first(chunk_times(s.job, n, costs), costs.latency, costs.issue, n) +
                  costs.submit);
      });
  add("M + S/n + (n-1) g", "the longest stage, the others, and the gap of the longest",
      [gap_of_dominant](const KnownWorkload& s, std::uint32_t n) {
        return us(dominant_stage(s.whole, gap_of_dominant(s.whole), n));
      });
  all.push_back(overhead_form("Veneva & Imamura 2025, small form", "(7) for small sizes, fitted to the other workloads",
                              3, [](double bytes, double n) {
                                return std::vector{bytes, std::log10(n), 1.0};
                              }));
  all.push_back(overhead_form("Veneva & Imamura 2025, big form", "(7) for big sizes, fitted to the other workloads", 3,
                              [](double bytes, double n) {
                                const double l = 4.0 / 3 * std::log2(n);
                                return std::vector{bytes * l, l, 1.0};
                              }));
  all.push_back(overhead_form("u (1-1/n) + t n", "fitted to the other workloads", 2, [](double, double n) {
    return std::vector{1 - 1 / n, n};
  }));
  return all;
}

std::vector<Baseline> hypotheses() {
  using namespace models;
  const auto add = [](std::string name, std::string source, Seconds (*time)(const Stages&, double n)) {
    return Baseline{std::move(name), std::move(source),
                    [time](const KnownWorkload& s, std::uint32_t n) { return us(time(s.whole, n)); }};
  };
  // A copy that is not hidden adds to the kernel's time.
  return {add("dominant kernel", "t_E + t_T/n", best_practices_kernel),
          add("dominant transfers", "t_T + t_E/n", best_practices_transfers),
          add("dominant kernel, h2d hidden", "t_E + t_Thd/n + t_Tdh",
              [](const Stages& s, double n) {
                return best_practices_kernel({s.h2d, s.kernel + s.d2h, Seconds{0}}, n);
              }),
          add("dominant kernel, d2h hidden", "t_E + t_Tdh/n + t_Thd", [](const Stages& s, double n) {
            return best_practices_kernel({Seconds{0}, s.kernel + s.h2d, s.d2h}, n);
          })};
}

}  // namespace npgpu::model
