#include "netpipe/model/jobs/baselines.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "npgpu/closed_forms.hpp"

namespace npgpu::model {

namespace {

using Us = double;

Us us(Seconds t) { return microseconds(t); }

double dominant(const Stages& s) { return us(std::max({s.h2d, s.kernel, s.d2h})); }
double others(const Stages& s) { return us(s.sum()) - dominant(s); }

// What is left of a streamed job's time when the part of the others that could be hidden is: paper 003's T_ov, by (5),
// with the stages that are not the longest for its `sum`. Features of it are fitted over all other workloads.
Baseline overhead_form(std::string name, std::string source, std::uint32_t parameters,
                       std::function<std::vector<double>(double bytes, double n)> features) {
  auto fitted = std::make_shared<std::vector<double>>();
  const auto hidden_left = [](const KnownWorkload& s, double n) { return s.uncut_us - (n - 1) / n * others(s.whole); };
  const auto bytes = [](const KnownWorkload& s) { return static_cast<double>(s.job.in_bytes + s.job.out_bytes); };
  Baseline b;
  b.name = std::move(name);
  b.source = std::move(source);
  b.fitted = parameters;
  b.fit = [=](const std::vector<const KnownWorkload*>& rest) {
    std::vector<std::vector<double>> rows;
    std::vector<double> offsets, measured;
    for (const KnownWorkload* s : rest)
      for (std::size_t i = 0; i < s->workload->streams.size(); ++i) {
        const double n = s->workload->streams[i];
        if (n == 1) continue;
        rows.push_back(features(bytes(*s), n));
        offsets.push_back(hidden_left(*s, n));
        measured.push_back(s->workload->time_us[i].value);
      }
    *fitted = fit_relative(rows, offsets, measured);
  };
  b.time_us = [=](const KnownWorkload& s, std::uint32_t n) {
    const std::vector<double> row = features(bytes(s), n);
    double time = hidden_left(s, n);
    for (std::size_t i = 0; i < row.size() && i < fitted->size(); ++i) time += row[i] * (*fitted)[i];
    return time;
  };
  return b;
}

// The count with the least median regret over the other workloads.
Baseline best_constant() {
  auto chosen = std::make_shared<double>(1);
  Baseline b{"best constant n", "one count for every workload, chosen on the others", {}, {}, {}, 1};
  b.fit = [=](const std::vector<const KnownWorkload*>& rest) {
    std::map<std::uint32_t, std::vector<double>> regrets;
    for (const KnownWorkload* s : rest) {
      double best = s->workload->time_us.front().value;
      for (const Estimate& t : s->workload->time_us) best = std::min(best, t.value);
      for (std::size_t i = 0; i < s->workload->streams.size(); ++i)
        regrets[s->workload->streams[i]].push_back(s->workload->time_us[i].value / best - 1);
    }
    double least = not_measured;
    for (const auto& [n, all] : regrets) {
      if (2 * all.size() < rest.size()) continue;  // measured for too few
      const double m = median(all);
      if (!(m >= least)) least = m, *chosen = n;
    }
  };
  b.streams = [=](const KnownWorkload&) { return *chosen; };
  return b;
}

}  // namespace

std::vector<double> fit_relative(const std::vector<std::vector<double>>& features, const std::vector<double>& offsets,
                                 const std::vector<double>& measured) {
  if (features.empty()) return {};
  const auto rows = static_cast<Eigen::Index>(features.size()), columns = static_cast<Eigen::Index>(features[0].size());
  Eigen::MatrixXd a(rows, columns);
  Eigen::VectorXd b(rows);
  for (Eigen::Index r = 0; r < rows; ++r) {
    const auto i = static_cast<std::size_t>(r);
    for (Eigen::Index c = 0; c < columns; ++c) a(r, c) = features[i][static_cast<std::size_t>(c)] / measured[i];
    b(r) = 1 - offsets[i] / measured[i];
  }
  // Columns of bytes and of ones differ by many powers of ten.
  Eigen::VectorXd scale = a.colwise().norm();
  for (Eigen::Index c = 0; c < columns; ++c) {
    if (!(scale(c) > 0)) scale(c) = 1;
    a.col(c) /= scale(c);
  }
  const Eigen::VectorXd x = a.colPivHouseholderQr().solve(b).cwiseQuotient(scale);
  return {x.begin(), x.end()};
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
  const auto add = [&](std::string name, std::string source, std::function<double(const KnownWorkload&, std::uint32_t)> time,
                       std::function<double(const KnownWorkload&)> streams = {}) {
    all.push_back({std::move(name), std::move(source), std::move(time), std::move(streams), {}, 0});
  };
  add(
      "n = 1", "no streams", [](const KnownWorkload& s, std::uint32_t) { return s.uncut_us; }, [](const KnownWorkload&) { return 1.0; });
  all.push_back(best_constant());
  add("Best Practices Guide", "CUDA C Best Practices Guide, as paper 000 quotes it",
      [](const KnownWorkload& s, std::uint32_t n) {
        const bool kernel = s.whole.kernel >= s.whole.h2d + s.whole.d2h;
        return us(kernel ? best_practices_kernel(s.whole, n) : best_practices_transfers(s.whole, n));
      });
  const auto cc1_time = [t_sc](const KnownWorkload& s, std::uint32_t n) { return us(cc1(s.whole, t_sc, n)); };
  add("c.c. 1.x as printed", "paper 000, (1) to (4), t_sc as measured", cc1_time,
      [t_sc](const KnownWorkload& s) { return cc1_optimum_as_printed(s.whole, t_sc); });
  add("c.c. 1.x corrected", "paper 000, (1) and (3), their own minimum", cc1_time,
      [t_sc](const KnownWorkload& s) { return cc1_optimum(s.whole, t_sc); });
  add(
      "c.c. 2.x", "paper 000, (5) to (8), t_sc as measured",
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
  all.push_back(overhead_form("paper 003, small form", "(7) for small sizes, fitted to the other workloads", 3,
                              [](double bytes, double n) {
                                return std::vector{bytes, std::log10(n), 1.0};
                              }));
  all.push_back(overhead_form("paper 003, big form", "(7) for big sizes, fitted to the other workloads", 3,
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
    return Baseline{std::move(name),
                    std::move(source),
                    [time](const KnownWorkload& s, std::uint32_t n) {
                      return us(time(s.whole, n)); },
                    {},
                    {},
                    0};
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
